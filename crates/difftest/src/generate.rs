//! The generation of instances and their PTX from a seed.

use std::fmt::Write as _;

use crate::forms::{Form, Ty, all};
use crate::random::Random;

/// Lanes of an instance.
pub const LANES: usize = 32;
/// Operands that an instance has room for.
pub const OPERANDS: usize = 4;
/// Instances in one kernel.
pub const IN_KERNEL: usize = 64;

/// One instruction with operands for 32 lanes.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Which form of the instruction.
    pub form: Form,
    /// Operands that are immediates, the same in all lanes.
    pub immediate: [bool; OPERANDS],
    /// The value of the constant operand.
    pub constant: u64,
    /// Operands by lane.
    pub operands: [[u64; OPERANDS]; LANES],
}

/// The first `count` instances of this seed: all forms in turn, in random variants.
pub fn instances(seed: u64, count: usize) -> Vec<Instance> {
    let mut random = Random::new(seed);
    let forms = all();
    (0..count)
        .map(|index| {
            let form = forms[index % forms.len()].clone();
            let mut immediate = [false; OPERANDS];
            // Immediates behind the first operand, of integers only: they print without loss.
            for (at, ty) in form.from.iter().enumerate().skip(1) {
                let fits = matches!(ty, Ty::B32 | Ty::Shift);
                immediate[at] = fits && random.below(6) == 0;
            }
            let mut operands = [[0; OPERANDS]; LANES];
            for lane in 0..LANES {
                loop {
                    for (at, ty) in form.from.iter().enumerate() {
                        operands[lane][at] = if immediate[at] && lane > 0 {
                            operands[0][at]
                        } else {
                            random.operand(*ty)
                        };
                    }
                    if !(form.undefined)(&operands[lane]) {
                        break;
                    }
                    // An immediate may make every choice undefined: take registers then.
                    immediate = [false; OPERANDS];
                }
            }
            let constant = form.constant.map_or(0, |largest| random.below(largest + 1));
            Instance {
                form,
                immediate,
                constant,
                operands,
            }
        })
        .map(|mut instance| {
            // Where an immediate was given up, earlier lanes have the value of lane 0 or their own;
            // either is fine.
            for at in 0..OPERANDS {
                if instance.immediate[at] {
                    // ptxas refuses larger immediates where only the lowest byte counts.
                    let shift = instance.form.from.get(at) == Some(&Ty::Shift);
                    let value = instance.operands[0][at] & if shift { 0xff } else { u64::MAX };
                    instance
                        .operands
                        .iter_mut()
                        .for_each(|lane| lane[at] = value);
                }
            }
            instance
        })
        .filter(|instance| {
            instance
                .operands
                .iter()
                .all(|lane| !(instance.form.undefined)(lane))
        })
        .collect()
}

impl Instance {
    /// The instruction, with registers named by operand: `add.s32 %r0, %r1, 7;`
    pub fn text(&self) -> String {
        if self.form.opcode.ends_with(';') {
            return self.form.opcode.clone();
        }
        let mut text = format!("{} {}0", self.form.opcode, self.form.to.register());
        for (at, ty) in self.form.from.iter().enumerate() {
            if self.immediate[at] {
                let _ = write!(text, ", {}", self.operands[0][at]);
            } else {
                let _ = write!(text, ", {}{}", ty.register(), at + 1);
            }
        }
        if self.form.constant.is_some() {
            let _ = write!(text, ", {}", self.constant);
        }
        text.push(';');
        text
    }
}

/// A module with kernels `k0`, `k1`, … of [`IN_KERNEL`] instances each. A kernel takes the operands
/// ([`OPERANDS`] words of 64 bits for each lane of each instance) and the results (one word each), and
/// is launched with one warp.
pub fn module(instances: &[Instance]) -> String {
    let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
    for (number, group) in instances.chunks(IN_KERNEL).enumerate() {
        let _ = write!(
            text,
            ".visible .entry k{number}(.param .u64 operands, .param .u64 results)\n{{\n\
             .reg .b64 %in, %out, %lane, %word, %rd<8>;\n.reg .b32 %id, %r<8>;\n.reg .b16 %h<8>;\n\
             .reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n.reg .pred %p<8>;\n\
             ld.param.u64 %in, [operands];\nld.param.u64 %out, [results];\n\
             cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n\
             mov.u32 %id, %tid.x;\ncvt.u64.u32 %lane, %id;\n\
             mad.lo.u64 %in, %lane, {}, %in;\nmad.lo.u64 %out, %lane, 8, %out;\n",
            OPERANDS * 8
        );
        for (at, instance) in group.iter().enumerate() {
            for (operand, ty) in instance.form.from.iter().enumerate() {
                let offset = at * LANES * OPERANDS * 8 + operand * 8;
                let _ = writeln!(text, "ld.global.u64 %word, [%in+{offset}];");
                let _ = writeln!(text, "{}", unpack(*ty, operand + 1));
            }
            let _ = writeln!(text, "{}", instance.text());
            let _ = writeln!(text, "{}", pack(instance.form.to));
            let _ = writeln!(text, "st.global.u64 [%out+{}], %word;", at * LANES * 8);
        }
        text.push_str("ret;\n}\n");
    }
    text
}

/// From `%word` into an operand's register.
fn unpack(ty: Ty, at: usize) -> String {
    match ty {
        Ty::Pred => format!("setp.ne.u64 %p{at}, %word, 0;"),
        Ty::B16 | Ty::F16 | Ty::Bf16 => format!("cvt.u16.u64 %h{at}, %word;"),
        Ty::B32 | Ty::Shift | Ty::F16x2 | Ty::Bf16x2 => format!("cvt.u32.u64 %r{at}, %word;"),
        Ty::F32 => format!("cvt.u32.u64 %r7, %word;\nmov.b32 %f{at}, %r7;"),
        Ty::B64 => format!("mov.b64 %rd{at}, %word;"),
        Ty::F64 => format!("mov.b64 %fd{at}, %word;"),
    }
}

/// From the result's register into `%word`.
fn pack(ty: Ty) -> &'static str {
    match ty {
        Ty::Pred => "selp.u64 %word, 1, 0, %p0;",
        Ty::B16 | Ty::F16 | Ty::Bf16 => "cvt.u64.u16 %word, %h0;",
        Ty::B32 | Ty::Shift | Ty::F16x2 | Ty::Bf16x2 => "cvt.u64.u32 %word, %r0;",
        Ty::F32 => "mov.b32 %r7, %f0;\ncvt.u64.u32 %word, %r7;",
        Ty::B64 => "mov.b64 %word, %rd0;",
        Ty::F64 => "mov.b64 %word, %fd0;",
    }
}

/// The operands of a kernel's instances, as it reads them.
pub fn operands(group: &[Instance]) -> Vec<u64> {
    group
        .iter()
        .flat_map(|instance| instance.operands.as_flattened())
        .copied()
        .collect()
}
