//! The kernels through their public names, one module per room, over every instruction set of this CPU.

mod int8;
mod quant;
