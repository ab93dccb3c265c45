//! Arithmetic on floating-point numbers.

use super::{Bound, Forms, ROUNDINGS, Ty};

pub(super) fn floats(forms: &mut Forms) {
    for (name, ty, flushes) in [
        ("f32", Ty::F32, &["", ".ftz"][..]),
        ("f64", Ty::F64, &[""][..]),
    ] {
        for rounding in ROUNDINGS {
            for ftz in flushes {
                for op in ["add", "sub", "mul"] {
                    forms.exact(format!("{op}.{rounding}{ftz}.{name}"), ty, &[ty, ty]);
                    if ty == Ty::F32 {
                        forms.exact(format!("{op}.{rounding}{ftz}.sat.{name}"), ty, &[ty, ty]);
                    }
                }
                forms.exact(format!("fma.{rounding}{ftz}.{name}"), ty, &[ty, ty, ty]);
                forms.exact(format!("div.{rounding}{ftz}.{name}"), ty, &[ty, ty]);
                for op in ["sqrt", "rcp"] {
                    forms.exact(format!("{op}.{rounding}{ftz}.{name}"), ty, &[ty]);
                }
            }
        }
        for ftz in flushes {
            for op in ["min", "max"] {
                forms.exact(format!("{op}{ftz}.{name}"), ty, &[ty, ty]);
            }
            for op in ["abs", "neg"] {
                forms.exact(format!("{op}{ftz}.{name}"), ty, &[ty]);
            }
        }
        forms.exact(format!("copysign.{name}"), ty, &[ty, ty]);
        for class in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            forms.exact(format!("testp.{class}.{name}"), Ty::Pred, &[ty]);
        }
    }
    for op in ["min", "max"] {
        for ftz in ["", ".ftz"] {
            forms.exact(format!("{op}{ftz}.NaN.f32"), Ty::F32, &[Ty::F32, Ty::F32]);
        }
    }
}

pub(super) fn halves(forms: &mut Forms) {
    for (name, ty) in [("f16", Ty::F16), ("f16x2", Ty::F16x2)] {
        for ftz in ["", ".ftz"] {
            for op in ["add", "sub", "mul"] {
                forms.exact(format!("{op}.rn{ftz}.{name}"), ty, &[ty, ty]);
                forms.exact(format!("{op}.rn{ftz}.sat.{name}"), ty, &[ty, ty]);
            }
            forms.exact(format!("fma.rn{ftz}.{name}"), ty, &[ty, ty, ty]);
            for op in ["min", "max"] {
                forms.exact(format!("{op}{ftz}.{name}"), ty, &[ty, ty]);
                forms.exact(format!("{op}{ftz}.NaN.{name}"), ty, &[ty, ty]);
            }
        }
        for op in ["abs", "neg"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty]);
        }
    }
    for (name, ty) in [("bf16", Ty::Bf16), ("bf16x2", Ty::Bf16x2)] {
        for op in ["add", "sub", "mul"] {
            forms.exact(format!("{op}.rn.{name}"), ty, &[ty, ty]);
        }
        forms.exact(format!("fma.rn.{name}"), ty, &[ty, ty, ty]);
        for op in ["min", "max", "min.NaN", "max.NaN"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty, ty]);
        }
        for op in ["abs", "neg"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty]);
        }
    }
}

/// The bounds are the PTX ISA's: its maximum error for each, doubled where both sides may have it.
pub(super) fn approximations(forms: &mut Forms) {
    let f32 = Ty::F32;
    for ftz in ["", ".ftz"] {
        for (op, bound) in [
            ("rcp.approx", Bound::Ulps(2)),
            ("sqrt.approx", Bound::Ulps(4)),
            ("rsqrt.approx", Bound::Ulps(8)),
            ("ex2.approx", Bound::Ulps(4)),
            // 2^-22.6 absolutely near one, relatively elsewhere.
            ("lg2.approx", Bound::Absolute(3.2e-7, 8)),
        ] {
            forms.exact(format!("{op}{ftz}.f32"), f32, &[f32]).bound = bound;
        }
        // Quotients beyond 2^126 of the divisor are 0 or NaN by definition.
        let large: fn(&[u64]) -> bool = |v| (v[1] >> 23 & 0xff) > 250;
        for (op, bound) in [("div.approx", Bound::Ulps(4)), ("div.full", Bound::Ulps(4))] {
            let form = forms.exact(format!("{op}{ftz}.f32"), f32, &[f32, f32]);
            form.bound = bound;
            form.undefined = large;
        }
        for op in ["sin.approx", "cos.approx"] {
            let form = forms.exact(format!("{op}{ftz}.f32"), f32, &[f32]);
            // 2^-20.5 in [-pi, pi]; no bound is stated for large arguments.
            form.bound = Bound::Absolute(1.0e-6, 2);
            form.undefined = |v| {
                let x = f32::from_bits(v[0] as u32).abs();
                x.is_finite() && x > std::f32::consts::PI
            };
        }
    }
    // 2^-11 relative.
    forms.exact("tanh.approx.f32", f32, &[f32]).bound = Bound::Ulps(1 << 13);
}
