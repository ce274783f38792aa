#[hotloop::profile(
    index = 3,
    tokens = 1, //~ ERROR an async function cannot declare `tokens`
)]
async fn generate() {}

fn main() {
    drop(generate());
}
