//! What computes: the kernels of an instruction set and the threads.

use kernels::{Isa, Kernels, Pool};

use crate::{Error, Result};

/// Kernels and threads; many generations can use one, one after another.
#[derive(Debug)]
pub struct Compute {
    /// The arithmetic.
    pub kernels: Kernels,
    /// The threads.
    pub pool: Pool,
}

impl Compute {
    /// The best instruction set of this CPU, or the one that `HOTLOOP_ISA` names, and so many
    /// threads; without a number one for each CPU that this process may use.
    pub fn new(threads: Option<usize>) -> Result<Self> {
        let kernels = Kernels::chosen().map_err(Error::refused)?;
        Ok(Self { kernels, pool: threads.map_or_else(Pool::best, Pool::new) })
    }

    /// Plain loops instead of vectors: to see what those are worth.
    pub fn naive(threads: Option<usize>) -> Self {
        let kernels = Kernels::with(Isa::Scalar).unwrap_or_else(Kernels::best);
        Self { kernels, pool: threads.map_or_else(Pool::best, Pool::new) }
    }
}
