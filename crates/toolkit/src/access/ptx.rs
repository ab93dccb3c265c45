//! Memory instructions in PTX text (PTX ISA, "Data Movement and Conversion Instructions" and "Parallel
//! Synchronization and Communication Instructions").

use super::{Access, Counts, Kind};

/// Counts the memory instructions in an entry of a PTX text. Functions that it calls are not looked into.
/// `None` where there is no such entry.
#[must_use]
pub fn of_ptx(ptx: &str, entry: &str) -> Option<Counts> {
    let body = body(ptx, entry)?;
    Some(body.split([';', '{', '}']).filter_map(access).collect())
}

/// Whether an entry of a PTX text may wait for what other threads write: it has loads of global memory that see
/// others' stores (`ld.volatile`, `ld.relaxed`, `ld.acquire`). How often such a load is executed can differ from run
/// to run.
#[must_use]
pub fn waits(ptx: &str, entry: &str) -> bool {
    let is_such = |statement: &str| {
        let is_load = access(statement).is_some_and(|own| matches!(own.kind, Kind::Ldg | Kind::Ld));
        let strong = [".volatile", ".relaxed", ".acquire"];
        is_load && strong.iter().any(|word| statement.contains(word))
    };
    body(ptx, entry).is_some_and(|body| body.split([';', '{', '}']).any(is_such))
}

/// What is between an entry's braces, without comments and line numbers.
fn body(ptx: &str, entry: &str) -> Option<String> {
    let lines = after(ptx, entry)?
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    // These end with their lines and not with a sign as statements do.
    let lines = lines.filter(|line| !line.trim_start().starts_with(".loc"));
    let (mut body, mut depth) = (String::new(), 0_u32);
    for line in lines {
        for c in line.chars() {
            match c {
                '{' => depth += 1,
                // Before any brace has opened there is nothing to close.
                '}' if depth <= 1 => return (depth == 1).then_some(body),
                '}' => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                body.push(c);
            }
        }
        body.push('\n');
    }
    None
}

/// What follows the entry's name where it is declared.
fn after<'a>(ptx: &'a str, entry: &str) -> Option<&'a str> {
    let directive = ".entry";
    ptx.match_indices(directive).find_map(|(at, _)| {
        let line = ptx[..at].rsplit('\n').next().unwrap_or_default();
        let rest = ptx[at + directive.len()..]
            .trim_start()
            .strip_prefix(entry)?;
        let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        (!line.contains("//") && !rest.starts_with(goes_on)).then_some(rest)
    })
}

/// `[label:] [@[!]predicate] instruction operands`.
fn access(statement: &str) -> Option<Access> {
    let mut words = statement.split_whitespace().peekable();
    while words.next_if(|word| word.ends_with(':')).is_some() {}
    let predicated = words.next_if(|word| word.starts_with('@')).is_some();
    let instruction = words.next()?;
    let mut parts = instruction.split('.');
    let operation = parts.next()?;
    let parts: Vec<&str> = parts.collect();
    let kind = match operation {
        "ld" | "ldu" => of_space(&parts, [Kind::Ldg, Kind::Lds, Kind::Ldl, Kind::Ld])?,
        "st" => of_space(&parts, [Kind::Stg, Kind::Sts, Kind::Stl, Kind::St])?,
        "atom" => of_space(&parts, [Kind::Atom, Kind::Atoms, Kind::Atom, Kind::Atom])?,
        "red" => of_space(&parts, [Kind::Red, Kind::Atoms, Kind::Red, Kind::Red])?,
        "cp" if parts.first() == Some(&"async") && parts.contains(&"global") => {
            // [to], [from], bytes: the operand after two in brackets.
            let operands = statement.rsplit(']').next()?;
            let bytes = operands
                .split(',')
                .map(str::trim)
                .find(|text| !text.is_empty())?;
            let bits = bytes.parse::<u32>().ok()?.checked_mul(8)?;
            return Some(Access {
                kind: Kind::Ldgsts,
                bits,
                predicated,
            });
        }
        _ => return None,
    };
    let elements = |part: &&str| part.strip_prefix('v')?.parse::<u32>().ok();
    let bits = parts.iter().rev().find_map(|part| type_bits(part))?;
    let bits = bits * parts.iter().find_map(elements).unwrap_or(1);
    Some(Access {
        kind,
        bits,
        predicated,
    })
}

/// The kind for the state space: global, shared, local, none given. `None` for parameters and constants,
/// which the counters of memory do not count.
fn of_space(parts: &[&str], kinds: [Kind; 4]) -> Option<Kind> {
    let [global, shared, local, generic] = kinds;
    let space = parts.iter().find_map(|part| {
        let space = part.split("::").next().unwrap_or(part);
        let is_space = ["global", "shared", "local", "param", "const"].contains(&space);
        is_space.then_some(space)
    });
    match space {
        Some("global") => Some(global),
        Some("shared") => Some(shared),
        Some("local") => Some(local),
        None => Some(generic),
        Some(_) => None,
    }
}

/// The bits of a type: `b32`, `f64`, `f16x2`.
fn type_bits(part: &str) -> Option<u32> {
    let digits = part
        .strip_prefix("bf")
        .or_else(|| part.strip_prefix(['b', 'u', 's', 'f']))?;
    match digits.split_once('x') {
        Some((bits, count)) => bits.parse::<u32>().ok()?.checked_mul(count.parse().ok()?),
        None => digits.parse().ok(),
    }
    .filter(|bits| [8, 16, 32, 64, 128].contains(bits))
}
