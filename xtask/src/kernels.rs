//! Steps that look at the kernels harder than their tests alone can: with each instruction set, with every access to memory
//! watched, and on another CPU.
//!
//! What they need beside the stable toolchain is installed where that is possible. Where it is not, a step is skipped and
//! says what is missing: a developer without it can still run all others.

use std::path::Path;

use crate::packages::{self, Package};
use crate::steps::{CommandLine, Outcome};
use crate::toolchain;

/// Whatever chooses an instruction set by itself does so once in a process, so each takes a process of its own.
pub fn isas(root: &Path) -> Outcome {
    all(root, forced())
}

/// The tests with every instruction set that this CPU has but would not choose; the step `tests` has run with that one.
fn forced() -> &'static [CommandLine] {
    const TESTS: &str = "cargo test -p hotloop-kernels --release --test it";
    const SCALAR: CommandLine = CommandLine { variables: &[("HOTLOOP_ISA", "scalar")], words: TESTS };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512vnni") {
        return &[SCALAR, CommandLine { variables: &[("HOTLOOP_ISA", "avx2")], words: TESTS }];
    }
    &[SCALAR]
}

/// Every access of the code that is interpreted, and the rules for pointers that no other tool knows. AVX-512 is beyond it.
pub fn miri(root: &Path) -> Outcome {
    const READY: &str = "rustup run nightly cargo miri setup";
    const INSTALL: &str = "rustup toolchain install nightly --profile minimal --no-self-update --component miri \
                           --component rust-src";
    // One test for each way through memory: what is left out has the same loops, or takes minutes here.
    const SCALAR: &str = "rustup run nightly cargo miri test -p hotloop-kernels --lib --test it -- dispatch::tests \
                          memory::tests split::tests activation::every_length cache:: elementwise::places \
                          pool::every_part pool::plain_writes";
    const AVX2: &str = "rustup run nightly cargo miri test -p hotloop-kernels --test it -- elementwise::places \
                        elementwise::totals_are gemm::every_column gemm::every_depth gemv::every";
    // The profiler's tree, without the tests of its arena, which fill millions of places.
    const TREE: &str = "rustup run nightly cargo miri test -p hotloop --features enabled --lib -- tree:: \
                        --skip tree::node";
    const FLAGS: (&str, &str) = ("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-deterministic-floats");
    // What the tree allocates is never freed.
    const WITH_LEAKS: (&str, &str) =
        ("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-deterministic-floats -Zmiri-ignore-leaks");
    if !cfg!(target_arch = "x86_64") {
        return Outcome::Skipped("Miri is set up for x86_64 alone".to_owned());
    }
    if let Err(reason) = toolchain::ensure(root, READY, INSTALL) {
        return Outcome::Skipped(format!("Miri is not there: {reason}"));
    }
    all(
        root,
        &[
            CommandLine { variables: &[FLAGS, ("RUSTFLAGS", "--cfg without_peers")], words: SCALAR },
            CommandLine {
                variables: &[FLAGS, ("RUSTFLAGS", "--cfg without_peers -Ctarget-feature=+avx2,+fma,+f16c")],
                words: AVX2,
            },
            CommandLine { variables: &[WITH_LEAKS], words: TREE },
        ],
    )
}

/// Every access of the compiled code, on all instruction sets, and the assertions that a release leaves out.
pub fn memory(root: &Path) -> Outcome {
    // Which also fails where the toolchain is too old for the workspace.
    const READY: &str = "rustup run nightly cargo check --release -p hotloop-kernels";
    const INSTALL: &str = "rustup toolchain install nightly --profile minimal --no-self-update";
    const ASAN: CommandLine = CommandLine {
        variables: &[
            ("RUSTFLAGS", "--cfg without_peers -Zsanitizer=address -Cdebug-assertions=yes"),
            // Looking for leaks takes a right that containers may lack, and finds nothing out of bounds.
            ("ASAN_OPTIONS", "detect_leaks=0"),
        ],
        words: "rustup run nightly cargo test -p hotloop-kernels --release --test it --target x86_64-unknown-linux-gnu",
    };
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Outcome::Skipped("the sanitizer is set up for x86_64-unknown-linux-gnu alone".to_owned());
    }
    match toolchain::ensure(root, READY, INSTALL) {
        Ok(()) => ASAN.execute(root),
        Err(reason) => {
            println!("AddressSanitizer is not there: {reason}; Valgrind instead");
            valgrind(root)
        }
    }
}

/// It knows no AVX-512 and takes fifty times as long, so what is about numbers and threads alone is left out.
fn valgrind(root: &Path) -> Outcome {
    const PACKAGE: Package = Package { name: "valgrind", brings: "valgrind" };
    const TESTS: CommandLine = CommandLine {
        variables: &[(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "valgrind --quiet --error-exitcode=1 --undef-value-errors=no",
        )],
        words: "cargo test -p hotloop-kernels --release --test it -- --skip pool:: --skip bounds:: --skip whole_range",
    };
    match packages::ensure(&[PACKAGE]) {
        Ok(()) => TESTS.execute(root),
        Err(reason) => Outcome::Skipped(format!("neither AddressSanitizer nor Valgrind is there: {reason}")),
    }
}

/// The code for aarch64, emulated.
pub fn neon(root: &Path) -> Outcome {
    const READY: &str = "rustup target add aarch64-unknown-linux-gnu";
    const PACKAGES: &[Package] = &[
        Package { name: "qemu-user", brings: "qemu-aarch64" },
        Package { name: "gcc-aarch64-linux-gnu", brings: "aarch64-linux-gnu-gcc" },
        Package { name: "libc6-dev-arm64-cross", brings: "/usr/aarch64-linux-gnu/lib/libc.so" },
    ];
    const TESTS: CommandLine = CommandLine {
        variables: &[
            ("RUSTFLAGS", "--cfg without_peers"),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
        ],
        // A process that starts itself again would start it without the emulator; the others are about numbers and long.
        words: "cargo test -p hotloop-kernels --release --test it --target aarch64-unknown-linux-gnu \
                -- --skip pool::processes --skip bounds:: --skip whole_range",
    };
    if cfg!(target_arch = "aarch64") {
        return Outcome::Skipped("this CPU is one: the step `tests` has run the code".to_owned());
    }
    let ready = toolchain::ensure(root, READY, READY).and_then(|()| packages::ensure(PACKAGES));
    match ready {
        Ok(()) => TESTS.execute(root),
        Err(reason) => Outcome::Skipped(reason),
    }
}

/// One command after another, until one does not pass.
fn all(root: &Path, commands: &[CommandLine]) -> Outcome {
    let mut outcomes = commands.iter().map(|command| command.execute(root));
    outcomes.find(|outcome| *outcome != Outcome::Passed).unwrap_or(Outcome::Passed)
}
