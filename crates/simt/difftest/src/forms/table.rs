//! Forms generated from the table that `simt` uses for decoding.

use std::collections::HashSet;

use simt_isa::{Class, Expected, Kind, Predicate, class, rows};

use super::{Form, REGISTERS, Ty};

/// Instructions of the compared classes whose operands or results are addresses or cache policies.
const OF_ADDRESSES: [&str; 8] =
    ["cvta", "isspacep", "mapa", "getctarank", "createpolicy", "alloca", "stacksave", "stackrestore"];

/// Returns whether `simt` supports a form that an H200 (sm_90) does not, because the form requires sm_100.
fn needs_a_later_gpu(form: &Form) -> bool {
    let has = |words: &str| form.opcode.contains(words);
    has("satfinite.tf32") || has("f32x2") || (has("min.") || has("max.")) && form.from.len() == 3
}

/// The number of candidates per query to `simt`.
const AT_ONCE: usize = 500;

/// Returns the forms that are compared individually.
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

/// Returns all forms of the table that `simt` supports.
pub(super) fn run_by_simt() -> Vec<Form> {
    let mut candidates = Vec::new();
    for row in rows().iter().filter(|row| computes(row.name)) {
        for number in 0..row.opcodes() {
            let modifiers = row.modifiers(number).into_iter().flatten();
            let words: Vec<_> = [row.name].into_iter().chain(modifiers).collect();
            candidates.extend(with_operands(&words, &row.operands));
        }
    }
    let runs = candidates.chunks(AT_ONCE).flat_map(are_run);
    let runs: Vec<bool> = runs.collect();
    let known = candidates.into_iter().zip(runs).filter(|(_, is_run)| *is_run);
    // Rows overlap, so duplicates are removed.
    let mut seen = HashSet::new();
    let known = known.map(|(form, _)| form);
    known.filter(|form| seen.insert(form.clone())).collect()
}

/// Returns whether a form reads or writes a carry. Such forms are compared in chains.
pub(super) fn has_carry(form: &Form) -> bool {
    let mut words = form.opcode.split('.');
    let name = words.next().unwrap_or_default();
    ["addc", "subc", "madc"].contains(&name) || words.any(|word| word == "cc")
}

fn computes(name: &str) -> bool {
    use Class::{Compare, Convert, Float, Integer, Logic};
    matches!(class(name), Some(Integer | Logic | Float | Compare | Convert)) && !OF_ADDRESSES.contains(&name)
}

/// Returns the type with this name.
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

/// Returns the forms of an opcode with each number of operands and results that its row allows.
fn with_operands(words: &[&str], operands: &[Expected]) -> Vec<Form> {
    let types: Vec<Ty> = words[1..].iter().filter_map(|word| ty(word)).collect();
    let (Some(&first), Some(&last)) = (types.first(), types.last()) else {
        return Vec::new();
    };
    let dots = words[0].starts_with("dp");
    let kind = |(at, expected): (usize, &Expected)| match expected.kind {
        // Packed numbers are always in registers.
        Kind::Any if words[0].starts_with('v') && words[0].ends_with(['2', '4']) => Ty::B16x2,
        Kind::Last | Kind::LastOrWider | Kind::Any => last,
        Kind::First | Kind::FirstOrWider => first,
        Kind::Double if last == Ty::B16 => Ty::B32,
        Kind::Double | Kind::Of("b64") => Ty::B64,
        Kind::Of("pred") => Ty::Pred,
        Kind::Of("f32") => Ty::F32,
        Kind::Of("u32") | Kind::Byte if !dots => Ty::Shift,
        Kind::Of("b32") if words[0] == "fns" && at == 2 => Ty::Shift,
        Kind::Constant => Ty::Table,
        _ => Ty::B32,
    };
    let kinds: Vec<Ty> = operands.iter().enumerate().map(kind).collect();
    let fewer = usize::from(operands.iter().any(|operand| operand.is_optional));
    let pairs: &[bool] = match operands[0].predicate {
        Predicate::Required => &[true],
        Predicate::Optional => &[false, true],
        Predicate::None => &[false],
    };
    let mut forms = Vec::new();
    for count in operands.len() - fewer..=operands.len() {
        forms.extend(pairs.iter().map(|and_predicate| Form {
            opcode: words.join("."),
            to: kinds[0],
            and_predicate: *and_predicate,
            from: kinds[1..count].to_vec(),
        }));
    }
    forms
}

/// Returns a conversion with a register wider than its type: as the result, as the operand, or both, depending on
/// `number`.
fn wider(form: &Form, number: usize) -> Option<Form> {
    if !form.opcode.starts_with("cvt.") || form.from.len() != 1 {
        return None;
    }
    let (to, from) = match number % 3 {
        0 => (Ty::B64, form.from[0]),
        1 => (form.to, Ty::B64),
        _ => (Ty::B32, Ty::B32),
    };
    let wider = Form { to, from: vec![from], ..form.clone() };
    let is_new = (to, from) != (form.to, form.from[0]);
    // Only simt supports an f32 result in a 64-bit register; ptxas rejects it.
    let is_odd = form.to == Ty::F32 && to == Ty::B64;
    (is_new && !is_odd && are_run(std::slice::from_ref(&wider)) == [true]).then_some(wider)
}

/// Returns, for each form, whether `simt` supports the form.
fn are_run(forms: &[Form]) -> Vec<bool> {
    let text = |form: &Form| {
        form.text(|at, ty| match ty {
            Ty::Table => "0".to_owned(),
            ty => format!("{}{at}", ty.register()),
        })
    };
    simt::forms::are_run(REGISTERS, &forms.iter().map(text).collect::<Vec<_>>())
}
