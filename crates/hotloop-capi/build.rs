//! Gives the shared library its name for the dynamic linker, so that programs find it wherever it is installed.
#![allow(clippy::print_stdout, reason = "how a build script speaks to Cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhotloop.so");
    }
}
