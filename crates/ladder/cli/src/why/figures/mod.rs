//! `ladder why --figures`: drawings of what a rung does, for the terminal and as SVG.

mod text;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::command::{CommandArgs, Env, Output, WRONG};
use crate::error::Error;
use crate::output::{Document, OutputStyle};
use analysis::explain::{record, small_enough};
use analysis::predict::Description;
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::Verdict;
use engine::selection::Selection;
use engine::size::parse_size;
use profile::Watch;
use profile::dram::Dram;
use profile::figures::{DRAWINGS, Drawing, Recording};
use report::figures::{Sourced, counts, worst};
use report::files::replace;
use report::sources::SourceFiles;
use report::svg;

/// The device whose latencies the timeline models.
const MODEL: &str = "h100";

/// The arguments that apply only to figures.
#[derive(Args, Debug)]
pub(super) struct FigureArguments {
    /// The number of the warp's block in the grid [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_hyphen_values = true, requires = "figures")]
    pub(super) block_index: Option<u64>,
    /// The number of the warp in its block [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_hyphen_values = true, requires = "figures")]
    pub(super) warp: Option<u64>,
    /// Below each source line, show the PTX that the compiler made from it
    #[arg(long, requires = "figures")]
    ptx: bool,
}

/// The name that selects all drawings.
const ALL: &str = "all";

/// The maximum number of lines of figures that are shown if no figure is named.
const LINES_SHOWN: usize = 55;

/// Returns the parser for the name of a drawing or [`ALL`].
pub(super) fn drawings() -> PossibleValuesParser {
    let names = DRAWINGS.iter().map(|drawing| PossibleValue::new(drawing.name).help(drawing.about));
    PossibleValuesParser::new(names.chain([PossibleValue::new(ALL).help("All figures")]))
}

pub(super) fn show(
    chosen: &[String],
    args: &CommandArgs<super::Arguments>,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let CommandArgs { targets, command: arguments } = args;
    let mut selections = targets.select(env.catalog)?;
    selections.iter_mut().try_for_each(small_enough)?;
    let (block, warp) = (arguments.figure.block_index.unwrap_or(0), arguments.figure.warp.unwrap_or(0));
    let Recorded { recording, launch, size, verdict } = recorded(args, selections, (block, warp), env)?;
    let mut lines = SourceFiles::new(&env.catalog.kernels.source_folders());
    let mut document = drawn(
        chosen,
        (&arguments.view, &arguments.figure),
        &recording,
        (&format!("{launch}, {size}"), &mut lines),
        env.style(),
    )?;
    let mut code = 0;
    if let Verdict::Wrong(why) = &verdict {
        document.note(format!("wrong: {launch}: {why}"));
        code = WRONG;
    }
    arguments.view.format.write(&document, env.style(), to.out)?;
    Ok(code)
}

/// Draws the figures of these kinds for a launch and writes them to the file that `--svg` names.
///
/// # Errors
/// Returns [`Error::Request`] with the available kinds when there is no such figure, and [`Error::Analysis`] when the
/// file cannot be written.
pub(super) fn drawn(
    chosen: &[String],
    (view, figure): (&super::View, &FigureArguments),
    recording: &Recording,
    (launch, lines): (&str, &mut SourceFiles),
    style: OutputStyle,
) -> Result<Document, Error> {
    let Watch { block, warp, .. } = recording.watch;
    let is_all = chosen.is_empty() || chosen.iter().any(|name| name == ALL);
    let is_requested = |drawing: &&Drawing| is_all || chosen.iter().any(|name| name == drawing.name);
    let mut figures = Vec::new();
    for drawing in DRAWINGS.iter().filter(is_requested) {
        figures.extend((drawing.draw)(recording).into_iter().map(|figure| Sourced::new(figure, lines)));
    }
    if figures.is_empty() {
        let has = |drawing: &&Drawing| !(drawing.draw)(recording).is_empty();
        let others: Vec<&str> = DRAWINGS.iter().filter(has).map(|drawing| drawing.name).collect();
        let what = if is_all { "anything".to_owned() } else { chosen.join(" or ") };
        let has = if others.is_empty() { "no figures, so try another warp".to_owned() } else { others.join(", ") };
        return Err(Error::Request(format!(
            "warp {warp} of block {block} of {launch} has no {what} to draw; it has {has}{}",
            recording.left_out().map_or(String::new(), |why| format!("; {why}"))
        )));
    }
    let title = format!("{launch}: warp {warp} of block {block}");
    let mut document = Document::default();
    document.value(&figures);
    if !figure.ptx {
        figures.iter_mut().for_each(Sourced::leave_out_ptx);
    }
    if let Some(path) = &view.svg {
        let text = svg::document(&title, &figures);
        replace(path, &text).map_err(|why| analysis::Error::file("write", path, why))?;
    }
    document.paragraph(&title);
    let left_out = add_all(&mut document, &figures, chosen.is_empty(), style);
    if !left_out.is_empty() {
        let kinds = left_out.chunk_by(|a, b| a.figure.what == b.figure.what);
        let kinds: Vec<String> = kinds.map(|kind| format!("{} {}", kind.len(), kind[0].figure.what)).collect();
        document.section("more figures", kinds.join(", "));
        document.note("--figures=NAME draws all figures of one kind, --figures=all draws every figure");
    }
    recording.left_out().into_iter().for_each(|why| document.note(why));
    Ok(document)
}

/// A recorded launch.
struct Recorded {
    recording: Recording,
    launch: Launch,
    size: String,
    verdict: Verdict,
}

/// Runs the only selected rung and records one warp of one block.
fn recorded(
    args: &CommandArgs<super::Arguments>,
    selections: Vec<Selection>,
    at: (u64, u64),
    env: &Env<'_>,
) -> Result<Recorded, Error> {
    let CommandArgs { targets, command: arguments } = args;
    let (_, plan) = targets.only_launch(selections)?;
    let (rung, launch) = &plan.launches()[0];
    // Only the simulator reports each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let on = arguments.timing.on.as_deref().unwrap_or(MODEL);
    let watch = Watch {
        block: at.0,
        warp: at.1,
        dram: arguments.memory.memory.or(Dram::FIGURE).map_err(analysis::Error::from)?,
        ..Watch::new(Description::open(on).map_err(analysis::Error::from)?)
    };
    let kernels = Some(env.catalog.kernels);
    let (profile, verdict) = record(&mut sim, plan.problem(), rung, launch, watch, kernels)?;
    Ok(Recorded { recording: profile.recording, launch: launch.clone(), size: plan.problem().labels().size, verdict })
}

/// Adds the [worst](add_worst) figure of this kind, on a problem that is small enough to draw, or a note that explains
/// why there is none.
pub(super) fn add_worst_of_rung(
    document: &mut Document,
    kind: &str,
    mut selection: Selection,
    args: &CommandArgs<super::Arguments>,
    env: &Env<'_>,
) {
    let drawn = small_enough(&mut selection).map_err(Error::from);
    let drawn = drawn.and_then(|()| recorded(args, vec![selection], (0, 0), env));
    match drawn {
        Ok(Recorded { recording, launch, size, .. }) => {
            let mut lines = SourceFiles::new(&env.catalog.kernels.source_folders());
            add_worst(document, kind, &recording, (&format!("{launch}, {size}"), &mut lines), env.style());
        }
        Err(why) => document.section("figure", format!("none: {why}")),
    }
}

/// Adds the [worst] figure of this kind.
pub(super) fn add_worst(
    document: &mut Document,
    kind: &str,
    recording: &Recording,
    (launch, lines): (&str, &mut SourceFiles),
    style: OutputStyle,
) {
    let Some(mut sourced) = worst(recording, kind, lines) else {
        document.section("figure", "none, because the warp does not execute what this figure draws");
        return;
    };
    sourced.figure.notes.push(format!("the figure shows warp 0 of block 0 of {launch}"));
    add(document, &sourced, style);
}

/// Adds the figures. If `is_cut`, adds only the first figures that fit into [`LINES_SHOWN`], but at least one. Returns
/// the remaining figures.
fn add_all<'f>(document: &mut Document, figures: &'f [Sourced], is_cut: bool, style: OutputStyle) -> &'f [Sourced] {
    let mut lines = 0;
    for (index, figure) in figures.iter().enumerate() {
        let mut drawn = Document::default();
        add(&mut drawn, figure, style);
        lines += drawn.text(style).lines().count() + 1;
        if is_cut && index > 0 && lines > LINES_SHOWN {
            return &figures[index..];
        }
        document.append(drawn);
    }
    &[]
}

/// Adds a figure, with pictures as wide as this style allows.
fn add(document: &mut Document, sourced: &Sourced, style: OutputStyle) {
    let figure = &sourced.figure;
    // A source line is more useful than a PTX line, and does not change when other kernels of the module change.
    let is_placed = sourced.line.is_empty() && figure.ptx_line > 0;
    let place = if is_placed { format!("PTX line {}", figure.ptx_line) } else { String::new() };
    document.section(format!("{}: {}", figure.what, figure.title), place);
    if !sourced.line.is_empty() {
        document.paragraph(&sourced.line);
    }
    for grid in &figure.grids {
        document.paragraph(&grid.caption);
        document.picture(style, |style| text::grid(grid, style));
    }
    if let Some(listing) = &figure.listing {
        document.picture(style, |style| text::listing(listing, style));
    }
    document.paragraph(counts(figure));
    figure.notes.iter().for_each(|note| document.note(note));
}
