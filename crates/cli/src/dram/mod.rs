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
use analysis::dram::trace::{Trace, trace as run_traced};
use analysis::dram::{Bus, Dram, Map, Tiles};
pub(crate) use args::Memory;
use args::{Arguments, Figure};
use engine::device::Sim;

pub(crate) const DRAM: Command = Command {
    name: "dram",
    about: "Draw the bursts, banks and channels of DRAM, and count how evenly a rung's accesses spread over them",
    arguments: args::add,
    execute,
};

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let args = CommandArgs::<Arguments>::read(env, matches)?;
    let (mut format, mut code) = (args.own.format, 0);
    let document = match &args.own.figure {
        _ if !args.targets.is_empty() => {
            let trace = traced(&args, env)?;
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
        Figure::Map(own) => {
            let map = Map::new(own.memory.or(Dram::FIGURE)?, own.element, own.elements)?;
            let title = ("map", "an array's elements in channels and banks");
            (own.format, title, to_value(&map), figures::map(&map))
        }
        Figure::Tiles(own) => {
            let tiles = Tiles::new(own.memory.or(Dram::FIGURE)?, own.element, own.n, own.tile)?;
            let title = ("tiles", "what the blocks of a tiled product load, phase by phase");
            (own.format, title, to_value(&tiles), figures::tiles(&tiles))
        }
        Figure::Bus(own) => {
            let bus = Bus::new(own.ratio, own.banks, own.width, own.clock, &own.demand)?;
            let title = ("bus", "how many banks keep a channel busy");
            (own.format, title, to_value(&bus), figures::bus(&bus))
        }
    };
    let data = data.expect("names, numbers and arrays serialize");
    Ok((format, title, data, document))
}

/// Runs the rung that is named, on the problem that is asked for.
fn traced(args: &CommandArgs<Arguments>, env: &Env<'_>) -> Result<Trace, Error> {
    let CommandArgs { targets, own } = args;
    let memory = own.memory.or(Dram::H100)?;
    let (ladder, plan) = targets.only_launch(targets.select(env.catalog)?)?;
    let (rung, launch) = &plan.launches()[0];
    // Of all devices only the SIMT machine reports each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let (problem, windows) = (plan.problem(), own.windows);
    Ok(run_traced(&mut sim, ladder, rung, problem, launch, memory, windows)?)
}
