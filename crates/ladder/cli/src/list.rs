//! `ladder list` and `ladder devices`: the ladders and rungs, and the devices that run them.

use clap::{ArgMatches, Args, FromArgMatches};
use engine::device::{Choice, DeviceInfo};
use engine::registry::{Ladder, Rung};
use engine::size::{self, dims};
use engine::{Catalog, Kernels};
use serde::Serialize;

use crate::command::{Command, CommandArgs, Env, Output};
use crate::error::Error;
use crate::output::{Column, Document, Format, Importance, NOTHING, Table};

pub(crate) const LIST: Command = Command {
    name: "list",
    about: "List the ladders or the rungs of one ladder, or describe one rung",
    arguments: |command, scope| Arguments::augment_args(scope.names(command)),
    execute: list,
};

pub(crate) const DEVICES: Command = Command {
    name: "devices",
    about: "Describe the devices of this machine",
    arguments: |command, _| Arguments::augment_args(command),
    execute: devices,
};

#[derive(Args, Debug)]
struct Arguments {
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct RungRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    source: &'a str,
    entries: Vec<String>,
    block: [u32; 3],
    shared_bytes: u32,
    in_place: bool,
    lesson: &'a str,
}

fn list(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let args = CommandArgs::<Arguments>::read(env, matches)?;
    let (kernels, selected) = (env.catalog.kernels, args.targets.select(env.catalog)?);
    let mut document = Document::default();
    match &selected[..] {
        _ if args.targets.is_empty() => {
            ladders(env.catalog, &mut document);
            document.note("`ladder list LADDER` lists its rungs");
            selected.iter().for_each(|selection| records(selection.ladder, &selection.rungs(), &mut document));
        }
        [only] if !only.whole && only.rungs().len() == 1 => card(kernels, only.ladder, only.rungs()[0], &mut document),
        _ => {
            selected.iter().for_each(|selection| document.append(rungs(kernels, selection.ladder, &selection.rungs())));
        }
    }
    args.command.format.write(&document, env.style(), to.out)?;
    Ok(0)
}

/// Shows the output of `ladder` without arguments: the ladders, and suggested commands.
pub(crate) fn overview(env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let mut document = Document::default();
    ladders(env.catalog, &mut document);
    if let Some((ladder, rung)) = env.catalog.ladders.first().and_then(|ladder| Some((ladder, ladder.rungs.first()?))) {
        document.note(format!(
            "next: `ladder run {}` runs a ladder, `ladder why {}` explains what bounds a rung,",
            ladder.name, rung.name
        ));
    }
    document.note("`ladder learn` lists exercises, `ladder --help` lists the commands");
    Format::default().write(&document, env.style(), to.out)?;
    Ok(0)
}

/// Adds a row for each ladder.
fn ladders(catalog: &Catalog, document: &mut Document) {
    let mut table = Table::new([Column::name("ladder"), Column::number("rungs"), Column::text("computes")]);
    for ladder in catalog.ladders {
        table.row([ladder.name.to_owned(), ladder.rungs.len().to_string(), ladder.summary.to_owned()]);
    }
    document.table(table);
}

/// Adds the description of one rung.
fn card(kernels: &'static Kernels, ladder: &Ladder, rung: &Rung, document: &mut Document) {
    document.heading(rung.name, rung.lesson);
    let place = ladder.rungs.iter().position(|listed| listed.name == rung.name).unwrap_or_default();
    let name = |place: Option<usize>| {
        place.and_then(|place| ladder.rungs.get(place)).map_or(NOTHING, |neighbor| neighbor.name)
    };
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    document.facts([
        ("ladder", format!("{}, rung {} of {}", ladder.name, place + 1, ladder.rungs.len())),
        ("previous rung", name(place.checked_sub(1)).to_owned()),
        ("next rung", name(Some(place + 1)).to_owned()),
        ("device code", rung.source.to_owned()),
        ("kernels", rung.entry_names().join(", ")),
        ("block", dims(rung.default_block)),
        ("shared memory", or_none(shared(kernels, rung))),
        ("input", if rung.in_place { "overwritten" } else { "kept" }.to_owned()),
    ]);
    if let Some(published) = rung.published {
        document.facts([("published", format!("{}×", published.factor))]);
    }
    document.note(format!("next: `ladder run {0}`, `ladder why {0}`, `ladder ptx {0}`", rung.name));
    records(ladder, &[rung], document);
}

/// Adds a record for each of these rungs.
fn records(ladder: &Ladder, rungs: &[&Rung], document: &mut Document) {
    for rung in rungs {
        document.record(&RungRecord {
            ladder: ladder.name,
            rung: rung.name,
            source: rung.source,
            entries: rung.entry_names(),
            block: rung.default_block,
            shared_bytes: (rung.dynamic_shared)(rung.default_block, ""),
            in_place: rung.in_place,
            lesson: rung.lesson,
        });
    }
}

/// Describes the rungs of a ladder: the location of their device code, their launches and their lessons.
pub fn rungs(kernels: &'static Kernels, ladder: &Ladder, rungs: &[&Rung]) -> Document {
    let mut table = Table::new([
        Column::name("rung"),
        Column::name("device code").of(Importance::Wide),
        Column::text("block").unbroken(),
        Column::text("shared").of(Importance::Wide),
        Column::text("in place").of(Importance::Wide),
        Column::text("lesson"),
    ]);
    let mut document = Document::default();
    document.heading(ladder.name, ladder.summary);
    for rung in rungs {
        table.row([
            rung.name.to_owned(),
            rung.source.to_owned(),
            dims(rung.default_block),
            shared(kernels, rung),
            if rung.in_place { "yes" } else { "" }.to_owned(),
            rung.lesson.to_owned(),
        ]);
    }
    records(ladder, rungs, &mut document);
    document.table(table);
    document
}

/// Describes the shared memory that a rung uses with its default block.
fn shared(kernels: &'static Kernels, rung: &Rung) -> String {
    let block = rung.default_block;
    let names = rung.entry_names();
    let entry = rung.entry("", block).ok().or(names.into_iter().next());
    let static_bytes = entry.map_or(0, |entry| kernels.static_shared_bytes(&entry));
    match (static_bytes, (rung.dynamic_shared)(block, "")) {
        (0, 0) => String::new(),
        (bytes, 0) => format!("{bytes} B"),
        (bytes, dynamic) => format!("{} B dynamic", bytes + dynamic),
    }
}

fn devices(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let args = Arguments::from_arg_matches(matches)?;
    let best = (env.open)(Choice::Auto)?;
    let mut infos = vec![best.info().clone()];
    if infos[0].kind != "sim" {
        infos.push((env.open)(Choice::Sim)?.info().clone());
    }
    let mut document = Document::default();
    for info in &infos {
        document.facts(facts(info));
        document.record(info);
    }
    args.format.write(&document, env.style(), to.out)?;
    Ok(0)
}

fn facts(info: &DeviceInfo) -> impl Iterator<Item = (&'static str, String)> {
    let capability = info.compute_capability.map(|(major, minor)| format!("{major}.{minor}"));
    let multiprocessors = info.multiprocessors.map(|count| count.to_string());
    let peak = info.peak_bytes_per_s.map(|peak| format!("{:.0} GB/s", peak / 1e9));
    let facts = [
        (info.kind, Some(info.name.clone())),
        ("compute capability", capability),
        ("multiprocessors", multiprocessors),
        ("clock", info.clock_mhz.map(|mhz| format!("{mhz:.0} MHz"))),
        ("L2 cache", info.l2_bytes.map(size::bytes)),
        ("memory", info.memory_bytes.map(size::bytes)),
        ("peak bandwidth", peak),
        ("driver", info.driver.clone()),
    ];
    facts.into_iter().filter_map(|(what, value)| Some((what, value?)))
}
