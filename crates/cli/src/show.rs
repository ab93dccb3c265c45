//! `ladder list` and `ladder devices`.

use std::io::Write;

use serde::Serialize;

use super::Env;
use super::args::List;
use crate::error::Error;
use crate::report::{self, OutputStyle};
use engine::device::{Choice, DeviceInfo};
use engine::registry::{Ladder, Rung};
use engine::size;

#[derive(Serialize)]
struct Entry<'a> {
    ladder: &'a str,
    rung: &'a str,
    source: &'a str,
    entries: Vec<String>,
    block: [u32; 3],
    shared_bytes: u32,
    in_place: bool,
    lesson: &'a str,
}

impl<'a> Entry<'a> {
    fn new(ladder: &'a Ladder, rung: &'a Rung) -> Self {
        Self {
            ladder: ladder.name,
            rung: rung.name,
            source: rung.source,
            entries: rung.entry_names(),
            block: rung.default_block,
            shared_bytes: rung.shared.dynamic_bytes(rung.default_block),
            in_place: rung.in_place,
            lesson: rung.lesson,
        }
    }
}

pub(super) fn list(args: &List, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let chosen: Vec<&Ladder> = match &args.ladder {
        Some(name) => vec![env.catalog.ladder(name)?],
        None => env.catalog.ladders.iter().collect(),
    };
    if args.json {
        let entries: Vec<Entry<'_>> = chosen
            .iter()
            .flat_map(|ladder| ladder.rungs.iter().map(|rung| Entry::new(ladder, rung)))
            .collect();
        writeln!(out, "{}", to_json(&entries))?;
    } else {
        for ladder in chosen {
            write!(
                out,
                "{}",
                report::list(
                    ladder,
                    OutputStyle {
                        terminal: env.terminal
                    }
                )
            )?;
        }
    }
    Ok(0)
}

#[derive(Serialize)]
struct Known<'a> {
    device: &'a str,
    name: &'a str,
    driver: Option<&'a str>,
    compute_capability: Option<String>,
    multiprocessors: Option<u32>,
    clock_mhz: Option<f64>,
    l2_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    peak_gb_per_s: Option<f64>,
}

pub(super) fn devices(json: bool, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let best = (env.open)(Choice::Auto)?;
    let mut infos = vec![best.info().clone()];
    if infos[0].kind != "sim" {
        infos.push((env.open)(Choice::Sim)?.info().clone());
    }
    if json {
        let known: Vec<Known<'_>> = infos
            .iter()
            .map(|info| Known {
                device: info.kind,
                name: &info.name,
                driver: info.driver.as_deref(),
                compute_capability: info
                    .compute_capability
                    .map(|(major, minor)| format!("{major}.{minor}")),
                multiprocessors: info.multiprocessors,
                clock_mhz: info.clock_mhz,
                l2_bytes: info.l2_bytes,
                memory_bytes: info.memory_bytes,
                peak_gb_per_s: info.peak_bytes_per_s.map(|peak| peak / 1e9),
            })
            .collect();
        writeln!(out, "{}", to_json(&known))?;
    } else {
        for (index, info) in infos.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            for (what, value) in lines(info) {
                writeln!(out, "{what:20}{value}")?;
            }
        }
    }
    Ok(0)
}

/// What is known of a device, a line each.
fn lines(info: &DeviceInfo) -> Vec<(&'static str, String)> {
    let mut lines = vec![(info.kind, info.name.clone())];
    let mut add = |what, value: Option<String>| lines.extend(value.map(|value| (what, value)));
    add(
        "compute capability",
        info.compute_capability
            .map(|(major, minor)| format!("{major}.{minor}")),
    );
    add(
        "multiprocessors",
        info.multiprocessors.map(|count| count.to_string()),
    );
    add("clock", info.clock_mhz.map(|mhz| format!("{mhz:.0} MHz")));
    add("L2 cache", info.l2_bytes.map(size::bytes));
    add("memory", info.memory_bytes.map(size::bytes));
    add(
        "peak bandwidth",
        info.peak_bytes_per_s
            .map(|peak| format!("{:.0} GB/s", peak / 1e9)),
    );
    add("driver", info.driver.clone());
    lines
}

fn to_json<T: Serialize>(values: &[T]) -> String {
    serde_json::to_string_pretty(values).expect("strings, numbers and arrays always serialize")
}
