//! Prints the JSON Schema of runs; `cargo xtask schema` keeps it in `docs/schema`.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

fn main() {
    print!("{}", record::Run::json_schema());
}
