//! What metrics, workloads and models mean. Records say it in typed fields; for records of programs that had none of these fields
//! it is derived here, and nowhere else, from the names and texts that those programs wrote.

use record::{Arithmetic, Metric, Model, Per, Workload, WorkloadKind};

/// What one value of a metric covers.
#[must_use]
pub fn per(name: &str, metric: &Metric) -> Per {
    metric.per.unwrap_or_else(|| earlier_per(name, &metric.definition))
}

/// What kind of work a workload is.
#[must_use]
pub fn workload_kind(workload: &Workload) -> WorkloadKind {
    workload.kind.unwrap_or_else(|| kind_of_name(&workload.name))
}

/// What the matrices of a model are multiplied in.
#[must_use]
pub fn arithmetic(model: Option<&Model>) -> Arithmetic {
    model.map_or(Arithmetic::F32, |model| model.arithmetic.unwrap_or_else(|| earlier_arithmetic(&model.format)))
}

fn earlier_per(name: &str, definition: &str) -> Per {
    match name {
        _ if definition.contains("the mean of the calls") => Per::MeanOfCalls,
        _ if name.starts_with("peak") => Per::MaximumOfCalls,
        "wall_s" | "cpu_s" | "user_s" | "system_s" | "minor_faults" | "major_faults" | "voluntary_switches"
        | "allocs" | "alloc_bytes" | "gen0" | "gen1" | "gen2" => Per::Sample,
        // Valgrind counted one call, the CPU all of them.
        "instructions" if definition.contains("all calls") => Per::Sample,
        _ => Per::Call,
    }
}

/// The kind of a workload of which only the name is known, as in lists of stored runs.
#[must_use]
pub fn kind_of_name(name: &str) -> WorkloadKind {
    match name {
        "command" => WorkloadKind::Command,
        "generate" => WorkloadKind::Generate,
        "standard" => WorkloadKind::Standard,
        "deep" => WorkloadKind::Deep,
        "enhanced" => WorkloadKind::Enhanced,
        "memory" => WorkloadKind::Memory,
        "models" => WorkloadKind::Models,
        "training" => WorkloadKind::Training,
        _ => WorkloadKind::Other,
    }
}

/// Block formats have names such as `q8_0` and `iq4_nl`, and were always multiplied in bytes.
fn earlier_arithmetic(format: &str) -> Arithmetic {
    let format = format.to_lowercase();
    if format.starts_with('q') || format.starts_with("iq") { Arithmetic::Int8 } else { Arithmetic::F32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_counts_whatever_its_texts_are() {
        let said = |per| Metric { definition: "the mean of the calls".to_owned(), per: Some(per), ..Metric::default() };
        assert_eq!(per("wall_s", &said(Per::Call)), Per::Call);
        assert_eq!(per("peak_rss_bytes", &said(Per::Sample)), Per::Sample);
        let named = |name: &str, kind| Workload { name: name.to_owned(), kind, ..Workload::default() };
        assert_eq!(workload_kind(&named("command", Some(WorkloadKind::Import))), WorkloadKind::Import);
        assert_eq!(workload_kind(&named("ls", Some(WorkloadKind::Command))), WorkloadKind::Command);
        let model = |arithmetic| Model { format: "q8_0".to_owned(), arithmetic, ..Model::default() };
        assert_eq!(arithmetic(Some(&model(Some(Arithmetic::F32)))), Arithmetic::F32);
    }

    #[test]
    fn records_of_earlier_programs_mean_what_they_meant() {
        let defined = |definition: &str| Metric { definition: definition.to_owned(), ..Metric::default() };
        let printed = defined("as the program printed it; the mean of the calls of a round");
        for name in ["allocs", "alloc_bytes", "wall_s", "cpu_s", "minor_faults"] {
            assert_eq!([per(name, &defined("")), per(name, &printed)], [Per::Sample, Per::MeanOfCalls], "{name}");
        }
        assert_eq!(per("instructions", &defined("counted by the CPU, of all calls of a round")), Per::Sample);
        assert_eq!(per("instructions", &defined("of one call, counted by Valgrind")), Per::Call);
        assert_eq!([per("ttft_s", &defined("")), per("steps", &printed)], [Per::Call, Per::MeanOfCalls]);
        assert_eq!(per("peak_live_bytes", &defined("")), Per::MaximumOfCalls);
        for (name, kind) in [
            ("command", WorkloadKind::Command),
            ("standard", WorkloadKind::Standard),
            ("models", WorkloadKind::Models),
            ("training", WorkloadKind::Training),
            ("smallmind-deep", WorkloadKind::Other),
        ] {
            assert_eq!(workload_kind(&Workload { name: name.to_owned(), ..Workload::default() }), kind, "{name}");
        }
        let model = |format: &str| Model { format: format.to_owned(), ..Model::default() };
        let of = |format: &str| arithmetic(Some(&model(format)));
        assert_eq!(["Q4_K", "iq4_nl", "f16", "f32, from q8_0", ""].map(of), {
            use Arithmetic::{F32, Int8};
            [Int8, Int8, F32, F32, F32]
        });
        assert_eq!(arithmetic(None), Arithmetic::F32);
    }
}
