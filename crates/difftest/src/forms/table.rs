//! Forms made from the table by which `simt` decodes.

use std::collections::{HashMap, HashSet};

use ptx::opcode::{Class, class};
use simt::Module;

use super::{Form, Ty};
use crate::generate::REGISTERS;

const TABLE: &str = include_str!("../../../simt/src/decode/forms.txt");

/// Instructions of those classes that do not compute with values alone.
const OF_ADDRESSES: [&str; 8] = [
    "cvta",
    "isspacep",
    "mapa",
    "getctarank",
    "createpolicy",
    "alloca",
    "stacksave",
    "stackrestore",
];

/// Whether an H200, of sm_90, cannot run a form that `simt` runs: these need sm_100.
fn needs_a_later_gpu(form: &Form) -> bool {
    let has = |words: &str| form.opcode.contains(words);
    has("satfinite.tf32") || has("f32x2") || (has("min.") || has("max.")) && form.from.len() == 3
}

/// Candidates of which `simt` is asked at once.
const AT_ONCE: usize = 500;

/// The forms that are compared one by one.
pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut conversions = 0;
    let known = run_by_simt().into_iter();
    for form in known.filter(|form| !has_carry(form) && !needs_a_later_gpu(form)) {
        conversions += usize::from(form.opcode.starts_with("cvt."));
        forms.extend(wider(&form, conversions));
        forms.push(form);
    }
    forms
}

/// All forms of the table that `simt` runs.
pub(super) fn run_by_simt() -> Vec<Form> {
    let mut sets = HashMap::new();
    let mut candidates = Vec::new();
    for row in TABLE.lines().filter(|row| !row.starts_with('#')) {
        if let Some((name, words)) = row.split_once(" = ") {
            sets.insert(name, alternatives(words, &sets));
        } else if let Some((opcode, operands)) = row.rsplit_once(" :") {
            let (names, modifiers) = opcode.split_once(' ').unwrap_or((opcode, ""));
            for name in names.split(',').filter(|name| computes(name)) {
                for words in opcodes(name, modifiers, &sets) {
                    candidates.extend(with_operands(&words, operands));
                }
            }
        }
    }
    let runs = candidates.chunks(AT_ONCE).flat_map(are_run);
    let runs: Vec<bool> = runs.collect();
    let known = candidates
        .into_iter()
        .zip(runs)
        .filter(|(_, is_run)| *is_run);
    // Rows overlap.
    let mut seen = HashSet::new();
    let known = known.map(|(form, _)| form);
    known.filter(|form| seen.insert(form.clone())).collect()
}

/// Whether it reads or writes a carry: those are compared in chains.
pub(super) fn has_carry(form: &Form) -> bool {
    let mut words = form.opcode.split('.');
    let name = words.next().unwrap_or_default();
    ["addc", "subc", "madc"].contains(&name) || words.any(|word| word == "cc")
}

fn computes(name: &str) -> bool {
    use Class::{Compare, Convert, Float, Integer, Logic};
    matches!(
        class(name),
        Some(Integer | Logic | Float | Compare | Convert)
    ) && !OF_ADDRESSES.contains(&name)
}

/// The words of `a|b|SET`.
fn alternatives(words: &'static str, sets: &HashMap<&str, Vec<&'static str>>) -> Vec<&'static str> {
    let one = |word| sets.get(word).cloned().unwrap_or_else(|| vec![word]);
    words.split('|').flat_map(one).collect()
}

/// The words of every opcode that these modifiers make.
fn opcodes(
    name: &'static str,
    modifiers: &'static str,
    sets: &HashMap<&str, Vec<&'static str>>,
) -> Vec<Vec<&'static str>> {
    let mut all = vec![vec![name]];
    for slot in modifiers.split_whitespace() {
        let choices = alternatives(slot.trim_matches(['^', '>', '?']), sets);
        let longer = |words: &Vec<&'static str>| {
            let words = words.clone();
            let own = words.clone();
            let with = choices.clone().into_iter();
            let with = with.map(move |word| [&words[..], &[word]].concat());
            slot.ends_with('?').then_some(own).into_iter().chain(with)
        };
        all = all
            .iter()
            .flat_map(|words| longer(words).collect::<Vec<_>>())
            .collect();
    }
    all
}

/// The type of that name.
fn ty(word: &str) -> Option<Ty> {
    Some(match word {
        "pred" => Ty::Pred,
        "e4m3x2" | "e5m2x2" | "b8" | "u8" | "s8" | "b16" | "u16" | "s16" => Ty::B16,
        "b32" | "u32" | "s32" | "tf32" => Ty::B32,
        "b64" | "u64" | "s64" | "f32x2" => Ty::B64,
        "u16x2" | "s16x2" => Ty::B16x2,
        "f16" => Ty::F16,
        "f16x2" => Ty::F16x2,
        "bf16" => Ty::Bf16,
        "bf16x2" => Ty::Bf16x2,
        "f32" => Ty::F32,
        "f64" => Ty::F64,
        _ => return None,
    })
}

/// An opcode with each number of operands and results that its row allows; the letters are the table's.
fn with_operands(words: &[&str], operands: &str) -> Vec<Form> {
    let types: Vec<Ty> = words[1..].iter().filter_map(|word| ty(word)).collect();
    let (Some(&first), Some(&last)) = (types.first(), types.last()) else {
        return Vec::new();
    };
    let dots = words[0].starts_with("dp");
    let kind = |(at, letter): (usize, char)| match letter {
        'T' | 't' | 'c' | 'x' => last,
        'F' | 'f' | 'C' => first,
        'W' | 'w' if last == Ty::B16 => Ty::B32,
        'W' | 'w' | 'D' | 'd' => Ty::B64,
        'P' | 'p' => Ty::Pred,
        'u' | 'y' if !dots => Ty::Shift,
        'b' if words[0] == "fns" && at == 2 => Ty::Shift,
        'n' => Ty::Table,
        _ => Ty::B32,
    };
    let letter = |token: &str| token.trim_start_matches('~').chars().next().unwrap_or('x');
    let tokens: Vec<&str> = operands.split_whitespace().collect();
    let kinds: Vec<Ty> = tokens
        .iter()
        .map(|token| letter(token))
        .enumerate()
        .map(kind)
        .collect();
    let fewer = usize::from(operands.contains('~'));
    let pairs: &[bool] = match tokens[0] {
        token if token.ends_with("|P") => &[true],
        token if token.ends_with("|P?") => &[false, true],
        _ => &[false],
    };
    let mut forms = Vec::new();
    for count in tokens.len() - fewer..=tokens.len() {
        forms.extend(pairs.iter().map(|and_predicate| Form {
            opcode: words.join("."),
            to: kinds[0],
            and_predicate: *and_predicate,
            from: kinds[1..count].to_vec(),
        }));
    }
    forms
}

/// A conversion from a register that is wider than its type, into one, or both, in turn.
fn wider(form: &Form, number: usize) -> Option<Form> {
    if !form.opcode.starts_with("cvt.") || form.from.len() != 1 {
        return None;
    }
    let (to, from) = match number % 3 {
        0 => (Ty::B64, form.from[0]),
        1 => (form.to, Ty::B64),
        _ => (Ty::B32, Ty::B32),
    };
    let wider = Form {
        to,
        from: vec![from],
        ..form.clone()
    };
    let is_new = (to, from) != (form.to, form.from[0]);
    // An f32 in 64 bits is for simt alone: ptxas finds no way to move it there.
    let is_odd = form.to == Ty::F32 && to == Ty::B64;
    (is_new && !is_odd && are_run(std::slice::from_ref(&wider)) == [true]).then_some(wider)
}

/// Whether `simt` runs these.
fn are_run(forms: &[Form]) -> Vec<bool> {
    let mut text = ".version 8.8\n.target sm_90\n.address_size 64\n".to_owned();
    for (at, form) in forms.iter().enumerate() {
        let instruction = form.text(|at, ty| match ty {
            Ty::Table => "0".to_owned(),
            ty => format!("{}{at}", ty.register()),
        });
        text += &format!(".entry k{at}() {{ {REGISTERS}\n{instruction}\nret; }}\n");
    }
    let Ok(module) = Module::from_ptx(text) else {
        return vec![false; forms.len()];
    };
    let is_run = |at| module.function(&format!("k{at}")).is_ok();
    (0..forms.len()).map(is_run).collect()
}
