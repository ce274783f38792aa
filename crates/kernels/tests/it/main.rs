//! Every kernel, through its public method, on every instruction set that this CPU has.

mod guarded;
mod numbers;

mod activation;
mod attention;
mod cache;
mod elementwise;
mod loss;
mod norm;
mod quant;
mod rope;
mod softmax;
