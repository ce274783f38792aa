//! How llama.cpp describes the format of a model file, in the words that formats have here.

/// Names that do not follow from the rule: what llama.cpp prints, and its own short name in lower case.
const NAMED_OTHERWISE: &[(&str, &str)] =
    &[("Q2_K - Medium", "q2_k"), ("IQ3_S mix", "iq3_m"), ("MXFP4 MoE", "mxfp4_moe")];

/// `q4_k_m` of `llama 7B Q4_K - Medium`, `iq2_xxs` of `llama 7B IQ2_XXS - 2.0625 bpw`; empty where it is not reported.
pub(super) fn format_of(kind: &str) -> String {
    // Where the file does not name its format, it is guessed from its tensors.
    let kind = kind.trim().trim_end_matches("(guessed)").trim_end();
    // `Q4_1, some F16`; `unknown, may not work`.
    let kind = kind.split(", ").next().unwrap_or_default();
    let without_size = kind.strip_suffix(" ternary").unwrap_or(kind);
    let without_size = match without_size.strip_suffix(" bpw") {
        Some(sized) => sized.rsplit_once(" - ").map_or(sized, |(name, _)| name),
        None => without_size,
    };
    if let Some((_, format)) = NAMED_OTHERWISE.iter().find(|(printed, _)| without_size.ends_with(printed)) {
        return (*format).to_owned();
    }
    let (name, mix) = match without_size.rsplit_once(" - ") {
        Some((name, "Small")) => (name, "_s"),
        Some((name, "Medium")) => (name, "_m"),
        Some((name, "Large")) => (name, "_l"),
        _ => (without_size, ""),
    };
    let word = name.split_whitespace().next_back().unwrap_or_default();
    if is_format(word) { format!("{}{mix}", word.to_lowercase()) } else { String::new() }
}

/// `Q4_K`, `IQ2_XXS`, `TQ1_0`, `BF16`, `F32`, `NVFP4`: letters and digits, with a digit, and no size of a model such as `7B`.
fn is_format(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_spelled_as_everywhere_here() {
        for (kind, format) in [
            ("llama 7B Q4_K - Medium", "q4_k_m"),
            ("llama 7B Q4_K - Small", "q4_k_s"),
            ("qwen2 1.5B Q5_K - Medium", "q5_k_m"),
            ("qwen2 1.5B Q5_K - Small", "q5_k_s"),
            ("llama 8B Q3_K - Large", "q3_k_l"),
            ("llama 8B Q3_K - Medium", "q3_k_m"),
            ("llama 8B Q3_K - Small", "q3_k_s"),
            ("llama 8B Q2_K - Medium", "q2_k"),
            ("llama 8B Q2_K - Small", "q2_k_s"),
            ("llama 8B Q6_K", "q6_k"),
            ("llama ?B Q8_0", "q8_0"),
            ("llama 7B IQ2_XXS - 2.0625 bpw", "iq2_xxs"),
            ("llama 7B IQ3_S - 3.4375 bpw", "iq3_s"),
            ("llama 7B IQ3_S mix - 3.66 bpw", "iq3_m"),
            ("llama 7B IQ4_NL - 4.5 bpw", "iq4_nl"),
            ("llama 7B TQ1_0 - 1.69 bpw ternary", "tq1_0"),
            ("gpt-oss 20B MXFP4 MoE", "mxfp4_moe"),
            ("llama4 17Bx16E (Scout) Q4_K - Medium", "q4_k_m"),
            ("llama 1B all F32", "f32"),
            ("llama 1B BF16", "bf16"),
            ("llama 1B F16", "f16"),
            ("llama 7B NVFP4", "nvfp4"),
            // Older versions.
            ("llama 7B mostly Q4_0", "q4_0"),
            ("LLaMA 7B mostly Q4_K - Medium", "q4_k_m"),
            ("llama 7B mostly Q4_1, some F16", "q4_1"),
            ("llama 7B Q4_K - Medium (guessed)", "q4_k_m"),
            // What is not reported stays empty.
            ("llama 7B unknown, may not work", ""),
            ("llama 7B", ""),
            ("llama", ""),
            ("", ""),
        ] {
            assert_eq!(format_of(kind), format, "{kind}");
        }
    }
}
