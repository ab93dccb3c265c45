//! The comparison of two answers, as exact as the instruction's specification.

use crate::forms::{Bound, Ty};
use crate::generate::{Instance, LANES};

/// All lanes of all instances for which the GPU and `simt` differ, a line each: the instruction, the lane's operands and
/// both answers.
pub fn differences(instances: &[Instance], gpu: &[u64], sim: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    let answers = gpu.chunks(LANES).zip(sim.chunks(LANES));
    for (instance, (gpu, sim)) in instances.iter().zip(answers) {
        for (lane, (gpu, sim)) in gpu.iter().zip(sim).enumerate() {
            if !same(instance.form.to, instance.form.bound, *gpu, *sim) {
                let operands = &instance.operands[lane][..instance.form.from.len()];
                let operands: Vec<_> = operands.iter().map(|own| format!("{own:#x}")).collect();
                let (text, operands) = (instance.text(), operands.join(", "));
                found.push(format!(
                    "{text:50} of {operands}: GPU {gpu:#x}, simt {sim:#x}"
                ));
            }
        }
    }
    found
}

fn same(ty: Ty, bound: Bound, a: u64, b: u64) -> bool {
    if a == b {
        return true;
    }
    match bound {
        Bound::Exact => false,
        Bound::Ulps(ulps) => close(ty, a, b, ulps),
        Bound::Absolute(distance, ulps) => {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            f64::from(x - y).abs() <= distance || close(ty, a, b, ulps)
        }
    }
}

/// Whether two f32 are so many representable numbers apart, or both NaN.
fn close(ty: Ty, a: u64, b: u64, ulps: u64) -> bool {
    if ty != Ty::F32 {
        return false;
    }
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    // Numbers in order: negative ones count down from zero.
    let place = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    place(x).abs_diff(place(y)) <= ulps
}
