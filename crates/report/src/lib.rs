//! What was measured, as text for people.
