//! What was measured, as text for people. Pure: no file, clock or terminal is touched here.

mod doctor;
mod generation;
mod layout;
mod units;

pub use doctor::text as doctor_text;
pub use generation::text as generation_text;
