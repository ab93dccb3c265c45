//! Generates instances and their PTX from a seed.

use std::fmt::Write as _;

use crate::forms::{Form, REGISTERS, Ty, Written, all};
use crate::random::Random;

/// The number of lanes of an instance.
pub const LANES: usize = 32;
/// The maximum number of operands of an instance.
pub const OPERANDS: usize = 5;
/// The number of instances in a kernel.
pub const IN_KERNEL: usize = 64;
/// An instruction with operands for 32 lanes.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The form of the instruction.
    pub form: &'static Form,
    /// The notation of the operands.
    pub written: [Written; OPERANDS],
    /// The operands of each lane.
    pub operands: [[u64; OPERANDS]; LANES],
}

/// Generates the instances of this seed: `rounds` of each form, or [fewer](Form::rounds), in random variants.
pub fn instances(seed: u64, rounds: usize) -> Vec<Instance> {
    let mut random = Random::new(seed);
    let mut instances = Vec::new();
    for round in 0..rounds {
        let forms = all().iter();
        for form in forms.filter(|form| round < form.rounds(rounds)) {
            instances.push(instance(form, round, &mut random));
        }
    }
    instances
}

fn instance(form: &'static Form, round: usize, random: &mut Random) -> Instance {
    let mut written = [Written::Register; OPERANDS];
    let is_one = !form.opcode.ends_with(';');
    // Immediates occur only after the first operand and after the first round, because only registers have a value for
    // each lane.
    for (at, ty) in form.from.iter().enumerate().filter(|_| is_one) {
        written[at] = match ty {
            Ty::Table => Written::Immediate,
            Ty::Pred if !form.opcode.starts_with("mov") && random.below(3) == 0 => Written::Negated,
            Ty::B16 | Ty::B32 | Ty::B64 | Ty::Shift | Ty::F32 | Ty::F64
                if at > 0 && round > 0 && random.below(6) == 0 =>
            {
                Written::Immediate
            }
            _ => Written::Register,
        };
    }
    let mut operands = [[0; OPERANDS]; LANES];
    for lane in 0..LANES {
        for (at, ty) in form.from.iter().enumerate() {
            operands[lane][at] = match written[at] {
                Written::Immediate if lane > 0 => operands[0][at],
                // ptxas rejects larger immediates if only the lowest byte counts.
                Written::Immediate if *ty == Ty::Shift => random.operand(*ty) & 0xff,
                // Sometimes repeats the previous operand, because equal random operands are rare.
                _ if at > 0 && form.from[at - 1] == *ty && random.below(8) == 0 => operands[lane][at - 1],
                _ => random.operand(*ty),
            };
        }
    }
    Instance { form, written, operands }
}

impl Form {
    /// Returns the instruction. `write` formats the operands by their number, starting at 1.
    pub(crate) fn text(&self, write: impl Fn(usize, Ty) -> String) -> String {
        if self.opcode.ends_with(';') {
            return self.opcode.clone();
        }
        let mut text = format!("{} {}0", self.opcode, self.to.register());
        if self.and_predicate {
            text.push_str("|%p7");
        }
        for (at, ty) in self.from.iter().enumerate() {
            let _ = write!(text, ", {}", write(at + 1, *ty));
        }
        text.push(';');
        text
    }
}

impl Instance {
    /// Returns the instruction with registers named by operand: `add.s32 %r0, %r1, 7;`.
    pub fn text(&self) -> String {
        self.form.text(|at, ty| {
            let (register, value) = (ty.register(), self.operands[0][at - 1]);
            match self.written[at - 1] {
                Written::Register => format!("{register}{at}"),
                Written::Negated => format!("!{register}{at}"),
                Written::Immediate => match ty {
                    Ty::F32 => format!("0f{value:08x}"),
                    Ty::F64 => format!("0d{value:016x}"),
                    _ => format!("{value}"),
                },
            }
        })
    }
}

/// Returns a module with kernels `k0`, `k1`, … of [`IN_KERNEL`] instances each. A kernel receives the addresses of the
/// operands ([`OPERANDS`] 64-bit words for each lane of each instance) and of the results (one word each). It is
/// launched with one warp.
pub fn module(instances: &[Instance]) -> String {
    let mut text = ".version 8.8\n.target sm_90\n.address_size 64\n".to_owned();
    for (number, group) in instances.chunks(IN_KERNEL).enumerate() {
        let _ = write!(
            text,
            ".visible .entry k{number}(.param .u64 operands, .param .u64 results)\n{{\n{REGISTERS}\n\
             .reg .b64 %in, %out, %lane, %word, %also;\n.reg .b32 %id;\n\
             ld.param.u64 %in, [operands];\nld.param.u64 %out, [results];\n\
             cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n\
             mov.u32 %id, %tid.x;\ncvt.u64.u32 %lane, %id;\n\
             mad.lo.u64 %in, %lane, {}, %in;\nmad.lo.u64 %out, %lane, 8, %out;\n",
            OPERANDS * 8
        );
        for (at, instance) in group.iter().enumerate() {
            for (operand, ty) in instance.form.from.iter().enumerate() {
                if instance.written[operand] != Written::Immediate {
                    let offset = at * LANES * OPERANDS * 8 + operand * 8;
                    let _ = writeln!(text, "ld.global.u64 %word, [%in+{offset}];");
                    let _ = writeln!(text, "{}", unpack(*ty, operand + 1));
                }
            }
            let _ = writeln!(text, "{}\n{}", instance.text(), pack(instance.form.to));
            if instance.form.and_predicate {
                let also = 1u64 << instance.form.to.bits();
                let _ = writeln!(text, "selp.u64 %also, {also}, 0, %p7;\nor.b64 %word, %word, %also;");
            }
            let _ = writeln!(text, "st.global.u64 [%out+{}], %word;", at * LANES * 8);
        }
        text.push_str("ret;\n}\n");
    }
    text
}

/// Returns the code that moves `%word` into an operand's register.
fn unpack(ty: Ty, at: usize) -> String {
    match ty.register() {
        "%p" => format!("setp.ne.u64 %p{at}, %word, 0;"),
        "%h" => format!("cvt.u16.u64 %h{at}, %word;"),
        "%f" => format!("cvt.u32.u64 %r7, %word;\nmov.b32 %f{at}, %r7;"),
        "%rd" => format!("mov.b64 %rd{at}, %word;"),
        "%fd" => format!("mov.b64 %fd{at}, %word;"),
        _ => format!("cvt.u32.u64 %r{at}, %word;"),
    }
}

/// Returns the code that moves the result's register into `%word`.
fn pack(ty: Ty) -> &'static str {
    match ty.register() {
        "%p" => "selp.u64 %word, 1, 0, %p0;",
        "%h" => "cvt.u64.u16 %word, %h0;",
        "%f" => "mov.b32 %r7, %f0;\ncvt.u64.u32 %word, %r7;",
        "%rd" => "mov.b64 %word, %rd0;",
        "%fd" => "mov.b64 %word, %fd0;",
        _ => "cvt.u64.u32 %word, %r0;",
    }
}

/// Returns the operands of a kernel's instances, in the order in which the kernel reads them.
pub fn operands(group: &[Instance]) -> Vec<u64> {
    group.iter().flat_map(|instance| instance.operands.as_flattened()).copied().collect()
}
