//! Lines that GitHub Actions shows beside a change.

use record::{Gate, Reason};

use super::place;
use crate::document::printable;

/// GitHub shows ten of each kind for a step; what is behind them is in the other outputs.
const MOST: usize = 10;

/// An error for each reason, a warning for what should be looked at.
pub fn write(gate: &Gate) -> String {
    let lines = |kind: &'static str, reasons: &[Reason]| -> String {
        reasons.iter().take(MOST).map(|reason| line(kind, reason)).collect()
    };
    lines("error", &gate.reasons) + &lines("warning", &gate.warnings)
}

fn line(kind: &str, reason: &Reason) -> String {
    let text = printable(&(place(reason) + &reason.sentence));
    // Only these are read as something else than themselves in a message.
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    format!("::{kind} title=Hotloop gate::{text}\n")
}
