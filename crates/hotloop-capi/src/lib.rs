//! Hotloop for C and C++.
//!
//! The interface is `include/hotloop.h` (C99) and `include/hotloop.hpp` (C++11, header-only above the former); the
//! functions here are what they declare, and are documented there. Rust programs use the crate `hotloop` itself.
//!
//! Every function accepts what a C program may hand it by mistake: null pointers, text that is not UTF-8, memory freed
//! twice, scopes closed in the wrong order or on the wrong thread. Such calls do nothing.
#![allow(unsafe_code, reason = "a C interface receives raw pointers")]

mod control;
mod function_name;
mod link;
mod malloc;
mod owned;
mod quiet;
mod results;
mod scope;
mod site;
mod text;
