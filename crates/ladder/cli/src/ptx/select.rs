//! Finds the functions that the user named.

use engine::Catalog;
use engine::names::{near, near_names};
use engine::options::Options;
use engine::registry::{DeviceProperties, Ladder, Rung};
use engine::selection;
use ptx::ast::{Function, Module};

use crate::error::Error;

/// Returns the functions that names select. A name can be a function's name or a part of exactly one function's name.
/// The name of a rung selects its default entry, and the name of a ladder selects the entries of its rungs in the
/// module.
pub(super) fn select<'m, 'a>(
    module: &'m Module<'a>,
    catalog: Option<&Catalog>,
    names: &[String],
) -> Result<Vec<&'m Function<'a>>, Error> {
    let named = names.iter().map(|name| named(module, catalog, name));
    Ok(named.collect::<Result<Vec<_>, Error>>()?.concat())
}

/// Returns the only function that a name selects.
pub(super) fn select_one<'m, 'a>(
    module: &'m Module<'a>,
    catalog: Option<&Catalog>,
    name: &str,
) -> Result<&'m Function<'a>, Error> {
    match named(module, catalog, name)?[..] {
        [function] => Ok(function),
        ref several => Err(Error::several_kernels(name, several.iter().map(|kernel| kernel.name))),
    }
}

fn named<'m, 'a>(
    module: &'m Module<'a>,
    catalog: Option<&Catalog>,
    name: &str,
) -> Result<Vec<&'m Function<'a>>, Error> {
    let functions = || module.functions.iter().filter(|function| function.body.is_some());
    let function = |name: &str| functions().find(|function| function.name == name);
    if let Some(function) = function(name) {
        return Ok(vec![function]);
    }
    let selected = catalog.and_then(|catalog| selection::select(catalog, &[name.to_owned()]).ok());
    if let Some(selected) = selected {
        let mut found = Vec::new();
        for selection in selected {
            for rung in selection.rungs() {
                let entry = default_entry(selection.ladder, rung)?;
                match function(&entry) {
                    Some(function) => found.push(function),
                    None if selection.whole => {}
                    None => {
                        return Err(Error::Request(format!(
                            "{entry} needs a newer architecture than the one that --arch selects; leave out --arch"
                        )));
                    }
                }
            }
        }
        return Ok(found);
    }
    let found: Vec<_> = functions().filter(|function| function.name.contains(name)).collect();
    match found[..] {
        [_] => Ok(found),
        [] => {
            let others = catalog.into_iter().flat_map(Catalog::names);
            let others = others.map(|name| -> &'a str { name });
            let known = functions().map(|function| function.name).chain(others);
            let nearest = near_names(&name.to_lowercase(), known);
            Err(Error::Request(format!(
                "no kernel's name contains `{name}`; {}",
                near(&nearest, "`ladder ptx` lists the kernels")
            )))
        }
        _ => Err(Error::several_kernels(name, found.iter().map(|function| function.name))),
    }
}

/// Returns the entry of a rung for its ladder's default problem, or the first entry if the rung does not compute this
/// problem.
fn default_entry(ladder: &Ladder, rung: &Rung) -> Result<String, Error> {
    let problem = ladder.problem(&Options::default())?;
    let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default());
    let first = || rung.entry_names().into_iter().next().unwrap_or_default();
    Ok(launch.map_or_else(|_| first(), |launch| launch.entry))
}
