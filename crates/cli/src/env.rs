//! The environment of a command, and its exit codes.

use std::ffi::OsString;
use std::path::PathBuf;

use analysis::agree::Explain;
use analysis::profile::ncu::{Ncu, Runner};
use engine::device::{Choice, Device, DeviceInfo};
use engine::{Catalog, Provenance};
use indicatif::{ProgressBar, ProgressStyle};
use ranks::SharedLadder;

use crate::output::OutputStyle;

/// The exit code when a result was wrong or a difference is unexplained.
pub(crate) const WRONG: u8 = 1;

/// The exit code of a run that somebody ended: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// The environment of the program.
pub struct Env<'a> {
    /// The ladders, and their kernels.
    pub catalog: &'static Catalog,
    /// The ladders whose problems several devices compute together.
    pub shared: &'static [SharedLadder],
    /// Opens the requested device.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, engine::Error>,
    /// This program with its arguments, to be started again for launches that may end all that a process has on a GPU; `None` where
    /// only this process can open the device.
    pub command: Option<&'a [OsString]>,
    /// Whether the output is read by a person on a terminal.
    pub terminal: bool,
    /// Starts Nsight Compute.
    pub runner: &'a dyn Runner,
    /// Finds the tools that explain differences between the simulator and a GPU.
    pub explain: &'a FindExplain<'a>,
    /// The date, and the compilers for a device.
    pub provenance: &'a dyn Fn(&DeviceInfo) -> Provenance,
}

/// Finds the tools that explain differences on a GPU of this compute capability. Otherwise returns the missing tools,
/// each with how to get it.
pub type FindExplain<'a> = dyn Fn(Option<(u32, u32)>) -> Result<Box<dyn Explain>, Vec<String>> + 'a;

impl<'a> Env<'a> {
    /// Nsight Compute's program, to profile this very program with on a GPU.
    pub(crate) fn ncu(&self, program: PathBuf, gpu: &DeviceInfo) -> std::io::Result<Ncu<'a>> {
        Ok(Ncu { program, profiled: std::env::current_exe()?, device: gpu.name.clone(), runner: self.runner })
    }

    pub(crate) fn style(&self) -> OutputStyle {
        OutputStyle { terminal: self.terminal }
    }
}

/// Shows a progress bar on stderr, if a person reads it.
pub fn progress_bar(length: usize, terminal: bool) -> ProgressBar {
    if !terminal {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")
        .expect("the template has only fields that indicatif documents");
    ProgressBar::new(length as u64).with_style(style)
}
