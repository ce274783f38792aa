//! The layouts of the tools before this one, for people with scripts that read them. Where those summed nested scopes,
//! the field holds the number that its name promises.

mod loopos;
mod methods;
mod smallmind;

pub use loopos::text as loopos;
pub use smallmind::text as smallmind;
