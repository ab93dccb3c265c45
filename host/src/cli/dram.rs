//! `ladder dram`: the figures of bursts, banks and channels, and the trace of a rung.

mod args;

use std::io::Write;

use anstyle::Style;
use serde::Serialize;

use super::{Surroundings, WRONG};
use crate::device::Sim;
use crate::dram::trace::Plan;
use crate::error::Error;
use crate::report::Look;
use args::{BusArgs, MapArgs, TilesArgs, by_default};

pub(in crate::cli) use args::Dram;

pub(super) fn dram(
    asked: &Dram,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let look = Look {
        terminal: surroundings.terminal,
    };
    let text = match asked {
        Dram::Figures { json } => figures(*json, look)?,
        Dram::Map(args) => {
            let map = args.map()?;
            if args.memory.json {
                line(&map.json())
            } else {
                map.text(look)
            }
        }
        Dram::Tiles(args) => {
            let tiles = args.tiles()?;
            if args.memory.json {
                line(&tiles.json())
            } else {
                tiles.text(look)
            }
        }
        Dram::Bus(args) if args.json => line(&args.bus()?.json(&args.demand)),
        Dram::Bus(args) => args.text(look)?,
        Dram::Trace(rung, options, args) => {
            let plan = Plan::new(rung, options, args.block, args.setup()?)?;
            // Only this machine tells of each access.
            let trace = plan.run(&mut Sim::open(0)?)?;
            let text = if args.json {
                line(&trace.json())
            } else {
                trace.text(look)
            };
            out.write_all(text.as_bytes())?;
            return Ok(if trace.verdict.is_right() { 0 } else { WRONG });
        }
    };
    out.write_all(text.as_bytes())?;
    Ok(0)
}

/// All three figures, with the numbers that they have by default.
fn figures(json: bool, look: Look) -> Result<String, Error> {
    let (map, tiles, bus) = (
        by_default::<MapArgs>().map()?,
        by_default::<TilesArgs>().tiles()?,
        by_default::<BusArgs>(),
    );
    if json {
        return Ok(line(&Figures {
            map: map.json(),
            tiles: tiles.json(),
            bus: bus.bus()?.json(&bus.demand),
        }));
    }
    let bold = if look.terminal {
        Style::new().bold()
    } else {
        Style::new()
    };
    let title = |command, what| format!("{bold}ladder dram {command}{bold:#}: {what}\n");
    Ok([
        title("map", "an array's elements in channels and banks"),
        map.text(look),
        String::from("\n"),
        title(
            "tiles",
            "what the blocks of a tiled product load, phase by phase",
        ),
        tiles.text(look),
        String::from("\n"),
        title("bus", "how many banks keep a channel busy"),
        bus.text(look)?,
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
