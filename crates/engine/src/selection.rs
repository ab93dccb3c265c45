//! Ladders and rungs by name, whichever ladder they are of.

use crate::catalog::Catalog;
use crate::error::Error;
use crate::names::near_names;
use crate::registry::{Ladder, Rung};

/// A ladder, or some of its rungs.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Whether it is the ladder that was named, or nothing was: then it is all of its rungs.
    pub whole: bool,
    /// What was named of its rungs, as it was written.
    pub named: Vec<String>,
}

impl Selection {
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
pub fn select(catalog: &Catalog, names: &[String]) -> Result<Vec<Selection>, Error> {
    let is_rung = |ladder: &Ladder, name: &String| ladder.named(std::slice::from_ref(name)).is_ok();
    let is_known = |name: &&String| {
        let mut all = catalog.ladders.iter();
        all.any(|ladder| ladder.name == *name || is_rung(ladder, name))
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known = catalog.ladders.iter().flat_map(|ladder| {
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
        (whole || !named.is_empty()).then_some(Selection {
            ladder,
            whole,
            named,
        })
    };
    Ok(catalog.ladders.iter().filter_map(of_ladder).collect())
}
