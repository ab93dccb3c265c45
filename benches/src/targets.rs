//! What the ladders' tops and the compiler are to reach, as data, and whether they do.

use serde::Serialize;

use crate::contest::{Contest, Measured};

/// Something to reach.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is about.
    pub what: &'static str,
    /// What is to be reached.
    pub wants: Wants,
}

/// What there is to reach. A case is a ladder's name and a label of [`cases`](crate::cases).
#[derive(Clone, Copy, Debug)]
pub enum Wants {
    /// No rung of the seeds takes more than so many times its twin's time.
    EachTwin(f64),
    /// The geometric mean of these ratios is at most so much.
    MeanTwin(f64),
    /// The top rung's time is at most so many times that of the peer whose name begins so.
    Peer {
        /// The case.
        of: (&'static str, &'static str),
        /// How the peer's name begins.
        peer: &'static str,
        /// The ratio.
        at_most: f64,
    },
    /// The top rung moves at least so many bytes a second.
    Bandwidth {
        /// The case.
        of: (&'static str, &'static str),
        /// 10^9 bytes a second.
        at_least: f64,
    },
    /// The top rung's time is at most so many times that of another case's top rung.
    Case {
        /// The case.
        of: (&'static str, &'static str),
        /// The other.
        than: (&'static str, &'static str),
        /// The ratio.
        at_most: f64,
    },
}

use Wants::{Bandwidth, EachTwin, MeanTwin, Peer};

const fn target(what: &'static str, wants: Wants) -> Target {
    Target { what, wants }
}

const fn peer(
    what: &'static str,
    of: (&'static str, &'static str),
    peer: &'static str,
    at_most: f64,
) -> Target {
    target(what, Peer { of, peer, at_most })
}

/// How much longer two runs of the same may take and count as the same.
const SAME: f64 = 1.01;

const fn bandwidth_of_sum(what: &'static str, label: &'static str) -> Target {
    let wants = Wants::Case {
        of: ("reduce", label),
        than: ("reduce", "2^28 f32"),
        at_most: SAME,
    };
    target(what, wants)
}

/// All targets. They are for one H100.
pub const TARGETS: &[Target] = &[
    target("each rung of the seeds, over its twin", EachTwin(1.03)),
    target("their geometric mean", MeanTwin(0.98)),
    peer(
        "top sum, 2^28 i32, over CUB",
        ("reduce", "2^28"),
        "CUB",
        0.97,
    ),
    target(
        "top sum, 2^28 i32",
        Bandwidth {
            of: ("reduce", "2^28"),
            at_least: 3150.0,
        },
    ),
    peer(
        "top sum, 2^28 f32, over CUB",
        ("reduce", "2^28 f32"),
        "CUB",
        0.97,
    ),
    target(
        "top sum, 2^28 f32",
        Bandwidth {
            of: ("reduce", "2^28 f32"),
            at_least: 3150.0,
        },
    ),
    peer(
        "top sum, 2^24 i32, over CUB",
        ("reduce", "2^24"),
        "CUB",
        0.85,
    ),
    peer(
        "top sum, 2^20 i32, over CUB",
        ("reduce", "2^20"),
        "CUB",
        1.0,
    ),
    bandwidth_of_sum("top min, 2^28 f32, over top sum", "2^28 min f32"),
    bandwidth_of_sum("top max, 2^28 f32, over top sum", "2^28 max f32"),
    bandwidth_of_sum("top product, 2^28 f32, over top sum", "2^28 product f32"),
    peer(
        "top transpose, 16384², over memcpy",
        ("transpose", "16384x16384"),
        "memcpy",
        1.0,
    ),
    peer(
        "top transpose, 4096², over memcpy",
        ("transpose", "4096x4096"),
        "memcpy",
        1.0,
    ),
    peer(
        "top transpose, 10007 × 8191, over memcpy",
        ("transpose", "10007x8191"),
        "memcpy",
        1.0 / 0.85,
    ),
    peer(
        "top SGEMM, 4096³, over cuBLAS",
        ("matmul", "4096^3"),
        "cuBLAS",
        1.0,
    ),
    peer(
        "top SGEMM, 8192³, over cuBLAS",
        ("matmul", "8192^3"),
        "cuBLAS",
        1.0,
    ),
    peer(
        "top SGEMM, 1024³, over cuBLAS",
        ("matmul", "1024^3"),
        "cuBLAS",
        1.0 / 0.9,
    ),
    peer(
        "top SGEMM, 2048³, over cuBLAS",
        ("matmul", "2048^3"),
        "cuBLAS",
        1.0 / 0.9,
    ),
    peer(
        "top SGEMM, 1000 × 1100 × 1300, over cuBLAS",
        ("matmul", "1000x1100x1300"),
        "cuBLAS",
        1.0 / 0.9,
    ),
    peer(
        "top histogram, 2^28 uniform bytes, over CUB",
        ("histogram", "2^28 uniform"),
        "CUB",
        1.0,
    ),
    target(
        "top histogram, constant bytes over uniform",
        Wants::Case {
            of: ("histogram", "2^28 constant"),
            than: ("histogram", "2^28 uniform"),
            at_most: 1.5,
        },
    ),
];

/// A target and what was measured for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// What it is about.
    pub what: &'static str,
    /// What is to be reached, in words.
    pub target: String,
    /// What was measured.
    pub measured: f64,
    /// Of what: the rung that it is about.
    pub by: String,
    /// Whether it is reached.
    pub met: bool,
}

/// A rung's time over its twin's, on the first case on which both ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ladder.
    pub ladder: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// The problem that it was measured on.
    pub title: String,
    /// The median of the rounds' ratios.
    pub ratio: f64,
    /// Whether the rung is one of those of the texts behind the ladders.
    pub is_of_the_seeds: bool,
}

/// The ratios of all rungs that have twins.
#[must_use]
pub fn ratios(contests: &[Contest]) -> Vec<Ratio> {
    let mut all: Vec<Ratio> = Vec::new();
    for contest in contests {
        for entrant in &contest.entrants {
            let (Some(rung), Some(ratio)) = (entrant.rung, contest.over_twin(entrant)) else {
                continue;
            };
            if all.iter().all(|known| known.rung != rung.name) {
                all.push(Ratio {
                    ladder: contest.ladder.name,
                    rung: rung.name,
                    title: contest.title.clone(),
                    ratio: ratio.median,
                    is_of_the_seeds: contest.is_of_the_seeds(entrant),
                });
            }
        }
    }
    all
}

/// The geometric mean. `None` of nothing.
#[must_use]
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

/// What the device can do at the most, measured in the same run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// What was measured: a copy, or reading alone.
    pub name: String,
    /// The ladder.
    pub ladder: &'static str,
    /// The problem whose bytes were moved.
    pub title: String,
    /// 10^9 bytes a second: read and written for a copy.
    pub gb_per_s: f64,
}

/// The ceilings: of each kind the fastest.
#[must_use]
pub fn ceilings(contests: &[Contest]) -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = Vec::new();
    for contest in contests {
        let bounds = contest
            .entrants
            .iter()
            .filter(|entrant| entrant.is_bound && entrant.rung.is_none());
        for entrant in bounds {
            let Some(bytes_per_s) = entrant.bytes_per_s() else {
                continue;
            };
            let new = Ceiling {
                name: entrant.name.clone(),
                ladder: contest.ladder.name,
                title: contest.title.clone(),
                gb_per_s: bytes_per_s / 1e9,
            };
            match all.iter_mut().find(|known| known.name == new.name) {
                Some(known) if known.gb_per_s >= new.gb_per_s => {}
                Some(known) => *known = new,
                None => all.push(new),
            }
        }
    }
    all
}

/// The targets for which there are measurements.
#[must_use]
pub fn reached(contests: &[Contest]) -> Vec<Reached> {
    TARGETS
        .iter()
        .filter_map(|target| one(target, contests))
        .collect()
}

fn one(target: &Target, contests: &[Contest]) -> Option<Reached> {
    let case = |(ladder, label): (&str, &str)| {
        contests
            .iter()
            .find(|contest| contest.ladder.name == ladder && contest.label == label)
    };
    let made = |words: String, measured: f64, by: String, met: bool| Reached {
        what: target.what,
        target: words,
        measured,
        by,
        met,
    };
    let at_most = |bound: f64, measured: f64, by: String| {
        made(format!("≤ {bound:.3}"), measured, by, measured <= bound)
    };
    let seeds = || {
        ratios(contests)
            .into_iter()
            .filter(|ratio| ratio.is_of_the_seeds)
    };
    let name = |entrant: &Measured| entrant.name.clone();
    match target.wants {
        EachTwin(bound) => {
            let worst = seeds().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
            Some(at_most(
                bound,
                worst.ratio,
                format!("{}, the worst", worst.rung),
            ))
        }
        MeanTwin(bound) => {
            let mean = geometric_mean(seeds().map(|ratio| ratio.ratio))?;
            Some(at_most(bound, mean, format!("{} rungs", seeds().count())))
        }
        Peer {
            of,
            peer,
            at_most: bound,
        } => {
            let contest = case(of)?;
            let top = contest.top()?;
            let mut others = contest.entrants.iter();
            let other =
                others.find(|entrant| entrant.rung.is_none() && entrant.name.starts_with(peer))?;
            Some(at_most(bound, top.over(other)?.median, name(top)))
        }
        Bandwidth { of, at_least } => {
            let top = case(of)?.top()?;
            let measured = top.bytes_per_s()? / 1e9;
            let words = format!("≥ {at_least:.0} GB/s");
            Some(made(words, measured, name(top), measured >= at_least))
        }
        Wants::Case {
            of,
            than,
            at_most: bound,
        } => {
            let median = |top: &Measured| top.spread().map(|spread| spread.median);
            let top = case(of)?.top()?;
            let ratio = median(top)? / median(case(than)?.top()?)?;
            Some(at_most(bound, ratio, name(top)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cases;

    #[test]
    fn every_target_speaks_of_a_case_that_there_is() {
        let cases = cases::written(None);
        let is = |(ladder, label): (&str, &str)| {
            cases
                .iter()
                .any(|case| (case.ladder.name, case.label) == (ladder, label))
        };
        for target in TARGETS {
            let spoken_of = match target.wants {
                EachTwin(_) | MeanTwin(_) => vec![],
                Peer { of, .. } | Bandwidth { of, .. } => vec![of],
                Wants::Case { of, than, .. } => vec![of, than],
            };
            assert!(spoken_of.into_iter().all(is), "{}", target.what);
        }
    }

    #[test]
    fn the_mean_is_geometric() {
        let mean = geometric_mean([0.5, 2.0, 1.0].into_iter()).unwrap();
        assert!((mean - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(std::iter::empty()), None);
    }
}
