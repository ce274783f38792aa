//! How a thread learns that it lost its CPU, and for how long.

use crate::snapshot::{InterruptionInfo, InterruptionSource};

/// How interruptions are recognised in this process.
pub(crate) fn interruptions() -> InterruptionInfo {
    InterruptionInfo { source: InterruptionSource::None, why: "not supported on this system" }
}
