//! Names as people write them: compilers mangle those of C++ and Rust.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// Bytes of a demangled name: a short mangled one can stand for exponentially many.
const MAX_NAME: usize = 1 << 16;

/// A name as its source has it, where a compiler of C++ or Rust has mangled it; else the name itself.
///
/// ```
/// use simt::demangle;
///
/// assert_eq!(demangle("_Z5saxpyifPfS_"), "saxpy(int, float, float*, float*)");
/// assert_eq!(demangle("_RNvNtCs4fqI2P2rA04_7kernels6reduce4shfl"), "kernels::reduce::shfl");
/// assert_eq!(demangle("saxpy"), "saxpy");
/// ```
pub fn demangle(name: &str) -> Cow<'_, str> {
    demangle_with(name, &DemangleOptions::new()).map_or(Cow::Borrowed(name), Cow::Owned)
}

fn demangle_with(name: &str, options: &DemangleOptions) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Some(format!("{rust:#}"));
    }
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok())??;
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, options).ok()?;
    Some(text.0)
}

/// A text that takes no more than [`MAX_NAME`] bytes.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// What a name may be called, from the most exact to the shortest: demangled, without its parameters, without template
/// arguments, without namespaces or modules.
fn spellings(name: &str) -> [String; 4] {
    let options = DemangleOptions::new().no_params().no_return_type();
    let path = demangle_with(name, &options).unwrap_or_else(|| name.to_owned());
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
    [demangle(name).into_owned(), path, plain, last]
}

/// The position of the name that is meant by `wanted`: the one that is spelled like this, mangled or demangled, or else
/// the only one of which this is a shorter spelling.
///
/// # Errors
/// The names that may be meant, when they are several; none when there is no such name.
pub(crate) fn find<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    wanted: &str,
) -> Result<usize, Vec<String>> {
    if let Some(at) = names.clone().position(|name| name == wanted) {
        return Ok(at);
    }
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = letters(wanted);
    let known: Vec<[String; 4]> = names.map(spellings).collect();
    for spelling in 0..4 {
        let same = |at: &usize| letters(&known[*at][spelling]) == wanted;
        let meant: Vec<usize> = (0..known.len()).filter(same).collect();
        match meant[..] {
            [] => {}
            [one] => return Ok(one),
            _ => return Err(meant.iter().map(|at| known[*at][0].clone()).collect()),
        }
    }
    Err(Vec::new())
}

/// The name that differs least from one that does not exist, demangled.
pub(crate) fn nearest<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let distance = |name: &[String; 4]| {
        let each = name
            .iter()
            .map(|own| strsim::damerau_levenshtein(own, wanted));
        each.min()
    };
    names
        .map(spellings)
        .min_by_key(distance)
        .map(|[name, ..]| name)
}

/// Names in words, demangled: `a, b`, or `none`.
pub(crate) fn list(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| demangle(name)).collect();
    match names[..] {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
