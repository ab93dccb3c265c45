//! Floating-point arithmetic.

use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::float::exact::Rounding;
use crate::alu::float::{Approx, Approx64, Fast, Float, FloatOp, Half, Test};
use crate::alu::lanes::OperandKind;
use crate::alu::modifiers::Modifiers;
use crate::code::{FrameInit, Pred, R32, R64};

/// The names of rounding modes and other modifiers.
const MODIFIERS: [(&str, Modifiers, Option<Rounding>); 19] = {
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
        ("oob", Modifiers::OOB, None),
    ]
};

/// Returns the rounding mode and the other modifiers of an opcode; `None` if a modifier is unknown.
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
    /// Rounds to nearest; computed with the host's floating-point operations.
    Fast(Fast),
    /// Supports all rounding modes and saturation.
    Rounded(Fast),
    /// `min` (false) and `max` (true) with modifiers or three operands.
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
    /// The modifiers that are required.
    required: Modifiers,
    /// Additional modifiers that are allowed.
    optional: Modifiers,
    implementation: Implementation,
}

/// Defines rows of the table of forms, grouped by implementation. A row contains names, the number of sources and, for
/// each type, the required and the optional modifiers.
macro_rules! forms {
    ($($name:literal $sources:literal $implementation:expr;
        $($ty:literal [$($required:ident)*] [$($optional:ident)*]),*;)*) => {
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

/// All forms. If several rows match a name and type, the first row is used.
static FORMS: &[Form] = {
    use Implementation as E;
    forms! {
        "abs" 1 E::Fast(Fast::Abs); "f32" [] [FTZ], "f64" [] [];
        "neg" 1 E::Fast(Fast::Neg); "f32" [] [FTZ], "f64" [] [];
        "copysign" 2 E::Fast(Fast::Copysign); "f32" [] [], "f64" [] [];
        "min" 2 E::Fast(Fast::Min); "f32" [] [FTZ], "f64" [] [];
        "max" 2 E::Fast(Fast::Max); "f32" [] [FTZ], "f64" [] [];
        "min" 2 E::MinMax(false); "f32" [XORSIGN ABS] [FTZ NAN], "f32" [] [FTZ NAN];
        "max" 2 E::MinMax(true); "f32" [XORSIGN ABS] [FTZ NAN], "f32" [] [FTZ NAN];
        "min" 3 E::MinMax(false); "f32" [] [FTZ NAN ABS];
        "max" 3 E::MinMax(true); "f32" [] [FTZ NAN ABS];
        "div" 2 E::Approx(Approx::DivFull); "f32" [FULL] [FTZ];
        "div" 2 E::Approx(Approx::Div); "f32" [APPROX] [FTZ];
        "rcp" 1 E::Approx(Approx::Rcp); "f32" [APPROX] [FTZ];
        "sqrt" 1 E::Approx(Approx::Sqrt); "f32" [APPROX] [FTZ];
        "rsqrt" 1 E::Approx(Approx::Rsqrt); "f32" [APPROX] [FTZ];
        "ex2" 1 E::Approx(Approx::Ex2); "f32" [APPROX] [FTZ];
        "lg2" 1 E::Approx(Approx::Lg2); "f32" [APPROX] [FTZ];
        "sin" 1 E::Approx(Approx::Sin); "f32" [APPROX] [FTZ];
        "cos" 1 E::Approx(Approx::Cos); "f32" [APPROX] [FTZ];
        "tanh" 1 E::Approx(Approx::Tanh); "f32" [APPROX] [];
        "rcp" 1 E::Approx64(Approx64::Rcp); "f64" [APPROX FTZ] [];
        "rsqrt" 1 E::Approx64(Approx64::RsqrtFtz); "f64" [APPROX FTZ] [];
        "rsqrt" 1 E::Approx64(Approx64::Rsqrt); "f64" [APPROX] [];
        "add" 2 E::Rounded(Fast::Add); "f32" [] [ROUNDING FTZ SAT], "f32x2" [] [ROUNDING FTZ], "f64" [] [ROUNDING];
        "sub" 2 E::Rounded(Fast::Sub); "f32" [] [ROUNDING FTZ SAT], "f32x2" [] [ROUNDING FTZ], "f64" [] [ROUNDING];
        "mul" 2 E::Rounded(Fast::Mul); "f32" [] [ROUNDING FTZ SAT], "f32x2" [] [ROUNDING FTZ], "f64" [] [ROUNDING];
        "mad" 3 E::Rounded(Fast::Fma); "f32" [ROUNDING] [FTZ SAT], "f64" [ROUNDING] [];
        "fma" 3 E::Rounded(Fast::Fma); "f32" [ROUNDING] [FTZ SAT], "f32x2" [ROUNDING] [FTZ], "f64" [ROUNDING] [];
        "div" 2 E::Rounded(Fast::Div); "f32" [ROUNDING] [FTZ], "f64" [ROUNDING] [];
        "rcp" 1 E::Rounded(Fast::Div); "f32" [ROUNDING] [FTZ], "f64" [ROUNDING] [];
        "sqrt" 1 E::Rounded(Fast::Sqrt); "f32" [ROUNDING] [FTZ], "f64" [ROUNDING] [];
        "add" 2 E::Half(Half::Add); "f16" [] [ROUNDING FTZ SAT], "bf16" [] [ROUNDING];
        "sub" 2 E::Half(Half::Sub); "f16" [] [ROUNDING FTZ SAT], "bf16" [] [ROUNDING];
        "mul" 2 E::Half(Half::Mul); "f16" [] [ROUNDING FTZ SAT], "bf16" [] [ROUNDING];
        "fma" 3 E::Half(Half::Fma); "f16" [ROUNDING] [FTZ SAT], "f16" [ROUNDING] [FTZ RELU], "bf16" [ROUNDING] [RELU],
            "f16" [ROUNDING OOB] [SAT], "f16" [ROUNDING OOB] [RELU], "bf16" [ROUNDING OOB] [RELU];
        "min" 2 E::Half(Half::Min);
            "f16" [XORSIGN ABS] [FTZ NAN], "f16" [] [FTZ NAN], "bf16" [XORSIGN ABS] [NAN], "bf16" [] [NAN];
        "max" 2 E::Half(Half::Max);
            "f16" [XORSIGN ABS] [FTZ NAN], "f16" [] [FTZ NAN], "bf16" [XORSIGN ABS] [NAN], "bf16" [] [NAN];
        "abs" 1 E::Half(Half::Abs); "f16" [] [FTZ], "bf16" [] [];
        "neg" 1 E::Half(Half::Neg); "f16" [] [FTZ], "bf16" [] [];
        "ex2" 1 E::Half(Half::Ex2); "f16" [APPROX] [], "bf16" [APPROX FTZ] [];
        "tanh" 1 E::Half(Half::Tanh); "f16" [APPROX] [], "bf16" [APPROX] [];
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
        if *name == "testp" {
            return self.testp(ty).map(Alu::Float);
        }
        let single = ty.strip_suffix("16x2").map_or(*ty, |kind| &ty[..kind.len() + 2]);
        let packed = single != *ty;
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
        let ([to, first], others) = self.first()?;
        let to = self.to(kind, to)?;
        let mut from = [self.from(kind, first)?; 3];
        for (register, operand) in from[1..].iter_mut().zip(others) {
            *register = self.from(kind, operand)?;
        }
        // A reciprocal is the quotient 1 / a.
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
    fn testp(&mut self, ty: &str) -> Decoded<Float> {
        let [to, from] = self.exactly()?;
        let test = self.word(&TESTS)?;
        let (op, ty, wide) = match ty {
            "f32" => (FloatOp::Test32(test), "f32", false),
            "f64" => (FloatOp::Test64(test), "f64", true),
            _ => return Err(self.unsupported_form()),
        };
        let to = self.dst::<Pred>(to)?.0;
        Ok(Float { op, to, from: [self.from(OperandKind { ty, wide }, from)?; 3] })
    }
}

/// Returns the operation of a form with these modifiers, on this type or on pairs of values of this type. Returns
/// `None` if the form does not support the rounding mode.
fn operation(form: &Form, rounding: Rounding, modifiers: Modifiers, (ty, packed): (&str, bool)) -> Option<FloatOp> {
    use Implementation as I;
    let flag = |flag, set| if set { flag } else { Modifiers::NONE };
    let wide = form.ty == "f64";
    let ftz = modifiers.has(Modifiers::FTZ);
    let nearest = rounding == Rounding::Nearest;
    Some(match form.implementation {
        I::Fast(op) if wide => FloatOp::Fast64(op),
        I::Fast(op) => FloatOp::Fast32(op, ftz),
        I::Rounded(op) if form.ty == "f32x2" => FloatOp::Pair32(op, rounding, modifiers),
        I::Rounded(op) if wide && nearest => FloatOp::Fast64(op),
        I::Rounded(op) if wide => FloatOp::General64(op, rounding),
        I::Rounded(op) if nearest && !modifiers.has(Modifiers::SAT) => FloatOp::Fast32(op, ftz),
        I::Rounded(op) => FloatOp::General32(op, rounding, modifiers),
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
