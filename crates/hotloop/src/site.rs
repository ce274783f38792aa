//! A site: the place in the source where a scope is opened.

/// The place in the source where a scope is opened.
///
/// Every use of [`scope!`](crate::scope!) makes one `static` site; its address is its identity, so that opening a
/// scope compares one pointer and never hashes a name.
#[derive(Debug)]
pub struct Site {
    module: &'static str,
    name: Name,
    file: &'static str,
    line: u32,
}

#[derive(Debug)]
enum Name {
    Given(&'static str),
    /// The type name of an item inside the function; a function pointer because type names are not constants yet.
    Function(fn() -> &'static str),
}

impl Site {
    /// A site named by its author, qualified by `module`.
    #[must_use]
    pub const fn new(module: &'static str, name: &'static str, file: &'static str, line: u32) -> Self {
        let name = Name::Given(name);
        Site { module, name, file, line }
    }

    /// A site named after the function that `name` (the type name of an item inside it) leads to.
    #[must_use]
    pub const fn function(name: fn() -> &'static str, file: &'static str, line: u32) -> Self {
        let name = Name::Function(name);
        Site { module: "", name, file, line }
    }

    /// The source file, as the compiler names it.
    #[must_use]
    pub const fn file(&self) -> &'static str {
        self.file
    }

    /// The line in [`file`](Self::file).
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }

    /// The name, qualified by module and, for functions, by type: `engine::model::qkv`.
    #[must_use]
    pub fn qualified_name(&self) -> String {
        match self.name {
            Name::Given(name) if self.module.is_empty() => name.to_owned(),
            Name::Given(name) => format!("{}::{name}", self.module),
            Name::Function(type_name) => enclosing_function(type_name()),
        }
    }
}

/// `a::Type::method::{{closure}}::here` is `a::Type::method` to its reader.
fn enclosing_function(type_name: &str) -> String {
    let (function, _marker) = type_name.rsplit_once("::").unwrap_or((type_name, ""));
    function.replace("::{{closure}}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_qualified() {
        assert_eq!(Site::new("a::b", "qkv", "f.rs", 1).qualified_name(), "a::b::qkv");
        assert_eq!(Site::new("", "ns::qkv", "f.cpp", 1).qualified_name(), "ns::qkv");
    }

    #[test]
    fn function_names_lose_marker_and_closures() {
        assert_eq!(enclosing_function("a::T::run::here"), "a::T::run");
        assert_eq!(enclosing_function("a::run::{{closure}}::{{closure}}::here"), "a::run");
        assert_eq!(enclosing_function("<a::T as a::U>::run::here"), "<a::T as a::U>::run");
    }
}
