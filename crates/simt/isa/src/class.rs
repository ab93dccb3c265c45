//! The classes of instructions.

use ptx::ast::Space;
use ptx::opcode::{is_float, space};

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

/// A section of the table. Where the modifiers decide between classes, a section has instructions of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// [`Class::Float`] if the opcode names a floating-point type, else [`Class::Integer`].
    Arithmetic,
    /// [`Class::Memory`] of the space that the opcode names.
    Memory,
    Of(Class),
}

impl Section {
    /// The section with this header.
    pub(crate) fn named(header: &str) -> Option<Self> {
        Some(match header {
            "Arithmetic" => Self::Arithmetic,
            "Memory" => Self::Memory,
            "Copy" => Self::Of(Class::Memory(Some(Space::Global))),
            "Logic" => Self::Of(Class::Logic),
            "Compare" => Self::Of(Class::Compare),
            "Convert" => Self::Of(Class::Convert),
            "Fence" => Self::Of(Class::Fence),
            "Control" => Self::Of(Class::Control),
            "Barrier" => Self::Of(Class::Barrier),
            "Warp" => Self::Of(Class::Warp),
            "Hint" => Self::Of(Class::Hint),
            "Matrix" => Self::Of(Class::Matrix),
            "Texture" => Self::Of(Class::Texture),
            _ => return None,
        })
    }

    pub(crate) fn class(self, opcode: &str) -> Class {
        match self {
            Self::Arithmetic if opcode.split('.').any(is_float) => Class::Float,
            Self::Arithmetic => Class::Integer,
            Self::Memory => Class::Memory(space(opcode)),
            Self::Of(class) => class,
        }
    }
}
