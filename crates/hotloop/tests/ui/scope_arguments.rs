use hotloop::{function, guard, scope};

const CONSTANT: &str = "constant";
#[allow(non_upper_case_globals)]
const lower_case: &str = "constant";

const fn computed() -> &'static str {
    "computed"
}

fn unknown_keys(n: usize) {
    scope!("x", layer = n); //~ ERROR unknown key `layer`: expected `index`, `flops`, `bytes` or `tokens`; a number that tells calls apart, such as a layer, is `index = ..`
    scope!("x", index = n, flop = 2 * n); //~ ERROR unknown key `flop`: expected `index`, `flops`, `bytes` or `tokens`
    let _guard = guard!("x", name = n, bytes = 3); //~ ERROR unknown key `name`: expected
    function!(token = n); //~ ERROR unknown key `token`: expected
}

struct Layer {
    name: &'static str,
}

impl Layer {
    fn run_time_names(&self, name: &'static str, owned: String) {
        scope!(name); //~ ERROR a scope's name must be a string literal or a constant, but `name` is known only at run time: for a number that varies use `index = ..`
        scope!(self.name, index = 3); //~ ERROR but `self` is known only at run time
        scope!(&owned); //~ ERROR but `owned` is known only at run time
        let _guard = guard!(owned.as_str()); //~ ERROR but `owned` is known only at run time
        scope!(&format!("layer {name}")); //~ ERROR but `format` is known only at run time
        forwarded!(name); //~ ERROR but `name` is known only at run time
    }
}

#[macro_export]
macro_rules! forwarded {
    ($name:expr) => {
        hotloop::scope!($name)
    };
}

#[hotloop::profile(name)] //~ ERROR but `name` is known only at run time
fn named_by_parameter(name: &'static str) {}

fn constants() {
    scope!(CONSTANT, index = 1, flops = 2, bytes = 3, tokens = 4,);
    scope!(self::lower_case);
    scope!(concat!("a", "b"));
    scope!(computed());
    scope!(if cfg!(unix) { "unix" } else { "other" });
    scope!({ lower_case });
    forwarded!("literal");
    forwarded!(CONSTANT);
}

fn main() {
    unknown_keys(3);
    Layer { name: "x" }.run_time_names("y", String::new());
    named_by_parameter("z");
    constants();
}
