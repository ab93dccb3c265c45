//! Tensor-core instructions, which work on matrices whose elements are distributed over the lanes of one or four warps.
//!
//! A form is compared on random tiles of six classes:
//! - random bits;
//! - small exponents, whose sums cancel;
//! - larger exponents;
//! - numbers with zeros among them;
//! - powers of two;
//! - small exponents with zeros among them.

mod forms;

use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::random::Random;

/// The elements in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Floating-point numbers: the numbers of bits in the element, in the exponent and in the fraction.
    Floats(u32, u32, u32),
    /// Random bits.
    Any,
    /// 32-bit integers, half of them small.
    Sums,
    /// Indices of the stored elements of a sparse matrix: two of every four.
    TwoOfFour,
    /// Indices of the stored elements of a sparse matrix: one of every two.
    OneOfTwo,
}

/// A form of an instruction, written as complete instructions.
#[derive(Debug, Clone)]
pub struct Form {
    /// The instruction that the report names if answers differ.
    pub name: String,
    /// The instructions. They read one register per input, `%r0`, `%r1`, … or `%rd0`, `%rd1`, …, and shared memory at
    /// `%shared`.
    pub text: String,
    /// The inputs: 32 bits each, or 64 bits if they hold an `f64`.
    pub inputs: Vec<Elements>,
    /// The registers of the results.
    pub outputs: Vec<usize>,
    /// Whether registers are 64 bits wide.
    pub is_wide: bool,
    /// The number of threads per block.
    pub threads: usize,
}

impl Elements {
    fn register(self, class: usize, random: &mut Random) -> u64 {
        match self {
            Self::Any => random.bits(),
            Self::Sums if class % 2 == 1 => random.bits() & 0xffff,
            Self::Sums => random.bits() & 0xffff_ffff,
            Self::TwoOfFour | Self::OneOfTwo => (0..8).fold(0, |all, at| {
                let indices = match self {
                    Self::OneOfTwo => random.one(&[0b0100, 0b1110]),
                    _ => random.one(&[0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]),
                };
                all | indices << (4 * at)
            }),
            Self::Floats(bits, exponent, fraction) => {
                let count = (32 / bits).max(1);
                (0..count).fold(0, |all, at| all | float(class, exponent, fraction, random) << (at * bits))
            }
        }
    }
}

fn float(class: usize, exponent: u32, fraction: u32, random: &mut Random) -> u64 {
    let any = random.bits();
    let whole = exponent + fraction + 1;
    if class == 0 {
        return any >> (64 - whole);
    }
    let bias = (1u64 << (exponent - 1)) - 1;
    let spread = [0, 1, 4, 12, 14, 2][class].min(bias - 1);
    let biased_exponent = bias - spread + random.below(2 * spread + 1);
    let significand = match class {
        4 => 0,
        _ => any & ((1 << fraction) - 1),
    };
    match class >= 3 && random.below(4) == 0 {
        true => 0,
        false => any >> 63 << (exponent + fraction) | biased_exponent << fraction | significand,
    }
}

/// Returns every compared form.
pub fn all() -> &'static [Form] {
    static ALL: LazyLock<Vec<Form>> = LazyLock::new(forms::all);
    &ALL
}

/// Returns the operands of `tiles` tiles.
pub fn input(form: usize, seed: u64, tiles: usize) -> Vec<u64> {
    let mut random = Random::new(seed.wrapping_add(form as u64 * 0x1_0000_0001));
    let form = &all()[form];
    let mut input = Vec::with_capacity(tiles * form.threads * form.inputs.len());
    for tile in 0..tiles {
        for _ in 0..form.threads {
            let inputs = form.inputs.iter();
            input.extend(inputs.map(|elements| elements.register(tile % 6, &mut random)));
        }
    }
    input
}

pub(crate) fn write_kernel(ptx: &mut String, number: usize, form: &Form) {
    let (inputs, outputs) = (form.inputs.len() * 8, form.outputs.len() * 8);
    let _ = write!(
        ptx,
        ".visible .entry k{number}(.param .u64 operands, .param .u64 results)\n{{\n\
         .shared .align 1024 .b8 memory[16384];\n.reg .b64 %rd<40>, %in, %out, %lane, %word, %d<2>;\n\
         .reg .b32 %r<140>, %id, %block, %shared, %at;\n.reg .pred %p<2>;\n\
         ld.param.u64 %in, [operands];\nld.param.u64 %out, [results];\n\
         mov.u32 %id, %tid.x;\nmov.u32 %block, %ctaid.x;\nmov.u32 %shared, memory;\n\
         mad.lo.u32 %block, %block, {}, %id;\ncvt.u64.u32 %lane, %block;\n\
         mad.lo.u64 %in, %lane, {inputs}, %in;\nmad.lo.u64 %out, %lane, {outputs}, %out;\n",
        form.threads
    );
    for at in 0..form.inputs.len() {
        let offset = at * 8;
        let _ = match form.is_wide {
            true => writeln!(ptx, "ld.global.u64 %rd{at}, [%in+{offset}];"),
            false => {
                writeln!(ptx, "ld.global.u64 %word, [%in+{offset}];\ncvt.u32.u64 %r{at}, %word;")
            }
        };
    }
    let _ = writeln!(ptx, "{}", form.text);
    for (at, register) in form.outputs.iter().enumerate() {
        let offset = at * 8;
        let _ = match form.is_wide {
            true => writeln!(ptx, "st.global.u64 [%out+{offset}], %rd{register};"),
            false => writeln!(ptx, "cvt.u64.u32 %word, %r{register};\nst.global.u64 [%out+{offset}], %word;"),
        };
    }
    ptx.push_str("ret;\n}\n");
}
