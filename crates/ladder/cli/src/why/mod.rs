//! `ladder why`: what bounds a rung, how the counters show the bound, and the fix.
//!
//! The verdict is the default. Separate modules implement the other views: all [`counters`], the [`occupancy`], the
//! [`roofline`], the [`figures`], [`dram`], and the [`checklist`] of optimizations.

mod checklist;
mod counters;
mod dram;
pub(crate) mod figures;
mod file;
mod measure;
mod occupancy;
mod playground;
pub(crate) mod roofline;
mod verdict;

use std::path::PathBuf;

use clap::{ArgGroup, ArgMatches, Args};

use crate::command::{Command, CommandArgs, Env, Output};
use crate::error::Error;
use crate::output::Format;
use crate::targets::NAMES;
use crate::timing::TimingArguments;

pub(crate) const WHY: Command = Command {
    name: "why",
    about: "Explain what bounds a rung or a kernel of a PTX file: the verdict, the counters and the figure that show it, \
            and the fix",
    arguments: |command, scope| match scope.names_ptx() {
        true => file::arguments(command),
        false => CommandArgs::<Arguments>::arguments(command, scope)
            .mut_arg("names", |arg| {
                arg.help(format!("{NAMES}. Or a FILE.ptx, or a kernel with --grid: `ladder why FILE.ptx --help`"))
            })
            .mut_arg("times", |arg| arg.requires("roofline")),
    },
    execute,
};

const FIGURES: &str = "With --figures";
const DRAM: &str = "With --dram";

/// The arguments of `ladder why RUNG` that `ladder why FILE.ptx` does not accept.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("view").args(["counters", "occupancy", "roofline", "figures", "dram", "checklist"])))]
struct Arguments {
    #[command(flatten)]
    view: View,
    /// Count how evenly a rung's accesses spread over the channels and banks of DRAM. Without a rung, draw all figures
    /// of DRAM, or the named one
    #[arg(long, value_name = "FIGURE", value_enum, num_args = 0..=1, require_equals = true)]
    dram: Option<Option<dram::Figure>>,
    /// List seven optimizations, each with rungs that show it
    #[arg(long)]
    checklist: bool,
    /// With --checklist, show every pair of rungs
    #[arg(long, requires = "checklist", conflicts_with = "json")]
    all: bool,
    #[command(flatten)]
    timing: TimingArguments,
    /// With --counters, explain each counter, and check the texts' statements about it
    #[arg(long, requires = "counters", conflicts_with = "json")]
    explain: bool,
    /// Nsight Compute's program [default: the one in PATH or in its usual install folder]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
    /// With --occupancy, the architecture to assemble for [default: the GPU's, or sm_90 without a GPU]
    #[arg(long, value_name = "sm_XX", requires = "occupancy", conflicts_with = "on")]
    arch: Option<String>,
    #[command(flatten, next_help_heading = FIGURES)]
    figure: figures::FigureArguments,
    #[command(flatten, next_help_heading = DRAM)]
    memory: dram::DramArguments,
}

/// The views of launches. Rungs and files have the same views.
#[derive(Args, Debug)]
struct View {
    /// Show the counters of each launch: the default ones, or the named ones. The names are Nsight Compute's; on a GPU,
    /// any of its metrics can be named
    #[arg(long, value_name = "NAME,…", num_args = 0.., require_equals = true, value_delimiter = ',')]
    counters: Option<Vec<String>>,
    /// Show how many blocks a multiprocessor holds at once, and the resource that limits this number
    #[arg(long)]
    occupancy: bool,
    /// Draw the launches under a device's roofs, with measured or predicted times
    #[arg(long)]
    roofline: bool,
    /// Draw what a warp of one launch does: the first figures, or all figures of the named kinds. --svg and --json
    /// include all
    #[arg(long, value_name = "FIGURE,…", value_parser = figures::drawings(), num_args = 0.., require_equals = true,
        value_delimiter = ',')]
    figures: Option<Vec<String>>,
    /// With --figures or --roofline, also write an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

impl View {
    /// Returns an error if `--svg` is given but nothing can be drawn.
    fn check(&self) -> Result<(), Error> {
        match self.svg.is_some() && self.figures.is_none() && !self.roofline {
            true => Err(Error::Request("--svg needs --figures or --roofline; add one of them".to_owned())),
            false => Ok(()),
        }
    }
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    if file::is_given(matches) {
        return file::execute(matches, env, to);
    }
    let args = CommandArgs::<Arguments>::read(env, matches)?;
    let arguments = &args.command;
    arguments.view.check()?;
    if arguments.memory.memory.is_given() && arguments.view.figures.is_none() && arguments.dram.is_none() {
        let why = "--channels, --banks and --burst need --dram or --figures; add one of them";
        return Err(Error::Request(why.to_owned()));
    }
    if arguments.checklist && !args.targets.is_empty() {
        return Err(Error::Request("the checklist covers all ladders: leave out the names".to_owned()));
    }
    if arguments.checklist {
        return checklist::show(arguments.view.format, arguments.all, env, to);
    }
    if let Some(figure) = arguments.dram {
        return dram::show(figure, &args, env, to);
    }
    args.targets.require_names(env.catalog)?;
    match &arguments.view {
        View { figures: Some(chosen), .. } => figures::show(chosen, &args, env, to),
        View { occupancy: true, .. } => occupancy::show(&args, env, to),
        View { roofline: true, .. } => roofline::show(&args, env, to),
        View { counters: Some(names), .. } => counters::show(names, &args, env, to),
        _ => verdict::show(&args, env, to),
    }
}
