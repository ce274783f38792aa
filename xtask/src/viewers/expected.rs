//! What each viewer has to see in the files of `crates/report/examples/exports.rs`.

use serde_json::{Value, json};

use super::Viewers;

/// Every viewer with every file that is for it.
pub(super) fn check(viewers: &Viewers) -> Result<(), String> {
    for trace in ["perfetto.pftrace", "chrome.json"] {
        perfetto(viewers, trace)?;
        println!("Perfetto's trace processor opens {trace} and finds the calls, their times and depths");
    }
    speedscope(viewers)?;
    println!("speedscope's importer opens speedscope.json, which keeps its schema, and folded.txt");
    firefox(viewers)?;
    println!("the Firefox Profiler upgrades firefox.json and finds the functions and markers");
    tables(viewers)?;
    println!("Python's readers open csv.csv, csv-samples.csv and svg.svg");
    Ok(())
}

fn expect(what: &str, seen: &Value, expected: &Value) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("{what}:\n  seen      {seen}\n  expected  {expected}")) }
}

/// How many slices, and how deep.
const COUNT: &str = "select count(*) n, max(depth) deepest from slice";
/// Where one scope's slices are.
const KNOWN: &str = "select ts, dur, depth from slice where name = 'qkv' order by ts";
/// Slices without length, at edges of others.
const INSTANTS: &str = "select ts, depth from slice where dur = 0 order by ts";
/// The longest slice's name and that of what it is in.
const PARENT: &str = "select p.name from slice s join slice p on s.parent_id = p.id where s.name = 'forward' limit 1";
const THREADS: &str = "select t.name, count(*) n from slice s join thread_track k on s.track_id = k.id \
                       join thread t using (utid) group by t.name order by n desc";
const FLOPS: &str = "select distinct int_value v from args join slice using (arg_set_id) \
                     where slice.name = 'forward' and key like '%flops'";
/// What the importer could not make sense of.
const ERRORS: &str = "select name, value from stats where value > 0 and severity <> 'info'";

fn perfetto(viewers: &Viewers, trace: &str) -> Result<(), String> {
    let calls: Vec<Value> =
        [1_000, 21_000, 41_000, 61_000].iter().map(|ts| json!({ "ts": ts, "dur": 12_345, "depth": 3 })).collect();
    let timeline = [
        (COUNT, json!([{ "n": 19, "deepest": 3 }])),
        (KNOWN, json!(calls)),
        (INSTANTS, json!([{ "ts": 81_000, "depth": 1 }, { "ts": 101_000, "depth": 0 }])),
        (PARENT, json!([{ "name": "main" }])),
        (THREADS, json!([{ "name": "main", "n": 16 }, { "name": "thread 1", "n": 3 }])),
        (FLOPS, json!([{ "v": 2_000_000 }])),
        (ERRORS, json!([])),
    ];
    let totals = [
        (COUNT, json!([{ "n": 13, "deepest": 3 }])),
        (KNOWN, json!([{ "ts": 0, "dur": 24_690, "depth": 3 }, { "ts": 40_000, "dur": 24_690, "depth": 3 }])),
        (INSTANTS, json!([{ "ts": 80_000, "depth": 1 }, { "ts": 100_000, "depth": 0 }])),
        (FLOPS, json!([{ "v": 2_000_000 }])),
        (ERRORS, json!([])),
    ];
    let empty = [(COUNT, json!([{ "n": 0, "deepest": null }])), (ERRORS, json!([]))];
    for (folder, questions) in [("timeline", &timeline[..]), ("totals", &totals[..]), ("empty", &empty[..])] {
        let file = format!("{folder}/{trace}");
        let queries: Vec<&str> = questions.iter().map(|question| question.0).collect();
        let answers = viewers.perfetto(&file, &queries).map_err(|error| format!("Perfetto rejects {file}: {error}"))?;
        for ((query, expected), seen) in questions.iter().zip(&answers) {
            expect(&format!("Perfetto, {file}, `{query}`"), seen, expected)?;
        }
        if answers.len() != questions.len() {
            return Err(format!("Perfetto answered {} of {} questions", answers.len(), questions.len()));
        }
    }
    Ok(())
}

fn speedscope(viewers: &Viewers) -> Result<(), String> {
    let open = |file: &str| viewers.speedscope(file).map_err(|error| format!("speedscope rejects {file}: {error}"));
    for folder in ["timeline", "totals", "empty"] {
        let file = format!("{folder}/speedscope.json");
        let faults = viewers.faults(&file)?;
        expect(&format!("what {file} does not keep of the schema"), &faults, &json!([]))?;
    }
    let timeline = open("timeline/speedscope.json")?;
    let facts = |profile: &Value| {
        json!([profile["name"], profile["total"], profile["calls"], profile["deepest"], profile["lengths"]["layer 1"]])
    };
    expect("speedscope, timeline, main", &facts(&timeline[0]), &json!(["main", 100_000, 14, 4, 40_000]))?;
    expect("speedscope, timeline, worker", &facts(&timeline[1]), &json!(["thread 1", 30_000, 3, 2, null]))?;
    for file in ["totals/speedscope.json", "totals/folded.txt"] {
        let totals = open(file)?;
        let rest: Vec<&Value> = ["total", "calls", "deepest"].iter().map(|fact| &totals[0][fact]).collect();
        expect(&format!("speedscope, {file}"), &json!(rest), &json!([130_000, 11, 4]))?;
        expect(&format!("speedscope, {file}, qkv"), &totals[0]["lengths"]["qkv"], &json!(49_380))?;
    }
    let empty = open("empty/speedscope.json")?;
    expect("speedscope, empty", &json!([empty[0]["total"], empty[0]["calls"]]), &json!([0, 0]))
}

/// Milliseconds, as the Firefox Profiler counts, in whole nanoseconds.
fn nanos(millis: &Value) -> Value {
    millis.as_f64().map_or(Value::Null, |millis| json!((millis * 1e6).round() as u64))
}

fn firefox(viewers: &Viewers) -> Result<(), String> {
    for (folder, threads, markers, qkv) in
        [("timeline", 2, 16, Some(49_380)), ("totals", 1, 13, Some(49_380)), ("empty", 1, 0, None)]
    {
        let file = format!("{folder}/firefox.json");
        let questions = ["profile info", "thread markers", "thread functions"];
        let answers = viewers.firefox(&file, &questions);
        let answers = answers.map_err(|error| format!("the Firefox Profiler rejects {file}: {error}"))?;
        let counts = json!([answers[0]["threadCount"], answers[1]["totalMarkerCount"]]);
        expect(&format!("Firefox, {file}, threads and markers"), &counts, &json!([threads, markers]))?;
        let functions = answers[2]["functions"].as_array().map_or(&[][..], Vec::as_slice);
        let known = functions.iter().find(|function| function["name"] == "qkv");
        let own = known.map_or(Value::Null, |function| nanos(&function["selfSamples"]));
        expect(&format!("Firefox, {file}, self time of qkv"), &own, &json!(qkv))?;
    }
    Ok(())
}

fn tables(viewers: &Viewers) -> Result<(), String> {
    let scopes = viewers.document("timeline/csv.csv")?;
    let rows = scopes.as_array().map_or(&[][..], Vec::as_slice);
    let sum: u64 = rows.iter().filter_map(|row| row["self_ns"].as_str()?.parse::<u64>().ok()).sum();
    expect("csv.csv, lines and their self times", &json!([rows.len(), sum]), &json!([13, 130_000]))?;
    expect("csv.csv, a name", &rows[7]["name"], &json!("demo::a;b\nc\td 7"))?;
    let samples = viewers.document("timeline/csv-samples.csv")?;
    expect("csv-samples.csv, its fourth value", &samples[3]["value"], &json!("1"))?;
    expect("empty/csv.csv", &viewers.document("empty/csv.csv")?, &json!([]))?;
    let flame = viewers.document("timeline/svg.svg")?;
    let width = |name: &str| flame[name].as_f64().unwrap_or_default();
    let share = (width("forward") / width("all scopes") * 1e4).round() / 1e4;
    expect("svg.svg, the share of forward", &json!(share), &json!(0.6154))?;
    let empty = viewers.document("empty/svg.svg")?;
    expect("empty/svg.svg, its frames", &json!(empty.as_object().map(|frames| frames.len())), &json!(1))
}
