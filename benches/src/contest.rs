//! Measures all contestants of one problem alternately.

use host::problem::{Facts, Verdict};
use host::run::WARM_UP;
use host::stats::Samples;
use host::{Device, DeviceProperties, Ladder, Options, Problem, Rung, Session};
use serde::{Serialize, Serializer};

use crate::baseline;
use crate::cases::Case;
use crate::contestant::{Contestant, Kind, port_name};
use crate::cuda_code::CudaCode;
use crate::error::{Error, Failure};
use crate::torch;

/// The number of nanoseconds above which a launch is long.
const LONG: f64 = 50e6;
/// A long launch is left out if it takes this many times as long as the shortest launch.
const TOO_LONG: f64 = 5.0;

/// A median and its quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The first quartile: a quarter of the values are below it.
    pub first_quartile: f64,
    /// The third quartile: a quarter of the values are above it.
    pub third_quartile: f64,
}

impl Spread {
    /// Returns the quartiles of these values, or `None` for an empty list.
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let samples = Samples::new(values)?;
        let (first_quartile, third_quartile) = samples.quartiles();
        Some(Self { median: samples.median(), first_quartile, third_quartile })
    }
}

/// The outcome of a contestant.
#[derive(Clone, Debug, PartialEq)]
pub enum ContestantResult {
    /// The contestant was timed. The numbers are the times of the rounds in nanoseconds.
    Timed(Vec<f64>),
    /// The contestant was not timed, because its result was wrong or it failed. The text gives the reason.
    Wrong(String),
    /// The contestant was not timed, because a launch takes too long. The number is the time of a single launch in
    /// nanoseconds.
    LeftOut(f64),
}

/// A contestant with its outcome.
#[derive(Clone)]
pub struct MeasuredContestant {
    /// The contestant.
    pub contestant: Contestant,
    /// The outcome.
    pub outcome: ContestantResult,
}

impl MeasuredContestant {
    /// Returns the times, round by round.
    pub fn times(&self) -> Option<&[f64]> {
        match &self.outcome {
            ContestantResult::Timed(times) => Some(times),
            ContestantResult::Wrong(_) | ContestantResult::LeftOut(_) => None,
        }
    }

    /// Returns the median and the quartiles of the times, in nanoseconds.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.times()?.to_vec())
    }

    /// Returns the bytes moved per second.
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.contestant.bytes as f64 / (self.spread()?.median * 1e-9))
    }

    /// Returns whether the contestant is neither a rung nor a CUDA port.
    pub fn is_other(&self) -> bool {
        matches!(self.contestant.kind, Kind::Baseline | Kind::Read)
    }

    /// Returns the spread of the ratio of this contestant's time to the other contestant's. Each ratio compares the two
    /// launches of one round, which ran close to each other.
    pub fn over(&self, other: &Self) -> Option<Spread> {
        let rounds = self.times()?.iter().zip(other.times()?);
        Spread::of(rounds.map(|(time, other)| time / other).collect())
    }
}

/// The results of a case.
#[derive(Clone, Serialize)]
pub struct Contest {
    /// The ladder.
    #[serde(serialize_with = "name")]
    pub ladder: &'static Ladder,
    /// The case's label in the targets.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub label: &'static str,
    /// The problem's complete options.
    pub options: Options,
    /// The problem in words.
    #[serde(skip)]
    pub title: String,
    /// The number of bytes for the effective bandwidth.
    pub bytes: u64,
    /// The number of floating-point operations, if the ladder's measure is FLOP per second.
    pub flops: Option<u64>,
    /// States whether the data is in the L2 cache at the start of a launch. `None` if the size of the cache is unknown.
    pub regime: Option<String>,
    /// All contestants: rungs, each followed by its CUDA port, and then baselines.
    #[serde(skip)]
    pub contestants: Vec<MeasuredContestant>,
    /// The contestants that could not run, with the reasons.
    pub missing: Vec<String>,
}

fn name<S: Serializer>(ladder: &Ladder, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(ladder.name)
}

impl Contest {
    /// Returns the contestant with this name.
    pub fn named(&self, name: &str) -> Option<&MeasuredContestant> {
        let mut all = self.contestants.iter();
        all.find(|measured| measured.contestant.name == name)
    }

    /// Returns the contestants of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &MeasuredContestant> {
        let all = self.contestants.iter();
        all.filter(move |measured| measured.contestant.kind == kind)
    }

    /// Returns the floating-point operations of a contestant per second, if the ladder's measure is FLOP per second.
    pub fn flops_per_s(&self, contestant: &MeasuredContestant) -> Option<f64> {
        Some(self.flops? as f64 / (contestant.spread()?.median * 1e-9))
    }

    /// Returns the ratio of a rung's time to the time of its CUDA port.
    pub fn over_port(&self, measured: &MeasuredContestant) -> Option<Spread> {
        let rung = measured.contestant.rung.filter(|_| measured.contestant.kind == Kind::Rung)?;
        measured.over(self.named(&port_name(rung))?)
    }

    /// Returns the fastest rung that computes the whole result. If no rung of the ladder computes the whole result,
    /// rungs that leave a last step to the host also count.
    pub fn top(&self) -> Option<&MeasuredContestant> {
        self.of_kind(Kind::Rung)
            .filter(|measured| !measured.contestant.is_bound && self.solves(&measured.contestant))
            .filter_map(|measured| Some((measured, measured.spread()?.median)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(measured, _)| measured)
    }

    /// Returns whether a contestant computes the whole result, or the same part of it as every rung of the ladder.
    fn solves(&self, contestant: &Contestant) -> bool {
        let is_whole = |rung: &Rung| rung.single_pass;
        let all_are_parts = !self.contestants.iter().any(|measured| measured.contestant.rung.is_some_and(is_whole));
        all_are_parts || contestant.rung.is_some_and(is_whole)
    }

    /// Returns whether all results were right.
    pub fn all_right(&self) -> bool {
        let is_wrong = |measured: &MeasuredContestant| matches!(measured.outcome, ContestantResult::Wrong(_));
        !self.contestants.iter().any(is_wrong)
    }
}

/// Returns all contestants of a case: each rung followed by its CUDA port, the baselines, and plain reading if the
/// ladder's measure is bytes per second. Also returns the reasons for leaving out rungs and baselines that cannot run
/// this problem.
///
/// # Errors
/// Returns [`host::Error::UnknownName`] when a name is not a rung's, and the first rung's reason when no rung can run
/// this problem.
pub fn contestants(
    case: &Case,
    names: &[String],
    problem: &dyn Problem,
    cuda: &CudaCode,
    device: DeviceProperties,
) -> Result<(Vec<Contestant>, Vec<String>), Error> {
    let rungs = case.rungs(names, problem)?;
    let (launches, mut refused) = case.ladder.launches(rungs, problem, device, |_| Vec::new(), true)?;
    if launches.is_empty() && !refused.is_empty() {
        return Err(refused.swap_remove(0).into());
    }
    let mut all = Vec::new();
    for (rung, launch) in launches {
        let port = cuda.port(case.ladder.name, &launch);
        let contestant = |launch, is_port| Contestant::launch(rung, launch, is_port, problem);
        all.push(contestant(launch, false));
        all.extend(port.map(|launch| contestant(launch, true)));
    }
    let mut left_out: Vec<String> = refused.iter().map(|error| format!("left out: {error}")).collect();
    if let Some(library) = cuda.library() {
        let (baselines, reasons) = baseline::of(case.ladder, problem, &options(case, problem)?, device);
        all.extend(baselines.into_iter().map(|baseline| Contestant::baseline(baseline, library.clone(), problem)));
        left_out.extend(reasons);
    }
    if let Some(torch) = cuda.torch(case.ladder.name) {
        let options = options(case, problem)?;
        for names in torch::functions(case.ladder.name) {
            match Contestant::torch(names, torch, &options, problem) {
                Ok(contestant) => all.push(contestant),
                Err(why) => left_out.push(format!("left out: {} does not compute this: {why}", names.0)),
            }
        }
    }
    if problem.facts().flops.is_none() {
        all.push(Contestant::read(problem, device));
    }
    Ok((all, left_out))
}

/// Returns the complete options of a case's problem.
///
/// # Errors
/// Returns [`host::Error::UnknownName`] when the ladder does not have an option.
pub fn options(case: &Case, problem: &dyn Problem) -> Result<Options, host::Error> {
    Ok(case.ladder.complete(&case.options)?.with_all(&problem.facts().chosen))
}

/// Runs a case: runs and checks each contestant once, and then times it in `runs` rounds, after [`WARM_UP`] warm-up
/// rounds. A round launches each contestant once, unless the contestant's result is wrong or its launch takes too long.
/// Every other round runs in reverse order, so that no contestant always has the same predecessor. Each step calls
/// `progress`.
///
/// [`Session::time`] documents how a launch is timed.
///
/// # Errors
/// Returns [`host::Error::NotEnoughMemory`] when the problem does not fit, and [`host::Error::UnknownName`] when a name
/// is not a rung's. Returns [`Error::Request`] when the device is too old for a named rung or has no clock, and
/// [`Error::Unusable`] when a contestant's failure made the device unusable. Any other failure of a contestant is
/// reported as [`ContestantResult::Wrong`]. A contestant in `failures` is not launched and is also reported as
/// [`ContestantResult::Wrong`].
pub fn contest(
    device: &mut dyn Device,
    case: &Case,
    names: &[String],
    cuda: &mut CudaCode,
    runs: u32,
    failures: &[Failure],
    mut progress: impl FnMut(&str),
) -> Result<Contest, Error> {
    let problem = case.ladder.problem(&case.options)?;
    let problem = &*problem;
    let info = device.info().clone();
    let (all, mut left_out) = contestants(case, names, problem, cuda, info.properties())?;
    let mut session = Session::timed(device, problem)?;
    let sets = session.sets();

    let mut results: Vec<(Contestant, Result<f64, String>)> = Vec::new();
    for contestant in all {
        match contestant.check_supported(&session) {
            Some(error) if !names.is_empty() => return Err(error.into()),
            Some(error) => {
                left_out.push(format!("left out: {}", Error::from(error)));
                continue;
            }
            None => {}
        }
        let place = (case.ladder.name, case.label, &*contestant.name);
        if let Some(failure) =
            failures.iter().find(|failure| (&*failure.ladder, &*failure.case, &*failure.contestant) == place)
        {
            results.push((contestant, Err(failure.why.clone())));
            continue;
        }
        progress(&format!("trying {}", contestant.name));
        let tried = match contestant.once(&mut session) {
            Ok(Some(time)) => Ok(time),
            Ok(None) => return Err(Error::no_gpu(&format!("{} has no clock", info.name))),
            // The driver is older than nvcc, which is not an error of the port.
            Err(error @ host::Error::Ptx { .. }) if contestant.kind == Kind::CudaPort => {
                cuda.refuse_ports(case.ladder.name, error.to_string());
                continue;
            }
            Err(error) => Err(failed(case, &contestant, &mut session, &error)?),
        };
        if contestant.kind != Kind::CudaPort || !cuda.lacks_ports(case.ladder.name) {
            results.push((contestant, tried));
        }
    }
    let times = results.iter().filter_map(|(_, tried)| tried.as_ref().ok());
    let shortest = times.copied().fold(f64::INFINITY, f64::min);
    let too_long = |time: f64| time > LONG && time > TOO_LONG * shortest;

    let mut measured = Vec::new();
    for (contestant, tried) in results {
        let outcome = match tried {
            Err(why) => ContestantResult::Wrong(why),
            // A library initializes itself in its first call, which can take longer than the work itself.
            Ok(time) if too_long(time) && contestant.kind != Kind::Baseline => ContestantResult::LeftOut(time),
            Ok(_) => {
                progress(&format!("checking {}", contestant.name));
                match contestant.check(&mut session) {
                    Ok(Verdict::Right) => ContestantResult::Timed(Vec::new()),
                    Ok(Verdict::Wrong(why)) => ContestantResult::Wrong(why),
                    Err(error) => ContestantResult::Wrong(failed(case, &contestant, &mut session, &error)?),
                }
            }
        };
        measured.push(MeasuredContestant { contestant, outcome });
    }
    rounds(case, &mut measured, &mut session, runs, progress)?;
    drop(session);

    let Facts { bytes, flops, .. } = problem.facts();
    Ok(Contest {
        ladder: case.ladder,
        label: case.label,
        options: options(case, problem)?,
        title: problem.labels().title,
        bytes,
        flops,
        regime: info.l2_bytes.map(|l2| cli::regime(bytes, sets, l2)),
        contestants: measured,
        missing: [cuda.missing(case.ladder.name), left_out].concat(),
    })
}

/// Returns the reason for a contestant's failure, if the device is still usable.
fn failed<D: Device + ?Sized>(
    case: &Case,
    contestant: &Contestant,
    session: &mut Session<'_, D>,
    error: &host::Error,
) -> Result<String, Error> {
    let why = error.to_string();
    if session.is_usable_after(true) {
        return Ok(why);
    }
    let (ladder, label) = (case.ladder.name.to_owned(), case.label.to_owned());
    Err(Error::Unusable(Failure { ladder, case: label, contestant: contestant.name.clone(), why }))
}

/// Times all contestants whose outcome is a time, in rounds.
fn rounds<D: Device + ?Sized>(
    case: &Case,
    measured: &mut [MeasuredContestant],
    session: &mut Session<'_, D>,
    runs: u32,
    mut progress: impl FnMut(&str),
) -> Result<(), Error> {
    for round in 0..WARM_UP + runs {
        let counts = round >= WARM_UP;
        progress(&match counts {
            true => format!("round {} of {runs}", round - WARM_UP + 1),
            false => "warming up".to_owned(),
        });
        let mut order: Vec<&mut MeasuredContestant> = measured.iter_mut().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for measured in order {
            let ContestantResult::Timed(times) = &mut measured.outcome else {
                continue;
            };
            match measured.contestant.once(session) {
                Ok(Some(time)) if counts => times.push(time),
                Ok(_) => {}
                Err(error) => {
                    measured.outcome = ContestantResult::Wrong(failed(case, &measured.contestant, session, &error)?);
                }
            }
        }
    }
    Ok(())
}
