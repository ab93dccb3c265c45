//! Finds functions and variables by the names that users write.

use cpp_demangle::DemangleOptions;

use crate::demangle::{demangled, with_options};

/// Returns the spellings of a name, from the most exact to the shortest: demangled, without the return type, without
/// parameters, without template arguments, without namespaces or modules.
fn spellings(name: &str) -> [String; 5] {
    let whole = with_options(name, DemangleOptions::new());
    let path = with_options(name, DemangleOptions::new().no_params().no_return_type());
    let mut depth = 0usize;
    let plain: String = path
        .chars()
        .filter(|letter| {
            let outside = depth == 0 && *letter != '<';
            match letter {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            outside
        })
        .collect();
    let last = plain.rsplit("::").next().unwrap_or_default().to_owned();
    [whole, demangled(name), path, plain, last]
}

/// Returns the position of the name that `wanted` refers to. An exact match, mangled or demangled, wins. Otherwise
/// `wanted` must be a shorter spelling of exactly one name.
///
/// # Errors
/// Returns the matching names when there are several, and an empty list when there is none.
pub(crate) fn find<'n>(names: impl Iterator<Item = &'n str> + Clone, wanted: &str) -> Result<usize, Vec<String>> {
    if let Some(at) = names.clone().position(|name| name == wanted) {
        return Ok(at);
    }
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = letters(wanted);
    let known: Vec<[String; 5]> = names.map(spellings).collect();
    for spelling in 0..5 {
        let same = |at: &usize| letters(&known[*at][spelling]) == wanted;
        let meant: Vec<usize> = (0..known.len()).filter(same).collect();
        match meant[..] {
            [] => {}
            [one] => return Ok(one),
            _ => return Err(meant.iter().map(|at| known[*at][1].clone()).collect()),
        }
    }
    Err(Vec::new())
}

/// Returns the demangled name that is most similar to `wanted`.
pub(crate) fn nearest<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let distance = |name: &[String; 5]| {
        let each = name.iter().map(|spelling| strsim::damerau_levenshtein(spelling, wanted));
        each.min()
    };
    names.map(spellings).min_by_key(distance).map(|[_, name, ..]| name)
}

/// Formats demangled names: `a, b`, or `none`.
pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<_> = names.iter().map(|name| demangled(name.as_ref())).collect();
    match names[..] {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}
