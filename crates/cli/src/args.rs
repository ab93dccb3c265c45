//! What `ladder` can be asked for. Each ladder is a subcommand of `run` and of `check`, with its own options.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, ArgMatches, Args, FromArgMatches};

use super::agree::Agree;
use super::checklist::Checklist;
use super::dram::Dram;
use super::occupancy::Occupancy;
use super::per_ladder::{of_ladder, options, per_ladder, values};
use super::predict::{self, Predict};
use super::profile::ProfileArgs;
use super::ptx::Ptx;
use crate::error::Error;
use engine::Catalog;
use engine::device::Choice;
use engine::options::{Options, Value};
use engine::registry::Ladder;
use engine::size::parse_block;

/// A command, read.
#[derive(Debug)]
pub(super) enum Command {
    List(List),
    Run(&'static Ladder, Options, Run),
    Check(Check),
    Devices(Devices),
    Occupancy(Occupancy),
    Predict(Predict),
    Dram(Dram),
    Checklist(Checklist),
    Profile(ProfileArgs),
    Agree(Agree),
    Ptx(Ptx),
}

/// Why there is none.
pub(super) enum Refused {
    /// clap's reason; help counts as one.
    ByClap(clap::Error),
    /// Ours.
    ByUs(Error),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::ByClap(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::ByUs(error)
    }
}

/// Reads a command line, with the program's name in front.
pub(super) fn parse(
    catalog: &'static Catalog,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Command, Refused> {
    let matches = program(catalog).try_get_matches_from(args)?;
    Ok(match matches.subcommand() {
        Some(("list", list)) => Command::List(List::from_arg_matches(list)?),
        Some(("devices", devices)) => Command::Devices(Devices::from_arg_matches(devices)?),
        Some(("occupancy", args)) => Command::Occupancy(Occupancy::from_arg_matches(args)?),
        Some(("predict", predict)) => Command::Predict(Predict::from_matches(catalog, predict)?),
        Some(("dram", dram)) => Command::Dram(Dram::from_matches(catalog, dram)?),
        Some(("checklist", list)) => Command::Checklist(Checklist::from_arg_matches(list)?),
        Some(("agree", args)) => Command::Agree(Agree::from_matches(catalog, args)?),
        Some(("ptx", args)) => Command::Ptx(Ptx::from_arg_matches(args)?),
        Some(("profile", profile)) => {
            Command::Profile(ProfileArgs::from_matches(catalog, profile)?)
        }
        Some(("check", check)) => Command::Check(Check::from_matches(catalog, check)?),
        Some((_, run)) => {
            let (ladder, run) = of_ladder(catalog, run)?.ok_or_else(|| Error::NoLadder {
                known: catalog.ladders.iter().map(|ladder| ladder.name).collect(),
            })?;
            Command::Run(ladder, options(ladder, run), Run::from_arg_matches(run)?)
        }
        None => unreachable!("a subcommand is required"),
    })
}

fn program(catalog: &'static Catalog) -> clap::Command {
    let command = clap::Command::new;
    command("ladder")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "Climbs ladders of GPU kernels: each rung computes the same thing, a little faster, and teaches \
             why",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(List::augment_args(command("list").about(
            "The ladders and their rungs: where the device code is and what it teaches",
        )))
        .subcommand(per_ladder(
            catalog,
            command("run")
                .about("Run a ladder: check every rung against the CPU, time it, and compare"),
            Run::augment_args,
            |arg| arg.action(ArgAction::Set).allow_hyphen_values(true),
        ))
        .subcommand(per_ladder(
            catalog,
            On::augment_args(command("check").about(
                "Check rungs over many sizes and blocks, without timing, one launch each",
            )),
            |command| Chosen::augment_args(On::augment_args(command)),
            |arg| {
                arg.action(ArgAction::Append)
                    .num_args(1..)
                    .allow_negative_numbers(true)
            },
        ))
        .subcommand(ProfileArgs::augment(catalog, command("profile")).about(
            "Profile rungs: the counters of Nsight Compute on either device, and what bounds each rung",
        ))
        .subcommand(per_ladder(
            catalog,
            predict::Global::augment_args(command("predict").about(
                "Predict how long rungs take on a device that is not here, and compare with measured times",
            )),
            predict::Chosen::augment_args,
            |arg| arg.action(ArgAction::Set).allow_hyphen_values(true),
        ))
        .subcommand(Occupancy::augment_args(command("occupancy").about(
            "How many blocks of a rung a multiprocessor holds at once, and what limits that",
        )))
        .subcommand(Dram::command(catalog, command("dram")))
        .subcommand(Agree::augment(catalog, command("agree")).about(
            "Compare what the simulator counts of every rung with what Nsight Compute counts of it on a GPU; exit \
             code 1 where a difference is unexplained",
        ))
        .subcommand(Ptx::augment_args(command("ptx").about(
            "The kernels' PTX, with the Rust it comes from; their machine code, and what instructions they have",
        )))
        .subcommand(Checklist::augment_args(command("checklist").about(
            "The optimizations: what each gains, how it is done, and the rungs here that show it",
        )))
        .subcommand(Devices::augment_args(
            command("devices").about("What there is to run on"),
        ))
}

#[derive(Args, Debug)]
pub(super) struct List {
    /// Only this ladder
    pub(super) ladder: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Run {
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub(super) rung: Vec<String>,
    /// Threads of a block, for all rungs [default: each rung's own]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    pub(super) block: Option<[u32; 3]>,
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    pub(super) device: Choice,
    /// How many timed launches to take the median of; sim has no clock and counts one launch [default: 20, and
    /// none of what is looked at]
    #[arg(long, value_name = "K", conflicts_with = "no_time")]
    pub(super) runs: Option<u32>,
    /// Check only: neither time nor count
    #[arg(long)]
    pub(super) no_time: bool,
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown")]
    pub(super) json: bool,
    /// Print a Markdown table
    #[arg(long)]
    pub(super) markdown: bool,
    /// Put the Markdown table between this ladder's two markers in a file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["rung", "no_time"])]
    pub(super) update_readme: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct Devices {
    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

/// Where to check.
#[derive(Args, Debug)]
struct On {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
}

/// What to check of a ladder.
#[derive(Args, Debug, Default)]
pub(super) struct Chosen {
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub(super) rung: Vec<String>,
    /// These blocks [default: every one that a rung takes]
    #[arg(long, num_args = 1.., value_parser = parse_block, allow_negative_numbers = true)]
    pub(super) block: Vec<[u32; 3]>,
}

/// `ladder check`.
#[derive(Debug)]
pub(super) struct Check {
    /// One ladder, or all.
    pub(super) ladder: Option<&'static Ladder>,
    /// The values given for its options, if any were.
    pub(super) values: Vec<(&'static str, Vec<Value>)>,
    pub(super) chosen: Chosen,
    pub(super) device: Choice,
}

impl Check {
    fn from_matches(catalog: &Catalog, matches: &ArgMatches) -> Result<Self, Refused> {
        let all = On::from_arg_matches(matches)?;
        let Some((ladder, matches)) = of_ladder(catalog, matches)? else {
            return Ok(Self {
                ladder: None,
                values: Vec::new(),
                chosen: Chosen::default(),
                device: all.device,
            });
        };
        let one = On::from_arg_matches(matches)?;
        Ok(Self {
            ladder: Some(ladder),
            values: values(ladder, matches),
            chosen: Chosen::from_arg_matches(matches)?,
            // Before the ladder's name or behind it.
            device: if one.device == Choice::default() {
                all.device
            } else {
                one.device
            },
        })
    }
}
