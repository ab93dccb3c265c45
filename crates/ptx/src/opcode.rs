//! The opcodes of PTX: one table of their classes and of the operands that they write.
//!
//! A row stands for all forms of an opcode: `add` for `add.s32`, `add.rn.f32` and so on. Where the forms
//! differ, the functions here look at the modifiers too: [`class`] tells integer from floating-point
//! arithmetic by the type, and [`Instruction::definitions`] knows that `bar.red` has a result.

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

/// A row: the name, the class, how many operands are written, and the ISA version.
macro_rules! opcodes {
    ($($name:literal $class:ident $definitions:literal $since:tt,)*) => {
        &[$(Opcode {
            name: $name,
            class: opcodes!(@class $class),
            definitions: $definitions,
            since: $since,
        },)*]
    };
    (@class Memory) => { Class::Memory(None) };
    (@class $class:ident) => { Class::$class };
}

/// All opcodes, in the order of their names (PTX ISA, "Instruction Set").
pub(crate) static OPCODES: &[Opcode] = opcodes! {
    "abs" Integer 1 (1, 0),
    "activemask" Warp 1 (6, 2),
    "add" Integer 1 (1, 0),
    "addc" Integer 1 (1, 2),
    "alloca" Convert 1 (7, 3),
    "and" Logic 1 (1, 0),
    "applypriority" Hint 0 (7, 4),
    "atom" Memory 1 (1, 1),
    "bar" Barrier 0 (1, 0),
    "barrier" Barrier 0 (6, 0),
    "bfe" Integer 1 (2, 0),
    "bfi" Integer 1 (2, 0),
    "bfind" Integer 1 (2, 0),
    "bmsk" Integer 1 (7, 6),
    "bra" Control 0 (1, 0),
    "brev" Integer 1 (2, 0),
    "brkpt" Hint 0 (1, 0),
    "brx" Control 0 (6, 0),
    "call" Control 0 (1, 0),
    "clz" Integer 1 (2, 0),
    "cnot" Logic 1 (1, 0),
    "copysign" Float 1 (2, 0),
    "cos" Float 1 (1, 0),
    "cp" Memory 0 (7, 0),
    "createpolicy" Convert 1 (7, 4),
    "cvt" Convert 1 (1, 0),
    "cvta" Convert 1 (2, 0),
    "discard" Hint 0 (7, 4),
    "div" Integer 1 (1, 0),
    "dp2a" Integer 1 (5, 0),
    "dp4a" Integer 1 (5, 0),
    "elect" Warp 1 (8, 0),
    "ex2" Float 1 (1, 0),
    "exit" Control 0 (1, 0),
    "fence" Fence 0 (6, 0),
    "fma" Float 1 (1, 4),
    "fns" Integer 1 (6, 0),
    "getctarank" Convert 1 (7, 8),
    "griddepcontrol" Hint 0 (7, 8),
    "isspacep" Convert 1 (2, 0),
    "ld" Memory 1 (1, 0),
    "ldmatrix" Matrix 1 (6, 5),
    "ldu" Memory 1 (2, 0),
    "lg2" Float 1 (1, 0),
    "lop3" Logic 1 (4, 3),
    "mad" Integer 1 (1, 0),
    "mad24" Integer 1 (1, 0),
    "madc" Integer 1 (3, 0),
    "mapa" Convert 1 (7, 8),
    "match" Warp 1 (6, 0),
    "max" Integer 1 (1, 0),
    "mbarrier" Barrier 0 (7, 0),
    "membar" Fence 0 (1, 4),
    "min" Integer 1 (1, 0),
    "mma" Matrix 1 (6, 4),
    "mov" Convert 1 (1, 0),
    "movmatrix" Matrix 1 (7, 8),
    "mul" Integer 1 (1, 0),
    "mul24" Integer 1 (1, 0),
    "nanosleep" Hint 0 (6, 3),
    "neg" Integer 1 (1, 0),
    "not" Logic 1 (1, 0),
    "or" Logic 1 (1, 0),
    "pmevent" Hint 0 (1, 4),
    "popc" Integer 1 (2, 0),
    "prefetch" Hint 0 (2, 0),
    "prefetchu" Hint 0 (2, 0),
    "prmt" Logic 1 (2, 0),
    "rcp" Float 1 (1, 0),
    "red" Memory 0 (1, 2),
    "redux" Warp 1 (7, 0),
    "rem" Integer 1 (1, 0),
    "ret" Control 0 (1, 0),
    "rsqrt" Float 1 (1, 0),
    "sad" Integer 1 (1, 0),
    "selp" Compare 1 (1, 0),
    "set" Compare 1 (1, 0),
    "setmaxnreg" Hint 0 (8, 0),
    "setp" Compare 1 (1, 0),
    "shf" Logic 1 (3, 1),
    "shfl" Warp 1 (3, 0),
    "shl" Logic 1 (1, 0),
    "shr" Logic 1 (1, 0),
    "sin" Float 1 (1, 0),
    "slct" Compare 1 (1, 0),
    "sqrt" Float 1 (1, 0),
    "st" Memory 0 (1, 0),
    "stackrestore" Convert 0 (7, 3),
    "stacksave" Convert 1 (7, 3),
    "stmatrix" Matrix 0 (7, 8),
    "sub" Integer 1 (1, 0),
    "subc" Integer 1 (1, 2),
    "suld" Texture 1 (1, 5),
    "suq" Texture 1 (1, 5),
    "sured" Texture 0 (2, 0),
    "sust" Texture 0 (1, 5),
    "szext" Integer 1 (7, 6),
    "tanh" Float 1 (7, 0),
    "tensormap" Memory 0 (8, 3),
    "testp" Float 1 (2, 0),
    "tex" Texture 1 (1, 0),
    "tld4" Texture 1 (2, 2),
    "trap" Control 0 (1, 0),
    "txq" Texture 1 (1, 5),
    "vabsdiff" Integer 1 (2, 0),
    "vabsdiff2" Integer 1 (3, 0),
    "vabsdiff4" Integer 1 (3, 0),
    "vadd" Integer 1 (2, 0),
    "vadd2" Integer 1 (3, 0),
    "vadd4" Integer 1 (3, 0),
    "vavrg2" Integer 1 (3, 0),
    "vavrg4" Integer 1 (3, 0),
    "vmad" Integer 1 (2, 0),
    "vmax" Integer 1 (2, 0),
    "vmax2" Integer 1 (3, 0),
    "vmax4" Integer 1 (3, 0),
    "vmin" Integer 1 (2, 0),
    "vmin2" Integer 1 (3, 0),
    "vmin4" Integer 1 (3, 0),
    "vote" Warp 1 (1, 2),
    "vset" Integer 1 (2, 0),
    "vset2" Integer 1 (3, 0),
    "vset4" Integer 1 (3, 0),
    "vshl" Integer 1 (2, 0),
    "vshr" Integer 1 (2, 0),
    "vsub" Integer 1 (2, 0),
    "vsub2" Integer 1 (3, 0),
    "vsub4" Integer 1 (3, 0),
    "wgmma" Matrix 1 (8, 0),
    "wmma" Matrix 1 (6, 0),
    "xor" Logic 1 (1, 0),
};

/// All opcodes, in the order of their names.
pub fn all() -> &'static [Opcode] {
    OPCODES
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
