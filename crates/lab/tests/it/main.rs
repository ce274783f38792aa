//! The lab from outside.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod independent;
