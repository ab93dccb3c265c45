//! Ladders and rungs by name, whichever ladder they are of.

use crate::error::Error;
use crate::names::near_names;
use crate::registry::{Ladder, Rung, ladders};

/// A ladder, or some of its rungs.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Whether it is the ladder that was named, or nothing was: then it is all of its rungs.
    pub whole: bool,
    /// What was named of its rungs, as it was written.
    pub named: Vec<String>,
}

impl Chosen {
    /// The rungs, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        let names = if self.whole { &[][..] } else { &self.named };
        // They were found there.
        self.ladder.named(names).unwrap_or_default()
    }
}

/// What these names stand for, in the order of the ladders: a ladder, a rung, or the rungs that differ in the
/// number at their end only; all ladders where there is none.
///
/// # Errors
/// [`Error::UnknownName`] for the first name that is nothing, with the nearest ones.
pub fn chosen(names: &[String]) -> Result<Vec<Chosen>, Error> {
    let is_rung = |ladder: &Ladder, name: &String| ladder.named(std::slice::from_ref(name)).is_ok();
    let is_known = |name: &&String| {
        let mut all = ladders().iter();
        all.any(|ladder| ladder.name == *name || is_rung(ladder, name))
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known = ladders().iter().flat_map(|ladder| {
            let rungs = ladder.rungs.iter().map(|rung| rung.name);
            rungs.chain([ladder.name])
        });
        return Err(Error::UnknownName {
            name: unknown.clone(),
            nearest: near_names(unknown, known),
        });
    }
    let of_ladder = |ladder: &'static Ladder| {
        let whole = names.is_empty() || names.iter().any(|name| name == ladder.name);
        let rungs = names.iter().filter(|name| is_rung(ladder, name));
        let named: Vec<String> = rungs.cloned().collect();
        (whole || !named.is_empty()).then_some(Chosen {
            ladder,
            whole,
            named,
        })
    };
    Ok(ladders().iter().filter_map(of_ladder).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn found(names: &[&str]) -> Vec<(&'static str, bool, usize)> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let all = chosen(&names).unwrap();
        let one = |own: &Chosen| (own.ladder.name, own.whole, own.rungs().len());
        all.iter().map(one).collect()
    }

    #[test]
    fn names_of_ladders_rungs_and_families() {
        assert_eq!(found(&[]).len(), ladders().len());
        assert!(found(&[]).iter().all(|(_, whole, _)| *whole));
        assert_eq!(found(&["reduce_gmem"]), [("reduce", false, 1)]);
        assert_eq!(found(&["matmul_coarsened"]), [("matmul", false, 4)]);
        // In the ladders' order, and a ladder takes its rungs in.
        let all = found(&["transpose_naive", "reduce_gmem", "reduce"]);
        assert_eq!(all[0].0, "reduce");
        assert!(all[0].1 && all[0].2 > 1);
        assert_eq!(all[1], ("transpose", false, 1));
    }

    #[test]
    fn names_of_nothing() {
        for (name, message) in [
            (
                "redcue",
                "no ladder or rung is named `redcue`; did you mean `reduce`?",
            ),
            ("quicksort", "`ladder list` names them"),
            ("", "`ladder list` names them"),
        ] {
            let error = chosen(&[name.to_owned()]).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
