//! Finding functions and variables by the names that people write.

use cpp_demangle::DemangleOptions;

use crate::demangle::{demangled, with_options};

/// What a name may be called, from the most exact to the shortest: demangled, without its return type, without its
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

/// The position of the name that is meant by `wanted`: the one that is spelled like this, mangled or demangled, or else
/// the only one of which this is a shorter spelling.
///
/// # Errors
/// The names that may be meant, when they are several; none when there is no such name.
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

/// The name that differs least from one that does not exist, demangled.
pub(crate) fn nearest<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let distance = |name: &[String; 5]| {
        let each = name.iter().map(|own| strsim::damerau_levenshtein(own, wanted));
        each.min()
    };
    names.map(spellings).min_by_key(distance).map(|[_, name, ..]| name)
}

/// Names in words, demangled: `a, b`, or `none`.
pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<_> = names.iter().map(|name| demangled(name.as_ref())).collect();
    match names[..] {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}
