//! The description of a kernel launch.

use std::fmt;

pub use rung::{BlockCount, Geometry, MULTIPROCESSORS};

use rung::dims;

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// The address of the problem's buffer with this index.
    Buffer(usize),
    /// A 32-bit unsigned number.
    U32(u32),
    /// A 32-bit signed number.
    I32(i32),
    /// A 64-bit unsigned number.
    U64(u64),
    /// A single-precision number.
    F32(f32),
}

/// The code in which a launch's entry is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// The kernels of this program.
    #[default]
    Kernels,
    /// Code that was returned by [`Device::load`](crate::Device::load).
    Loaded(u32),
}

/// One launch of a kernel, in the form that every device takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The code that contains the entry.
    pub code: Code,
    /// The name of the `.entry` in its PTX.
    pub entry: String,
    /// The size of the grid in blocks, in x, y and z.
    pub grid: [u32; 3],
    /// The size of a block in threads, in x, y and z.
    pub block: [u32; 3],
    /// The bytes of *dynamic* shared memory of a block. Memory that the kernel declares statically is not included.
    pub shared_bytes: u32,
    /// The arguments, in the order of the kernel's parameters.
    pub args: Vec<Arg>,
}

impl Launch {
    /// The number of blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&side| u64::from(side)).product()
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&side| u64::from(side)).product()
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (grid, block) = (dims(self.grid), dims(self.block));
        write!(f, "{}<<<{grid}, {block}, {}>>>", self.entry, self.shared_bytes)
    }
}

#[cfg(test)]
mod tests;
