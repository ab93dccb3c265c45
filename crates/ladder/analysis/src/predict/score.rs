//! The accuracy of predictions.

use super::calibrate::Observation;
use super::{LadderPrediction, Times};
use engine::stats::Samples;

/// Pairs the predictions with the measured times, for the rungs that have a measured time.
pub fn observations<'a>(ladders: &'a [LadderPrediction], times: &Times) -> Vec<Observation<'a>> {
    let all = ladders.iter().flat_map(|ladder| &ladder.predictions);
    all.filter_map(|prediction| Some((prediction, *times.get(prediction.rung.name)?))).collect()
}

/// The accuracy of predictions against measured times.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The number of rungs that have both a predicted and a measured time.
    pub rungs: usize,
    /// The median absolute error, relative to the measured time.
    pub median: f64,
    /// The largest error in magnitude, relative to the measured time, and its rung.
    pub worst: (f64, &'static str),
    /// Spearman's rank correlation for each ladder with measured times; `None` when all of a ladder's times are equal.
    /// Measured times within [`RESOLUTION_US`] of each other count as equal.
    pub ranks: Vec<(&'static str, Option<f64>)>,
}

/// The resolution of measured times in microseconds (CUDA Driver API, `cuEventElapsedTime`: "around 0.5
/// microseconds").
pub const RESOLUTION_US: f64 = 0.5;

/// Scores predictions against measured times; `None` if no rung was measured.
pub fn score(ladders: &[LadderPrediction], times: &Times) -> Option<Score> {
    let mut errors: Vec<(f64, &'static str)> = Vec::new();
    let mut ranks = Vec::new();
    for ladder in ladders {
        let seen = observations(std::slice::from_ref(ladder), times);
        let both: Vec<(f64, f64)> = seen.iter().map(|(prediction, us)| (prediction.estimate.us, *us)).collect();
        let error = |(prediction, us): &Observation<'_>| (prediction.estimate.us / us - 1.0).abs();
        errors.extend(seen.iter().map(|seen| (error(seen), seen.0.rung.name)));
        if !both.is_empty() {
            ranks.push((ladder.ladder.name, spearman(&leveled(both))));
        }
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let worst = *errors.last()?;
    let sizes = Samples::new(errors.iter().map(|(error, _)| *error).collect())?;
    Some(Score { rungs: errors.len(), median: sizes.median(), worst, ranks })
}

/// Makes measured times (the second number of each pair) equal if they are close. A time joins a group if it is within
/// [`RESOLUTION_US`] of the smallest time of the group.
fn leveled(mut pairs: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut least = f64::NEG_INFINITY;
    for (_, measured) in &mut pairs {
        if *measured - least >= RESOLUTION_US {
            least = *measured;
        }
        *measured = least;
    }
    pairs
}

/// Computes Spearman's rank correlation. Equal values get the mean of their ranks. Returns `None` if all values of one
/// side are equal.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let rank = |pair| {
            let count = |is: fn(&f64, &f64) -> bool| {
                let others = pairs.iter().filter(|other| is(&of(other), &of(pair)));
                others.count() as f64
            };
            count(f64::lt) + (count(f64::eq) + 1.0) / 2.0
        };
        pairs.iter().map(rank).collect()
    };
    let (a, b) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        let both = x.iter().zip(y);
        both.map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

#[cfg(test)]
mod tests;
