//! From what was typed to one function.

use crate::failure::{Failure, Result};
use crate::ptx::{Function, Module};

/// How many names a failure lists at most when it suggests near ones.
const SUGGESTIONS: usize = 3;
/// How near (1 is equal) a name has to be to be suggested.
const NEAR: f64 = 0.6;

/// The function whose name is the pattern, or the only one whose name contains it.
///
/// # Errors
/// Exit code 2: several names contain it (they are listed), or none does (the nearest are).
pub fn select<'m>(module: &'m Module, pattern: &str) -> Result<&'m Function> {
    if let Some(function) = module.function(pattern) {
        return Ok(function);
    }
    let matches: Vec<_> = module
        .functions
        .iter()
        .filter(|function| function.name.contains(pattern))
        .collect();
    match matches[..] {
        [function] => Ok(function),
        [] => Err(unknown(module, pattern)),
        _ => {
            let names: Vec<_> = matches
                .iter()
                .map(|function| format!("  {}", function.name))
                .collect();
            let message = format!(
                "`{pattern}` matches {} kernels:\n{}",
                names.len(),
                names.join("\n")
            );
            Err(Failure::request(message).hint("give one of these names in full"))
        }
    }
}

fn unknown(module: &Module, pattern: &str) -> Failure {
    let mut near: Vec<_> = module
        .functions
        .iter()
        .map(|function| {
            (
                strsim::jaro_winkler(pattern, &function.name),
                function.name.as_str(),
            )
        })
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<_> = near
        .iter()
        .take(SUGGESTIONS)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let failure = Failure::request(format!("no kernel's name contains `{pattern}`"));
    if names.is_empty() {
        failure.hint("`cargo xtask ptx` lists the kernels")
    } else {
        failure.hint(format!(
            "the nearest: {}; `cargo xtask ptx` lists all",
            names.join(", ")
        ))
    }
}
