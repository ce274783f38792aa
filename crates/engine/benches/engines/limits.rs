//! What the machine allows at most, measured beside the contenders.

use std::time::Duration;

use kernels::limits::{self, Measured, Pages, Plan, Reading};
use kernels::quant::Format;
use kernels::{Isa, Kernels};

use crate::models::Row;

/// Tokens per second that no engine can pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Every multiplication of the prompt, in registers: in f32, or in bytes where the weights are quantised.
    pub prefill: Option<f64>,
    /// Reading all weights once per token, from where as many bytes stay.
    pub decode: Option<f64>,
}

/// More than a last cache holds, nearly everywhere.
const FROM_DRAM: usize = 32 << 20;
/// Reading more shows nothing new.
const ENOUGH: usize = 256 << 20;
/// For memory of some hundred megabytes, even where others use the machine.
const PREPARATION: Duration = Duration::from_secs(5);

impl Limits {
    /// Both for that row.
    pub fn measure(row: &Row, duration: Duration) -> Self {
        let plan = Plan { threads: row.threads, duration, preparation: PREPARATION };
        let products = match row.format {
            Format::F32 => limits::f32_flops(&vectors(), plan),
            _ => limits::int8_ops(&vectors(), plan),
        };
        let bytes = (row.bytes_per_token() as usize).min(ENOUGH);
        let reading = Reading { bytes: bytes / row.threads, pages: Pages::Huge, from_dram: bytes > FROM_DRAM };
        let read = limits::read_bytes(&vectors(), plan, reading);
        let best = |measured: Option<Measured>, work: f64| Some(measured?.best() / work);
        Self { prefill: best(products, row.prompt_operations_per_token()), decode: best(read, row.bytes_per_token()) }
    }

    /// The higher of both: what the quieter moment showed.
    pub fn max(self, other: Self) -> Self {
        let higher = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).max_by(f64::total_cmp);
        Self { prefill: higher(self.prefill, other.prefill), decode: higher(self.decode, other.decode) }
    }
}

/// All instruction sets but the one that nobody would choose.
fn vectors() -> Vec<Kernels> {
    let mut all = Kernels::available();
    if all.len() > 1 {
        all.retain(|kernels| kernels.isa() != Isa::Scalar);
    }
    all
}
