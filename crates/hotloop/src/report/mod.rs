//! The report as text: what the originals printed, with numbers that hold.

mod estimates;
mod insights;
mod sections;
mod table;
mod trust;
mod units;

use crate::snapshot::Snapshot;

/// The whole report, with the first `n` of each ranking.
pub(crate) fn text(snapshot: &Snapshot, n: usize) -> String {
    if !snapshot.enabled {
        return "Hotloop: nothing was recorded, because the program was built without hotloop's feature `enabled`.\n\
                Build it with `--features hotloop/enabled`, or name the feature in the binary's Cargo.toml.\n"
            .to_owned();
    }
    if snapshot.scopes.is_empty() {
        return "Hotloop: no scope was recorded. Call hotloop::start() before the code to be measured, and open scopes \
                in it: scope!(\"name\") in Rust, PROFILE_SCOPE(\"name\") in C++, HOTLOOP_SCOPE(\"name\") in C.\n"
            .to_owned();
    }
    let (snapshot, module) = &without_common_module(snapshot);
    let names = snapshot.by_name();
    let mut text = String::new();
    sections::head(&mut text, snapshot, &names, module);
    sections::hot_paths(&mut text, snapshot, &names, n);
    sections::work(&mut text, &names, n);
    sections::top_allocators(&mut text, snapshot, &names, n);
    sections::most_called(&mut text, &names, n);
    sections::call_tree(&mut text, snapshot, n);
    sections::indices(&mut text, snapshot, n);
    sections::futures(&mut text, &names, n);
    sections::threads(&mut text, snapshot, n);
    insights::write(&mut text, snapshot, &names);
    trust::write(&mut text, snapshot, &names);
    text
}

/// The snapshot with the module that all names share taken off them, and that module: it need not be read on every row.
fn without_common_module(snapshot: &Snapshot) -> (Snapshot, String) {
    let mut snapshot = snapshot.clone();
    // `<A as B>::c` begins with no module, but has them inside.
    let mut names = snapshot.scopes.iter().map(|scope| scope.name.as_str()).filter(|name| !is_composed(name));
    let first = names.next().unwrap_or_default();
    let common = names.fold(module_of(first), |common, name| {
        let mut common = common;
        while !name.starts_with(common) {
            common = module_of(common.trim_end_matches("::"));
        }
        common
    });
    let common = common.to_owned();
    for scope in snapshot.scopes.iter_mut().filter(|_| !common.is_empty()) {
        match is_composed(&scope.name) {
            true => scope.name = scope.name.replace(&common, ""),
            false => drop(scope.name.drain(..common.len())),
        }
    }
    for scope in &mut snapshot.scopes {
        scope.name = units::printable(&scope.name);
    }
    (snapshot, common)
}

fn is_composed(name: &str) -> bool {
    name.starts_with('<')
}

/// `a::b::` of `a::b::c`; nothing of a name that has no module, or is not only made of names.
fn module_of(name: &str) -> &str {
    match name.rfind("::") {
        Some(end) if !name.contains(['<', ' ', '(']) => &name[..end + 2],
        _ => "",
    }
}

#[cfg(test)]
mod tests;
