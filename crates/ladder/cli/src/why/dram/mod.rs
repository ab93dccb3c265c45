//! `ladder why --dram`: the figures of bursts, banks and channels, and the trace of a rung.

mod args;
mod figures;
mod trace;

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use serde_json::{Value, to_value};

use crate::command::{CommandArgs, Env, Output, WRONG};
use crate::error::Error;
use crate::output::Document;
use analysis::dram_trace::{Trace, trace as run_traced};
pub(super) use args::{DramArguments, Figure};
use engine::device::Sim;
use profile::dram::{Bus, Dram, Map, Tiles};

pub(super) fn show(
    figure: Option<Figure>,
    args: &CommandArgs<super::Arguments>,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let (arguments, mut code) = (&args.command.memory, 0);
    let document = match figure {
        Some(_) if !args.targets.is_empty() => {
            let why = "a figure of --dram does not belong to a rung: leave out the figure or the rung";
            return Err(Error::Request(why.to_owned()));
        }
        _ if args.targets.is_empty() && !(args.targets.given.is_empty() && args.targets.blocks.is_empty()) => {
            let why = "--block and the options of a ladder apply only to the accesses of a rung: name the rung";
            return Err(Error::Request(why.to_owned()));
        }
        _ if !args.targets.is_empty() => {
            let trace = traced(args, env)?;
            code = if trace.correct { 0 } else { WRONG };
            trace::document(&trace, env.style())
        }
        Some(figure) => {
            let (_, data, mut document) = parts(figure, arguments)?;
            document.value(&data);
            document
        }
        None => {
            let (mut all, mut values) = (Document::default(), BTreeMap::new());
            for figure in Figure::value_variants() {
                let (what, data, document) = parts(*figure, arguments)?;
                let name = figure.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
                all.section(format!("ladder why --dram={name}"), what);
                all.append(document);
                values.insert(name, data);
            }
            all.value(&values);
            all
        }
    };
    args.command.view.format.write(&document, env.style(), to.out)?;
    Ok(code)
}

/// Returns a figure: its title, its data, and its drawing.
fn parts(figure: Figure, arguments: &DramArguments) -> Result<(&'static str, Value, Document), analysis::Error> {
    let element = arguments.element.unwrap_or(4);
    let (what, data, document) = match figure {
        Figure::Map => {
            let map = Map::new(arguments.memory.or(Dram::FIGURE)?, element, arguments.elements.unwrap_or(16))?;
            ("an array's elements in channels and banks", to_value(&map), figures::map(&map))
        }
        Figure::Tiles => {
            let (side, tile) = (arguments.side.unwrap_or(4), arguments.tile.unwrap_or(2));
            let tiles = Tiles::new(arguments.memory.or(Dram::FIGURE)?, element, side, tile)?;
            let what = "the loads of the blocks of a tiled product, phase by phase";
            (what, to_value(&tiles), figures::tiles(&tiles))
        }
        Figure::Bus => {
            let demand = if arguments.demand.is_empty() { &[32.0, 256.0] } else { &arguments.demand[..] };
            let (ratio, banks) = (arguments.ratio.unwrap_or(20), arguments.memory.banks.unwrap_or(1));
            let bus = Bus::new(ratio, banks, arguments.bits.unwrap_or(64), arguments.clock.unwrap_or(1.0), demand)?;
            ("the number of banks that keep a channel busy", to_value(&bus), figures::bus(&bus))
        }
    };
    let data = data.expect("names, numbers and arrays serialize");
    Ok((what, data, document))
}

/// Runs the selected rung on its problem.
fn traced(args: &CommandArgs<super::Arguments>, env: &Env<'_>) -> Result<Trace, Error> {
    let CommandArgs { targets, command: args } = args;
    let memory = args.memory.memory.or(Dram::H100)?;
    let (ladder, plan) = targets.only_launch(targets.select(env.catalog)?)?;
    let (rung, launch) = &plan.launches()[0];
    // Only the simulator reports each access.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let (problem, windows) = (plan.problem(), args.memory.windows.unwrap_or(16));
    Ok(run_traced(&mut sim, ladder, rung, problem, launch, memory, windows)?)
}
