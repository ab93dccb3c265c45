//! `ladder explain`: figures of what a warp of a rung does, in the terminal and as SVG.

mod svg;
mod text;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, WRONG};
use crate::error::Error;
use crate::output::{Document, Format, Table};
use crate::source_files::{SourceFiles, kernel_roots};
use analysis::document::replace;
use analysis::explain::{DRAWINGS, Drawing, Figure, record, small_enough};
use engine::device::Sim;
use engine::problem::Verdict;
use engine::size::parse_size;

pub(crate) const EXPLAIN: Command = Command {
    name: "explain",
    about: "Draw what a warp of a rung does: its requests to memory, banks and shuffles, as it runs on the SIMT machine",
    arguments: CommandArgs::<Arguments>::arguments,
    execute: |matches, env, to| explain(&CommandArgs::<Arguments>::read(env, matches)?, env, to),
};

/// The arguments of `ladder explain` alone.
#[derive(Args, Debug)]
struct Arguments {
    /// Which figures to draw [default: all that the warp has]
    #[arg(long, value_name = "FIGURE,…", value_parser = drawings(), value_delimiter = ',')]
    what: Vec<&'static str>,
    /// The block of the warp, by its number in the grid
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_size, allow_hyphen_values = true)]
    block_index: u64,
    /// The warp, by its number in its block
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_size, allow_hyphen_values = true)]
    warp: u64,
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

/// A figure with the text of its source line.
#[derive(Debug, Serialize)]
struct Sourced {
    #[serde(flatten)]
    figure: Figure,
    /// `src/reduce/smem.rs:12  let value = …`; empty where the PTX does not say it.
    line: String,
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
    let (recording, verdict) = record(&mut sim, plan.problem(), rung, launch, (own.block_index, own.warp))?;

    let is_asked = |drawing: &&Drawing| own.what.is_empty() || own.what.contains(&drawing.name);
    let mut lines = SourceFiles::new(&kernel_roots(env.catalog.kernels));
    let mut figures = Vec::new();
    for drawing in DRAWINGS.iter().filter(is_asked) {
        figures.extend((drawing.draw)(&recording).into_iter().map(|figure| {
            let source = figure.source.as_ref();
            let line = source.map_or(String::new(), |(path, line)| lines.with_text(path, *line));
            Sourced { figure, line }
        }));
    }
    if figures.is_empty() {
        let has = |drawing: &&Drawing| !(drawing.draw)(&recording).is_empty();
        let others: Vec<&str> = DRAWINGS.iter().filter(has).map(|own| own.name).collect();
        let (block, warp) = (own.block_index, own.warp);
        let what = if own.what.is_empty() { "anything".to_owned() } else { own.what.join(" or ") };
        let has = if others.is_empty() { "nothing; try another one".to_owned() } else { others.join(", ") };
        return Err(Error::Request(format!(
            "warp {warp} of block {block} of {launch} has no {what} to draw; it has {has}"
        )));
    }
    let title = format!("{launch}, {}: warp {} of block {}", plan.problem().size(), own.warp, own.block_index);
    if let Some(path) = &own.svg {
        let text = svg::document(&title, &figures);
        replace(path, &text).map_err(|why| analysis::Error::file("write", path, why))?;
    }
    let mut document = Document::default();
    document.value(&figures);
    document.paragraph(&title);
    for figure in figures.iter().take(MOST) {
        let own = &figure.figure;
        document.section(format!("{}: {}", own.what, own.title), format!("PTX line {}", own.ptx_line));
        if !figure.line.is_empty() {
            document.paragraph(&figure.line);
        }
        for grid in &own.grids {
            document.paragraph(&grid.caption);
            document.picture(|style| text::grid(grid, style, Table::available_width(style)));
        }
        document.paragraph(counts(own));
        own.notes.iter().for_each(|note| document.note(note));
    }
    if let Some(more) = figures.len().checked_sub(MOST).filter(|more| *more > 0) {
        document.note(format!("{more} more figures are left out; --what chooses, --svg and --json have all"));
    }
    let mut code = 0;
    if let Verdict::Wrong(why) = &verdict {
        document.note(format!("wrong: {launch}: {why}"));
        code = WRONG;
    }
    own.format.write(&document, env.style(), to.out)?;
    Ok(code)
}

/// What is counted in a figure, in one line: `lanes 32, sectors 4`.
fn counts(figure: &Figure) -> String {
    let counts = figure.counts.iter().map(|(name, count)| format!("{name} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}
