//! The PTX of the kernels, one text for each architecture.

use std::borrow::Cow;
use std::sync::OnceLock;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

/// The PTX of the kernels for one architecture.
#[derive(Debug)]
pub struct Ptx {
    /// The least compute capability that a device must have to run it, major and minor.
    pub capability: (u32, u32),
    /// The text.
    pub text: &'static str,
    outline: OnceLock<Outline<'static>>,
}

impl Ptx {
    /// A text for devices of at least this compute capability.
    pub const fn new(capability: (u32, u32), text: &'static str) -> Self {
        Self { capability, text, outline: OnceLock::new() }
    }

    /// The newest text in `all`, which is sorted, that a device of this compute capability can run; for `None`, the
    /// newest of all.
    pub fn newest(all: &[Self], capability: Option<(u32, u32)>) -> Option<&Self> {
        let runs = |ptx: &&Self| capability.is_none_or(|own| own >= ptx.capability);
        all.iter().rfind(runs)
    }

    /// The outline of the text, with the positions of its entries. It is read once.
    pub fn outline(&self) -> &Outline<'static> {
        self.outline.get_or_init(|| Outline::new(self.text))
    }

    /// The text of one entry with everything that it needs, without source lines; the whole text when the entry cannot
    /// stand alone.
    pub fn part(&self, entry: &str) -> Cow<'static, str> {
        extract(self.outline(), entry, SourceLines::Drop).map_or(Cow::Borrowed(self.text), Cow::Owned)
    }
}
