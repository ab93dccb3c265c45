//! Climbing a ladder: upload once, then check and time each rung.

use crate::device::{BufferId, Device, DeviceInfo, Metric, Ran};
use crate::error::Error;
use crate::launch::Launch;
use crate::options::Options;
use crate::problem::{POISON, Picture, Problem, Role, Verdict};
use crate::registry::{Ladder, Rung};
use crate::stats::Samples;

/// Launches before the first that is timed.
pub const WARM_UP: u32 = 3;

/// Device memory kept free beside the buffers, for the driver's own and the kernels' module.
const HEADROOM: u64 = 64 << 20;

/// A problem on a device: its buffers, filled, and what was learned of each launch.
pub struct Session<'a> {
    device: &'a mut dyn Device,
    problem: &'a dyn Problem,
    buffers: Vec<BufferId>,
    /// A copy on the device of each input, to restore it from.
    copies: Vec<(BufferId, BufferId)>,
    /// Whether an in-place rung has destroyed the inputs.
    dirty: bool,
}

impl<'a> Session<'a> {
    /// Allocates the problem's buffers and fills its inputs. `restorable` keeps a second copy of them on
    /// the device, to restore them from; without it they are uploaded again when a rung destroyed them.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`] where the buffers do not fit into what the device has free, before
    /// anything is allocated or computed; what the device refuses.
    pub fn new(
        device: &'a mut dyn Device,
        problem: &'a dyn Problem,
        restorable: bool,
    ) -> Result<Self, Error> {
        let wanted = problem.buffers();
        let copies = |role| {
            if restorable && role == Role::Input {
                2
            } else {
                1
            }
        };
        let need: u64 = wanted
            .iter()
            .map(|buffer| buffer.bytes * copies(buffer.role))
            .sum();
        if let Some(free) = device.free_bytes() {
            let room = free.saturating_sub(HEADROOM);
            if need > room {
                let fits = if room > 0 {
                    problem.smaller(room as f64 / need as f64)
                } else {
                    None
                };
                return Err(Error::NotEnoughMemory {
                    size: problem.size(),
                    need,
                    free,
                    fits,
                });
            }
        }
        let mut session = Self {
            device,
            problem,
            buffers: Vec::new(),
            copies: Vec::new(),
            dirty: false,
        };
        for (index, buffer) in wanted.iter().enumerate() {
            // What does not fit into the host's address space did not fit into the device either.
            let bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX);
            let id = session.device.alloc(bytes)?;
            session.buffers.push(id);
            if buffer.role == Role::Input {
                session.device.upload(id, problem.input(index))?;
                if restorable {
                    let copy = session.device.alloc(bytes)?;
                    session.copies.push((copy, id));
                    session.device.copy(id, copy)?;
                }
            }
        }
        Ok(session)
    }

    /// Launches once, into poisoned outputs, and compares what comes out with the reference.
    ///
    /// # Errors
    /// What the device refuses. A wrong result is a [`Verdict`].
    pub fn check(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        Ok(self.try_out(rung, launch)?.verdict)
    }

    /// [`Session::check`], with what the device says of the launch and what there is to see of it.
    ///
    /// # Errors
    /// As there.
    pub fn try_out(&mut self, rung: &Rung, launch: &Launch) -> Result<Tried, Error> {
        if self.dirty {
            self.restore()?;
        }
        for (id, buffer) in self.buffers.iter().zip(self.problem.buffers()) {
            if buffer.role == Role::Output {
                self.device.fill(*id, POISON)?;
            }
        }
        let ran = self.launch(rung, launch)?;
        let mut outputs = Vec::new();
        for wanted in self.problem.wanted(launch) {
            let mut bytes = vec![0; wanted.bytes];
            self.device
                .download(self.buffers[wanted.buffer], &mut bytes)?;
            outputs.push(bytes);
        }
        Ok(Tried {
            verdict: self.problem.check(rung, launch, &outputs),
            picture: self.problem.picture(rung, launch, &outputs),
            ran,
        })
    }

    /// Launches [`WARM_UP`] times and then `runs` times, and takes each of those launches' time on the
    /// device's clock. `None` from a device that has none.
    ///
    /// The inputs are restored before every launch, outside the time, and for rungs that leave them alone
    /// as well: so all rungs start from the same state of the cache, and each launch is enqueued while the
    /// copy before it still runs, so that the time is the kernel's and not the driver's.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn time(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        runs: u32,
    ) -> Result<Option<Samples>, Error> {
        let mut samples = Vec::with_capacity(runs as usize);
        for run in 0..WARM_UP.saturating_add(runs) {
            self.restore()?;
            let Ran { time_ns, .. } = self.launch(rung, launch)?;
            let Some(time_ns) = time_ns else {
                return Ok(None);
            };
            if run >= WARM_UP {
                samples.push(time_ns);
            }
        }
        Ok(Samples::new(samples))
    }

    /// Launches once with the inputs restored, and gives what the device says of it.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn once(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        self.restore()?;
        self.launch(rung, launch)
    }

    fn launch(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        self.dirty |= rung.in_place;
        for (id, buffer) in self.buffers.iter().zip(self.problem.buffers()) {
            if buffer.role == Role::Sum {
                self.device.fill(*id, 0)?;
            }
        }
        self.device.launch(launch, &self.buffers)
    }

    fn restore(&mut self) -> Result<(), Error> {
        for &(copy, input) in &self.copies {
            self.device.copy(copy, input)?;
        }
        if self.dirty && self.copies.is_empty() {
            for (index, buffer) in self.problem.buffers().iter().enumerate() {
                if buffer.role == Role::Input {
                    self.device
                        .upload(self.buffers[index], self.problem.input(index))?;
                }
            }
        }
        self.dirty = false;
        Ok(())
    }
}

/// What a checked launch brought.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Whether its result was right.
    pub verdict: Verdict,
    /// What there is to see of it.
    pub picture: Option<Picture>,
    /// What the device says of it.
    pub ran: Ran,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let copies = self.copies.iter().map(|&(copy, _)| copy);
        for id in self.buffers.iter().copied().chain(copies) {
            self.device.free(id);
        }
    }
}

/// What one rung did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rung.
    pub rung: &'static Rung,
    /// How it was launched.
    pub launch: Launch,
    /// Whether its result was right.
    pub verdict: Verdict,
    /// What there is to see of it besides numbers.
    pub picture: Option<Picture>,
    /// Its times, where it was timed.
    pub samples: Option<Samples>,
    /// What was counted of it, where the device counts.
    pub counters: Vec<Metric>,
}

impl Outcome {
    /// A counter's value: `None` where it was not counted or has nothing to divide by.
    pub fn counter(&self, name: &str) -> Option<f64> {
        let metric = self.counters.iter().find(|metric| metric.name == name)?;
        metric.value.number()
    }
}

/// What a climb of a ladder brought.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Where it ran.
    pub device: DeviceInfo,
    /// The problem's options, complete.
    pub options: Options,
    /// The problem in words.
    pub title: String,
    /// The bytes that effective bandwidth is reckoned from.
    pub bytes: u64,
    /// The floating-point operations, where the ladder is measured by them.
    pub flops: Option<u64>,
    /// How many launches of each rung were timed; `None` for none, as on a device without a clock.
    pub runs: Option<u32>,
    /// The rungs that ran, in the ladder's order.
    pub outcomes: Vec<Outcome>,
}

/// What to climb, and how.
#[derive(Clone, Debug)]
pub struct Climb<'a> {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs by name; all that compute the problem where there is none.
    pub rungs: &'a [String],
    /// What the problem is made from.
    pub options: &'a Options,
    /// The block for all of them, or each one's default.
    pub block: Option<[u32; 3]>,
    /// How many launches of each rung to time; `None` checks only.
    pub runs: Option<u32>,
}

/// A climb that was found possible, before a device is opened for it.
pub struct Plan {
    ladder: &'static Ladder,
    options: Options,
    problem: Box<dyn Problem>,
    launches: Vec<(&'static Rung, Launch)>,
    runs: Option<u32>,
}

impl Plan {
    /// The rungs that will be climbed, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        self.launches.iter().map(|(rung, _)| *rung).collect()
    }

    /// The problem that they compute.
    pub fn problem(&self) -> &dyn Problem {
        &*self.problem
    }
}

impl Climb<'_> {
    /// Makes the problem and finds the rungs and their launches.
    ///
    /// # Errors
    /// Options that the ladder does not take, names that are no rungs, a block that a rung cannot be launched
    /// with.
    pub fn plan(&self) -> Result<Plan, Error> {
        let Self {
            ladder,
            rungs,
            options,
            block,
            runs,
        } = *self;
        let problem = ladder.problem(options)?;
        let launches = ladder
            .select(rungs, &*problem)?
            .into_iter()
            .map(|rung| Ok((rung, ladder.launch(rung, &*problem, block)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Plan {
            ladder,
            options: problem.settled(ladder.complete(options)?),
            problem,
            launches,
            // What is looked at is not timed.
            runs: runs.filter(|_| !ladder.shown.pictures),
        })
    }
}

/// Checks each rung of `plan` and, with its runs, times it. `progress` hears of each rung before it runs.
///
/// # Errors
/// A problem that does not fit, before anything runs; a device that fails. A wrong result is no error: it is
/// in the report.
pub fn climb(
    device: &mut dyn Device,
    plan: &Plan,
    mut progress: impl FnMut(&Rung),
) -> Result<Report, Error> {
    let Plan {
        ladder,
        problem,
        launches,
        runs,
        ..
    } = plan;
    let info = device.info().clone();
    // A copy to restore from for every ladder and rung that is timed, also where they leave their inputs
    // alone: a rung's time must not depend on its company.
    let restorable = runs.is_some() || launches.iter().any(|(rung, _)| rung.in_place);
    device.set_counting(runs.is_some());
    let mut session = Session::new(device, &**problem, restorable)?;
    let mut timed = false;
    let mut outcomes = Vec::with_capacity(launches.len());
    for (rung, launch) in launches {
        progress(rung);
        let tried = session.try_out(rung, launch)?;
        let samples = match runs {
            // A device without a clock has said all that it can.
            Some(runs) if tried.ran.time_ns.is_some() => session.time(rung, launch, *runs)?,
            _ => None,
        };
        timed |= samples.is_some();
        outcomes.push(Outcome {
            rung,
            launch: launch.clone(),
            verdict: tried.verdict,
            picture: tried.picture,
            samples,
            counters: tried.ran.counters,
        });
    }
    Ok(Report {
        ladder,
        device: info,
        options: plan.options.clone(),
        title: problem.title(),
        bytes: problem.bytes(),
        flops: problem.flops(),
        runs: runs.filter(|_| timed),
        outcomes,
    })
}

impl Report {
    /// Whether every rung was right.
    pub fn all_right(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| outcome.verdict.is_right())
    }

    /// Whether the rungs were counted.
    pub fn counted(&self) -> bool {
        self.outcomes
            .iter()
            .any(|outcome| !outcome.counters.is_empty())
    }

    /// How many times faster `outcome` was than the rung of this name, where both were timed.
    pub fn speedup_over(&self, outcome: &Outcome, name: &str) -> Option<f64> {
        let base = self.outcomes.iter().find(|other| other.rung.name == name)?;
        speedup(base, outcome)
    }

    /// How many times faster it was than the ladder's first rung, where both were timed.
    pub fn speedup_vs_first(&self, outcome: &Outcome) -> Option<f64> {
        self.speedup_over(outcome, self.ladder.rungs.first()?.name)
    }

    /// How many times faster the rung at `index` was than the one that ran before it.
    pub fn speedup_vs_before(&self, index: usize) -> Option<f64> {
        let before = self.outcomes.get(index.checked_sub(1)?)?;
        speedup(before, self.outcomes.get(index)?)
    }

    /// Its effective bandwidth in bytes a second, where it was timed.
    pub fn bytes_per_s(&self, outcome: &Outcome) -> Option<f64> {
        per_second(self.bytes, outcome)
    }

    /// Its floating-point operations a second, where it was timed and is measured by them.
    pub fn flops_per_s(&self, outcome: &Outcome) -> Option<f64> {
        per_second(self.flops?, outcome)
    }
}

fn per_second(amount: u64, outcome: &Outcome) -> Option<f64> {
    let median = outcome.samples.as_ref()?.median();
    (median > 0.0).then(|| amount as f64 / (median * 1e-9))
}

fn speedup(base: &Outcome, outcome: &Outcome) -> Option<f64> {
    let (base, own) = (
        base.samples.as_ref()?.median(),
        outcome.samples.as_ref()?.median(),
    );
    (own > 0.0).then(|| base / own)
}
