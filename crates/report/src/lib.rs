//! What was measured, as text for people. Pure: no file, clock or terminal is touched here.

mod doctor;
mod layout;
mod units;

pub use doctor::text as doctor_text;
