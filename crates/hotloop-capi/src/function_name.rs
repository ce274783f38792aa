//! From what a compiler calls a function to what a reader calls it.
//!
//! `__PRETTY_FUNCTION__` is a whole declaration: `std::vector<T> ns::Box<T>::get(int) const [with T = float]`. What is
//! wanted is `ns::Box::get`. The declaration is read from the left: every space begins the name anew (what came
//! before was a specifier or the return type), template arguments are skipped, and the parameter list ends the name,
//! unless `::` follows it: then the function encloses what comes, as in `f(int)::<lambda()>`.
//!
//! Instantiations of a template and overloads share a name, and so a row in results by name.

/// `ns::Class::method` from a declaration as GCC, Clang or MSVC write it; the declaration itself if it holds no name.
pub(crate) fn function_name(declaration: &str) -> String {
    let mut reader = Reader { rest: declaration, name: String::new() };
    reader.read();
    let name = reader.name.replace("lambda::operator()", "lambda");
    let name = name.trim();
    if name.is_empty() { declaration.to_owned() } else { name.to_owned() }
}

struct Reader<'a> {
    rest: &'a str,
    name: String,
}

impl<'a> Reader<'a> {
    /// Reads up to the parameter list, one character or bracketed group at a time.
    fn read(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            if self.at_operator() {
                self.read_operator();
                continue;
            }
            match next {
                '(' => {
                    if self.read_parenthesis() {
                        return;
                    }
                }
                '<' => {
                    let arguments = self.take_group();
                    if arguments.starts_with("<lambda") {
                        self.name.push_str("lambda");
                        if !self.rest.starts_with("::") {
                            return;
                        }
                    }
                }
                '[' => _ = self.take_group(),
                ' ' | '*' | '&' => {
                    self.name.clear();
                    self.skip(1);
                }
                _ => self.read_word(next),
            }
        }
    }

    fn read_word(&mut self, next: char) {
        for (written, shown) in [("{anonymous}", "(anonymous)"), ("`anonymous namespace'", "(anonymous)")] {
            if let Some(rest) = self.rest.strip_prefix(written) {
                self.name.push_str(shown);
                self.rest = rest;
                return;
            }
        }
        self.name.push(next);
        self.skip(next.len_utf8());
    }

    /// Whether the word `operator` begins here.
    fn at_operator(&self) -> bool {
        let begins = self.name.is_empty() || self.name.ends_with("::");
        let word = self.rest.strip_prefix("operator");
        begins && word.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    }

    /// `operator<<`, `operator()`, `operator new[]`, `operator const char*`: up to the parameter list.
    fn read_operator(&mut self) {
        let word = "operator".len();
        let symbol_starts = if self.rest[word..].starts_with("()") { word + 2 } else { word };
        let end = self.rest[symbol_starts..].find('(').map_or(self.rest.len(), |at| symbol_starts + at);
        self.name.push_str(self.rest[..end].trim_end());
        self.skip(end);
    }

    /// What a parenthesis means here. `true`: the name is complete.
    fn read_parenthesis(&mut self) -> bool {
        let group = self.take_group();
        if group.starts_with("(anonymous namespace") {
            self.name.push_str("(anonymous)");
            return false;
        }
        if ["(anonymous class", "(lambda", "(unnamed"].iter().any(|kind| group.starts_with(kind)) {
            self.name.push_str("lambda");
            return false;
        }
        // `decltype (a + b) f()` and its kin: part of the return type.
        if matches!(self.name.as_str(), "decltype" | "typeof" | "__typeof__" | "noexcept" | "__attribute__") {
            self.name.clear();
            return false;
        }
        if self.name.is_empty() {
            return self.read_declarator(group);
        }
        self.read_enclosed()
    }

    /// `void (* f(int))(double)`: the name is inside the parenthesis. `decltype ((a)) f()`: it is not.
    fn read_declarator(&mut self, group: &'a str) -> bool {
        let inner = group.trim_start_matches('(').trim_end_matches(')');
        if !group.starts_with("(*") && !group.starts_with("(&") {
            return false;
        }
        self.rest = inner;
        self.read();
        true
    }

    /// After a parameter list: what the function encloses, if anything.
    fn read_enclosed(&mut self) -> bool {
        let mut after = self.rest;
        loop {
            let before = after;
            for qualifier in [" const", " volatile", " &&", " &", " noexcept"] {
                after = after.strip_prefix(qualifier).unwrap_or(after);
            }
            if after == before {
                break;
            }
        }
        let Some(enclosed) = after.strip_prefix("::") else { return true };
        self.name.push_str("::");
        self.rest = enclosed;
        false
    }

    /// Takes the bracketed group that begins here, with its brackets; all that is left if it never ends.
    fn take_group(&mut self) -> &'a str {
        let mut open = Vec::new();
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' | '[' | '{' => open.push(c),
                // Inside parentheses it may be a comparison.
                '<' if open.last().is_none_or(|&outer| outer == '<') => open.push(c),
                '>' if open.last() == Some(&'<') => _ = open.pop(),
                ')' | ']' | '}' => while open.pop() == Some('<') {},
                _ => {}
            }
            if open.is_empty() {
                end = at + c.len_utf8();
                break;
            }
        }
        let (group, rest) = self.rest.split_at(end);
        self.rest = rest;
        group
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

#[cfg(test)]
mod tests {
    use super::function_name;

    #[track_caller]
    fn check(cases: &[(&str, &str)]) {
        for (declaration, expected) in cases {
            assert_eq!(function_name(declaration), *expected, "from {declaration}");
        }
    }

    #[test]
    fn functions_and_methods() {
        check(&[
            ("main", "main"),
            ("int main()", "main"),
            ("int main(int, char**)", "main"),
            ("void ns::Layer::forward(int)", "ns::Layer::forward"),
            ("virtual void ns::Layer::forward(int) const", "ns::Layer::forward"),
            ("ns::Layer::Layer(int)", "ns::Layer::Layer"),
            ("virtual ns::Layer::~Layer()", "ns::Layer::~Layer"),
            ("static std::vector<std::pair<int, int> > ns::f(const std::function<void(int)>&)", "ns::f"),
            ("const char* ns::name(int*, int&)", "ns::name"),
            ("char *ns::name()", "ns::name"),
            ("void {anonymous}::hidden()", "(anonymous)::hidden"),
            ("void (anonymous namespace)::hidden()", "(anonymous)::hidden"),
            ("void ns::{anonymous}::A::hidden(int)", "ns::(anonymous)::A::hidden"),
            ("void __cdecl ns::A::f(int)", "ns::A::f"),
            ("void __cdecl `anonymous namespace'::f(void)", "(anonymous)::f"),
            ("std::string f[abi:cxx11](int)", "f"),
            ("void größe::längs(int)", "größe::längs"),
        ]);
    }

    #[test]
    fn templates() {
        check(&[
            ("T ns::Box<T, N>::get(T) const [with T = int; int N = 1]", "ns::Box::get"),
            ("T ns::Box<int, 1>::get(T) const [T = int, N = 1]", "ns::Box::get"),
            ("void f(T) [with T = std::map<int, std::vector<float> >]", "f"),
            ("decltype ((a + b)) ns::add(T, U) [with T = int; U = double]", "ns::add"),
            ("decltype(auto) ns::add(T)", "ns::add"),
            ("auto ns::add(T, U) -> decltype(a + b) [T = int, U = double]", "ns::add"),
            ("void ns::A<(x > 3)>::f() [with int x = 4]", "ns::A::f"),
            ("void g(std::array<int, (3 < 4)>) [with T = int]", "g"),
            ("auto f(T) requires  Small<T> [with T = int]", "f"),
        ]);
    }

    #[test]
    fn operators() {
        check(&[
            ("bool ns::A::operator()(int) const", "ns::A::operator()"),
            ("bool ns::A::operator<(const ns::A&) const", "ns::A::operator<"),
            ("std::ostream& ns::operator<<(std::ostream&, const ns::A&)", "ns::operator<<"),
            ("auto ns::A::operator<=>(const A&) const", "ns::A::operator<=>"),
            ("ns::A* ns::P::operator->()", "ns::P::operator->"),
            ("ns::A::operator bool() const", "ns::A::operator bool"),
            ("ns::A::operator const std::vector<int>&()", "ns::A::operator const std::vector<int>&"),
            ("static void* ns::A::operator new [](size_t)", "ns::A::operator new []"),
            ("bool operator==(const A&, const A&)", "operator=="),
            ("void operators::run(int)", "operators::run"),
            ("T& ns::M<T>::operator[](int) [with T = int]", "ns::M::operator[]"),
        ]);
    }

    #[test]
    fn lambdas_and_local_classes() {
        check(&[
            ("main()::<lambda(int)>", "main::lambda"),
            ("ns::A::f(int) const::<lambda()>", "ns::A::f::lambda"),
            ("void ns::f()::<lambda(auto:1)> [with auto:1 = int]", "ns::f::lambda"),
            ("ns::f()::<lambda()>::<lambda(int)>", "ns::f::lambda::lambda"),
            ("auto ns::f()::(anonymous class)::operator()(int) const", "ns::f::lambda"),
            ("auto ns::f()::(lambda at a.cpp:3:5)::operator()(int) const", "ns::f::lambda"),
            ("void f(int)::Local::run(double)", "f::Local::run"),
        ]);
    }

    #[test]
    fn odd_text_is_never_lost_and_never_panics() {
        check(&[
            ("void (* ns::f(int))(double)", "ns::f"),
            ("", ""),
            ("   ", "   "),
            ("(((", "((("),
            ("operator", "operator"),
            ("f<<<<", "f"),
        ]);
        let all = "void ns::{anonymous}::A<(x > 3)>::operator()(int) const::<lambda(é)> [with T = int]";
        for (end, _) in all.char_indices() {
            function_name(&all[..end]);
            function_name(&all[end..]);
        }
    }
}
