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
    /// Copies, and conversions of values and addresses: `mov`, `cvt`, `cvta`.
    Convert,
    /// Comparisons and selections: `setp`, `selp`.
    Compare,
    /// Logic, shifts and byte permutations: `and.b32`, `shl.b32`, `prmt.b32`.
    Logic,
    /// Loads, stores, atomics and copies, by the state space in the opcode: `None` for generic addresses. An
    /// asynchronous copy counts as global memory in both directions.
    Memory(Option<Space>),
    /// Instructions that order accesses to memory: `membar`, `fence`.
    Fence,
    /// Branches, calls, and instructions that end a thread.
    Control,
    /// Barriers of a block: `bar`, `barrier`.
    Barrier,
    /// Instructions that the lanes of a warp execute together: `shfl`, `vote`, `bar.warp.sync`.
    Warp,
    /// Instructions that change neither registers nor memory: `prefetch`, `nanosleep`, `pmevent`.
    Hint,
    /// Tensor core instructions: matrix products, and loads and stores of matrices.
    Matrix,
    /// Textures and surfaces: `tex`, `suld`.
    Texture,
    /// All other instructions.
    Other,
}

/// A section of the table. If the modifiers decide the class, a section contains instructions of several classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// [`Class::Float`] if the opcode names a floating-point type, otherwise [`Class::Integer`].
    Arithmetic,
    /// [`Class::Memory`] with the space that the opcode names.
    Memory,
    Of(Class),
}

impl Section {
    /// Returns the section with this header.
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
