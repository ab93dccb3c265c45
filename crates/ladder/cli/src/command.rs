//! The commands of a program, the environment that they run in, and how their arguments are parsed: the arguments that
//! most commands share, [`Targets`], and the command's own.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use analysis::agree::Explain;
use analysis::profile::ncu::{Ncu, Runner};
use clap::{ArgMatches, Args};
use engine::device::{Choice, Device, DeviceInfo};
use engine::{Catalog, Provenance};
use indicatif::{ProgressBar, ProgressStyle};
use ranks::SharedLadder;

use crate::error::Error;
use crate::output::{Form, OutputStyle};
use crate::targets::{Scope, Targets};

/// A command of a program.
pub struct Command {
    /// The word that selects it.
    pub name: &'static str,
    /// The help text, in one line.
    pub about: &'static str,
    /// Adds its arguments to the parser.
    pub arguments: fn(clap::Command, &Scope) -> clap::Command,
    /// Runs it, and returns the exit code.
    pub execute: fn(&ArgMatches, &Env<'_>, &mut Output<'_>) -> Result<u8, Error>,
}

/// Where a command writes.
pub struct Output<'a> {
    /// The output for the results.
    pub out: &'a mut dyn Write,
    /// The output for messages.
    pub err: &'a mut dyn Write,
}

/// What a program does, and its exit code.
pub type Action = fn(&Env<'_>, &mut Output<'_>) -> Result<u8, Error>;

/// A program: its name and its commands.
#[derive(Clone, Copy)]
pub struct Program {
    /// The name that its help and its errors show.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The commands, in the order in which the help lists them.
    pub commands: &'static [&'static [Command]],
    /// Commands that the help does not list, because only the program itself starts them.
    pub hidden: &'static [&'static [Command]],
    /// What it does without arguments. Without this function it prints its help.
    pub without_arguments: Option<Action>,
}

/// The exit code when a result was wrong or a difference is unexplained.
pub const WRONG: u8 = 1;

/// The exit code of an interrupted run: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// The environment of the program.
pub struct Env<'a> {
    /// The program, with its commands.
    pub program: &'static Program,
    /// The ladders, and their kernels.
    pub catalog: &'static Catalog,
    /// The ladders whose problems several devices compute together.
    pub shared: &'static [SharedLadder],
    /// Opens the requested device.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, engine::Error>,
    /// This program with its arguments, to be started again for launches that may end all that a process has on a GPU; `None` where
    /// only this process can open the device.
    pub command: Option<&'a [OsString]>,
    /// The request of the parent, if this process is a child ([`isolated`](crate::isolated)).
    pub request: Option<&'a str>,
    /// Whether the output is read by a person on a terminal.
    pub terminal: bool,
    /// The form of the output.
    pub form: Form,
    /// The most columns of a line of text.
    pub width: usize,
    /// Whether tables have all of their columns, however wide.
    pub wide: bool,
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
    ///
    /// # Errors
    /// When the path of this program is not known.
    pub fn ncu(&self, program: PathBuf, gpu: &DeviceInfo) -> std::io::Result<Ncu<'a>> {
        Ok(Ncu { program, profiled: std::env::current_exe()?, device: gpu.name.clone(), runner: self.runner })
    }

    /// The form of the output.
    pub fn style(&self) -> OutputStyle {
        OutputStyle { terminal: self.terminal, form: self.form, width: self.width, wide: self.wide }
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

/// A command's own arguments, and the ladders and rungs that it was given.
#[derive(Debug)]
pub struct CommandArgs<A> {
    /// The ladders, rungs, options of problems and blocks.
    pub targets: Targets,
    /// The command's own arguments.
    pub own: A,
}

impl<A: Args> CommandArgs<A> {
    /// Adds [`Targets`] and the command's own arguments to a parser.
    pub fn arguments(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets(command))
    }

    /// Adds the arguments like [`CommandArgs::arguments`], for a command that accepts several values of blocks and
    /// options.
    pub fn arguments_of_several(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets_with_several_values(command))
    }

    /// Extracts the values from a command line that [`CommandArgs::arguments`] described.
    ///
    /// # Errors
    /// clap's error when a value is missing.
    pub fn read(env: &Env<'_>, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { targets: Targets::read(env.catalog, matches), own: A::from_arg_matches(matches)? })
    }
}
