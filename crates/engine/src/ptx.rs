//! The kernels' PTX as this program has it: a text for each architecture.

use std::borrow::Cow;
use std::sync::OnceLock;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

/// Kernels' PTX for one architecture.
#[derive(Debug)]
pub struct Ptx {
    /// The least compute capability that a device must have to run it, major and minor.
    pub capability: (u32, u32),
    /// The text.
    pub text: &'static str,
    outline: OnceLock<Outline<'static>>,
}

impl Ptx {
    /// A text for devices from this compute capability on.
    pub const fn new(capability: (u32, u32), text: &'static str) -> Self {
        Self {
            capability,
            text,
            outline: OnceLock::new(),
        }
    }

    /// The newest of `all`, which are in order, that a device of this compute capability runs; for `None`,
    /// which is no device's, the newest.
    pub fn newest(all: &[Self], capability: Option<(u32, u32)>) -> Option<&Self> {
        let runs = |ptx: &&Self| capability.is_none_or(|own| own >= ptx.capability);
        all.iter().rfind(runs)
    }

    /// Where its entries are, read once.
    pub fn outline(&self) -> &Outline<'static> {
        self.outline.get_or_init(|| Outline::new(self.text))
    }

    /// The text of an entry alone, with all that it needs and without lines of the source; the whole text where
    /// the entry does not stand alone.
    pub fn part(&self, entry: &str) -> Cow<'static, str> {
        extract(self.outline(), entry, SourceLines::Drop)
            .map_or(Cow::Borrowed(self.text), Cow::Owned)
    }
}
