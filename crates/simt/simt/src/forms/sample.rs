//! Sample instructions of the rows of [`simt_isa`].

use ptx::opcode::sides;
use simt_isa::{Expected, Kind, Predicate, Row};

use crate::decode::forms::width;
use crate::matrix::layout::packed;
use crate::matrix::number::Element;

/// Returns an instruction of a row with these modifiers, and with all operands or only the required operands. The
/// operands are the registers `%p1`, `%c1`, `%h1`, `%r1`, `%rd1` and `%q1`, chosen by width, and the variable `param`.
#[must_use]
pub fn sample(row: &Row, modifiers: &[Option<&'static str>], all_operands: bool) -> String {
    let words: Vec<&str> = [row.name].into_iter().chain(modifiers.iter().copied().flatten()).collect();
    let operands = row.operands.iter().filter(|operand| all_operands || !operand.is_optional);
    let operands: Vec<String> = operands.enumerate().map(|(at, expected)| operand(at, *expected, &words)).collect();
    format!("{} {};", words.join("."), operands.join(", "))
}

fn vector(register: &str, count: usize) -> String {
    format!("{{{}}}", vec![register; count].join(", "))
}

/// Returns the registers of operand number `at` of a matrix instruction.
fn fragment(at: usize, words: &[&str]) -> String {
    if let Some(count) = words.iter().find_map(|word| word.strip_prefix('x')?.parse().ok()) {
        return vector("%r1", count);
    }
    let [m, n, k] = sides(&words.join(".")).unwrap_or_default();
    let types: Vec<Element> = words.iter().filter_map(|word| Element::named(word)).collect();
    let is_group = words[0] == "wgmma";
    let part = match (words[0], words[1]) {
        ("wmma", "load" | "store") => ["a", "b", "c"].iter().position(|part| words[2] == *part).map_or(0, |at| at + 1),
        _ => at,
    };
    let element = match (&types[..], part) {
        ([_, _], 1 | 2) if !is_group => Element::F16,
        ([.., c], 3) => *c,
        (all, part) => all[part.min(all.len() - 1)],
    };
    let is_sparse = words.iter().any(|word| word.starts_with("sp"));
    let elements = match part {
        1 | 2 if is_group => return "%rd1".to_owned(),
        3 if is_group => return "%p1".to_owned(),
        0 if is_group => m / 4 * n,
        1 => m * k / if is_sparse { 2 } else { 1 },
        2 => n * k,
        _ => m * n,
    };
    let elements = if element == Element::Bits { elements / 32 } else { elements };
    let is_half = element == Element::F16;
    let count = match words[0] {
        "wmma" if is_half && matches!(part, 1 | 2) => 8,
        "mma" if [m, n, k] == [8, 8, 4] && types[1] == Element::F16 => elements * 4 / 32 / packed(element),
        _ => elements / 32 / packed(element),
    };
    vector(if element == Element::F64 { "%rd1" } else { "%r1" }, count)
}

fn operand(at: usize, expected: Expected, words: &[&str]) -> String {
    let kind = expected.kind;
    let has = |word: &str| words.contains(&word);
    let register = |ty: Option<&str>| match ty.map(width) {
        Some(1) => "%p1",
        Some(8) => "%c1",
        Some(16) => "%h1",
        Some(64) => "%rd1",
        Some(128) => "%q1",
        _ => "%r1",
    };
    let register = register(kind.ty(words).or_else(|| Kind::Last.ty(words)));
    let of_side = |layer: usize| match words.iter().find_map(|word| {
        let sides = ["1d", "2d", "3d", "cube", "2dms"].iter().position(|name| word.trim_start_matches('a') == *name);
        Some((sides?, word.starts_with('a')))
    }) {
        Some((0, layered)) => 1 + layer * usize::from(layered),
        Some((1, layered)) if layer == 0 || !layered => 2,
        _ => 4,
    };
    let tensor_sides = words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok()).unwrap_or(1);
    match kind {
        Kind::Address if words[0] == "st" && words.iter().any(|word| word.starts_with("param")) => "[param]".to_owned(),
        Kind::Address => "[%rd1]".to_owned(),
        Kind::Constant if words[0] == "wgmma" && at > 3 && (at > 4 || !has("sp")) => "1".to_owned(),
        Kind::Constant if matches!(words[0], "mma" | "wgmma") || has("replace") => "0".to_owned(),
        Kind::Constant if matches!(words[0], "tensormap" | "fence" | "applypriority" | "discard") => "128".to_owned(),
        Kind::Constant if words[0] == "setmaxnreg" => "64".to_owned(),
        Kind::Constant => "16".to_owned(),
        Kind::Discarded => "_".to_owned(),
        Kind::Im2col => vector("%h1", tensor_sides - 2),
        Kind::Coordinates => format!("[%rd1, {}]", vector("%r1", tensor_sides)),
        Kind::Fragment => fragment(at, words),
        Kind::Barrier => "0".to_owned(),
        Kind::Threads => "32".to_owned(),
        Kind::U32OrU64 => "%rd1".to_owned(),
        Kind::Texture => format!("[%rd1, {}]", vector("%r1", of_side(1))),
        Kind::Sides => vector("%r1", of_side(0)),
        Kind::Texels => vector(register, if has("v2") { 2 } else { 4 }),
        Kind::Elements => match ["v2", "v4", "v8"].iter().position(|word| has(word)) {
            Some(power) => vector(register, 2 << power),
            None => register.to_owned(),
        },
        _ if expected.predicate == Predicate::Required => format!("{register}|%p1"),
        _ => register.to_owned(),
    }
}
