//! What a command finds around it, and what a number that it ends with means.

use analysis::agree::Explain;
use analysis::profile::ncu::Runner;
use engine::device::{Choice, Device, DeviceInfo};
use engine::{Catalog, Provenance};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::OutputStyle;

/// Exit code where a result was wrong, or a difference is unexplained.
pub(crate) const WRONG: u8 = 1;

/// What the program finds around it.
pub struct Env<'a> {
    /// The ladders, and their kernels.
    pub catalog: &'static Catalog,
    /// Opens the device that is asked for.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, engine::Error>,
    /// Whether a person reads the output on a terminal.
    pub terminal: bool,
    /// Starts Nsight Compute.
    pub runner: &'a dyn Runner,
    /// Finds what explains differences between the simulator and a GPU.
    pub explain: &'a FindExplain<'a>,
    /// The day, and the compilers for a device.
    pub provenance: &'a dyn Fn(&DeviceInfo) -> Provenance,
}

/// Finds what explains differences on a GPU of this compute capability; otherwise what is missing for that, each with
/// how to get it.
pub type FindExplain<'a> = dyn Fn(Option<(u32, u32)>) -> Result<Box<dyn Explain>, Vec<String>> + 'a;

impl Env<'_> {
    /// How output meets its reader.
    pub(crate) fn style(&self) -> OutputStyle {
        OutputStyle {
            terminal: self.terminal,
        }
    }
}

/// A bar on stderr, and only where a person sees it.
pub fn progress_bar(length: usize, terminal: bool) -> ProgressBar {
    if !terminal {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")
        .expect("the template has only fields that indicatif documents");
    ProgressBar::new(length as u64).with_style(style)
}
