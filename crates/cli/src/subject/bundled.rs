//! The bundled model: little stories, learned from a grammar of our own. `cargo xtask default-model` makes the file again.

/// As it is shown.
pub const NAME: &str = "bundled stories";
/// What it begins with where nobody says anything else.
pub const PROMPT: &str = "Once upon a time";
/// Enough for most stories; measuring goes on behind the end of one.
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

#[cfg(test)]
mod tests {
    use engine::{Config, TensorSource, Tokenizer};

    use super::*;

    #[test]
    fn it_is_a_small_trained_model() {
        assert!(bytes().len() < 1_000_000, "{} bytes are in every clone and every program", bytes().len());
        assert!(bytes().as_ptr().addr().is_multiple_of(64));
        let file = open().unwrap();
        let config = Config::read(&file).unwrap();
        assert_eq!((config.context, config.vocab), (256, 1024));
        let tokenizer = Tokenizer::from_metadata(file.metadata()).unwrap();
        assert!(tokenizer.bos().is_some() && tokenizer.eos().is_some());
        let matrices = file.names().into_iter().filter_map(|name| file.info(name).unwrap());
        let mut matrices = matrices.filter(|info| info.shape.len() == 2);
        assert!(matrices.all(|info| info.format.name() == "q5_1"));
    }
}
