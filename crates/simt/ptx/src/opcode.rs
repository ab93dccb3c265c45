//! The opcodes of PTX: one table of their classes and of the operands that they write.
//!
//! A row stands for all forms of an opcode: `add` for `add.s32`, `add.rn.f32` and so on. Where the forms
//! differ, the functions here look at the modifiers too: [`class`] tells integer from floating-point
//! arithmetic by the type, and [`Instruction::definitions`] knows that `bar.red` has a result.

use std::sync::LazyLock;

use super::ast::{AddressBase, Instruction, Operand, Space};

/// The class of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Arithmetic on integers, and bit fields: `add.s32`, `popc.b32`.
    Integer,
    /// Arithmetic on floating-point numbers: `fma.rn.f32`, `testp.number.f32`.
    Float,
    /// Copies, conversions of values and of addresses: `mov`, `cvt`, `cvta`.
    Convert,
    /// Comparisons and selections: `setp`, `selp`.
    Compare,
    /// Logic, shifts and permutations of bytes: `and.b32`, `shl.b32`, `prmt.b32`.
    Logic,
    /// Loads, stores, atomics and copies, by the state space that the opcode names: `None` for generic
    /// addresses. An asynchronous copy counts as global memory, whichever way it goes.
    Memory(Option<Space>),
    /// Orders accesses to memory: `membar`, `fence`.
    Fence,
    /// Branches, calls, and ends of a thread.
    Control,
    /// Barriers of a block: `bar`, `barrier`.
    Barrier,
    /// Instructions that the lanes of a warp execute together: `shfl`, `vote`, `bar.warp.sync`.
    Warp,
    /// Instructions that change neither registers nor memory: `prefetch`, `nanosleep`, `pmevent`.
    Hint,
    /// Tensor cores: products of matrices, and loads and stores of matrices.
    Matrix,
    /// Textures and surfaces: `tex`, `suld`.
    Texture,
    /// All others.
    Other,
}

/// An opcode without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opcode {
    /// The first word: `ld` of `ld.global.u32`.
    pub name: &'static str,
    /// The class; [`Class::Integer`] also where the type decides between that and [`Class::Float`].
    pub class: Class,
    /// How many of the first operands are written.
    pub definitions: usize,
    /// The PTX ISA version that introduced it, as major and minor number.
    pub since: (u32, u32),
}

/// Rows for each class and number of operands that are written: the name, and the ISA version.
macro_rules! opcodes {
    ($($class:ident $definitions:literal: $($name:ident $major:literal $minor:literal),*;)*) => {
        vec![$($(Opcode {
            name: stringify!($name),
            class: opcodes!(@class $class),
            definitions: $definitions,
            since: ($major, $minor),
        },)*)*]
    };
    (@class Memory) => { Class::Memory(None) };
    (@class $class:ident) => { Class::$class };
}

/// All opcodes (PTX ISA, "Instruction Set").
static OPCODES: LazyLock<Vec<Opcode>> = LazyLock::new(|| {
    let mut all = opcodes! {
        Integer 1: abs 1 0, add 1 0, addc 1 2, bfe 2 0, bfi 2 0, bfind 2 0, bmsk 7 6, brev 2 0, clz 2 0, div 1 0,
            dp2a 5 0, dp4a 5 0, fns 6 0, mad 1 0, mad24 1 0, madc 3 0, max 1 0, min 1 0, mul 1 0, mul24 1 0, neg 1 0,
            popc 2 0, rem 1 0, sad 1 0, sub 1 0, subc 1 2, szext 7 6, vabsdiff 2 0, vabsdiff2 3 0, vabsdiff4 3 0,
            vadd 2 0, vadd2 3 0, vadd4 3 0, vavrg2 3 0, vavrg4 3 0, vmad 2 0, vmax 2 0, vmax2 3 0, vmax4 3 0, vmin 2 0,
            vmin2 3 0, vmin4 3 0, vset 2 0, vset2 3 0, vset4 3 0, vshl 2 0, vshr 2 0, vsub 2 0, vsub2 3 0, vsub4 3 0;
        Float 1: copysign 2 0, cos 1 0, ex2 1 0, fma 1 4, lg2 1 0, rcp 1 0, rsqrt 1 0, sin 1 0, sqrt 1 0, tanh 7 0,
            testp 2 0;
        Convert 0: stackrestore 7 3;
        Convert 1: alloca 7 3, createpolicy 7 4, cvt 1 0, cvta 2 0, getctarank 7 8, isspacep 2 0, mapa 7 8, mov 1 0,
            stacksave 7 3;
        Compare 1: selp 1 0, set 1 0, setp 1 0, slct 1 0;
        Logic 1: and 1 0, cnot 1 0, lop3 4 3, not 1 0, or 1 0, prmt 2 0, shf 3 1, shl 1 0, shr 1 0, xor 1 0;
        Memory 0: cp 7 0, red 1 2, st 1 0, tensormap 8 3;
        Memory 1: atom 1 1, ld 1 0, ldu 2 0;
        Fence 0: fence 6 0, membar 1 4;
        Control 0: bra 1 0, brx 6 0, call 1 0, exit 1 0, ret 1 0, trap 1 0;
        Barrier 0: bar 1 0, barrier 6 0, mbarrier 7 0;
        Warp 1: activemask 6 2, elect 8 0, match 6 0, redux 7 0, shfl 3 0, vote 1 2;
        Hint 0: applypriority 7 4, brkpt 1 0, discard 7 4, griddepcontrol 7 8, nanosleep 6 3, pmevent 1 4, prefetch 2 0,
            prefetchu 2 0, setmaxnreg 8 0;
        Matrix 0: stmatrix 7 8;
        Matrix 1: ldmatrix 6 5, mma 6 4, movmatrix 7 8, wgmma 8 0, wmma 6 0;
        Texture 0: sured 2 0, sust 1 5;
        Texture 1: suld 1 5, suq 1 5, tex 1 0, tld4 2 2, txq 1 5;
    };
    all.sort_unstable_by_key(|row| row.name);
    all
});

/// All opcodes, in the order of their names.
pub fn all() -> &'static [Opcode] {
    &OPCODES
}

impl Opcode {
    /// The row of an opcode, given with or without its modifiers.
    pub fn of(opcode: &str) -> Option<&'static Self> {
        let name = opcode.split('.').next().unwrap_or(opcode);
        let found = OPCODES.binary_search_by_key(&name, |row| row.name);
        found.ok().map(|index| &OPCODES[index])
    }
}

/// The class of an opcode with its modifiers; `None` for an opcode that is not in the table.
pub fn class(opcode: &str) -> Option<Class> {
    let ty = opcode.rsplit('.').next().unwrap_or(opcode);
    Some(match Opcode::of(opcode)?.class {
        Class::Integer if is_float(ty) => Class::Float,
        Class::Barrier if opcode.contains(".warp.") => Class::Warp,
        Class::Memory(_) if opcode.starts_with("cp.") => Class::Memory(Some(Space::Global)),
        Class::Memory(_) => Class::Memory(space(opcode)),
        class => class,
    })
}

/// The state space that an opcode's modifiers name: `shared` in `ld.volatile.shared::cta.u32`.
pub fn space(opcode: &str) -> Option<Space> {
    let mut modifiers = opcode.split('.').skip(1);
    modifiers.find_map(|modifier| Space::named(modifier.split("::").next()?))
}

/// Whether a type is one of floating-point numbers, or of pairs of them.
pub fn is_float(ty: &str) -> bool {
    matches!(ty, "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f32x2" | "tf32" | "f64")
}

/// Bytes of a fundamental type (PTX ISA §5.2.1).
pub fn type_bytes(ty: &str) -> Option<u32> {
    Some(match ty {
        "b8" | "u8" | "s8" | "pred" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Rows, columns and length of the product of matrices that an opcode names: 16, 8 and 4 of `m16n8k4`.
pub fn sides(opcode: &str) -> Option<[usize; 3]> {
    opcode.split('.').find_map(|word| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}

impl<'a> Instruction<'a> {
    /// How many of the first operands are written; one for opcodes that are not in the table.
    fn written(&self) -> usize {
        match Opcode::of(self.opcode) {
            // `mbarrier.arrive state, [address]`, `mbarrier.init [address], count`
            Some(row) if row.name == "mbarrier" => {
                usize::from(!matches!(self.operands.first(), Some(Operand::Address { .. })))
            }
            Some(row) if row.class == Class::Barrier => usize::from(self.opcode.contains(".red.")),
            // `call (result), function, (arguments)`
            Some(row) if row.name == "call" => usize::from(matches!(self.operands.first(), Some(Operand::List(_)))),
            Some(_) if self.opcode.starts_with("wmma.store") => 0,
            Some(row) => row.definitions,
            None => 1,
        }
    }

    /// The names of the registers that it writes, in the order of its operands.
    pub fn definitions(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        self.each_name(&mut |_| {}, &mut |name| names.push(name));
        names
    }

    /// The names that it reads, in the order of its operands: registers, variables and labels, and at last
    /// its guard.
    pub fn uses(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        self.each_name(&mut |name| names.push(name), &mut |_| {});
        names
    }

    /// Tells all names that it [uses](Self::uses), then those of its [definitions](Self::definitions).
    pub fn each_name(&self, used: &mut dyn FnMut(&'a str), defined: &mut dyn FnMut(&'a str)) {
        let (written, read) = self.operands.split_at(self.written().min(self.operands.len()));
        // Sums are added to what the registers have.
        if self.opcode.starts_with("wgmma.") {
            written.iter().for_each(|operand| names_in(operand, used));
        }
        read.iter().for_each(|operand| names_in(operand, used));
        if let Some(guard) = self.guard {
            used(guard.register);
        }
        written.iter().for_each(|operand| names_in(operand, defined));
    }
}

/// The names in an operand, without selectors: `%r1` for `%r1.b0`, `%tid` for `%tid.x`.
fn names_in<'a>(operand: &Operand<'a>, tell: &mut dyn FnMut(&'a str)) {
    match operand {
        Operand::Name(name)
        | Operand::Not(name)
        | Operand::Neg(name)
        | Operand::NameOffset(name, _)
        | Operand::Element(name, _)
        | Operand::Indexed(name, _)
        | Operand::Address { base: AddressBase::Name(name), .. } => name.split('.').next().into_iter().for_each(tell),
        Operand::Pair(one, other) => [one, other].into_iter().for_each(|name| tell(name)),
        Operand::VectorPair(all, other) => {
            all.iter().for_each(|operand| names_in(operand, tell));
            tell(other);
        }
        Operand::Vector(all) | Operand::List(all) | Operand::Tuple(all) => {
            all.iter().for_each(|operand| names_in(operand, tell));
        }
        Operand::Number(_) | Operand::Address { .. } => {}
    }
}
