//! Floating-point arithmetic.

use super::{Decoded, Decoder, lookup};
use crate::alu::Alu;
use crate::alu::float::exact::Rounding;
use crate::alu::float::{Approx, Approx64, Fast, Float, FloatOp, General, Half, Test};
use crate::alu::lanes::OperandKind;
use crate::alu::modifiers::Modifiers;
use crate::code::{FrameInit, Pred, R32, R64};

/// The words of rounding modes and other modifiers.
const MODIFIERS: [(&str, Modifiers, Option<Rounding>); 18] = {
    const INTEGRAL: Modifiers = Modifiers::ROUNDING.and(Modifiers::INTEGRAL);
    [
        ("rn", Modifiers::ROUNDING, Some(Rounding::Nearest)),
        ("rna", Modifiers::ROUNDING, Some(Rounding::Away)),
        ("rz", Modifiers::ROUNDING, Some(Rounding::Zero)),
        ("rm", Modifiers::ROUNDING, Some(Rounding::Down)),
        ("rp", Modifiers::ROUNDING, Some(Rounding::Up)),
        ("rni", INTEGRAL, Some(Rounding::Nearest)),
        ("rzi", INTEGRAL, Some(Rounding::Zero)),
        ("rmi", INTEGRAL, Some(Rounding::Down)),
        ("rpi", INTEGRAL, Some(Rounding::Up)),
        ("ftz", Modifiers::FTZ, None),
        ("sat", Modifiers::SAT, None),
        ("approx", Modifiers::APPROX, None),
        ("full", Modifiers::FULL, None),
        ("NaN", Modifiers::NAN, None),
        ("xorsign", Modifiers::XORSIGN, None),
        ("abs", Modifiers::ABS, None),
        ("relu", Modifiers::RELU, None),
        ("satfinite", Modifiers::SATFINITE, None),
    ]
};

/// The rounding mode and the other modifiers of an opcode; `None` where one is unknown.
pub(super) fn modifiers(words: &[&str]) -> Option<(Option<Rounding>, Modifiers)> {
    let (mut rounding, mut all) = (None, Modifiers::NONE);
    for word in words {
        let (_, modifier, mode) = MODIFIERS.iter().find(|row| row.0 == *word)?;
        all = all.and(*modifier);
        rounding = rounding.or(*mode);
    }
    Some((rounding, all))
}

/// The implementation of a form.
#[derive(Clone, Copy)]
enum Implementation {
    /// To nearest, as the host does it.
    Fast(Fast),
    /// The first to nearest, the second in every other mode and with saturation.
    Rounded(Fast, General),
    /// `min` (false) and `max` (true) with modifiers, or of three operands.
    MinMax(bool),
    Approx(Approx),
    Approx64(Approx64),
    Half(Half),
}

/// A form of an opcode for one type.
struct Form {
    name: &'static str,
    ty: &'static str,
    sources: usize,
    /// The modifiers that it has to have.
    required: Modifiers,
    /// The modifiers that it may have besides.
    optional: Modifiers,
    implementation: Implementation,
}

/// Rows of the forms' table, by type: name, number of sources, required modifiers, optional modifiers, and
/// what executes it.
macro_rules! forms {
    ($($ty:literal { $($name:literal $sources:literal [$($required:ident)*] [$($optional:ident)*] $implementation:expr;)* })*) => {
        &[$($(Form {
            name: $name,
            ty: $ty,
            sources: $sources,
            required: Modifiers::NONE$(.and(Modifiers::$required))*,
            optional: Modifiers::NONE$(.and(Modifiers::$optional))*,
            implementation: $implementation,
        },)*)*]
    };
}

/// All forms. Where several rows of a name and type fit, the first one counts.
static FORMS: &[Form] = {
    use Implementation as E;
    forms! {
        "f32" {
            "abs" 1 [] [FTZ] E::Fast(Fast::Abs);
            "neg" 1 [] [FTZ] E::Fast(Fast::Neg);
            "copysign" 2 [] [] E::Fast(Fast::Copysign);
            "min" 2 [] [FTZ] E::Fast(Fast::Min);
            "max" 2 [] [FTZ] E::Fast(Fast::Max);
            "min" 2 [XORSIGN ABS] [FTZ NAN] E::MinMax(false);
            "max" 2 [XORSIGN ABS] [FTZ NAN] E::MinMax(true);
            "min" 2 [] [FTZ NAN] E::MinMax(false);
            "max" 2 [] [FTZ NAN] E::MinMax(true);
            "min" 3 [] [FTZ NAN ABS] E::MinMax(false);
            "max" 3 [] [FTZ NAN ABS] E::MinMax(true);
            "div" 2 [FULL] [FTZ] E::Approx(Approx::DivFull);
            "div" 2 [APPROX] [FTZ] E::Approx(Approx::Div);
            "rcp" 1 [APPROX] [FTZ] E::Approx(Approx::Rcp);
            "sqrt" 1 [APPROX] [FTZ] E::Approx(Approx::Sqrt);
            "rsqrt" 1 [APPROX] [FTZ] E::Approx(Approx::Rsqrt);
            "ex2" 1 [APPROX] [FTZ] E::Approx(Approx::Ex2);
            "lg2" 1 [APPROX] [FTZ] E::Approx(Approx::Lg2);
            "sin" 1 [APPROX] [FTZ] E::Approx(Approx::Sin);
            "cos" 1 [APPROX] [FTZ] E::Approx(Approx::Cos);
            "tanh" 1 [APPROX] [] E::Approx(Approx::Tanh);
            "add" 2 [] [ROUNDING FTZ SAT] E::Rounded(Fast::Add, General::Add);
            "sub" 2 [] [ROUNDING FTZ SAT] E::Rounded(Fast::Sub, General::Sub);
            "mul" 2 [] [ROUNDING FTZ SAT] E::Rounded(Fast::Mul, General::Mul);
            "mad" 3 [ROUNDING] [FTZ SAT] E::Rounded(Fast::Fma, General::Fma);
            "fma" 3 [ROUNDING] [FTZ SAT] E::Rounded(Fast::Fma, General::Fma);
            "div" 2 [ROUNDING] [FTZ] E::Rounded(Fast::Div, General::Div);
            "rcp" 1 [ROUNDING] [FTZ] E::Rounded(Fast::Div, General::Div);
            "sqrt" 1 [ROUNDING] [FTZ] E::Rounded(Fast::Sqrt, General::Sqrt);
        }
        "f32x2" {
            "add" 2 [] [ROUNDING FTZ] E::Rounded(Fast::Add, General::Add);
            "sub" 2 [] [ROUNDING FTZ] E::Rounded(Fast::Sub, General::Sub);
            "mul" 2 [] [ROUNDING FTZ] E::Rounded(Fast::Mul, General::Mul);
            "fma" 3 [ROUNDING] [FTZ] E::Rounded(Fast::Fma, General::Fma);
        }
        "f64" {
            "abs" 1 [] [] E::Fast(Fast::Abs);
            "neg" 1 [] [] E::Fast(Fast::Neg);
            "copysign" 2 [] [] E::Fast(Fast::Copysign);
            "min" 2 [] [] E::Fast(Fast::Min);
            "max" 2 [] [] E::Fast(Fast::Max);
            "rcp" 1 [APPROX FTZ] [] E::Approx64(Approx64::Rcp);
            "rsqrt" 1 [APPROX FTZ] [] E::Approx64(Approx64::RsqrtFtz);
            "rsqrt" 1 [APPROX] [] E::Approx64(Approx64::Rsqrt);
            "add" 2 [] [ROUNDING] E::Rounded(Fast::Add, General::Add);
            "sub" 2 [] [ROUNDING] E::Rounded(Fast::Sub, General::Sub);
            "mul" 2 [] [ROUNDING] E::Rounded(Fast::Mul, General::Mul);
            "mad" 3 [ROUNDING] [] E::Rounded(Fast::Fma, General::Fma);
            "fma" 3 [ROUNDING] [] E::Rounded(Fast::Fma, General::Fma);
            "div" 2 [ROUNDING] [] E::Rounded(Fast::Div, General::Div);
            "rcp" 1 [ROUNDING] [] E::Rounded(Fast::Div, General::Div);
            "sqrt" 1 [ROUNDING] [] E::Rounded(Fast::Sqrt, General::Sqrt);
        }
        "f16" {
            "add" 2 [] [ROUNDING FTZ SAT] E::Half(Half::Add);
            "sub" 2 [] [ROUNDING FTZ SAT] E::Half(Half::Sub);
            "mul" 2 [] [ROUNDING FTZ SAT] E::Half(Half::Mul);
            "fma" 3 [ROUNDING] [FTZ SAT] E::Half(Half::Fma);
            "fma" 3 [ROUNDING] [FTZ RELU] E::Half(Half::Fma);
            "min" 2 [XORSIGN ABS] [FTZ NAN] E::Half(Half::Min);
            "max" 2 [XORSIGN ABS] [FTZ NAN] E::Half(Half::Max);
            "min" 2 [] [FTZ NAN] E::Half(Half::Min);
            "max" 2 [] [FTZ NAN] E::Half(Half::Max);
            "abs" 1 [] [FTZ] E::Half(Half::Abs);
            "neg" 1 [] [FTZ] E::Half(Half::Neg);
            "ex2" 1 [APPROX] [] E::Half(Half::Ex2);
            "tanh" 1 [APPROX] [] E::Half(Half::Tanh);
        }
        "bf16" {
            "add" 2 [] [ROUNDING] E::Half(Half::Add);
            "sub" 2 [] [ROUNDING] E::Half(Half::Sub);
            "mul" 2 [] [ROUNDING] E::Half(Half::Mul);
            "fma" 3 [ROUNDING] [RELU] E::Half(Half::Fma);
            "min" 2 [XORSIGN ABS] [NAN] E::Half(Half::Min);
            "max" 2 [XORSIGN ABS] [NAN] E::Half(Half::Max);
            "min" 2 [] [NAN] E::Half(Half::Min);
            "max" 2 [] [NAN] E::Half(Half::Max);
            "abs" 1 [] [] E::Half(Half::Abs);
            "neg" 1 [] [] E::Half(Half::Neg);
            "ex2" 1 [APPROX FTZ] [] E::Half(Half::Ex2);
            "tanh" 1 [APPROX] [] E::Half(Half::Tanh);
        }
    }
};

const TESTS: [(&str, Test); 6] = [
    ("finite", Test::Finite),
    ("infinite", Test::Infinite),
    ("number", Test::Number),
    ("notanumber", Test::NotANumber),
    ("normal", Test::Normal),
    ("subnormal", Test::Subnormal),
];

impl Decoder<'_, '_, '_> {
    pub(super) fn float(&mut self) -> Decoded<Alu> {
        let [name, words @ .., ty] = self.words else {
            return Err(self.unsupported_form());
        };
        if *ty == "f32x2" && !self.is_for(100) {
            return Err(self.unsupported(format!("instruction `{}` before sm_100", self.opcode)));
        }
        if *name == "testp" {
            return self.testp(words, ty).map(Alu::Float);
        }
        let (single, packed) = match *ty {
            "f16x2" => ("f16", true),
            "bf16x2" => ("bf16", true),
            ty => (ty, false),
        };
        let sources = self.operands.len().saturating_sub(1);
        let (rounding, modifiers) = modifiers(words).ok_or_else(|| self.unsupported_form())?;
        let form = FORMS.iter().find(|row| {
            let required = row.required;
            (row.name, row.ty, row.sources) == (*name, single, sources)
                && required.within(modifiers)
                && modifiers.within(required.and(row.optional))
        });
        let form = form.ok_or_else(|| self.unsupported_form())?;
        let rounding = rounding.unwrap_or(Rounding::Nearest);
        let op = operation(form, rounding, modifiers, (*ty, packed));
        let op = op.ok_or_else(|| self.unsupported_form())?;
        let (ty, bits) = match (single, packed) {
            ("f32", _) => ("f32", 32),
            ("f64", _) => ("f64", 64),
            ("f32x2", _) => ("b64", 64),
            (_, true) => ("b32", 32),
            (_, false) => ("b16", 16),
        };
        let wide = bits == 64;
        let kind = OperandKind { ty, wide };
        let [to, first, others @ ..] = self.operands else {
            return Err(self.unsupported_form());
        };
        let to = self.to(kind, to)?;
        let mut from = [self.from(kind, first)?; 3];
        for (register, operand) in from[1..].iter_mut().zip(others) {
            *register = self.from(kind, operand)?;
        }
        // A reciprocal is a quotient of 1.
        if *name == "rcp" && !matches!(op, FloatOp::Approx32(..) | FloatOp::Approx64(_)) {
            let one = match wide {
                true => self.initialized::<R64>(FrameInit::Number(1f64.to_bits())).0,
                false => self.initialized::<R32>(FrameInit::Number(1f32.to_bits().into())).0,
            };
            from = [one, from[0], from[0]];
        }
        Ok(Alu::Float(Float { op, to, from }))
    }

    /// `testp.op.type p, a`
    fn testp(&mut self, words: &[&str], ty: &str) -> Decoded<Float> {
        let [to, from] = self.exactly()?;
        let test = match words {
            [word] => lookup(&TESTS, word),
            _ => None,
        };
        let (op, kind) = match (test, ty) {
            (Some(test), "f32") => (FloatOp::Test32(test), ("f32", false)),
            (Some(test), "f64") => (FloatOp::Test64(test), ("f64", true)),
            _ => return Err(self.unsupported_form()),
        };
        let (ty, wide) = kind;
        let to = self.dst::<Pred>(to)?.0;
        let from = [self.from(OperandKind { ty, wide }, from)?; 3];
        Ok(Float { op, to, from })
    }
}

/// The operation of a form with these modifiers, on this type and pairs of it or not; `None` where the form does not
/// have the rounding mode.
fn operation(form: &Form, rounding: Rounding, modifiers: Modifiers, (ty, packed): (&str, bool)) -> Option<FloatOp> {
    use Implementation as I;
    let flag = |flag, set| if set { flag } else { Modifiers::NONE };
    let wide = form.ty == "f64";
    let ftz = modifiers.has(Modifiers::FTZ);
    let nearest = rounding == Rounding::Nearest;
    Some(match form.implementation {
        I::Fast(op) if wide => FloatOp::Fast64(op),
        I::Fast(op) => FloatOp::Fast32(op, ftz),
        I::Rounded(_, op) if form.ty == "f32x2" => FloatOp::Pair32(op, rounding, modifiers),
        I::Rounded(op, _) if wide && nearest => FloatOp::Fast64(op),
        I::Rounded(_, op) if wide => FloatOp::General64(op, rounding),
        I::Rounded(op, _) if nearest && !modifiers.has(Modifiers::SAT) => FloatOp::Fast32(op, ftz),
        I::Rounded(_, op) => FloatOp::General32(op, rounding, modifiers),
        I::MinMax(max) => FloatOp::MinMax32 { max, three: form.sources == 3, modifiers },
        I::Approx(op) => FloatOp::Approx32(op, ftz),
        I::Approx64(op) => FloatOp::Approx64(op),
        I::Half(op) => {
            let brain = flag(Modifiers::BRAIN, ty.starts_with('b'));
            let packed = flag(Modifiers::PACKED, packed);
            return nearest.then_some(FloatOp::Half(op, modifiers.and(brain).and(packed)));
        }
    })
}
