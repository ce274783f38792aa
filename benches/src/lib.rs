//! Benchmarks only; see `README.md`.
