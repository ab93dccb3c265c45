//! `ladder dram`: the figures of bursts, banks and channels, and the trace of a rung.

mod args;
mod json;
mod show;
mod trace;

use std::io::Write;

use anstyle::Style;
use serde::Serialize;

use crate::command::Command;
use crate::env::{Env, WRONG};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::dram::trace::Plan;
use args::{BusArgs, MapArgs, TilesArgs, by_default};
use engine::device::Sim;

use args::Dram;

pub(crate) const DRAM: Command = Command {
    name: "dram",
    about: "Draw the bursts, banks and channels of DRAM, and count how evenly a rung's accesses spread over them",
    arguments: |command, scope| Dram::command(scope.catalog, command),
    execute: |matches, env, to| dram(&Dram::from_matches(env.catalog, matches)?, env, to.out),
};

fn dram(asked: &Dram, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let style = OutputStyle {
        terminal: env.terminal,
    };
    let text = match asked {
        Dram::Figures { json } => figures(*json, style)?,
        Dram::Map(args) => {
            let map = args.map()?;
            if args.memory.json {
                line(&json::map_json(&map))
            } else {
                show::map_text(&map, style)
            }
        }
        Dram::Tiles(args) => {
            let tiles = args.tiles()?;
            if args.memory.json {
                line(&json::tiles_json(&tiles))
            } else {
                show::tiles_text(&tiles, style)
            }
        }
        Dram::Bus(args) if args.json => line(&json::bus_json(&args.bus()?, &args.demand)),
        Dram::Bus(args) => args.text(style)?,
        Dram::Trace(rung, options, args) => {
            let plan = Plan::new(env.catalog, rung, options, args.block, args.setup()?)?;
            // Only this machine tells of each access.
            let trace = plan.run(&mut Sim::open(env.catalog.kernels, 0)?)?;
            let text = if args.json {
                line(&trace::trace_json(&trace))
            } else {
                trace::trace_text(&trace, style)
            };
            out.write_all(text.as_bytes())?;
            return Ok(if trace.verdict.is_right() { 0 } else { WRONG });
        }
    };
    out.write_all(text.as_bytes())?;
    Ok(0)
}

/// All three figures, with the numbers that they have by default.
fn figures(json: bool, style: OutputStyle) -> Result<String, Error> {
    let (map, tiles, bus) = (
        by_default::<MapArgs>().map()?,
        by_default::<TilesArgs>().tiles()?,
        by_default::<BusArgs>(),
    );
    if json {
        return Ok(line(&Figures {
            map: json::map_json(&map),
            tiles: json::tiles_json(&tiles),
            bus: json::bus_json(&bus.bus()?, &bus.demand),
        }));
    }
    let bold = if style.terminal {
        Style::new().bold()
    } else {
        Style::new()
    };
    let title = |command, what| format!("{bold}ladder dram {command}{bold:#}: {what}\n");
    Ok([
        title("map", "an array's elements in channels and banks"),
        show::map_text(&map, style),
        String::from("\n"),
        title(
            "tiles",
            "what the blocks of a tiled product load, phase by phase",
        ),
        show::tiles_text(&tiles, style),
        String::from("\n"),
        title("bus", "how many banks keep a channel busy"),
        bus.text(style)?,
    ]
    .concat())
}

#[derive(Serialize)]
struct Figures<M, T, B> {
    map: M,
    tiles: T,
    bus: B,
}

/// JSON on a line of its own.
fn line(json: &impl Serialize) -> String {
    let json = serde_json::to_string(json).expect("strings, numbers and arrays serialize");
    json + "\n"
}
