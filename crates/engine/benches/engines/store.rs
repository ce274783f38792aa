//! The files of the models: made once, then kept.

use std::path::{Path, PathBuf};

use engine::gguf::Writer;
use engine::{Error, SyntheticSource, TensorSource};
use kernels::quant::Format;

use crate::llama2c;
use crate::models::Row;

/// A row's model in the forms that the contenders read.
#[derive(Debug, Clone)]
pub struct Files {
    /// For all but one.
    pub gguf: PathBuf,
    /// For llama2.c, if it takes part; it has no q4_0.
    pub llama2c: Option<PathBuf>,
}

/// Where the models are.
pub struct Store {
    folder: PathBuf,
    with_llama2c: bool,
}

impl Store {
    /// `models` below the first folder of the peers; without one, in the folder that builds have for such things.
    pub fn new(folders: &[PathBuf], with_llama2c: bool) -> Self {
        let home = folders.first().map_or(Path::new(env!("CARGO_TARGET_TMPDIR")), PathBuf::as_path);
        Self { folder: home.join("models"), with_llama2c }
    }

    /// The files of that row; they are made where they are missing.
    pub fn files(&self, row: &Row) -> engine::Result<Files> {
        std::fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, &error))?;
        let file = |ending: &str| self.folder.join(format!("{}-{}.{ending}", row.shape.name, row.format));
        let gguf = file("gguf");
        if !gguf.is_file() {
            write_gguf(row, &gguf)?;
        }
        let wanted = self.with_llama2c && matches!(row.format, Format::F32 | Format::Q8_0);
        let llama2c = wanted.then(|| file("bin"));
        if let Some(target) = llama2c.as_deref().filter(|target| !target.is_file()) {
            llama2c::write(row, target)?;
        }
        Ok(Files { gguf, llama2c })
    }
}

fn write_gguf(row: &Row, target: &Path) -> engine::Result<()> {
    let source = SyntheticSource::new(row.synthetic());
    let names = source.names();
    let infos = names.iter().map(|name| source.info(name)).collect::<engine::Result<Vec<_>>>()?;
    let mut writer = Writer::create(target, false, source.metadata(), infos.into_iter().flatten().collect())?;
    for name in names {
        if let Some(tensor) = source.tensor(name)? {
            writer.write(&tensor.data)?;
        }
    }
    writer.finish().map(|_| ())
}
