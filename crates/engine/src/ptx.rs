//! The PTX of the kernels, one text for each architecture.

use std::borrow::Cow;
use std::sync::OnceLock;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

/// The PTX of the kernels for one architecture.
#[derive(Debug)]
pub struct Ptx {
    /// The compute capability that it is compiled for, major and minor.
    pub capability: (u32, u32),
    /// Whether devices of that compute capability alone run it (`sm_90a`), and not the newer ones too (PTX ISA, `.target`).
    pub only: bool,
    /// The text.
    pub text: &'static str,
    outline: OnceLock<Outline<'static>>,
}

impl Ptx {
    /// A text for devices of at least this compute capability.
    pub const fn new(capability: (u32, u32), text: &'static str) -> Self {
        Self { capability, only: false, text, outline: OnceLock::new() }
    }

    /// A text for devices of this compute capability and no other.
    pub const fn only(capability: (u32, u32), text: &'static str) -> Self {
        Self { capability, only: true, text, outline: OnceLock::new() }
    }

    /// The newest text in `all`, which is sorted, that a device of this compute capability can run; for `None`, the
    /// last of all.
    pub fn newest(all: &[Self], capability: Option<(u32, u32)>) -> Option<&Self> {
        all.iter().rfind(|ptx| capability.is_none_or(|own| ptx.runs_on(own)))
    }

    /// Whether a device of this compute capability can run it.
    pub fn runs_on(&self, capability: (u32, u32)) -> bool {
        if self.only { capability == self.capability } else { capability >= self.capability }
    }

    /// The architecture that it is compiled for, by NVIDIA's name with this prefix: `sm_90a`, `compute_90a`.
    pub fn arch(&self, prefix: &str) -> String {
        let ((major, minor), suffix) = (self.capability, if self.only { "a" } else { "" });
        format!("{prefix}_{major}{minor}{suffix}")
    }

    /// The architecture that `ptxas` assembles it for where a device of the architecture `wanted`, such as `sm_90`, runs it.
    pub fn assembled_for(&self, wanted: &str) -> String {
        if self.only { self.arch("sm") } else { wanted.to_owned() }
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
