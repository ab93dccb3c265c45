//! `ladder check`: rungs × sizes × blocks, one launch each.

use std::io::Write;

use super::args::Check;
use super::{Surroundings, WRONG, progress_bar};
use crate::device::Device;
use crate::error::Error;
use crate::registry::{Ladder, Options, Rung, ladder, ladders};
use crate::report::{self, Look, Sweep};
use crate::run::Session;

pub(super) fn check(
    args: &Check,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let chosen: Vec<&'static Ladder> = match &args.ladder {
        Some(name) => vec![ladder(name)?],
        None => ladders().iter().collect(),
    };
    let plans = chosen
        .into_iter()
        .map(|ladder| Plan::new(ladder, args))
        .collect::<Result<Vec<_>, Error>>()?;

    let mut device = (surroundings.open)(args.device)?;
    let mut right = true;
    for plan in plans {
        let sweep = plan.sweep(&mut *device, surroundings.terminal)?;
        let look = Look {
            terminal: surroundings.terminal,
        };
        write!(out, "{}", report::matrix(&sweep, look))?;
        right &= sweep.all_right();
    }
    writeln!(out, "on {}", device.info())?;
    Ok(if right { 0 } else { WRONG })
}

/// What to check of one ladder. Made, and found possible, before a device is opened.
struct Plan {
    ladder: &'static Ladder,
    rungs: Vec<&'static Rung>,
    sizes: Vec<u64>,
    blocks: Vec<[u32; 3]>,
}

impl Plan {
    fn new(ladder: &'static Ladder, args: &Check) -> Result<Self, Error> {
        let or = |given: &[u64], own: &[u64]| if given.is_empty() { own } else { given }.to_vec();
        let blocks = if args.block.is_empty() {
            ladder.blocks
        } else {
            &args.block
        };
        let plan = Self {
            ladder,
            rungs: ladder.select(&args.rung)?,
            sizes: or(&args.n, ladder.check_sizes),
            blocks: blocks.to_vec(),
        };
        for &n in &plan.sizes {
            let problem = ladder.problem(&Options {
                n: Some(n),
                block: None,
            })?;
            for rung in &plan.rungs {
                for &block in &plan.blocks {
                    ladder.launch(rung, &*problem, Some(block))?;
                }
            }
        }
        Ok(plan)
    }

    /// One size after the other, so that only one problem is in memory.
    fn sweep(self, device: &mut dyn Device, terminal: bool) -> Result<Sweep, Error> {
        let Self {
            ladder,
            rungs,
            sizes,
            blocks,
        } = self;
        let bar = progress_bar(sizes.len() * blocks.len() * rungs.len(), terminal);
        let restorable = rungs.iter().any(|rung| rung.in_place);
        let mut checks = Vec::new();
        for &n in &sizes {
            bar.set_message(format!("{}, n = {n}", ladder.name));
            let problem = ladder.problem(&Options {
                n: Some(n),
                block: None,
            })?;
            let mut session = Session::new(device, &*problem, restorable)?;
            for &rung in &rungs {
                for &block in &blocks {
                    let launch = ladder.launch(rung, &*problem, Some(block))?;
                    let verdict = session.check(rung, &launch)?;
                    checks.push((n, rung, launch, verdict));
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(Sweep {
            ladder,
            rungs,
            sizes,
            checks,
        })
    }
}
