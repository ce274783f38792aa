//! The kernels through their public names, one module per room, over every instruction set of this CPU.

mod attention;
mod cache;
mod quant;
mod rope;
