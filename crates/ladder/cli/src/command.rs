//! The commands of a program, the environment that they run in, and the parsing of their arguments. Most commands
//! accept [`Targets`] and additional arguments that only one command accepts.

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
    /// The word on the command line that selects the command.
    pub name: &'static str,
    /// The help text, in one line.
    pub about: &'static str,
    /// Adds the command's arguments to the parser.
    pub arguments: fn(clap::Command, &Scope) -> clap::Command,
    /// Runs the command and returns the exit code.
    pub execute: fn(&ArgMatches, &Env<'_>, &mut Output<'_>) -> Result<u8, Error>,
}

/// The writers that receive the output of a command.
pub struct Output<'a> {
    /// The writer for results.
    pub out: &'a mut dyn Write,
    /// The writer for messages.
    pub err: &'a mut dyn Write,
}

/// A function that does the work of a program and returns its exit code.
pub type Action = fn(&Env<'_>, &mut Output<'_>) -> Result<u8, Error>;

/// A program: its name and its commands.
#[derive(Clone, Copy)]
pub struct Program {
    /// The name of the program in its help and its errors.
    pub name: &'static str,
    /// What the program does, in one line.
    pub about: &'static str,
    /// The commands, in the order in which the help lists them.
    pub commands: &'static [&'static [Command]],
    /// Commands that only the program itself starts, and that the help therefore does not list.
    pub hidden: &'static [&'static [Command]],
    /// What the program does without arguments; `None` prints the help.
    pub without_arguments: Option<Action>,
}

/// The exit code if a result is wrong or a difference is unexplained.
pub const WRONG: u8 = 1;

/// The exit code of an interrupted run: 128 plus the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// The environment of the program.
pub struct Env<'a> {
    /// The program, with its commands.
    pub program: &'static Program,
    /// The ladders, and their kernels.
    pub catalog: &'static Catalog,
    /// The ladders whose problems are divided over several devices.
    pub shared: &'static [SharedLadder],
    /// Opens the requested device.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, engine::Error>,
    /// This program's command line, for running launches in child processes, because a failed launch can make the GPU
    /// unusable for its process. `None` if only this process can open the device.
    pub command: Option<&'a [OsString]>,
    /// The request of the parent, if this process is a child ([`isolated`](crate::isolated)).
    pub request: Option<&'a str>,
    /// Whether the output goes to a person at a terminal.
    pub terminal: bool,
    /// The form of the output.
    pub form: Form,
    /// The maximum number of columns of a line of text.
    pub width: usize,
    /// Whether tables show all of their columns, however wide.
    pub wide: bool,
    /// Starts Nsight Compute.
    pub runner: &'a dyn Runner,
    /// Finds the tools that explain differences between the simulator and a GPU.
    pub explain: &'a FindExplain<'a>,
    /// Returns the date, and the compilers of the host code and of the code for a device.
    pub provenance: &'a dyn Fn(&DeviceInfo) -> Provenance,
}

/// Finds the tools that explain differences on a GPU with this compute capability. The error lists the missing tools,
/// each with instructions for installing it.
pub type FindExplain<'a> = dyn Fn(Option<(u32, u32)>) -> Result<Box<dyn Explain>, Vec<String>> + 'a;

impl<'a> Env<'a> {
    /// Returns Nsight Compute, set up to profile this program on a GPU.
    ///
    /// # Errors
    /// Returns an error when the path of this program is unknown.
    pub fn ncu(&self, program: PathBuf, gpu: &DeviceInfo) -> std::io::Result<Ncu<'a>> {
        Ok(Ncu { program, profiled: std::env::current_exe()?, device: gpu.name.clone(), runner: self.runner })
    }

    /// Returns the style of the output.
    pub fn style(&self) -> OutputStyle {
        OutputStyle { terminal: self.terminal, form: self.form, width: self.width, wide: self.wide }
    }
}

/// Shows a progress bar on stderr if stderr is a terminal.
pub fn progress_bar(length: usize, terminal: bool) -> ProgressBar {
    if !terminal {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")
        .expect("the template has only fields that indicatif documents");
    ProgressBar::new(length as u64).with_style(style)
}

/// The arguments of a command: the shared arguments, and the arguments of this command only.
#[derive(Debug)]
pub struct CommandArgs<A> {
    /// The ladders, rungs, options of problems and blocks.
    pub targets: Targets,
    /// The arguments of this command only.
    pub command: A,
}

impl<A: Args> CommandArgs<A> {
    /// Adds [`Targets`] and the arguments of the command to a parser.
    pub fn arguments(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets(command))
    }

    /// Adds the same arguments as [`CommandArgs::arguments`], for a command that accepts several blocks and several
    /// values of each option.
    pub fn arguments_of_several(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets_with_several_values(command))
    }

    /// Extracts the values of the arguments that [`CommandArgs::arguments`] added.
    ///
    /// # Errors
    /// Returns clap's error when a value is missing.
    pub fn read(env: &Env<'_>, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { targets: Targets::read(env.catalog, matches), command: A::from_arg_matches(matches)? })
    }
}
