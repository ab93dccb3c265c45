//! Defines the targets for the ladders' fastest rungs and for the compiler as data, and checks whether the targets are
//! reached.

use serde::Serialize;

use crate::contest::{Contest, MeasuredContestant};
use crate::contestant::Contestant;

/// A target, with a name for the ladder or case.
pub type Target = (&'static str, TargetKind);

/// The kinds of targets. A case is the name of a ladder and a label of [`cases`](crate::cases).
#[derive(Clone, Copy, Debug)]
pub enum TargetKind {
    /// No rung takes more than this many times as long as its CUDA port. Applies to this ladder, or to all ladders.
    EachPort(Option<&'static str>, f64),
    /// The geometric mean of the ratios of all rungs to their CUDA ports is at most this.
    MeanPort(f64),
    /// In this case, the top rung takes at most this many times as long as the contestant whose name has this prefix.
    Baseline(Case, &'static str, f64),
    /// In this case, the top rung moves at least this many 10^9 bytes per second.
    Bandwidth(Case, f64),
    /// In this case, the top rung takes at most this many times as long as another case's top rung.
    OtherCase(Case, Case, f64),
}

type Case = (&'static str, &'static str);

use TargetKind::{Bandwidth, Baseline, EachPort, MeanPort, OtherCase};

/// The tolerance: the maximum ratio between two measurements of the same work.
const SAME: f64 = 1.01;
const FLOAT_SUM: Case = ("reduce", "2^28 f32");

/// All targets, for one H100.
#[rustfmt::skip] // One target per line.
pub const TARGETS: &[Target] = &[
    ("each rung, over its CUDA port", EachPort(None, 1.03)),
    ("each rung of gemm, over its CUDA port", EachPort(Some("gemm"), 1.02)),
    ("each rung of scan, over its CUDA port", EachPort(Some("scan"), 1.02)),
    ("each rung of sort, over its CUDA port", EachPort(Some("sort"), 1.02)),
    ("each rung of softmax, over its CUDA port", EachPort(Some("softmax"), 1.02)),
    ("their geometric mean", MeanPort(0.98)),
    ("top sum, 2^28 i32, over CUB", Baseline(("reduce", "2^28"), "CUB", 0.97)),
    ("top sum, 2^28 i32", Bandwidth(("reduce", "2^28"), 3150.0)),
    ("top sum, 2^28 f32, over CUB", Baseline(FLOAT_SUM, "CUB", 0.97)),
    ("top sum, 2^28 f32", Bandwidth(FLOAT_SUM, 3150.0)),
    ("top sum, 2^24 i32, over CUB", Baseline(("reduce", "2^24"), "CUB", 0.85)),
    ("top sum, 2^20 i32, over CUB", Baseline(("reduce", "2^20"), "CUB", 1.0)),
    ("top min, 2^28 f32, over top sum", OtherCase(("reduce", "2^28 min f32"), FLOAT_SUM, SAME)),
    ("top max, 2^28 f32, over top sum", OtherCase(("reduce", "2^28 max f32"), FLOAT_SUM, SAME)),
    ("top product, 2^28 f32, over top sum", OtherCase(("reduce", "2^28 product f32"), FLOAT_SUM, SAME)),
    ("top transpose, 16384², over memcpy", Baseline(("transpose", "16384x16384"), "memcpy", 1.0)),
    ("top transpose, 4096², over memcpy", Baseline(("transpose", "4096x4096"), "memcpy", 1.0)),
    ("top transpose, 10007 × 8191, over memcpy", Baseline(("transpose", "10007x8191"), "memcpy", 1.0 / 0.85)),
    ("top SGEMM, 4096³, over cuBLAS", Baseline(("matmul", "4096^3"), "cuBLAS", 1.0)),
    ("top SGEMM, 8192³, over cuBLAS", Baseline(("matmul", "8192^3"), "cuBLAS", 1.0)),
    ("top SGEMM, 1024³, over cuBLAS", Baseline(("matmul", "1024^3"), "cuBLAS", 1.0 / 0.9)),
    ("top SGEMM, 2048³, over cuBLAS", Baseline(("matmul", "2048^3"), "cuBLAS", 1.0 / 0.9)),
    ("top SGEMM, 1000 × 1100 × 1300, over cuBLAS", Baseline(("matmul", "1000x1100x1300"), "cuBLAS", 1.0 / 0.9)),
    ("top GEMM, bf16, 8192³, over cuBLAS", Baseline(("gemm", "8192^3"), "cublasLt", 0.97)),
    ("top GEMM, bf16, 4096³, over cuBLAS", Baseline(("gemm", "4096^3"), "cublasLt", 0.97)),
    ("top GEMM, bf16, 2048³, over cuBLAS", Baseline(("gemm", "2048^3"), "cublasLt", 1.0)),
    ("top GEMM, bf16, 16384³, over cuBLAS", Baseline(("gemm", "16384^3"), "cublasLt", 1.0)),
    ("top GEMM, bf16, 8192 × 8192 × 1024, over cuBLAS", Baseline(("gemm", "8192x8192x1024"), "cublasLt", 1.0)),
    ("top GEMM, bf16, 4096 × 14336 × 4096, over cuBLAS", Baseline(("gemm", "4096x14336x4096"), "cublasLt", 1.0)),
    ("top GEMM, bf16, 1000 × 1100 × 1304, over cuBLAS", Baseline(("gemm", "1000x1100x1304"), "cublasLt", 1.1)),
    ("top GEMM, TF32, 4096³, over cuBLAS", Baseline(("gemm", "4096^3 tf32"), "cublasLt", 1.0)),
    ("top histogram, 2^28 uniform bytes, over CUB", Baseline(("histogram", "2^28 uniform"), "CUB", 1.0)),
    ("top histogram, constant bytes over uniform",
     OtherCase(("histogram", "2^28 constant"), ("histogram", "2^28 uniform"), 1.5)),
    ("top scan, 2^28 i32, over CUB", Baseline(("scan", "2^28"), "CUB", 0.88)),
    ("top scan, 2^28 i32, over memcpy", Baseline(("scan", "2^28"), "memcpy", 1.07)),
    ("top scan, 2^24 i32, over CUB", Baseline(("scan", "2^24"), "CUB", 0.85)),
    ("top scan, 2^20 i32, over CUB", Baseline(("scan", "2^20"), "CUB", 0.60)),
    ("top scan, 2^28 f32, over CUB", Baseline(("scan", "2^28 f32"), "CUB", 0.90)),
    ("top sort, 2^28 u32, over CUB", Baseline(("sort", "2^28"), "CUB", 1.0)),
    ("top sort, 2^24 u32, over CUB", Baseline(("sort", "2^24"), "CUB", 0.95)),
    ("top sort, 2^20 u32, over CUB", Baseline(("sort", "2^20"), "CUB", 0.80)),
    ("top sort, 2^28 u32 pairs, over CUB", Baseline(("sort", "2^28 pairs"), "CUB", 1.0)),
    ("top softmax, 32768 × 1024, over memcpy", Baseline(("softmax", "32768x1024"), "memcpy", 1.0 / 0.97)),
    ("top softmax, 8192 × 4096, over memcpy", Baseline(("softmax", "8192x4096"), "memcpy", 1.0 / 0.97)),
    ("top softmax, 4096 × 16384, over memcpy", Baseline(("softmax", "4096x16384"), "memcpy", 1.0 / 0.95)),
    ("top softmax, 2048 × 65536, over memcpy", Baseline(("softmax", "2048x65536"), "memcpy", 1.0 / 0.93)),
    ("top softmax, 1024 × 262144, over memcpy", Baseline(("softmax", "1024x262144"), "memcpy", 1.0 / 0.9)),
    ("top RMSNorm, 8192 × 4096, over memcpy", Baseline(("softmax", "8192x4096 rmsnorm"), "memcpy", 1.0 / 0.97)),
    ("top attention, 4096, d 128, over cuDNN", Baseline(("attention", "4096"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 8192, d 128, over cuDNN", Baseline(("attention", "8192"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 16384, d 128, over cuDNN", Baseline(("attention", "16384"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 4096, d 128, causal, over cuDNN", Baseline(("attention", "4096 causal"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 8192, d 128, causal, over cuDNN", Baseline(("attention", "8192 causal"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 16384, d 128, causal, over cuDNN", Baseline(("attention", "16384 causal"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 4096, d 64, over cuDNN", Baseline(("attention", "4096 d64"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 8192, d 64, over cuDNN", Baseline(("attention", "8192 d64"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 16384, d 64, over cuDNN", Baseline(("attention", "16384 d64"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 4096, d 64, causal, over cuDNN", Baseline(("attention", "4096 d64 causal"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 8192, d 64, causal, over cuDNN", Baseline(("attention", "8192 d64 causal"), "PyTorch, cuDNN", 1.0)),
    ("top attention, 16384, d 64, causal, over cuDNN", Baseline(("attention", "16384 d64 causal"), "PyTorch, cuDNN", 1.0)),
];

/// A target, with its measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetResult {
    /// The ladder or case.
    pub what: &'static str,
    /// The target, in words.
    pub target: String,
    /// The measured value.
    pub measured: f64,
    /// The rung that was measured.
    pub by: String,
    /// Whether the target is reached.
    pub met: bool,
}

/// The ratio of a rung's time to the time of its CUDA port, on the first case on which both ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ladder.
    pub ladder: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// The title of the measured problem.
    pub title: String,
    /// The median of the rounds' ratios.
    pub ratio: f64,
}

/// Returns the ratios of all rungs that have CUDA ports.
pub fn ratios(contests: &[Contest]) -> Vec<Ratio> {
    let mut all: Vec<Ratio> = Vec::new();
    for contest in contests {
        for measured in &contest.contestants {
            let (Some(rung), Some(ratio)) = (measured.contestant.rung, contest.over_port(measured)) else {
                continue;
            };
            if all.iter().all(|known| known.rung != rung.name) {
                all.push(Ratio {
                    ladder: contest.ladder.name,
                    rung: rung.name,
                    title: contest.title.clone(),
                    ratio: ratio.median,
                });
            }
        }
    }
    all
}

/// Returns the geometric mean, or `None` if there are no values.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

/// The device's limit, measured in the same run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The kind of measurement: a copy, or reading alone.
    pub name: String,
    /// The ladder.
    pub ladder: &'static str,
    /// The problem whose bytes were moved.
    pub title: String,
    /// The bandwidth in 10^9 bytes per second; a copy counts both reads and writes.
    pub gb_per_s: f64,
}

/// Returns the ceilings: the fastest measurement of each kind.
pub fn ceilings(contests: &[Contest]) -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = Vec::new();
    for contest in contests {
        let is_bound =
            |measured: &&MeasuredContestant| measured.contestant.is_bound && measured.contestant.rung.is_none();
        for measured in contest.contestants.iter().filter(is_bound) {
            let Some(bytes_per_s) = measured.bytes_per_s() else {
                continue;
            };
            let new = Ceiling {
                name: measured.contestant.name.clone(),
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

/// Returns the results of all measured targets.
pub fn reached(contests: &[Contest]) -> Vec<TargetResult> {
    let all = TARGETS.iter();
    all.filter_map(|target| one(target, contests)).collect()
}

fn one(&(what, wants): &Target, contests: &[Contest]) -> Option<TargetResult> {
    let case = |of: Case| {
        let mut all = contests.iter();
        all.find(|contest| (contest.ladder.name, contest.label) == of)
    };
    let at_most = |bound: f64, measured: f64, by: String| TargetResult {
        what,
        target: format!("≤ {bound:.3}"),
        measured,
        by,
        met: measured <= bound,
    };
    let name = |measured: &MeasuredContestant| measured.contestant.name.clone();
    Some(match wants {
        EachPort(ladder, bound) => {
            let ratios = ratios(contests).into_iter().filter(|ratio| ladder.is_none_or(|name| ratio.ladder == name));
            let worst = ratios.max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
            at_most(bound, worst.ratio, format!("{}, the worst", worst.rung))
        }
        MeanPort(bound) => {
            let ratios = ratios(contests);
            let mean = geometric_mean(ratios.iter().map(|ratio| ratio.ratio))?;
            at_most(bound, mean, format!("{} rungs", ratios.len()))
        }
        Baseline(of, begins, bound) => {
            let contest = case(of)?;
            let top = contest.top()?;
            let is_it = |other: &Contestant| other.rung.is_none() && other.name.starts_with(begins);
            let other = contest.contestants.iter().find(|measured| is_it(&measured.contestant))?;
            at_most(bound, top.over(other)?.median, name(top))
        }
        Bandwidth(of, at_least) => {
            let top = case(of)?.top()?;
            let measured = top.bytes_per_s()? / 1e9;
            TargetResult {
                what,
                target: format!("≥ {at_least:.0} GB/s"),
                measured,
                by: name(top),
                met: measured >= at_least,
            }
        }
        OtherCase(of, than, bound) => {
            let median = |top: &MeasuredContestant| top.spread().map(|spread| spread.median);
            let top = case(of)?.top()?;
            let ratio = median(top)? / median(case(than)?.top()?)?;
            at_most(bound, ratio, name(top))
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cases;

    #[test]
    fn every_target_speaks_of_a_case_that_there_is() {
        let cases = cases::versus(None);
        let is = |of: (&str, &str)| {
            let mut all = cases.iter();
            all.any(|case| (case.ladder.name, case.label) == of)
        };
        for &(what, wants) in TARGETS {
            let named = match wants {
                EachPort(..) | MeanPort(_) => vec![],
                Baseline(of, ..) | Bandwidth(of, _) => vec![of],
                OtherCase(of, than, _) => vec![of, than],
            };
            assert!(named.into_iter().all(is), "{what}");
        }
    }

    #[test]
    fn the_mean_is_geometric() {
        let mean = geometric_mean([0.5, 2.0, 1.0].into_iter()).unwrap();
        assert!((mean - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(std::iter::empty()), None);
    }
}
