//! The bundled model: little stories, learned from a grammar of our own. `cargo xtask default-model` makes the file again.

/// As it is shown.
pub const NAME: &str = "bundled stories";
/// What it begins with where nobody says anything else.
pub const PROMPT: &str = "Once upon a time";
/// Enough for a whole story, and for the beginning of the next.
pub const TOKENS: usize = 160;

/// Tensors of a file lie at multiples of 32 bytes from its beginning; so they do in memory.
#[repr(align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../../model/stories.gguf"));

/// The GGUF file, as it was committed.
pub fn bytes() -> &'static [u8] {
    &FILE.0
}

/// Opens it where it lies, in the program.
pub fn open() -> engine::Result<engine::gguf::File> {
    engine::gguf::File::from_program(bytes())
}
