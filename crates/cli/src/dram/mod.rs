//! `ladder dram`: the figures of bursts, banks and channels, and the trace of a rung.

mod args;
mod figures;
mod trace;

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;

use super::{Env, WRONG};
use crate::error::Error;
use crate::output::{Document, OutputStyle};
use analysis::dram::{self, Bus, DramError, Map, Tiles};
use engine::device::Sim;
use engine::options::{self, Options};
use engine::run::Climb;
use engine::selection::select;

pub(super) use args::Dram;
use args::{Figure, Own};

pub(super) fn dram(asked: &Dram, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let Dram { own, options } = asked;
    let (mut document, mut format, mut code) = (Document::default(), own.format, 0);
    match (&own.trace, &own.figure) {
        (Some(rung), _) => {
            let trace = traced(rung, own, options, env)?;
            document = trace::document(&trace);
            code = if trace.correct { 0 } else { WRONG };
        }
        (None, Some(figure)) => {
            let (data, drawn) = data_and_document(figure)?;
            document = drawn;
            document.value(&data);
            format = match figure {
                Figure::Map { format, .. }
                | Figure::Tiles { format, .. }
                | Figure::Bus { format, .. } => *format,
            };
        }
        (None, None) => {
            let mut values = BTreeMap::new();
            for figure in Figure::all() {
                let (name, what) = title(&figure);
                let (data, drawn) = data_and_document(&figure)?;
                document.section(format!("ladder dram {name}"), what);
                document.append(drawn);
                values.insert(name, data);
            }
            document.value(&values);
        }
    }
    let style = OutputStyle {
        terminal: env.terminal,
    };
    format.write(&document, style, out)?;
    Ok(code)
}

fn title(figure: &Figure) -> (&'static str, &'static str) {
    match figure {
        Figure::Map { .. } => ("map", "an array's elements in channels and banks"),
        Figure::Tiles { .. } => (
            "tiles",
            "what the blocks of a tiled product load, phase by phase",
        ),
        Figure::Bus { .. } => ("bus", "how many banks keep a channel busy"),
    }
}

/// A figure as JSON, and as it is drawn.
fn data_and_document(figure: &Figure) -> Result<(Value, Document), DramError> {
    let chapter = dram::Dram::FIGURE;
    let (data, document) = match figure {
        Figure::Map {
            memory,
            element,
            elements,
            ..
        } => {
            let map = Map::new(memory.dram(chapter)?, *element, *elements)?;
            (serde_json::to_value(&map), figures::map(&map))
        }
        Figure::Tiles {
            memory,
            element,
            n,
            tile,
            ..
        } => {
            let tiles = Tiles::new(memory.dram(chapter)?, *element, *n, *tile)?;
            (serde_json::to_value(&tiles), figures::tiles(&tiles))
        }
        Figure::Bus {
            ratio,
            banks,
            width,
            clock,
            demand,
            ..
        } => {
            let bus = Bus::new(*ratio, *banks, *width, *clock, demand)?;
            (serde_json::to_value(&bus), figures::bus(&bus))
        }
    };
    Ok((data.expect("names, numbers and arrays serialize"), document))
}

/// Runs the rung of this name, on whichever ladder, on the problem that the options of that ladder ask for.
fn traced(
    name: &str,
    own: &Own,
    given: &[(&'static str, String)],
    env: &Env<'_>,
) -> Result<dram::trace::Trace, Error> {
    let memory = own.memory.dram(dram::Dram::H100)?;
    let selected = select(env.catalog, &[name.to_owned()])?;
    let all = || selected.iter().flat_map(|own| own.rungs());
    let (Some(selection), 1) = (selected.first(), all().count()) else {
        let rungs: Vec<&str> = all().map(|rung| rung.name).collect();
        return Err(Error::SeveralRungs {
            name: name.to_owned(),
            rungs: rungs.join(", "),
        });
    };
    let mut options = Options::default();
    for (name, text) in given {
        options.set(name, options::Value::Text(text.clone()));
    }
    let plan = Climb {
        ladder: selection.ladder,
        rungs: &[name.to_owned()],
        options: &options,
        block: own.block,
        runs: None,
    }
    .plan()?;
    // Of one rung that is named there is one launch, or an error.
    let [(rung, launch)] = plan.launches() else {
        return Err(Error::SeveralRungs {
            name: name.to_owned(),
            rungs: String::new(),
        });
    };
    // Of all devices only the SIMT machine tells of each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let (ladder, problem) = (selection.ladder, plan.problem());
    Ok(dram::trace::trace(
        &mut sim,
        ladder,
        rung,
        problem,
        launch,
        memory,
        own.windows,
    )?)
}
