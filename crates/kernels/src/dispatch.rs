//! From a kernel's name to the code for this CPU.

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
pub(crate) use crate::aarch64::Neon;
use crate::isa::{self, Isa};
#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::{Avx2, Avx512};

/// The kernels of one instruction set. Copy it freely; every kernel is a method.
///
/// ```
/// let kernels = kernels::Kernels::best();
/// let mut sum = [0.0; 3];
/// kernels.add(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], &mut sum);
/// assert_eq!(sum, [11.0, 22.0, 33.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    pub(crate) level: Level,
}

/// An instruction set together with the proof that this CPU has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Kernels {
    /// The fastest that this CPU has, or those that the variable [`HOTLOOP_ISA`](isa::VARIABLE) names. Chosen once.
    ///
    /// # Panics
    /// Where the variable names an instruction set that is unknown or that this CPU has not: a measurement of another
    /// one than was asked for would be worse than none. [`Kernels::chosen`] gives the same as an error.
    pub fn best() -> Self {
        Self::chosen().unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Kernels::best`], with a reason where the variable cannot be followed.
    pub fn chosen() -> Result<Self, String> {
        static CHOSEN: OnceLock<Result<Kernels, String>> = OnceLock::new();
        CHOSEN.get_or_init(|| Self::choose(std::env::var_os(isa::VARIABLE))).clone()
    }

    fn choose(wanted: Option<std::ffi::OsString>) -> Result<Self, String> {
        let Some(wanted) = wanted.filter(|name| !name.is_empty()) else {
            return Ok(Self::available().pop().unwrap_or(Self { level: Level::Scalar }));
        };
        let isa: Isa = wanted.to_string_lossy().parse().map_err(|error| format!("{}: {error}", isa::VARIABLE))?;
        Self::with(isa).ok_or_else(|| {
            let names: Vec<_> = Self::available().iter().map(|kernels| kernels.isa().name()).collect();
            format!("{}: this CPU has no {isa}; it has {}", isa::VARIABLE, names.join(", "))
        })
    }

    /// Those of `isa`, where this CPU has it.
    pub fn with(isa: Isa) -> Option<Self> {
        let level = match isa {
            Isa::Scalar => Level::Scalar,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Level::Avx2(Avx2::detect()?),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Level::Avx512(Avx512::detect()?),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Level::Neon(Neon::detect()?),
            #[allow(unreachable_patterns, reason = "which are left depends on the architecture")]
            _ => return None,
        };
        Some(Self { level })
    }

    /// All that this CPU has, slowest first; scalar is always among them.
    pub fn available() -> Vec<Self> {
        Isa::ALL.into_iter().filter_map(Self::with).collect()
    }

    /// Which instruction set these are for.
    pub fn isa(self) -> Isa {
        match self.level {
            Level::Scalar => Isa::Scalar,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => Isa::Avx512,
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => Isa::Neon,
        }
    }
}

/// Writes a method of [`Kernels`] per line: `module: fn name(arguments) where {conditions}` calls
/// `scalar::module::name(arguments)` or `vector::module::name(simd, arguments)`, the latter
/// compiled for the instruction set. The conditions are checked on entry: what they rule out is a
/// caller's bug.
macro_rules! kernels {
    ($room:ident: $(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $(where {$($condition:expr),+ $(,)?})?;
    )+) => {
        impl $crate::Kernels {$(
            $(#[$doc])*
            #[track_caller]
            $vis fn $name(self, $($arg: $type),*) $(-> $out)? {
                $($(assert!($condition, concat!(stringify!($name), ": `", stringify!($condition), "` does not hold"));)+)?
                match self.level {
                    $crate::dispatch::Level::Scalar => $crate::scalar::$room::$name($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::dispatch::Level::Avx2(simd) => {
                        #[target_feature(enable = "avx2,fma,f16c")]
                        fn run(simd: $crate::dispatch::Avx2, $($arg: $type),*) $(-> $out)? {
                            $crate::vector::$room::$name(simd, $($arg),*)
                        }
                        // SAFETY: an `Avx2` exists only where the CPU has these features.
                        unsafe { run(simd, $($arg),*) }
                    }
                    #[cfg(target_arch = "x86_64")]
                    $crate::dispatch::Level::Avx512(simd) => {
                        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
                        fn run(simd: $crate::dispatch::Avx512, $($arg: $type),*) $(-> $out)? {
                            $crate::vector::$room::$name(simd, $($arg),*)
                        }
                        // SAFETY: an `Avx512` exists only where the CPU has these features.
                        unsafe { run(simd, $($arg),*) }
                    }
                    #[cfg(target_arch = "aarch64")]
                    $crate::dispatch::Level::Neon(simd) => {
                        #[target_feature(enable = "neon")]
                        fn run(simd: $crate::dispatch::Neon, $($arg: $type),*) $(-> $out)? {
                            $crate::vector::$room::$name(simd, $($arg),*)
                        }
                        // SAFETY: a `Neon` exists only where the CPU has it.
                        unsafe { run(simd, $($arg),*) }
                    }
                }
            }
        )+}
    };
}
pub(crate) use kernels;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_is_always_there_and_the_best_is_the_last() {
        let available: Vec<Isa> = Kernels::available().iter().map(|kernels| kernels.isa()).collect();
        assert_eq!(available[0], Isa::Scalar);
        assert!(available.is_sorted());
        assert_eq!(Kernels::choose(None).unwrap().isa(), *available.last().unwrap());
        assert_eq!(Kernels::choose(Some("".into())).unwrap().isa(), *available.last().unwrap());
    }

    #[test]
    fn the_variable_forces_one_or_is_refused() {
        for kernels in Kernels::available() {
            assert_eq!(Kernels::choose(Some(kernels.isa().name().into())).unwrap().isa(), kernels.isa());
        }
        let absent = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        let error = Kernels::choose(Some(absent.into())).unwrap_err();
        assert!(error.contains("this CPU has no") && error.contains("scalar"), "{error}");
        let error = Kernels::choose(Some("sse9".into())).unwrap_err();
        assert!(error.contains("`sse9`") && error.contains("HOTLOOP_ISA"), "{error}");
    }
}
