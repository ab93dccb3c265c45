//! The commands of `ladder`, and how their arguments are parsed: the arguments that all commands share, [`Targets`],
//! and the command's own.

use std::io::Write;

use clap::{ArgMatches, Args};

use crate::env::Env;
use crate::error::Error;
use crate::targets::{Scope, Targets};

/// A command of `ladder`.
pub(crate) struct Command {
    pub name: &'static str,
    /// The help text, in one line.
    pub about: &'static str,
    /// Adds its arguments to the parser.
    pub arguments: fn(clap::Command, &Scope) -> clap::Command,
    pub execute: fn(&ArgMatches, &Env<'_>, &mut Output<'_>) -> Result<u8, Error>,
}

pub(crate) struct Output<'a> {
    /// The output for the results.
    pub out: &'a mut dyn Write,
    /// The output for messages.
    pub err: &'a mut dyn Write,
}

/// A command's own arguments, and the ladders and rungs that it was given.
#[derive(Debug)]
pub(crate) struct CommandArgs<A> {
    /// The ladders, rungs, options of problems and blocks.
    pub targets: Targets,
    /// The command's own arguments.
    pub own: A,
}

impl<A: Args> CommandArgs<A> {
    /// Adds [`Targets`] and the command's own arguments to a parser.
    pub(crate) fn arguments(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets(command))
    }

    /// Adds the arguments like [`CommandArgs::arguments`], for a command that accepts several values of blocks and
    /// options.
    pub(crate) fn arguments_of_several(command: clap::Command, scope: &Scope) -> clap::Command {
        A::augment_args(scope.targets_with_several_values(command))
    }

    pub(crate) fn read(env: &Env<'_>, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { targets: Targets::read(env.catalog, matches), own: A::from_arg_matches(matches)? })
    }
}
