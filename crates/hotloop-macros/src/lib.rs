//! `#[profile]`.
