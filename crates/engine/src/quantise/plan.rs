//! What each tensor is to become.

use kernels::RopePairing;
use kernels::quant::Format;

use super::Converted;
use crate::{Architecture, Error, PAIRING_HALVES, PAIRING_KEY, Result, TensorInfo, TensorSource};

/// What one tensor is to become.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) to: TensorInfo,
    pub(super) from: Format,
    pub(super) fallback: bool,
    /// How its rows change places.
    pub(super) order: Order,
    pub(super) source_bytes: usize,
    pub(super) bytes: usize,
}

/// Which row of the source becomes a row of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Same,
    /// Within each head of so many rows, from halves to pairs side by side.
    Interleaved {
        head: usize,
    },
}

impl Order {
    pub(super) fn source_row(self, row: usize) -> usize {
        match self {
            Self::Same => row,
            Self::Interleaved { head } => {
                let within = row % head;
                row - within + (within % 2) * (head / 2) + within / 2
            }
        }
    }
}

impl Plan {
    pub(super) fn done(self) -> Converted {
        Converted { info: self.to, from: self.from, fallback: self.fallback }
    }

    /// Columns and rows. A vector whose elements change places is a column.
    pub(super) fn cols_and_rows(&self) -> (usize, usize) {
        match (self.order, self.to.shape.as_slice()) {
            (Order::Interleaved { .. }, [length]) => (1, *length),
            (_, [cols, rest @ ..]) => (*cols, rest.iter().product()),
            (_, []) => (1, 1),
        }
    }
}

/// What all tensors are to become.
pub(super) fn of(source: &dyn TensorSource, format: Format) -> Result<Vec<Plan>> {
    let names = source.names();
    if names.is_empty() {
        return Err(Error::refused("no tensors to convert: the file holds a vocabulary only"));
    }
    let tied = !names.contains(&"output.weight");
    let heads = Heads::of(source)?;
    let plan = |name: &&str| {
        let missing = || Error::malformed("listed but missing").about(crate::tensor::shown(name));
        let from = source.info(name)?.ok_or_else(missing)?;
        let about = |error: Error| error.about(from.shown());
        let source_bytes = from.bytes().map_err(about)?;
        let wanted = wanted(&from, format, tied);
        let fitting = fitting(wanted, from.shape[0]);
        let order = heads.order(&from).map_err(about)?;
        let to = TensorInfo { format: fitting, ..from.clone() };
        let bytes = to.bytes().map_err(about)?;
        Ok(Plan { to, from: from.format, fallback: wanted != fitting, order, source_bytes, bytes })
    };
    names.iter().map(plan).collect()
}

/// The format that is meant for a tensor, whatever its lengths.
fn wanted(info: &TensorInfo, format: Format, tied: bool) -> Format {
    let is_matrix = info.shape.len() > 1 && info.name.ends_with(".weight");
    // Both are small, and added to everything: llama.cpp leaves them alone too.
    if !is_matrix || info.name.ends_with("_norm.weight") || info.name == "position_embd.weight" {
        return Format::F32;
    }
    let is_output = info.name == "output.weight" || (tied && info.name == "token_embd.weight");
    if is_output { format.head() } else { format }
}

/// The format, or the nearest one whose blocks make up the row.
fn fitting(wanted: Format, cols: usize) -> Format {
    let fits = |format: Format| format.row_bytes(cols).is_some();
    [wanted, wanted.fallback()].into_iter().find(|format| fits(*format)).unwrap_or(Format::F16)
}

/// The numbers of heads of a model whose rows have to change places; nothing where they have the order of GGUF.
struct Heads(Option<[usize; 2]>);

impl Heads {
    fn of(source: &dyn TensorSource) -> Result<Self> {
        let metadata = source.metadata();
        let architecture = metadata.text("general.architecture")?.map(Architecture::from_name);
        let (true, Some(Ok(architecture))) = (metadata.text(PAIRING_KEY)? == Some(PAIRING_HALVES), architecture) else {
            return Ok(Self(None));
        };
        // Other architectures have halves in GGUF too.
        if architecture.features().rope_pairing() != Some(RopePairing::Adjacent) {
            return Ok(Self(None));
        }
        let key = format!("{}.attention.head_count", architecture.name());
        let heads = metadata.count(&key)?.filter(|heads| *heads > 0);
        let heads = heads.ok_or_else(|| Error::malformed(format!("the key {key} is missing")))?;
        let kv_heads = metadata.count(&format!("{key}_kv"))?.filter(|heads| *heads > 0);
        Ok(Self(Some([heads, kv_heads.unwrap_or(heads)])))
    }

    fn order(&self, info: &TensorInfo) -> Result<Order> {
        let Some([heads, kv_heads]) = self.0 else { return Ok(Order::Same) };
        let part = info.name.rsplit('.').nth(1);
        let heads = match part {
            Some("attn_q") => heads,
            Some("attn_k") => kv_heads,
            _ => return Ok(Order::Same),
        };
        let rows = info.shape.last().copied().unwrap_or(0);
        if !rows.is_multiple_of(heads) || !(rows / heads).is_multiple_of(2) {
            return Err(Error::malformed(format!("{rows} rows cannot be split into {heads} heads of even length")));
        }
        Ok(Order::Interleaved { head: rows / heads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_fall_back() {
        for (wanted, cols, fitting_format) in [
            (Format::Q4_K, 256, Format::Q4_K),
            (Format::Q4_K, 288, Format::Q5_0),
            (Format::Q5_K, 288, Format::Q5_1),
            (Format::Q6_K, 64, Format::Q8_0),
            (Format::Q6_K, 172, Format::F16),
            (Format::Q8_0, 172, Format::F16),
            (Format::BF16, 1, Format::BF16),
        ] {
            assert_eq!(fitting(wanted, cols), fitting_format, "{wanted} {cols}");
        }
    }

    #[test]
    fn halves_become_pairs() {
        let order = Order::Interleaved { head: 6 };
        let rows: Vec<usize> = (0..12).map(|row| order.source_row(row)).collect();
        assert_eq!(rows, [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    }
}
