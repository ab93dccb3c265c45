//! The problems that are measured by default.

use host::{Error, Ladder, Options, Problem, Rung};

/// A problem of a ladder.
#[derive(Clone, Debug)]
pub struct Case {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The label in the targets; empty for a problem of the command line.
    pub label: &'static str,
    /// The problem's options.
    pub options: Options,
}

/// A case in a table: the ladder, the label, and the options as `n=2^28 type=f32`.
pub type Written = (&'static str, &'static str, &'static str);

/// The problems that `lab versus` measures. The rungs of a ladder are compared with their CUDA ports on the ladder's
/// first case. A rung that takes too long for this case is compared on the first case for which it is fast enough.
const VERSUS: &[Written] = &[
    ("reduce", "2^28", "n=2^28"),
    ("reduce", "2^24", "n=2^24"),
    ("reduce", "2^20", "n=2^20"),
    ("reduce", "2^28 f32", "n=2^28 type=f32"),
    ("reduce", "2^28 min f32", "n=2^28 type=f32 op=min"),
    ("reduce", "2^28 max f32", "n=2^28 type=f32 op=max"),
    ("reduce", "2^28 product f32", "n=2^28 type=f32 op=product"),
    ("transpose", "16384x16384", "rows=16384 cols=16384"),
    ("transpose", "4096x4096", "rows=4096 cols=4096"),
    ("transpose", "10007x8191", "rows=10007 cols=8191"),
    ("matmul", "4096^3", "m=4096 n=4096 k=4096"),
    ("matmul", "8192^3", "m=8192 n=8192 k=8192"),
    ("matmul", "2048^3", "m=2048 n=2048 k=2048"),
    ("matmul", "1024^3", "m=1024 n=1024 k=1024"),
    ("matmul", "1000x1100x1300", "m=1000 n=1100 k=1300"),
    ("gemm", "8192^3", "m=8192 n=8192 k=8192"),
    ("gemm", "4096^3", "m=4096 n=4096 k=4096"),
    ("gemm", "2048^3", "m=2048 n=2048 k=2048"),
    ("gemm", "16384^3", "m=16384 n=16384 k=16384"),
    ("gemm", "8192x8192x1024", "m=8192 n=8192 k=1024"),
    ("gemm", "4096x14336x4096", "m=4096 n=14336 k=4096"),
    ("gemm", "1000x1100x1304", "m=1000 n=1100 k=1304 b=columns"),
    // A row-major B that a tensor map cannot describe, then also such an A, then both with 2-byte alignment.
    ("gemm", "1000x1100x1304 rows", "m=1000 n=1100 k=1304 b=rows"),
    ("gemm", "1000x1100x1301 rows", "m=1000 n=1100 k=1301 b=rows"),
    ("gemm", "1001x1101x1301", "m=1001 n=1101 k=1301 b=columns"),
    ("gemm", "4096^3 tf32", "m=4096 n=4096 k=4096 type=tf32 b=columns"),
    ("histogram", "2^28 uniform", "n=2^28 data=uniform"),
    ("histogram", "2^28 constant", "n=2^28 data=constant"),
    ("scan", "2^28", "n=2^28"),
    ("scan", "2^24", "n=2^24"),
    ("scan", "2^20", "n=2^20"),
    ("scan", "2^28 f32", "n=2^28 type=f32"),
    ("sort", "2^28", "n=2^28"),
    ("sort", "2^24", "n=2^24"),
    ("sort", "2^20", "n=2^20"),
    ("sort", "2^28 pairs", "n=2^28 values=yes"),
    ("softmax", "32768x1024", "m=32768 n=1024"),
    ("softmax", "8192x4096", "m=8192 n=4096"),
    ("softmax", "4096x16384", "m=4096 n=16384"),
    ("softmax", "2048x65536", "m=2048 n=65536"),
    ("softmax", "1024x262144", "m=1024 n=262144"),
    ("softmax", "8192x4096 rmsnorm", "m=8192 n=4096 op=rmsnorm"),
    ("attention", "4096", "batch=4 heads=16 queries=4096"),
    ("attention", "8192", "batch=2 heads=16 queries=8192"),
    ("attention", "16384", "batch=1 heads=16 queries=16384"),
    ("attention", "4096 causal", "batch=4 heads=16 queries=4096 causal=yes"),
    ("attention", "8192 causal", "batch=2 heads=16 queries=8192 causal=yes"),
    ("attention", "16384 causal", "batch=1 heads=16 queries=16384 causal=yes"),
    ("attention", "4096 d64", "batch=4 heads=16 queries=4096 d=64"),
    ("attention", "8192 d64", "batch=2 heads=16 queries=8192 d=64"),
    ("attention", "16384 d64", "batch=1 heads=16 queries=16384 d=64"),
    ("attention", "4096 d64 causal", "batch=4 heads=16 queries=4096 d=64 causal=yes"),
    ("attention", "8192 d64 causal", "batch=2 heads=16 queries=8192 d=64 causal=yes"),
    ("attention", "16384 d64 causal", "batch=1 heads=16 queries=16384 d=64 causal=yes"),
];

/// Returns the cases of a ladder, or of all timed ladders.
pub fn versus(ladder: Option<&'static Ladder>) -> Vec<Case> {
    match ladder {
        Some(ladder) => from_table(VERSUS, [ladder]),
        None => {
            let all = host::ladders().iter();
            from_table(VERSUS, all.filter(|ladder| !ladder.shown.pictures))
        }
    }
}

/// Returns the table's cases for each of these ladders, or the default problem for a ladder without cases.
pub fn from_table(table: &[Written], ladders: impl IntoIterator<Item = &'static Ladder>) -> Vec<Case> {
    let mut cases = Vec::new();
    for ladder in ladders {
        let of_ladder = table.iter().filter(|(name, ..)| *name == ladder.name);
        let before = cases.len();
        cases.extend(of_ladder.map(|&written| Case::new(written)));
        if cases.len() == before {
            cases.push(Case { ladder, label: "usual size", options: Options::default() });
        }
    }
    cases
}

impl Case {
    /// Returns a case of a table.
    ///
    /// # Panics
    /// Panics when no ladder has this name.
    pub fn new((ladder, label, options): Written) -> Self {
        let pairs = options.split(' ').filter_map(|pair| pair.split_once('='));
        Self {
            ladder: host::ladder(ladder).expect("the tables name existing ladders"),
            label,
            options: pairs.fold(Options::default(), |all, (name, value)| all.with(name, value)),
        }
    }

    /// Returns the rungs with these names that compute the problem, or all such rungs if no name is given. A named rung
    /// that does not compute the problem is left out.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] for the first name that is not a rung's.
    pub fn rungs(&self, names: &[String], problem: &dyn Problem) -> Result<Vec<&'static Rung>, Error> {
        let mut rungs = self.ladder.named(names)?;
        rungs.retain(|rung| rung.computes(&problem.facts().variant));
        Ok(rungs)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_case_is_a_problem_with_rungs_and_no_two_have_a_label() {
        let cases = versus(None);
        assert!(cases.len() >= VERSUS.len());
        for (at, case) in cases.iter().enumerate() {
            let problem = case.ladder.problem(&case.options).unwrap();
            assert!(!case.rungs(&[], &*problem).unwrap().is_empty());
            let same = |other: &Case| (other.ladder.name, other.label) == (case.ladder.name, case.label);
            assert!(!cases[..at].iter().any(same), "{}", case.label);
        }
        let reduce = host::ladder("reduce").unwrap();
        let of_reduce = VERSUS.iter().filter(|(ladder, ..)| *ladder == "reduce");
        assert_eq!(versus(Some(reduce)).len(), of_reduce.count());
    }
}
