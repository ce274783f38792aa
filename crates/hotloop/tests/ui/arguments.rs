#[hotloop::profile(flop = 3)] //~ ERROR unknown argument `flop`: expected `index`, `flops`, `bytes` or `tokens`
fn unknown() {}

#[hotloop::profile("name", layer = 3)] //~ ERROR unknown argument `layer`
fn unknown_after_name() {}

#[hotloop::profile(name = "x")] //~ ERROR unknown argument `name`: expected `index`, `flops`, `bytes` or `tokens`; a name comes first, as a literal or constant: `#[profile("x", ..)]`
fn name_with_key() {}

#[hotloop::profile(3)] //~ ERROR expected a name
fn number_as_name() {}

#[hotloop::profile("name", 3)] //~ ERROR expected `index`, `flops`, `bytes` or `tokens` and `=`
fn value_without_key() {}

#[hotloop::profile(flops = 1, bytes = )] //~ ERROR `bytes =` needs a value
fn key_without_value() {}

fn main() {
    unknown();
    unknown_after_name();
    name_with_key();
    number_as_name();
    value_without_key();
    key_without_value();
}
