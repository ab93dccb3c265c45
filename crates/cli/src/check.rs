//! `ladder check`: rungs × problems × blocks, one launch each.

use std::collections::BTreeSet;
use std::io::Write;

use super::args::{Check, Chosen};
use super::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::report::{self, Checked, OutputStyle, Sweep};
use engine::device::Device;
use engine::launch::Launch;
use engine::options::{Options, combinations};
use engine::problem::Problem;
use engine::registry::{Effort, Ladder, Rung};
use engine::run::Session;

pub(super) fn check(args: &Check, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let ladders: Vec<&'static Ladder> = match args.ladder {
        Some(ladder) => vec![ladder],
        None => env.catalog.ladders.iter().collect(),
    };
    let plans: Vec<Plan<'_>> = ladders
        .into_iter()
        .map(|ladder| Plan::new(ladder, args))
        .collect::<Result<_, Error>>()?;

    let mut device = (env.open)(args.device)?;
    let mut right = true;
    for plan in plans {
        let (sweep, left_out) = plan.sweep(&mut *device, env.terminal)?;
        let style = OutputStyle {
            terminal: env.terminal,
        };
        write!(out, "{}", report::matrix(&sweep, style))?;
        for why in left_out {
            writeln!(out, "left out: {why}")?;
        }
        out.flush()?;
        right &= sweep.all_right();
    }
    writeln!(out, "on {}", device.info())?;
    Ok(if right { 0 } else { WRONG })
}

/// What to check of one ladder. What was asked for is found possible before a device is opened.
struct Plan<'a> {
    ladder: &'static Ladder,
    chosen: &'a Chosen,
    /// What was asked for; `None` for the ladder's own sweep.
    problems: Option<Vec<Options>>,
}

impl<'a> Plan<'a> {
    fn new(ladder: &'static Ladder, args: &'a Check) -> Result<Self, Error> {
        let asked = !args.values.is_empty();
        let plan = Self {
            ladder,
            chosen: &args.chosen,
            problems: asked.then(|| combinations(&args.values)),
        };
        ladder.named(&plan.chosen.rung)?;
        // A block that is possible for nothing is one, whatever the problem.
        let some = [Options::default()];
        for options in plan.problems.as_deref().unwrap_or(&some) {
            plan.launches(&*ladder.problem(options)?)?;
        }
        Ok(plan)
    }

    /// What to launch on a problem. In the ladder's own sweep a rung that does not compute it is left out,
    /// and so is a block that the rung was not compiled for; where the problem was asked for, both are
    /// errors, the second one for rungs that were named, or if nothing is left to launch.
    fn launches(&self, problem: &dyn Problem) -> Result<Vec<(&'static Rung, Launch)>, Error> {
        let Self { ladder, chosen, .. } = *self;
        let asked = self.problems.is_some();
        let rungs = if asked {
            ladder.select(&chosen.rung, problem)?
        } else {
            ladder.named(&chosen.rung)?
        };
        let (mut launches, mut not_compiled) = (Vec::new(), None);
        for rung in rungs {
            let blocks = if chosen.block.is_empty() {
                ladder.blocks_of(rung, problem)
            } else {
                chosen.block.clone()
            };
            for block in blocks {
                match ladder.launch(rung, problem, Some(block)) {
                    Ok(launch) => launches.push((rung, launch)),
                    Err(error @ engine::Error::NotCompiled { .. })
                        if !asked || chosen.rung.is_empty() =>
                    {
                        not_compiled.get_or_insert(error);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        match not_compiled {
            Some(error) if asked && launches.is_empty() => Err(error.into()),
            _ => Ok(launches),
        }
    }

    /// One problem after the other, so that only one is in memory. With it, what the device lacks for kernels
    /// that were not asked for by name, which are left out.
    fn sweep(
        &self,
        device: &mut dyn Device,
        terminal: bool,
    ) -> Result<(Sweep, BTreeSet<String>), Error> {
        let effort = if device.info().kind == "sim" {
            Effort::Quick
        } else {
            Effort::Full
        };
        let own = || (self.ladder.sweep)(effort);
        let problems = self.problems.clone().unwrap_or_else(own);
        let bar = progress_bar(problems.len(), terminal);
        let (mut checks, mut left_out) = (Vec::new(), BTreeSet::new());
        for options in &problems {
            let problem = self.ladder.problem(options)?;
            bar.set_message(format!("{}, {}", self.ladder.name, problem.size()));
            let launches = self.launches(&*problem)?;
            let restorable = launches.iter().any(|(rung, _)| rung.in_place);
            let mut session = Session::new(device, &*problem, restorable)?;
            for (rung, launch) in launches {
                match session.lacks(&launch) {
                    Some(error) if !self.chosen.rung.is_empty() => return Err(error.into()),
                    Some(error) => {
                        left_out.insert(error.to_string());
                        continue;
                    }
                    None => {}
                }
                let verdict = session.check(rung, &launch)?;
                checks.push(Checked {
                    rung,
                    column: problem.column(),
                    size: problem.size(),
                    launch,
                    verdict,
                });
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let sweep = Sweep {
            ladder: self.ladder,
            checks,
        };
        Ok((sweep, left_out))
    }
}
