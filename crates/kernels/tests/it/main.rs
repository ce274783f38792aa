//! Every kernel, through its public method, on every instruction set that this CPU has.

mod effort;
mod fenced;
mod guarded;
mod numbers;

mod activation;
mod attention;
mod cache;
mod dropout;
mod elementwise;
mod gemm;
mod gemv;
mod int8;
mod linear;
mod loss;
mod norm;
mod optimise;
mod pool;
mod quant;
mod rope;
mod softmax;
