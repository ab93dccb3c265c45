//! Conversions and comparisons.

use super::{Forms, INTEGERS, ROUNDINGS, Ty};

pub(super) fn conversions(forms: &mut Forms) {
    let bytes = [("u8", Ty::B16), ("s8", Ty::B16)];
    let integers = [&bytes[..], &INTEGERS].concat();
    let floats: [(&str, Ty); 3] = [("f16", Ty::F16), ("f32", Ty::F32), ("f64", Ty::F64)];
    for &(to, to_ty) in &integers {
        for &(from, from_ty) in &integers {
            forms.exact(format!("cvt.{to}.{from}"), to_ty, &[from_ty]);
            if may_saturate(to, from) {
                forms.exact(format!("cvt.sat.{to}.{from}"), to_ty, &[from_ty]);
            }
        }
        for (from, from_ty) in floats {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                forms.exact(format!("cvt.{rounding}.{to}.{from}"), to_ty, &[from_ty]);
            }
        }
    }
    for (to, to_ty) in floats {
        for &(from, from_ty) in &integers {
            for rounding in ROUNDINGS {
                forms.exact(format!("cvt.{rounding}.{to}.{from}"), to_ty, &[from_ty]);
            }
        }
    }
    for rounding in ROUNDINGS {
        forms.exact(format!("cvt.{rounding}.f32.f64"), Ty::F32, &[Ty::F64]);
        forms.exact(format!("cvt.{rounding}.ftz.f32.f64"), Ty::F32, &[Ty::F64]);
        forms.exact(format!("cvt.{rounding}.f16.f32"), Ty::F16, &[Ty::F32]);
        forms.exact(format!("cvt.{rounding}.f16.f64"), Ty::F16, &[Ty::F64]);
    }
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        for (name, ty) in floats {
            forms.exact(format!("cvt.{rounding}.{name}.{name}"), ty, &[ty]);
        }
    }
    forms.exact("cvt.f64.f32", Ty::F64, &[Ty::F32]);
    forms.exact("cvt.f32.f16", Ty::F32, &[Ty::F16]);
    forms.exact("cvt.f64.f16", Ty::F64, &[Ty::F16]);
    forms.exact("cvt.f32.bf16", Ty::F32, &[Ty::Bf16]);
    for rounding in ["rn", "rz"] {
        forms.exact(format!("cvt.{rounding}.bf16.f32"), Ty::Bf16, &[Ty::F32]);
        for relu in ["", ".relu"] {
            forms.exact(
                format!("cvt.{rounding}{relu}.f16x2.f32"),
                Ty::F16x2,
                &[Ty::F32, Ty::F32],
            );
            forms.exact(
                format!("cvt.{rounding}{relu}.bf16x2.f32"),
                Ty::Bf16x2,
                &[Ty::F32, Ty::F32],
            );
        }
    }
    forms.exact("cvt.sat.f32.f32", Ty::F32, &[Ty::F32]);
}

/// `.sat` is for conversions that can lose something: not where every value of `from` fits into `to`.
fn may_saturate(to: &str, from: &str) -> bool {
    let signed = |name: &str| name.starts_with('s');
    let bits = |name: &str| name[1..].parse::<u32>().unwrap_or(0);
    let fits = match (signed(from), signed(to)) {
        (false, false) | (true, true) => bits(from) <= bits(to),
        (false, true) => bits(from) < bits(to),
        (true, false) => false,
    };
    !fits
}

pub(super) fn comparisons(forms: &mut Forms) {
    for (name, ty) in INTEGERS {
        let orders: &[&str] = if name.starts_with('u') {
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
        } else {
            &["eq", "ne", "lt", "le", "gt", "ge"]
        };
        for order in orders {
            forms.exact(format!("setp.{order}.{name}"), Ty::Pred, &[ty, ty]);
        }
        for order in ["eq", "lt", "ge"] {
            forms.exact(format!("set.{order}.u32.{name}"), Ty::B32, &[ty, ty]);
            forms.exact(format!("set.{order}.f32.{name}"), Ty::F32, &[ty, ty]);
            for combine in ["and", "or", "xor"] {
                forms.exact(
                    format!("setp.{order}.{combine}.{name}"),
                    Ty::Pred,
                    &[ty, ty, Ty::Pred],
                );
            }
        }
    }
    for (name, ty) in [("f32", Ty::F32), ("f64", Ty::F64), ("f16", Ty::F16)] {
        for order in [
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "nan",
        ] {
            forms.exact(format!("setp.{order}.{name}"), Ty::Pred, &[ty, ty]);
            if ty == Ty::F32 {
                forms.exact(format!("setp.{order}.ftz.{name}"), Ty::Pred, &[ty, ty]);
                forms.exact(format!("set.{order}.u32.{name}"), Ty::B32, &[ty, ty]);
            }
        }
    }
}
