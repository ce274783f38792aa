#[hotloop::profile]
struct Model; //~ ERROR goes on a function

#[hotloop::profile]
impl Model { //~ ERROR goes on a function
    fn forward(&self) {}
}

#[hotloop::profile]
const LAYERS: usize = 5; //~ ERROR goes on a function

#[hotloop::profile]
static NAME: fn() -> usize = layers; //~ ERROR goes on a function

fn layers() -> usize {
    LAYERS
}

trait Layer {
    #[hotloop::profile]
    fn forward(&self); //~ ERROR needs a function with a body
}

fn main() {
    Model.forward();
    let _ = NAME();
}
