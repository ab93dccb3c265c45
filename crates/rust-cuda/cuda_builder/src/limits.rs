//! Checks the limits for a kernel's parameters and static shared memory and for a module's constant memory, based on
//! the PTX.
//!
//! LLVM does not check these limits. Without this check, a driver would reject the whole module with a message about
//! the PTX.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::builder::CudaBuilder;
use crate::error::CudaBuilderError;
use crate::lower::ir::demangled;
use crate::lower::place::Place;
use crate::merge::{function_name, items};

/// The maximum number of bytes of a kernel's parameters: in any PTX version, and from PTX 8.1 and sm_70 onward (PTX ISA
/// §5.1.6.1).
const PARAMETERS: [u64; 2] = [4352, 32_764];
/// The maximum number of bytes of a kernel's shared statics (CUDA C++ Programming Guide, "Compute Capabilities").
const SHARED: u64 = 48 * 1024;
/// The maximum number of bytes of a module's constant statics (same source).
const CONSTANT: u64 = 64 * 1024;

/// Checks the kernels of a module and returns whether they need PTX 8.1.
///
/// # Errors
/// Returns an error when a kernel has more parameters or more static shared memory than the architecture allows.
pub(crate) fn check(builder: &CudaBuilder, ptx: &str) -> Result<bool, CudaBuilderError> {
    let items = items(ptx);
    let bodies = items.iter().filter(|item| item.ends_with("\n}\n"));
    let functions: BTreeMap<&str, &str> = bodies.filter_map(|item| Some((function_name(item)?, *item))).collect();
    // A variable that only one function uses is declared inside the function.
    let shared = ptx.lines().filter(|line| line.contains(".shared .align ") && !line.contains(".extern "));
    let sizes: BTreeMap<&str, u64> =
        shared.filter_map(|line| declaration(line).map(|variable| (variable.name, variable.size))).collect();
    let mut needs_newer = false;
    for (kernel, text) in functions.iter().filter(|(_, text)| text.contains(".entry ")) {
        let bytes = parameters(text);
        let limit = PARAMETERS[usize::from(builder.arch.capability() >= 70)];
        needs_newer |= bytes > PARAMETERS[0];
        if bytes > limit {
            let (kernel, place) = (demangled(kernel), place(ptx, text.lines()));
            return Err(CudaBuilderError::TooManyParameters { kernel, bytes, limit, arch: builder.arch, place });
        }
        let used = used_variables(kernel, &functions, &sizes);
        let bytes = used.iter().map(|name| sizes[name]).sum();
        if bytes > SHARED {
            let statics = used.iter().map(|name| format!("`{}` {}", demangled(name), sizes[name]));
            let statics = statics.collect::<Vec<_>>().join(", ");
            let (kernel, place) = (demangled(kernel), place(ptx, text.lines()));
            return Err(CudaBuilderError::TooMuchShared { kernel, bytes, limit: SHARED, statics, place });
        }
    }
    Ok(needs_newer)
}

/// Checks the constant statics of a whole module.
///
/// # Errors
/// Returns [`CudaBuilderError::TooMuchConstant`] when the statics exceed constant memory.
pub(crate) fn check_constants(ptx: &str) -> Result<(), CudaBuilderError> {
    let lines = ptx.lines().filter(|line| line.starts_with(".const ") || line.starts_with(".visible .const "));
    // A variable can have an initializer.
    let mut constants: Vec<_> = lines.filter_map(|line| declaration(line.split(" =").next()?)).collect();
    let bytes = total(&constants);
    if bytes <= CONSTANT {
        return Ok(());
    }
    constants.sort_by_cached_key(|constant| (Reverse(constant.size), demangled(constant.name)));
    let statics = constants.iter().map(|constant| format!("`{}` {}", demangled(constant.name), constant.size));
    let statics = statics.collect::<Vec<_>>().join(", ");
    let is_use = |line: &&str| line.starts_with('\t') && constants.iter().any(|constant| line.contains(constant.name));
    let first = ptx.lines().find(is_use).map_or(0, |line| line.as_ptr() as usize - ptx.as_ptr() as usize);
    let place = place(ptx, ptx[..first].lines().rev()).or(|| place(ptx, ptx[first..].lines()));
    Err(CudaBuilderError::TooMuchConstant { bytes, limit: CONSTANT, statics, place })
}

/// Returns the total size of variables that are laid out in this order.
fn total(variables: &[Declaration<'_>]) -> u64 {
    variables.iter().fold(0, |end, variable| end.next_multiple_of(variable.align.max(1)) + variable.size)
}

/// A variable or parameter: `.shared .align 4 .b8 NAME[256];`.
struct Declaration<'a> {
    name: &'a str,
    size: u64,
    align: u64,
}

fn declaration(text: &str) -> Option<Declaration<'_>> {
    let text = text.split("//").next().unwrap_or_default().trim().trim_end_matches([',', ';']).trim();
    let (text, count) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((text, count)) => (text, count.parse().ok()?),
        None => (text, 1),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    // `.u64`, `.f32`, `.b8`: the type is the first word that ends with a number of bits.
    let bits = |word: &&str| word.trim_start_matches(['.', 'b', 'f', 's', 'u']).parse::<u64>().ok();
    let (at, bits) =
        words.iter().enumerate().find_map(|(at, word)| Some((at, word.strip_prefix('.').and_then(|_| bits(word))?)))?;
    // An alignment that follows the type is the alignment of a pointer's target.
    let align = words[..at].iter().position(|word| *word == ".align").and_then(|at| words[at + 1].parse().ok());
    Some(Declaration { name: words.last()?, size: count * bits / 8, align: align.unwrap_or(bits / 8) })
}

/// Returns the bytes of a kernel's parameters.
fn parameters(entry: &str) -> u64 {
    let list = entry.split_once('(').and_then(|(_, rest)| rest.split_once("\n)"));
    let lines = list.map_or("", |(list, _)| list).lines();
    total(&lines.filter(|line| line.contains(".param ")).filter_map(declaration).collect::<Vec<_>>())
}

/// Returns the variables that are used by a kernel or by functions that it reaches.
fn used_variables<'a>(
    kernel: &str,
    functions: &BTreeMap<&'a str, &'a str>,
    sizes: &BTreeMap<&'a str, u64>,
) -> BTreeSet<&'a str> {
    let mut used = BTreeSet::new();
    if sizes.is_empty() {
        return used;
    }
    let mut open: Vec<&str> = functions.get(kernel).into_iter().copied().collect();
    let mut known = BTreeSet::new();
    while let Some(text) = open.pop() {
        // `.loc` lines make up half of the text and use no variables.
        let code = text.lines().filter(|line| !line.starts_with("\t.loc\t"));
        for word in code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && !"_$%".contains(c))) {
            if let Some((name, _)) = sizes.get_key_value(word) {
                used.insert(*name);
            }
            if let Some((_, text)) = functions.get_key_value(word).filter(|(name, _)| known.insert(**name)) {
                open.push(text);
            }
        }
    }
    used
}

/// Returns the first Rust line that these PTX lines name: `.loc 1 12 5 // src/a.rs:12:5 @[ src/lib.rs:7:9 ]`.
fn place<'a>(ptx: &str, mut lines: impl Iterator<Item = &'a str>) -> Place {
    let mut find = || {
        // Instructions that LLVM added have line 0.
        let (loc, file, line) = lines.find_map(|line| {
            let loc = line.trim().strip_prefix(".loc\t")?;
            let mut words = loc.split_whitespace();
            Some((loc, words.next()?, words.next()?.parse().ok().filter(|line| *line > 0)?))
        })?;
        let files = || ptx.lines().filter_map(|line| line.trim().strip_prefix(".file")?.trim().split_once(' '));
        let path = |file: &str| unescaped(file.trim_matches('"'));
        let innermost = Place::new(path(files().find(|(number, _)| *number == file)?.1), line);
        // The calls through which the line was inlined. Their paths are incomplete.
        let calls = loc.split("@[ ").skip(1).filter_map(|call| {
            let mut parts = call.split(':');
            let (name, line) = (parts.next()?, parts.next()?.parse().ok()?);
            let whole = files().map(|(_, file)| path(file)).find(|file| Path::new(file).ends_with(name));
            Some(Place::new(whole.unwrap_or_else(|| name.to_owned()), line))
        });
        let mut places = std::iter::once(innermost.clone()).chain(calls);
        Some(places.find(|place| !place.is_in_library()).unwrap_or(innermost))
    };
    find().unwrap_or_default()
}

/// Decodes a path whose non-ASCII characters LLVM wrote as octal bytes: `caf\303\251`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits.filter(|byte| !byte.is_ascii()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests;
