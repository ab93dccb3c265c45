//! The comparison of two answers, as exact as the instruction's specification.

use crate::forms::{Bound, Form, Ty};
use crate::generate::Instance;
use crate::plan::{Answers, Plan};

/// All answers of a plan in which the GPU and `simt` differ, a line each: what they answer, of an instance also the
/// lane's operands, and both answers.
pub fn differences(plan: &Plan, gpu: &[u64], sim: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    let mut answers = gpu.iter().zip(sim);
    for (number, Answers { name, count, .. }) in plan.answers.iter().enumerate() {
        for (at, (gpu, sim)) in answers.by_ref().take(*count).enumerate() {
            let what = match plan.instances.get(number) {
                Some(Instance { form, operands, written }) => {
                    let operands = &operands[at][..form.from.len()];
                    if same(form, *gpu, *sim) || form.is_undefined(operands, written) {
                        continue;
                    }
                    let operands: Vec<_> = operands.iter().map(|own| format!("{own:#x}")).collect();
                    format!("{name:50} of {}", operands.join(", "))
                }
                None if gpu == sim => continue,
                None => format!("{name}: answer {at}"),
            };
            found.push(format!("{what}: GPU {gpu:#x}, simt {sim:#x}"));
        }
    }
    found
}

fn same(form: &Form, a: u64, b: u64) -> bool {
    if a == b {
        return true;
    }
    match form.bound() {
        Bound::Exact => false,
        Bound::Ulps(ulps) => close(form.to, a, b, ulps),
    }
}

/// Whether two floating-point numbers have the same sign and are so many representable ones apart, or both are NaN; of
/// pairs, both halves.
fn close(ty: Ty, a: u64, b: u64, ulps: u64) -> bool {
    let (bits, infinity) = match ty {
        Ty::F16 | Ty::F16x2 => (16, 0x7c00),
        Ty::Bf16 | Ty::Bf16x2 => (16, 0x7f80),
        Ty::F32 => (32, 0x7f80_0000),
        Ty::F64 => (64, 0x7ff0 << 48),
        _ => return false,
    };
    let magnitude = u64::MAX >> (65 - bits);
    let is_nan = |x: u64| x & magnitude > infinity;
    (0..ty.bits()).step_by(bits).all(|at| {
        let part = |word: u64| word >> at & (u64::MAX >> (64 - bits));
        let (a, b) = (part(a), part(b));
        match (is_nan(a), is_nan(b)) {
            (false, false) => (a ^ b) <= magnitude && (a & magnitude).abs_diff(b & magnitude) <= ulps,
            (x, y) => x && y,
        }
    })
}
