//! The instructions, each in all forms that are compared.

mod convert;
mod float;

/// The type of an operand: its width, and the kind of random values chosen for it.
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
    /// A distance or a count of 32 bits.
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

    /// A mask of the bits that it uses.
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

/// How close `simt`'s answer has to be to the GPU's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Every bit is the same. Where the GPU's float result is NaN, any NaN will do.
    Exact,
    /// Within so many units in the last place of each other.
    Ulps(u64),
    /// Within this absolute difference, or within so many units in the last place.
    Absolute(f64, u64),
}

/// One form of an instruction.
#[derive(Debug, Clone)]
pub struct Form {
    /// The opcode; or whole instructions, each with its semicolon, of the registers as [`crate::generate`] names them.
    pub opcode: String,
    /// The result.
    pub to: Ty,
    /// The operands.
    pub from: Vec<Ty>,
    /// The largest value of a constant operand that follows the others, if there is one.
    pub constant: Option<u64>,
    /// How close the answer has to be.
    pub bound: Bound,
    /// Whether the result is undefined for these operands.
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
    float::floats(&mut forms);
    float::halves(&mut forms);
    float::approximations(&mut forms);
    convert::conversions(&mut forms);
    convert::comparisons(&mut forms);
    carries(&mut forms);
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

/// Chains of three instructions with a carry: each that writes it, before each that reads and writes it, before each
/// that reads it. The result mixes the values of the last two.
fn carries(forms: &mut Forms) {
    const OPS: [(&str, &str, bool); 4] = [
        ("add", "addc", false),
        ("sub", "subc", false),
        ("mad.lo", "madc.lo", true),
        ("mad.hi", "madc.hi", true),
    ];
    for (name, ty) in [
        ("u32", Ty::B32),
        ("s32", Ty::B32),
        ("u64", Ty::B64),
        ("s64", Ty::B64),
    ] {
        let r = ty.register();
        let operands = |to: u32, from: [u32; 3], product: bool| {
            let from = &from[..if product { 3 } else { 2 }];
            let from: Vec<String> = from.iter().map(|at| format!("{r}{at}")).collect();
            format!("{r}{to}, {}", from.join(", "))
        };
        let mix = match ty {
            Ty::B32 => "mov.b64 %rd0, {%r5, %r6};",
            _ => "mad.lo.u64 %rd0, %rd5, 0x9e3779b97f4a7c15, %rd6;",
        };
        for (first, _, product) in OPS {
            let first = format!("{first}.cc.{name} {};", operands(7, [1, 2, 3], product));
            for (_, second, product) in OPS {
                let second = format!("{second}.cc.{name} {};", operands(5, [3, 4, 1], product));
                for (_, third, product) in OPS {
                    let third = format!("{third}.{name} {};", operands(6, [2, 4, 3], product));
                    let chain = format!("{first} {second} {third} {mix}");
                    forms.exact(chain, Ty::B64, &[ty; 4]);
                }
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
