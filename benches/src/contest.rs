//! One problem and everything that computes it, run in turn.

use host::device::DeviceInfo;
use host::problem::Verdict;
use host::run::WARM_UP;
use host::stats::Samples;
use host::{Device, Ladder, Options, Problem, Rung, Session, report};
use serde::Serialize;

use crate::cases::{Case, is_of_the_seeds};
use crate::entrant::{Entrant, Kind, twin_name};
use crate::error::Error;
use crate::opponents::Opponents;

/// A launch of more nanoseconds than this is long,
const LONG: f64 = 50e6;
/// and too long for the time there is if it takes so many times the shortest's.
const TOO_LONG: f64 = 5.0;

/// A median and the quartiles around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The value in the middle.
    pub median: f64,
    /// A quarter of the values are below it.
    pub first_quartile: f64,
    /// A quarter of the values are above it.
    pub third_quartile: f64,
}

impl Spread {
    /// Of these values. `None` for none.
    #[must_use]
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let samples = Samples::new(values)?;
        let (first_quartile, third_quartile) = samples.quartiles();
        Some(Self {
            median: samples.median(),
            first_quartile,
            third_quartile,
        })
    }
}

/// What became of an entrant.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was timed: nanoseconds, round by round.
    Timed(Vec<f64>),
    /// It was not, because its result was wrong or it failed: how.
    Wrong(String),
    /// It was not, because it takes too long: nanoseconds of the launch that was tried.
    LeftOut(f64),
}

/// An entrant and what became of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The rung that it is or is a twin of.
    pub rung: Option<&'static Rung>,
    /// Whether it does less than the problem asks for.
    pub is_bound: bool,
    /// The bytes that it moves at the least.
    pub bytes: u64,
    /// What became of it.
    pub outcome: Outcome,
}

impl Measured {
    /// Its times, round by round.
    #[must_use]
    pub fn times(&self) -> Option<&[f64]> {
        match &self.outcome {
            Outcome::Timed(times) => Some(times),
            Outcome::Wrong(_) | Outcome::LeftOut(_) => None,
        }
    }

    /// The middle of its times, in nanoseconds.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.times()?.to_vec())
    }

    /// The bytes that it moved in a second.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.bytes as f64 / (self.spread()?.median * 1e-9))
    }

    /// The ratio of its time to another's: of each round's two launches, which ran close to each other.
    #[must_use]
    pub fn over(&self, other: &Self) -> Option<Spread> {
        let rounds = self.times()?.iter().zip(other.times()?);
        Spread::of(rounds.map(|(own, other)| own / other).collect())
    }
}

/// What a case brought.
#[derive(Clone, Debug)]
pub struct Contest {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// What the targets call the case.
    pub label: &'static str,
    /// The problem's options, complete.
    pub options: Options,
    /// The problem in words.
    pub title: String,
    /// The bytes that effective bandwidth is reckoned from.
    pub bytes: u64,
    /// The floating-point operations, where the ladder is measured by them.
    pub flops: Option<u64>,
    /// Where the data are when a launch begins, where the device says what its L2 is.
    pub regime: Option<String>,
    /// All that took part: rungs, each before its twin, then peers.
    pub entrants: Vec<Measured>,
    /// What could not take part, and why.
    pub missing: Vec<String>,
}

impl Contest {
    /// The entrant of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Measured> {
        self.entrants.iter().find(|entrant| entrant.name == name)
    }

    /// The entrants of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Measured> {
        self.entrants
            .iter()
            .filter(move |entrant| entrant.kind == kind)
    }

    /// A rung's time over its twin's.
    #[must_use]
    pub fn over_twin(&self, entrant: &Measured) -> Option<Spread> {
        let rung = entrant.rung.filter(|_| entrant.kind == Kind::Rung)?;
        entrant.over(self.named(&twin_name(rung))?)
    }

    /// The rung that solves the problem in the shortest time: all of it, where some of the ladder's rungs leave
    /// a part of it to the host.
    #[must_use]
    pub fn top(&self) -> Option<&Measured> {
        let median = |entrant: &Measured| entrant.spread().map(|spread| spread.median);
        self.of_kind(Kind::Rung)
            .filter(|entrant| !entrant.is_bound && self.solves(entrant))
            .filter_map(|entrant| Some((entrant, median(entrant)?)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(entrant, _)| entrant)
    }

    /// Whether an entrant gives as much of the result as any rung of the ladder does.
    fn solves(&self, entrant: &Measured) -> bool {
        let is_whole = |rung: &Rung| rung.single_pass;
        let all_are_parts = !self.ladder.rungs.iter().any(is_whole);
        all_are_parts || entrant.rung.is_some_and(is_whole)
    }

    /// Whether a rung is one of those that the texts behind the ladders have.
    #[must_use]
    pub fn is_of_the_seeds(&self, entrant: &Measured) -> bool {
        entrant
            .rung
            .is_some_and(|rung| is_of_the_seeds(self.ladder, rung))
    }

    /// Whether everything that ran was right.
    #[must_use]
    pub fn all_right(&self) -> bool {
        !self
            .entrants
            .iter()
            .any(|entrant| matches!(entrant.outcome, Outcome::Wrong(_)))
    }
}

/// Everything that takes part in a case: each rung followed by its twin, the peers, and plain reading where
/// the ladder is measured by its bytes.
///
/// # Errors
/// For a name that is no rung of the ladder.
pub fn entrants(
    case: &Case,
    names: &[String],
    problem: &dyn Problem,
    opponents: &Opponents,
) -> Result<Vec<Entrant>, Error> {
    let mut all = Vec::new();
    for rung in case.rungs(names, problem)? {
        let launch = case.ladder.launch(rung, problem, None)?;
        let twin = opponents.twin(case.ladder.name, &launch);
        all.push(Entrant::Launch {
            rung,
            launch,
            is_twin: false,
        });
        all.extend(twin.map(|launch| Entrant::Launch {
            rung,
            launch,
            is_twin: true,
        }));
    }
    if opponents.has_peers() {
        all.extend(problem.peers().into_iter().map(Entrant::Peer));
    }
    if problem.flops().is_none() {
        all.push(Entrant::Read);
    }
    Ok(all)
}

/// Runs a case: tries and checks each entrant once, and then takes `runs` rounds of one launch of each that is
/// right and does not take too long, after [`WARM_UP`] that do not count. Every other round goes backwards,
/// so that none always has the same one before it. `progress` hears of what is done.
///
/// Each launch is timed as [`Session::time`] documents.
///
/// # Errors
/// A problem that does not fit, a name that is no rung or is one that the device is too old for, and a device
/// without a clock. Whatever else the device
/// refuses is the entrant's [`Outcome::Wrong`].
pub fn contest(
    device: &mut dyn Device,
    case: &Case,
    names: &[String],
    opponents: &mut Opponents,
    runs: u32,
    mut progress: impl FnMut(&str),
) -> Result<Contest, Error> {
    let problem = case.ladder.problem(&case.options)?;
    let problem = &*problem;
    let all = entrants(case, names, problem, opponents)?;
    let info = device.info().clone();
    let mut session = Session::timed(device, problem)?;
    let sets = session.sets();

    let mut results: Vec<(Entrant, Result<f64, String>)> = Vec::new();
    let mut too_new = Vec::new();
    for entrant in all {
        match entrant.lacks(&session) {
            Some(error) if !names.is_empty() => return Err(error.into()),
            Some(error) => {
                too_new.push(format!("left out: {error}"));
                continue;
            }
            None => {}
        }
        progress(&format!("trying {}", entrant.name()));
        let tried = match entrant.once(&mut session) {
            Ok(Some(time)) => Ok(time),
            Ok(None) => return Err(no_clock(&info).into()),
            // The driver is older than the nvcc: that is not the twin's fault.
            Err(error @ host::Error::Ptx { .. }) if entrant.kind() == Kind::Twin => {
                opponents.refuse_twins(case.ladder.name, error.to_string());
                continue;
            }
            Err(error) => Err(error.to_string()),
        };
        if entrant.kind() != Kind::Twin || opponents.without_twins(case.ladder.name).is_none() {
            results.push((entrant, tried));
        }
    }
    let shortest = results
        .iter()
        .filter_map(|(_, tried)| tried.as_ref().ok())
        .fold(f64::INFINITY, |shortest, &time| shortest.min(time));
    let too_long = |time: f64| time > LONG && time > TOO_LONG * shortest;

    let mut outcomes = Vec::new();
    for (entrant, tried) in &results {
        outcomes.push(match tried {
            Err(why) => Outcome::Wrong(why.clone()),
            // A library's first call makes it ready, which can take longer than what it is called for.
            &Ok(time) if too_long(time) && entrant.kind() != Kind::Peer => Outcome::LeftOut(time),
            Ok(_) => {
                progress(&format!("checking {}", entrant.name()));
                match entrant.check(&mut session) {
                    Ok(Verdict::Right) => Outcome::Timed(Vec::new()),
                    Ok(Verdict::Wrong(why)) => Outcome::Wrong(why),
                    Err(error) => Outcome::Wrong(error.to_string()),
                }
            }
        });
    }

    for round in 0..WARM_UP + runs {
        let counts = round >= WARM_UP;
        progress(&if counts {
            format!("round {} of {runs}", round - WARM_UP + 1)
        } else {
            "warming up".to_owned()
        });
        let mut order: Vec<usize> = (0..results.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let Outcome::Timed(times) = &mut outcomes[at] else {
                continue;
            };
            match results[at].0.once(&mut session) {
                Ok(Some(time)) if counts => times.push(time),
                Ok(_) => {}
                Err(error) => outcomes[at] = Outcome::Wrong(error.to_string()),
            }
        }
    }
    drop(session);

    let entrants = results
        .iter()
        .zip(outcomes)
        .map(|((entrant, _), outcome)| Measured {
            name: entrant.name(),
            kind: entrant.kind(),
            rung: entrant.rung(),
            is_bound: entrant.is_bound(),
            bytes: entrant.bytes(problem),
            outcome,
        })
        .collect();
    Ok(Contest {
        ladder: case.ladder,
        label: case.label,
        options: problem.settled(case.ladder.complete(&case.options)?),
        title: problem.title(),
        bytes: problem.bytes(),
        flops: problem.flops(),
        regime: info
            .l2_bytes
            .map(|l2| report::regime(problem.bytes(), sets, l2)),
        entrants,
        missing: [missing(case.ladder, opponents), too_new].concat(),
    })
}

/// Why there are no twins or no peers, where there are none.
pub fn missing(ladder: &Ladder, opponents: &Opponents) -> Vec<String> {
    let twins = opponents
        .without_twins(ladder.name)
        .map(|why| format!("no twins in CUDA C++: {why}"));
    let peers = opponents
        .peers()
        .and_then(Result::err)
        .map(|why| format!("no peers: {why}"));
    twins.into_iter().chain(peers).collect()
}

fn no_clock(info: &DeviceInfo) -> host::Error {
    host::Error::NoGpu {
        what: format!(
            "{} has no clock, and nothing can be measured on it",
            info.name
        ),
    }
}
