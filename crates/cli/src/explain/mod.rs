//! `ladder explain`: figures of what a rung does, in the terminal and as SVG.

pub(crate) mod svg;
mod text;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::command::{Command, CommandArgs, Output};
use crate::dram::Memory;
use crate::env::{Env, WRONG};
use crate::error::Error;
use crate::output::{Document, Format, Table};
use crate::source_files::{SourceFiles, kernel_roots};
use analysis::document::replace;
use analysis::dram::Dram;
use analysis::explain::{DRAWINGS, Description, Drawing, Figure, Watch, record, small_enough};
use engine::device::Sim;
use engine::problem::Verdict;
use engine::size::parse_size;

pub(crate) const EXPLAIN: Command = Command {
    name: "explain",
    about: "Draw what a rung does as it runs on the SIMT machine: requests, banks, shuffles, sums, tiles, time, lines",
    arguments: CommandArgs::<Arguments>::arguments,
    execute: |matches, env, to| explain(&CommandArgs::<Arguments>::read(env, matches)?, env, to),
};

/// The arguments of `ladder explain` alone.
#[derive(Args, Debug)]
struct Arguments {
    /// Which figures to draw [default: all that the warp and its block have]
    #[arg(long, value_name = "FIGURE,…", value_parser = drawings(), value_delimiter = ',')]
    what: Vec<&'static str>,
    /// The block of the warp, by its number in the grid
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_size, allow_hyphen_values = true)]
    block_index: u64,
    /// The warp, by its number in its block
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_size, allow_hyphen_values = true)]
    warp: u64,
    /// With the source lines, show the PTX that was made of each
    #[arg(long)]
    ptx: bool,
    /// The device whose latencies the timeline models: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file as
    /// crates/devices/known has them
    #[arg(long, value_name = "DEVICE", default_value = "h100")]
    on: String,
    #[command(flatten)]
    memory: Memory,
    /// Also write the figures into this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Reads the name of a drawing.
fn drawings() -> impl TypedValueParser<Value = &'static str> {
    let names = DRAWINGS.iter().map(|own| PossibleValue::new(own.name).help(own.about));
    PossibleValuesParser::new(names).map(|name| {
        let drawing = DRAWINGS.iter().find(|own| own.name == name);
        drawing.expect("the name is one of those that are possible").name
    })
}

/// The most figures that are shown in a terminal.
const MOST: usize = 24;

/// A figure with the texts of its source lines.
#[derive(Debug, Serialize)]
pub(crate) struct Sourced {
    #[serde(flatten)]
    pub(crate) figure: Figure,
    /// `src/reduce/smem.rs:12  let value = …`; empty where the PTX does not say it.
    pub(crate) line: String,
}

impl Sourced {
    /// A figure with the texts that these files have.
    pub(crate) fn new(mut figure: Figure, files: &mut SourceFiles) -> Self {
        let source = figure.source.as_ref();
        let line = source.map_or(String::new(), |(path, line)| files.with_text(path, *line));
        for own in figure.listing.iter_mut().flat_map(|listing| &mut listing.lines) {
            if let Some((path, line)) = &mut own.source {
                own.text = match line {
                    0 => "(instructions of several lines)".to_owned(),
                    _ => files.indented(path, *line).unwrap_or_default().to_owned(),
                };
                *path = files.path_shown(path);
            }
        }
        Self { figure, line }
    }
}

fn explain(args: &CommandArgs<Arguments>, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own } = args;
    if targets.is_empty() {
        return Err(Error::Request("name the rung to explain; `ladder list` names them".to_owned()));
    }
    let mut selections = targets.select(env.catalog)?;
    selections.iter_mut().try_for_each(small_enough)?;
    let (_, plan) = targets.only_launch(selections)?;
    let (rung, launch) = &plan.launches()[0];
    // Of all devices only the SIMT machine reports each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let watch = Watch {
        on: Some(Description::open(&own.on).map_err(analysis::Error::from)?),
        kernels: Some(env.catalog.kernels),
        dram: own.memory.or(Dram::FIGURE)?,
        ..Watch::from((own.block_index, own.warp))
    };
    let (recording, verdict) = record(&mut sim, plan.problem(), rung, launch, watch)?;

    let is_asked = |drawing: &&Drawing| own.what.is_empty() || own.what.contains(&drawing.name);
    let mut lines = SourceFiles::new(&kernel_roots(env.catalog.kernels));
    let mut figures = Vec::new();
    for drawing in DRAWINGS.iter().filter(is_asked) {
        figures.extend((drawing.draw)(&recording).into_iter().map(|figure| Sourced::new(figure, &mut lines)));
    }
    if figures.is_empty() {
        let has = |drawing: &&Drawing| !(drawing.draw)(&recording).is_empty();
        let others: Vec<&str> = DRAWINGS.iter().filter(has).map(|own| own.name).collect();
        let (block, warp) = (own.block_index, own.warp);
        let what = if own.what.is_empty() { "anything".to_owned() } else { own.what.join(" or ") };
        let has = if others.is_empty() { "nothing; try another one".to_owned() } else { others.join(", ") };
        return Err(Error::Request(format!(
            "warp {warp} of block {block} of {launch} has no {what} to draw; it has {has}{}",
            recording.left_out().map_or(String::new(), |why| format!("; {why}"))
        )));
    }
    let title = format!("{launch}, {}: warp {} of block {}", plan.problem().labels().size, own.warp, own.block_index);
    let mut document = Document::default();
    document.value(&figures);
    if !own.ptx {
        let listings = figures.iter_mut().filter_map(|own| own.figure.listing.as_mut());
        listings.flat_map(|listing| &mut listing.lines).for_each(|line| line.ptx.clear());
    }
    if let Some(path) = &own.svg {
        let text = svg::document(&title, &figures);
        replace(path, &text).map_err(|why| analysis::Error::file("write", path, why))?;
    }
    document.paragraph(&title);
    for figure in figures.iter().take(MOST) {
        let own = &figure.figure;
        let place = if own.ptx_line > 0 { format!("PTX line {}", own.ptx_line) } else { String::new() };
        document.section(format!("{}: {}", own.what, own.title), place);
        if !figure.line.is_empty() {
            document.paragraph(&figure.line);
        }
        for grid in &own.grids {
            document.paragraph(&grid.caption);
            document.picture(|style| text::grid(grid, style, Table::available_width(style)));
        }
        if let Some(listing) = &own.listing {
            document.picture(|style| text::listing(listing, style, Table::available_width(style)));
        }
        document.paragraph(counts(own));
        own.notes.iter().for_each(|note| document.note(note));
    }
    if let Some(more) = figures.len().checked_sub(MOST).filter(|more| *more > 0) {
        document.note(format!("{more} more figures are left out; --what chooses, --svg and --json have all"));
    }
    recording.left_out().into_iter().for_each(|why| document.note(why));
    let mut code = 0;
    if let Verdict::Wrong(why) = &verdict {
        document.note(format!("wrong: {launch}: {why}"));
        code = WRONG;
    }
    own.format.write(&document, env.style(), to.out)?;
    Ok(code)
}

/// What is counted in a figure, in one line: `lanes 32, sectors 4`.
pub(crate) fn counts(figure: &Figure) -> String {
    let counts = figure.counts.iter().map(|(name, count)| format!("{name} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}
