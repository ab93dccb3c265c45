//! What is measured where nothing else is asked for: of each ladder the sizes that the targets speak of.

use host::{Error, Ladder, Options, Problem, Rung};

/// A problem of a ladder, and which of its rungs are measured on it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// What the targets call it, and empty for what was asked for on the command line.
    pub label: &'static str,
    /// The problem's options.
    pub options: Options,
    /// How many rungs, from the ladder's top; all of them for `None`.
    pub top: Option<usize>,
}

/// A size as it is written in tables: the ladder, the label, the options.
pub(crate) type Size = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The rungs that are measured where the others have nothing to say.
const TOP: Option<usize> = Some(3);

/// The first of a ladder is the one that its rungs and their twins are compared on. A rung that takes too long
/// for it is compared on the first that it does not take too long for.
const WRITTEN: &[(Size, Option<usize>)] = &[
    (("reduce", "2^28", &[("n", "2^28")]), None),
    (("reduce", "2^24", &[("n", "2^24")]), None),
    (("reduce", "2^20", &[("n", "2^20")]), None),
    (
        ("reduce", "2^28 f32", &[("n", "2^28"), ("type", "f32")]),
        TOP,
    ),
    (
        (
            "reduce",
            "2^28 min f32",
            &[("n", "2^28"), ("type", "f32"), ("op", "min")],
        ),
        TOP,
    ),
    (
        (
            "reduce",
            "2^28 max f32",
            &[("n", "2^28"), ("type", "f32"), ("op", "max")],
        ),
        TOP,
    ),
    (
        (
            "reduce",
            "2^28 product f32",
            &[("n", "2^28"), ("type", "f32"), ("op", "product")],
        ),
        TOP,
    ),
    (
        (
            "transpose",
            "16384x16384",
            &[("rows", "16384"), ("cols", "16384")],
        ),
        None,
    ),
    (
        (
            "transpose",
            "4096x4096",
            &[("rows", "4096"), ("cols", "4096")],
        ),
        None,
    ),
    (
        (
            "transpose",
            "10007x8191",
            &[("rows", "10007"), ("cols", "8191")],
        ),
        None,
    ),
    (("matmul", "4096^3", &cube("4096")), None),
    (("matmul", "8192^3", &cube("8192")), None),
    (("matmul", "2048^3", &cube("2048")), None),
    (("matmul", "1024^3", &cube("1024")), None),
    (
        (
            "matmul",
            "1000x1100x1300",
            &[("m", "1000"), ("n", "1100"), ("k", "1300")],
        ),
        None,
    ),
    (
        (
            "histogram",
            "2^28 uniform",
            &[("n", "2^28"), ("data", "uniform")],
        ),
        None,
    ),
    (
        (
            "histogram",
            "2^28 constant",
            &[("n", "2^28"), ("data", "constant")],
        ),
        None,
    ),
];

const fn cube(side: &'static str) -> [(&'static str, &'static str); 3] {
    [("m", side), ("n", side), ("k", side)]
}

/// The cases of a ladder, or of all.
#[must_use]
pub fn written(ladder: Option<&'static Ladder>) -> Vec<Case> {
    WRITTEN
        .iter()
        .map(|&(size, top)| Case::new(size, top))
        .filter(|case| ladder.is_none_or(|ladder| ladder.name == case.ladder.name))
        .collect()
}

/// The last rung of each ladder that the texts behind the ladders have. What comes after it is this
/// repository's own climb.
const LAST_OF_THE_SEEDS: &[(&str, &str)] = &[
    ("reduce", "reduce_shfl"),
    ("transpose", "transpose_smem_unroll_pad_dyn"),
    ("matmul", "matmul_coarsened8"),
    ("histogram", "histogram_aggregated"),
];

/// Whether a rung is one of those that the texts behind the ladders have.
#[must_use]
pub fn is_of_the_seeds(ladder: &Ladder, rung: &Rung) -> bool {
    let place = |name: &str| ladder.rungs.iter().position(|own| own.name == name);
    let last = LAST_OF_THE_SEEDS
        .iter()
        .find(|(own, _)| *own == ladder.name)
        .and_then(|(_, last)| place(last));
    last.zip(place(rung.name))
        .is_some_and(|(last, own)| own <= last)
}

impl Case {
    /// The case of a size in a table.
    pub(crate) fn new((ladder, label, options): Size, top: Option<usize>) -> Self {
        let options = options.iter();
        Self {
            ladder: host::ladder(ladder).expect("the tables name ladders that there are"),
            label,
            options: options.fold(Options::default(), |all, &(name, value)| {
                all.with(name, value)
            }),
            top,
        }
    }

    /// The rungs that are measured: of the named ones, or of all, those that compute the problem, and of
    /// these as many as the case has from the top.
    ///
    /// # Errors
    /// For the first name that is no rung of the ladder.
    pub fn rungs(
        &self,
        names: &[String],
        problem: &dyn Problem,
    ) -> Result<Vec<&'static Rung>, Error> {
        if names.is_empty() {
            let all = self.ladder.select(&[], problem)?;
            let skipped = self.top.map_or(0, |top| all.len().saturating_sub(top));
            return Ok(all.into_iter().skip(skipped).collect());
        }
        let named = self.ladder.named(names)?;
        Ok(named
            .into_iter()
            .filter(|rung| rung.computes(&problem.variant()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_case_is_a_problem_with_rungs_and_no_two_have_a_label() {
        let cases = written(None);
        assert_eq!(cases.len(), WRITTEN.len());
        for (at, case) in cases.iter().enumerate() {
            let problem = case.ladder.problem(&case.options).unwrap();
            assert!(!case.rungs(&[], &*problem).unwrap().is_empty());
            let same =
                |other: &Case| (other.ladder.name, other.label) == (case.ladder.name, case.label);
            assert!(!cases[..at].iter().any(same), "{}", case.label);
        }
        let reduce = host::ladder("reduce").unwrap();
        assert_eq!(written(Some(reduce)).len(), 7);
    }

    #[test]
    fn the_seeds_end_at_a_rung_that_there_is() {
        for (name, last) in LAST_OF_THE_SEEDS {
            let ladder = host::ladder(name).unwrap();
            assert!(is_of_the_seeds(ladder, ladder.rung(last).unwrap()));
            assert!(is_of_the_seeds(ladder, &ladder.rungs[0]));
        }
        let reduce = host::ladder("reduce").unwrap();
        assert!(!is_of_the_seeds(
            reduce,
            reduce.rung("reduce_grid_stride").unwrap()
        ));
    }
}
