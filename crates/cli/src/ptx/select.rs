//! From what was typed to functions.

use engine::Catalog;
use engine::names::near_names;
use engine::options::Options;
use engine::registry::{Ladder, Rung};
use engine::selection;
use ptx::ast::{Function, Module};

use crate::error::ptx::{PtxError, Result};

/// The functions that names stand for: a function's own name, a rung for its default entry, a ladder for those of its
/// rungs that the module has, or else a part of one function's name.
pub(super) fn select<'m, 'a>(
    module: &'m Module<'a>,
    catalog: Option<&Catalog>,
    names: &[String],
) -> Result<Vec<&'m Function<'a>>> {
    let mut found = Vec::new();
    for name in names {
        found.extend(named(module, catalog, name)?);
    }
    Ok(found)
}

fn named<'m, 'a>(
    module: &'m Module<'a>,
    catalog: Option<&Catalog>,
    name: &str,
) -> Result<Vec<&'m Function<'a>>> {
    let functions = || module.functions.iter().filter(|own| own.body.is_some());
    let function = |name: &str| functions().find(|own| own.name == name);
    if let Some(function) = function(name) {
        return Ok(vec![function]);
    }
    let chosen = catalog.and_then(|catalog| selection::select(catalog, &[name.to_owned()]).ok());
    if let Some(chosen) = chosen {
        let mut found = Vec::new();
        for selection in chosen {
            for rung in selection.rungs() {
                let entry = default_entry(selection.ladder, rung)?;
                match function(&entry) {
                    Some(function) => found.push(function),
                    None if selection.whole => {}
                    None => return Err(PtxError::NotHere { entry }),
                }
            }
        }
        return Ok(found);
    }
    let found: Vec<_> = functions().filter(|own| own.name.contains(name)).collect();
    match found[..] {
        [_] => Ok(found),
        [] => {
            let ladders = catalog.map_or(&[][..], |catalog| catalog.ladders);
            let rungs = ladders.iter().flat_map(|ladder| {
                let rungs = ladder.rungs.iter().map(|rung| rung.name);
                rungs.chain([ladder.name])
            });
            let known = functions().map(|own| own.name).chain(rungs);
            Err(PtxError::Unknown {
                name: name.to_owned(),
                nearest: near_names(&name.to_lowercase(), known),
            })
        }
        _ => Err(PtxError::Several {
            name: name.to_owned(),
            found: found.iter().map(|own| own.name.to_owned()).collect(),
        }),
    }
}

/// The entry that a rung has for its ladder's default problem; the first of a rung that does not compute that one.
fn default_entry(ladder: &Ladder, rung: &Rung) -> Result<String> {
    let problem = ladder.problem(&Options::default())?;
    let launch = ladder.launch(rung, &*problem, None);
    let first = || rung.entry_names().into_iter().next().unwrap_or_default();
    Ok(launch.map_or_else(|_| first(), |launch| launch.entry))
}
