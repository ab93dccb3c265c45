//! The description of a kernel launch.

use std::fmt;
use std::ops::Range;

use rung::dims;
pub use simt::TensorElement;

/// The number of addresses in an [`Arg::Table`].
pub const TABLE_LENGTH: usize = 8;

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// The address of the problem's buffer with this index.
    Buffer(usize),
    /// An address within a buffer: the buffer's index and the byte offset.
    Inside(usize, u64),
    /// The addresses of consecutive buffers of the problem, passed by value as an array of [`TABLE_LENGTH`] addresses.
    /// Unused entries are zero.
    Table {
        /// The index of the first buffer.
        first: usize,
        /// The number of buffers, at most [`TABLE_LENGTH`].
        count: usize,
    },
    /// An [`Arg::Table`] with these addresses, which may belong to buffers of other devices.
    Addresses([u64; TABLE_LENGTH]),
    /// A 32-bit unsigned number.
    U32(u32),
    /// A 32-bit signed number.
    I32(i32),
    /// A 64-bit unsigned number.
    U64(u64),
    /// A single-precision number.
    F32(f32),
    /// A tensor map, which is encoded for each launch.
    TensorMap(TensorMap),
}

impl Arg {
    /// Returns the indices of the problem's buffers whose addresses this argument contains. Tensor maps are not
    /// included.
    pub fn buffers(&self) -> Range<usize> {
        match *self {
            Self::Buffer(index) | Self::Inside(index, _) => index..index + 1,
            Self::Table { first, count } => first..first + count,
            _ => 0..0,
        }
    }

    /// Returns the same argument for data at these byte offsets in the buffers. The offsets are indexed by buffer.
    #[must_use]
    pub fn at_offsets(self, offsets: &[(usize, u64)]) -> Self {
        let offset = |buffer: usize| offsets.iter().find(|(index, _)| *index == buffer).map_or(0, |(_, bytes)| *bytes);
        match self {
            Self::Buffer(index) => match offset(index) {
                0 => self,
                bytes => Self::Inside(index, bytes),
            },
            Self::TensorMap(map) => Self::TensorMap(TensorMap { begin: offset(map.buffer), ..map }),
            other => other,
        }
    }

    /// Returns the bytes of an [`Arg::Table`] with these addresses.
    pub fn table(addresses: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut table = [0; TABLE_LENGTH];
        table.iter_mut().zip(addresses).for_each(|(entry, address)| *entry = address);
        table.iter().flat_map(|entry| entry.to_ne_bytes()).collect()
    }
}

/// A row-major matrix in one of the problem's buffers, and the shape of the tiles in which a kernel copies the matrix
/// in bulk. The map is passed by value as 128 bytes (`const __grid_constant__ CUtensorMap` in CUDA C++, `.param .align
/// 64 .b8 map[128]` in PTX).
///
/// Tiles use the 128-byte swizzle in shared memory. Elements outside of the matrix are read as zeros. A map of several
/// matrices has three dimensions, and each tile belongs to one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The index of the problem's buffer.
    pub buffer: usize,
    /// The offset of the matrix in the buffer, in bytes.
    pub begin: u64,
    /// The type of the elements.
    pub element: TensorElement,
    /// The number of elements of a row, 1 to 2^32. A row must be a multiple of 16 bytes.
    pub columns: u64,
    /// The number of rows, 1 to 2^32.
    pub rows: u64,
    /// The number of consecutive matrices of this shape, 1 to 2^32. `None` for a two-dimensional map.
    pub matrices: Option<u64>,
    /// The number of elements in a row of a tile (at most 128 bytes), and the number of rows of a tile (at most 256).
    pub tile: [u32; 2],
}

impl TensorMap {
    /// Returns the stride between rows in bytes.
    pub fn pitch(&self) -> u64 {
        self.columns * u64::from(self.element.bytes())
    }

    /// Returns the map for a matrix in a buffer at `address`, in the form that the driver's `cuTensorMapEncodeTiled`
    /// accepts.
    pub fn at(&self, address: u64) -> simt::TensorMap {
        let mut sizes = vec![self.columns, self.rows];
        let mut strides = vec![self.pitch()];
        let mut tile = self.tile.to_vec();
        if let Some(matrices) = self.matrices {
            sizes.push(matrices);
            strides.push(self.pitch() * self.rows);
            tile.push(1);
        }
        simt::TensorMap {
            element: self.element,
            address: address + self.begin,
            steps: vec![1; sizes.len()],
            sizes,
            strides,
            tile,
            swizzle: simt::Swizzle::B128,
            nan: false,
        }
    }
}

impl fmt::Display for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, element, columns, rows, tile: [tile_columns, tile_rows], .. } = self;
        let pitch = self.pitch();
        let matrices = self.matrices.map_or(String::new(), |matrices| format!("{matrices} × "));
        write!(
            f,
            "tensor map of buffer {buffer}, {matrices}{rows} rows of {columns} {element:?}, {pitch} bytes apart, in tiles of \
             {tile_rows} × {tile_columns}"
        )
    }
}

/// The code that contains a launch's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// The kernels of this program.
    #[default]
    Kernels,
    /// Code that was returned by [`Device::load`](crate::Device::load).
    Loaded(u32),
}

/// A launch of a kernel, in the form that every device accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The code that contains the entry.
    pub code: Code,
    /// The name of the `.entry` in the PTX.
    pub entry: String,
    /// The size of the grid in blocks, in x, y and z.
    pub grid: [u32; 3],
    /// The size of a block in threads, in x, y and z.
    pub block: [u32; 3],
    /// The number of bytes of *dynamic* shared memory per block. Memory that the kernel declares statically is not
    /// included.
    pub shared_bytes: u32,
    /// The arguments, in the order of the kernel's parameters.
    pub args: Vec<Arg>,
}

impl Launch {
    /// Returns the number of blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&side| u64::from(side)).product()
    }

    /// Returns the number of threads of a block.
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
