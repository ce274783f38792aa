//! A file of tokens as it is written. `tokens` tells what is in it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::CorpusFacts;
use super::tokens::{BLOCK, END, MAGIC, Trailer, VERSION, block_hash};
use crate::Result;
use crate::written::Written;

/// The file as it is written.
pub(super) struct Out {
    file: Written,
    /// Where sequences begin: a file of its own, until the tokens are written.
    index: Option<Written>,
    width: u32,
    count: u64,
    sequences: u64,
    longest: u64,
    block: Vec<u8>,
    hashes: Vec<u8>,
    length: u64,
    bytes: Vec<u8>,
}

impl Out {
    /// Begins a file for ids of a vocabulary of this size.
    pub(super) fn create(folder: &Path, vocabulary: usize, has_sequences: bool) -> Result<Self> {
        let width = if vocabulary <= 1 << 16 { 2 } else { 4 };
        let index = if has_sequences { Some(Written::create(folder)?) } else { None };
        let mut out = Self {
            file: Written::create(folder)?,
            index,
            width,
            count: 0,
            sequences: 0,
            longest: 0,
            block: Vec::with_capacity(BLOCK as usize),
            hashes: Vec::new(),
            length: 0,
            bytes: Vec::new(),
        };
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend(width.to_le_bytes());
        out.put(&head)?;
        Ok(out)
    }

    /// Adds tokens.
    pub(super) fn tokens(&mut self, ids: &[u32]) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        if self.width == 2 {
            bytes.extend(ids.iter().flat_map(|id| (*id as u16).to_le_bytes()));
        } else {
            bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        self.count += ids.len() as u64;
        let put = self.put(&bytes);
        self.bytes = bytes;
        put
    }

    /// Adds tokens that are a sequence.
    pub(super) fn sequence(&mut self, ids: &[u32]) -> Result<()> {
        self.mark()?;
        self.sequences += 1;
        self.longest = self.longest.max(ids.len() as u64);
        self.tokens(ids)
    }

    /// How many tokens there are so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Notes that a sequence begins here.
    fn mark(&mut self) -> Result<()> {
        let Some(index) = &mut self.index else { return Ok(()) };
        index.write_all(&self.count.to_le_bytes()).map_err(|error| index.cannot_write(&error))
    }

    /// Writes bytes, and hashes every block that is full.
    fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| self.file.cannot_write(&error))?;
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK as usize - self.block.len()));
            self.block.extend_from_slice(now);
            if self.block.len() == BLOCK as usize {
                self.end_block();
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.hashes.extend(block_hash(&self.block));
        self.block.clear();
    }

    /// Writes all that another file has in it.
    fn put_file(&mut self, other: &mut Written) -> Result<()> {
        let opened = other.flush().and_then(|()| File::open(other.path()));
        let mut file = opened.map_err(|error| other.cannot_write(&error))?;
        let mut bytes = vec![0; 1 << 16];
        loop {
            match file.read(&mut bytes).map_err(|error| other.cannot_write(&error))? {
                0 => return Ok(()),
                read => self.put(&bytes[..read])?,
            }
        }
    }

    /// Adds what describes the file, and gives it its name.
    pub(super) fn finish(mut self, facts: CorpusFacts, vocabulary: u64, name: &str) -> Result<PathBuf> {
        let padding = self.length.next_multiple_of(8) - self.length;
        self.put(&[0; 8][..padding as usize])?;
        self.mark()?;
        let sequences = self.index.as_ref().map(|_| self.sequences);
        if let Some(mut index) = self.index.take() {
            self.put_file(&mut index)?;
        }
        if !self.block.is_empty() {
            self.end_block();
        }
        let (width, tokens, longest) = (self.width, self.count, self.longest);
        let trailer = Trailer { width, tokens, sequences, longest, vocabulary, facts };
        let mut rest = self.hashes;
        let hashes = rest.len() as u64 / 8;
        rest.extend(serde_json::to_vec(&trailer).expect("plain data"));
        let foot = [block_hash(&rest), (rest.len() as u64 - hashes * 8).to_le_bytes(), hashes.to_le_bytes(), *END];
        let written = self.file.write_all(&rest).and_then(|()| self.file.write_all(&foot.concat()));
        written.map_err(|error| self.file.cannot_write(&error))?;
        self.file.finish(name)
    }
}
