//! What is said of samples and of runs, through the public interface.

mod comparable;
mod runs;
mod scopes;
