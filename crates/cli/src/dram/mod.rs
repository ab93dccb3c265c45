//! `ladder dram`: the figures of bursts, banks and channels, and the trace of a rung.

mod args;
mod figures;
mod trace;

use std::collections::BTreeMap;

use clap::ArgMatches;
use serde_json::{Value, to_value};

use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, WRONG};
use crate::error::Error;
use crate::output::{Document, Format};
use analysis::dram::trace::Trace;
use analysis::dram::{Bus, Dram, Map, Tiles};
use args::{Arguments, Figure};
use engine::device::Sim;

pub(crate) const DRAM: Command = Command {
    name: "dram",
    about: "Draw the bursts, banks and channels of DRAM, and count how evenly a rung's accesses spread over them",
    arguments: args::add,
    execute,
};

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let asked = CommandArgs::<Arguments>::read(env, matches)?;
    let (mut format, mut code) = (asked.own.format, 0);
    let document = match &asked.own.figure {
        _ if !asked.targets.is_empty() => {
            let trace = traced(&asked, env)?;
            code = if trace.correct { 0 } else { WRONG };
            trace::document(&trace)
        }
        Some(figure) => {
            let (data, mut document);
            (format, _, data, document) = parts(figure)?;
            document.value(&data);
            document
        }
        None => {
            let (mut all, mut values) = (Document::default(), BTreeMap::new());
            for figure in Figure::all() {
                let (_, (name, what), data, document) = parts(&figure)?;
                all.section(format!("ladder dram {name}"), what);
                all.append(document);
                values.insert(name, data);
            }
            all.value(&values);
            all
        }
    };
    format.write(&document, env.style(), to.out)?;
    Ok(code)
}

/// A figure: the form that is asked for, its name and what it shows, its data, and how they are drawn.
type FigureParts = (Format, (&'static str, &'static str), Value, Document);

fn parts(figure: &Figure) -> Result<FigureParts, analysis::Error> {
    let (format, title, data, document) = match figure {
        Figure::Map {
            memory,
            element,
            elements,
            format,
        } => {
            let map = Map::new(memory.or(Dram::FIGURE)?, *element, *elements)?;
            let title = ("map", "an array's elements in channels and banks");
            (format, title, to_value(&map), figures::map(&map))
        }
        Figure::Tiles {
            memory,
            element,
            n,
            tile,
            format,
        } => {
            let tiles = Tiles::new(memory.or(Dram::FIGURE)?, *element, *n, *tile)?;
            let title = (
                "tiles",
                "what the blocks of a tiled product load, phase by phase",
            );
            (format, title, to_value(&tiles), figures::tiles(&tiles))
        }
        Figure::Bus {
            ratio,
            banks,
            width,
            clock,
            demand,
            format,
        } => {
            let bus = Bus::new(*ratio, *banks, *width, *clock, demand)?;
            let title = ("bus", "how many banks keep a channel busy");
            (format, title, to_value(&bus), figures::bus(&bus))
        }
    };
    let data = data.expect("names, numbers and arrays serialize");
    Ok((*format, title, data, document))
}

/// Runs the rung that is named, on the problem that is asked for.
fn traced(asked: &CommandArgs<Arguments>, env: &Env<'_>) -> Result<Trace, Error> {
    let CommandArgs { targets, own } = asked;
    let memory = own.memory.or(Dram::H100)?;
    let mut plans = Vec::new();
    for selection in targets.select(env.catalog)? {
        plans.push((selection.ladder, selection.plan(targets.block(), None)?));
    }
    let launches = || plans.iter().flat_map(|(_, plan)| plan.launches());
    let (Some((ladder, plan)), Some((rung, launch)), 1) =
        (plans.first(), launches().next(), launches().count())
    else {
        let rungs: Vec<&str> = launches().map(|(rung, _)| rung.name).collect();
        return Err(Error::SeveralRungs {
            name: targets.names().join(" "),
            rungs: rungs.join(", "),
        });
    };
    // Of all devices only the SIMT machine reports each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let problem = plan.problem();
    Ok(analysis::dram::trace::trace(
        &mut sim,
        ladder,
        rung,
        problem,
        launch,
        memory,
        own.windows,
    )?)
}
