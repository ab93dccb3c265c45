//! A PTX text with its tree and its lines.

use ptx::ast::{At, Module};
use ptx::{ParseError, Source};

/// A PTX text, read.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    pub(super) source: Source<'a>,
    pub(super) tree: Module<'a>,
}

impl<'a> Listing<'a> {
    /// Reads a text.
    pub(super) fn new(text: &'a str) -> Result<Self, ParseError> {
        Ok(Self {
            source: Source::new(text),
            tree: ptx::parse(text)?,
        })
    }

    /// The line of a place, from 1.
    pub(super) fn line(&self, at: At) -> u32 {
        self.source.line_column(at).0
    }
}
