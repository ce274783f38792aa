#[hotloop::profile]
const fn square(x: u64) -> u64 { //~ ERROR cannot be put on a `const fn`
    x * x
}

struct Matrix;

impl Matrix {
    #[hotloop::profile]
    pub const fn rows(&self) -> usize { //~ ERROR cannot be put on a `const fn`
        3
    }
}

fn main() {
    // The function itself is still there, so nothing else is reported.
    let _ = square(2);
    let _ = Matrix.rows();
}
