//! What a scope is called where there is little room, and where it is told from all others.

use record::Scope;

/// What stands for a name that is empty.
const UNNAMED: &str = "(unnamed)";

/// The last part of the name, with the index: `layer 3`.
pub(super) fn shown(scope: &Scope) -> String {
    with_index(last_part(&scope.name), scope)
}

/// The whole name, with the index: `engine::model::layer 3`.
pub(super) fn whole(scope: &Scope) -> String {
    with_index(&scope.name, scope)
}

/// `file:line`, where the file is known.
pub(super) fn place(scope: &Scope) -> Option<String> {
    (!scope.file.is_empty()).then(|| format!("{}:{}", scope.file, scope.line))
}

fn with_index(name: &str, scope: &Scope) -> String {
    let name = if name.is_empty() { UNNAMED } else { name };
    match scope.index {
        Some(index) => format!("{name} {index}"),
        None if scope.is_other_index => format!("{name} (others)"),
        None => name.to_owned(),
    }
}

/// What follows the last `::` that is not between angle brackets: `run::<a::B>` stays whole.
fn last_part(name: &str) -> &str {
    let mut open = 0_usize;
    let bytes = name.as_bytes();
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b'>' if at == 0 || bytes[at - 1] != b'-' => open += 1,
            b'<' => open = open.saturating_sub(1),
            b':' if open == 0 && at > 0 && bytes[at - 1] == b':' => {
                let part = &name[at + 1..];
                // `run::<T>` and a name that ends in `::` have nothing to show alone.
                if !part.is_empty() && !part.starts_with('<') {
                    return part;
                }
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_is_shown() {
        for (name, part) in [
            ("engine::model::qkv", "qkv"),
            ("qkv", "qkv"),
            ("", ""),
            ("engine::", "engine::"),
            ("a::b::run::<c::D>", "run::<c::D>"),
            ("<a::B as c::D>::call", "call"),
            ("a::map(x -> y)", "map(x -> y)"),
            ("a::größe \"x\"", "größe \"x\""),
            ("a > b::c", "c"),
        ] {
            assert_eq!(last_part(name), part, "{name}");
        }
    }

    #[test]
    fn an_index_is_part_of_the_name() {
        let mut scope = Scope { name: "model::layer".to_owned(), index: Some(3), ..Scope::default() };
        assert_eq!([shown(&scope), whole(&scope)], ["layer 3", "model::layer 3"]);
        scope.index = None;
        scope.is_other_index = true;
        assert_eq!(shown(&scope), "layer (others)");
        assert_eq!(shown(&Scope::default()), UNNAMED);
    }
}
