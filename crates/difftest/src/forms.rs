//! The instructions: each in all the forms that are compared.

/// How many bits an operand has, and what they mean to the choice of random ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Ty {
    Pred,
    B16,
    B32,
    B64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// 32 bits that say how far or how many.
    Shift,
}

impl Ty {
    /// Its width.
    pub fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::B16 | Ty::F16 | Ty::Bf16 => 16,
            Ty::B32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 | Ty::Shift => 32,
            Ty::B64 | Ty::F64 => 64,
        }
    }

    /// The bits that it uses.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The register file's letter, as [`crate::generate`] names registers.
    pub fn register(self) -> &'static str {
        match self {
            Ty::Pred => "%p",
            Ty::B16 | Ty::F16 | Ty::Bf16 => "%h",
            Ty::B32 | Ty::Shift | Ty::F16x2 | Ty::Bf16x2 => "%r",
            Ty::F32 => "%f",
            Ty::B64 => "%rd",
            Ty::F64 => "%fd",
        }
    }
}

/// How close an answer has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Every bit the same; any NaN where the GPU has one of a float result.
    Exact,
    /// Within so many units in the last place of each other.
    Ulps(u64),
    /// Within so much of each other, absolutely, or within so many units in the last place.
    Absolute(f64, u64),
}

/// One form of an instruction.
#[derive(Debug, Clone)]
pub struct Form {
    /// The opcode.
    pub opcode: String,
    /// The result.
    pub to: Ty,
    /// The operands.
    pub from: Vec<Ty>,
    /// A constant operand behind them: the largest value that it may have.
    pub constant: Option<u64>,
    /// How close the answer has to be.
    pub bound: Bound,
    /// Operands that no answer is defined for.
    pub undefined: fn(&[u64]) -> bool,
}

fn anything_goes(_: &[u64]) -> bool {
    false
}

struct Forms(Vec<Form>);

impl Forms {
    fn exact(&mut self, opcode: impl Into<String>, to: Ty, from: &[Ty]) -> &mut Form {
        self.0.push(Form {
            opcode: opcode.into(),
            to,
            from: from.to_vec(),
            constant: None,
            bound: Bound::Exact,
            undefined: anything_goes,
        });
        self.0.last_mut().expect("pushed just now")
    }
}

const INTEGERS: [(&str, Ty); 6] = [
    ("u16", Ty::B16),
    ("s16", Ty::B16),
    ("u32", Ty::B32),
    ("s32", Ty::B32),
    ("u64", Ty::B64),
    ("s64", Ty::B64),
];
const BITS: [(&str, Ty); 3] = [("b16", Ty::B16), ("b32", Ty::B32), ("b64", Ty::B64)];
const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// Every form of every instruction that is compared.
pub fn all() -> Vec<Form> {
    let mut forms = Forms(Vec::new());
    integers(&mut forms);
    bits(&mut forms);
    floats(&mut forms);
    halves(&mut forms);
    approximations(&mut forms);
    conversions(&mut forms);
    comparisons(&mut forms);
    forms.0
}

fn integers(forms: &mut Forms) {
    for (name, ty) in INTEGERS {
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty, ty]);
        }
        for op in ["mad.lo", "mad.hi", "sad"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty, ty, ty]);
        }
        for op in ["div", "rem"] {
            // By zero, and the one quotient that does not fit.
            let undefined: fn(&[u64]) -> bool = match ty {
                Ty::B16 => |v| v[1] == 0 || (v[0] == 0x8000 && v[1] == 0xffff),
                Ty::B32 => |v| v[1] == 0 || (v[0] == 0x8000_0000 && v[1] == 0xffff_ffff),
                _ => |v| v[1] == 0 || (v[0] == 1 << 63 && v[1] == u64::MAX),
            };
            forms.exact(format!("{op}.{name}"), ty, &[ty, ty]).undefined = undefined;
        }
        if name.starts_with('s') {
            for op in ["abs", "neg"] {
                forms.exact(format!("{op}.{name}"), ty, &[ty]);
            }
        }
        let wide = match ty {
            Ty::B16 => Ty::B32,
            Ty::B32 => Ty::B64,
            _ => continue,
        };
        forms.exact(format!("mul.wide.{name}"), wide, &[ty, ty]);
        forms.exact(format!("mad.wide.{name}"), wide, &[ty, ty, wide]);
    }
    let b32 = Ty::B32;
    for op in ["add.sat.s32", "sub.sat.s32"] {
        forms.exact(op, b32, &[b32, b32]);
    }
    forms.exact("mad.hi.sat.s32", b32, &[b32, b32, b32]);
    for sign in ["u32", "s32"] {
        for half in ["lo", "hi"] {
            forms.exact(format!("mul24.{half}.{sign}"), b32, &[b32, b32]);
            forms.exact(format!("mad24.{half}.{sign}"), b32, &[b32, b32, b32]);
        }
        for other in ["u32", "s32"] {
            forms.exact(format!("dp4a.{sign}.{other}"), b32, &[b32, b32, b32]);
            for half in ["lo", "hi"] {
                forms.exact(format!("dp2a.{half}.{sign}.{other}"), b32, &[b32, b32, b32]);
            }
        }
    }
}

fn bits(forms: &mut Forms) {
    let b32 = Ty::B32;
    for (name, ty) in BITS {
        for op in ["and", "or", "xor"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty, ty]);
        }
        for op in ["not", "cnot"] {
            forms.exact(format!("{op}.{name}"), ty, &[ty]);
        }
        forms.exact(format!("shl.{name}"), ty, &[ty, Ty::Shift]);
        forms.exact(format!("selp.{name}"), ty, &[ty, ty, Ty::Pred]);
        forms.exact(format!("slct.{name}.s32"), ty, &[ty, ty, b32]);
        forms.exact(format!("slct.{name}.f32"), ty, &[ty, ty, Ty::F32]);
        if ty != Ty::B16 {
            for op in ["popc", "clz"] {
                forms.exact(format!("{op}.{name}"), b32, &[ty]);
            }
            forms.exact(format!("brev.{name}"), ty, &[ty]);
            forms.exact(format!("bfi.{name}"), ty, &[ty, ty, Ty::Shift, Ty::Shift]);
        }
    }
    for (name, ty) in INTEGERS {
        forms.exact(format!("shr.{name}"), ty, &[ty, Ty::Shift]);
        if ty != Ty::B16 {
            forms.exact(format!("bfe.{name}"), ty, &[ty, Ty::Shift, Ty::Shift]);
            forms.exact(format!("bfind.{name}"), b32, &[ty]);
            forms.exact(format!("bfind.shiftamt.{name}"), b32, &[ty]);
        }
    }
    for op in ["and", "or", "xor"] {
        forms.exact(format!("{op}.pred"), Ty::Pred, &[Ty::Pred, Ty::Pred]);
    }
    forms.exact("not.pred", Ty::Pred, &[Ty::Pred]);
    forms.exact("lop3.b32", b32, &[b32, b32, b32]).constant = Some(255);
    for direction in ["l", "r"] {
        for mode in ["clamp", "wrap"] {
            forms.exact(
                format!("shf.{direction}.{mode}.b32"),
                b32,
                &[b32, b32, Ty::Shift],
            );
        }
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        forms.exact(format!("prmt.b32{mode}"), b32, &[b32, b32, b32]);
    }
    for mode in ["clamp", "wrap"] {
        forms.exact(format!("bmsk.{mode}.b32"), b32, &[Ty::Shift, Ty::Shift]);
        for sign in ["u32", "s32"] {
            forms.exact(format!("szext.{mode}.{sign}"), b32, &[b32, Ty::Shift]);
        }
    }
}

fn floats(forms: &mut Forms) {
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

fn halves(forms: &mut Forms) {
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
fn approximations(forms: &mut Forms) {
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

fn conversions(forms: &mut Forms) {
    let integers: [(&str, Ty); 8] = [
        ("u8", Ty::B16),
        ("s8", Ty::B16),
        ("u16", Ty::B16),
        ("s16", Ty::B16),
        ("u32", Ty::B32),
        ("s32", Ty::B32),
        ("u64", Ty::B64),
        ("s64", Ty::B64),
    ];
    let floats: [(&str, Ty); 3] = [("f16", Ty::F16), ("f32", Ty::F32), ("f64", Ty::F64)];
    for (to, to_ty) in integers {
        for (from, from_ty) in integers {
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
        for (from, from_ty) in integers {
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

fn comparisons(forms: &mut Forms) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_many_and_each_stands_once() {
        let forms = all();
        assert!(forms.len() > 700, "{}", forms.len());
        for (at, form) in forms.iter().enumerate() {
            let again = forms[..at]
                .iter()
                .any(|other| other.opcode == form.opcode && other.from == form.from);
            assert!(!again, "{} stands twice", form.opcode);
        }
    }
}
