//! Instruction sets: what the CPU has, and which one is used.

use std::fmt;
use std::str::FromStr;

/// The variable that forces an instruction set: `HOTLOOP_ISA=scalar|avx2|avx512|neon`.
pub const VARIABLE: &str = "HOTLOOP_ISA";

/// A set of instructions that the kernels are written for, slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust: the definition of every kernel.
    Scalar,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors with fused multiply-add and half-precision conversion.
    Avx2,
    /// 512-bit vectors with the int8 dot product (F, BW, DQ, VL, VNNI).
    Avx512,
}

impl Isa {
    /// Every one, slowest first.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The name that [`VARIABLE`] takes and that reports show.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// How many f32 one vector holds.
    pub fn lanes(self) -> usize {
        match self {
            Isa::Scalar => 1,
            Isa::Neon => 4,
            Isa::Avx2 => 8,
            Isa::Avx512 => 16,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name).ok_or_else(|| {
            let known = Isa::ALL.map(Isa::name).join(", ");
            format!("`{name}` is not a known instruction set; known are {known}")
        })
    }
}
