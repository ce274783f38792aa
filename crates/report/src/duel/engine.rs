//! Sides that are the engine, as one would ask for them again.

use record::{Arm, Duel};

use super::is_placebo;

/// The work that the engine does in duels.
const GENERATE: &str = "generate";

/// What to type behind `hotloop duel` for the same sides; `None` where they are something else.
pub(super) fn words(duel: &Duel) -> Option<Vec<String>> {
    let sides: Vec<&Arm> = duel.arms.iter().filter(|arm| !is_placebo(&arm.name)).collect();
    let base = sides.first().filter(|_| sides.iter().all(|arm| arm.workload.name == GENERATE))?;
    let settings = settings(base);
    let is_common = |word: &String| sides.iter().all(|arm| self::settings(arm).contains(word));
    let (common, _): (Vec<String>, Vec<String>) = settings.into_iter().partition(is_common);
    let mut words = Vec::new();
    if !common.is_empty() {
        words.extend(["--with".to_owned(), common.join(" ")]);
    }
    for arm in &sides {
        let own: Vec<String> = self::settings(arm).into_iter().filter(|word| !common.contains(word)).collect();
        words.extend([format!("--{}", arm.name.to_lowercase()), own.join(" ")]);
    }
    if let Some(quality) = base.quality.as_ref() {
        words.extend(["--text".to_owned(), quality.text.clone()]);
    }
    Some(words)
}

/// The settings of a side, the model first.
fn settings(arm: &Arm) -> Vec<String> {
    let name = arm.models.first().map_or("", |model| model.name.as_str());
    // A model that was converted is called after its file and its format.
    let (name, format) = name.rsplit_once(" as ").map_or((name, None), |(file, format)| (file, Some(format)));
    let model = match name.strip_prefix("synthetic ") {
        Some(sizes) => format!("synthetic={sizes}"),
        None => format!("model={name}"),
    };
    let parameters = arm.workload.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    [model].into_iter().chain(format.map(|format| format!("type={format}"))).chain(parameters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Model, Workload};

    fn arm(name: &str, model: &str, parameters: &[(&str, &str)]) -> Arm {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arm {
            name: name.to_owned(),
            models: vec![Model { name: model.to_owned(), ..Model::default() }],
            workload: Workload { name: GENERATE.to_owned(), parameters, ..Workload::default() },
            ..Arm::default()
        }
    }

    #[test]
    fn what_is_common_stands_once() {
        let arms = vec![
            arm("A", "synthetic medium", &[("kv", "off"), ("tokens", "50")]),
            arm("A'", "synthetic medium", &[("kv", "off"), ("tokens", "50")]),
            arm("B", "synthetic medium", &[("kv", "on"), ("tokens", "50")]),
        ];
        let words = words(&Duel { arms, ..Duel::default() }).expect("they are the engine");
        assert_eq!(words, ["--with", "synthetic=medium tokens=50", "--a", "kv=off", "--b", "kv=on"]);
    }

    #[test]
    fn models_and_formats_are_settings_too() {
        let arms = vec![arm("A", "x.gguf as f32", &[]), arm("B", "x.gguf", &[])];
        let words = words(&Duel { arms, ..Duel::default() }).expect("they are the engine");
        assert_eq!(words, ["--with", "model=x.gguf", "--a", "type=f32", "--b", ""]);
        let program = Arm { name: "A".to_owned(), ..Arm::default() };
        assert!(super::words(&Duel { arms: vec![program], ..Duel::default() }).is_none());
    }
}
