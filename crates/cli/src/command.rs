//! What a command of `ladder` is, and how its arguments are read: those that all commands share, [`Targets`], and its
//! own.

use std::io::Write;

use clap::{ArgMatches, Args};

use crate::env::Env;
use crate::error::Error;
use crate::targets::{Scope, Targets};

/// A command of `ladder`.
pub(crate) struct Command {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Adds its arguments.
    pub arguments: fn(clap::Command, &Scope) -> clap::Command,
    /// Does it, and gives the exit code.
    pub execute: fn(&ArgMatches, &Env<'_>, &mut Output<'_>) -> Result<u8, Error>,
}

/// Where a command writes.
pub(crate) struct Output<'a> {
    /// What was asked for.
    pub out: &'a mut dyn Write,
    /// What else there is to say.
    pub err: &'a mut dyn Write,
}

/// A command's own arguments, and the ladders and rungs that it was given.
#[derive(Debug)]
pub(crate) struct CommandArgs<A> {
    /// Ladders, rungs, options of problems and blocks.
    pub targets: Targets,
    /// The other arguments.
    pub own: A,
}

impl<A: Args> CommandArgs<A> {
    /// Adds [`Targets`] and the other arguments to a command.
    pub(crate) fn arguments(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets(command))
    }

    /// As [`CommandArgs::arguments`], for a command in which blocks and options of problems can have several values.
    pub(crate) fn arguments_of_several(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets_with_several_values(command))
    }

    /// Reads the arguments.
    pub(crate) fn read(env: &Env<'_>, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            targets: Targets::read(env.catalog, matches),
            own: A::from_arg_matches(matches)?,
        })
    }
}
