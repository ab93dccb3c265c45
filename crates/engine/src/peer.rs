//! What a ladder is measured against: NVIDIA's own libraries doing the same work.

use std::fmt;

/// A library's call for the work of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What the library calls it: `CUB DeviceReduce`.
    pub name: &'static str,
    /// What it does, on which buffers.
    pub call: Call,
    /// Whether it does less than the rungs do: a ceiling and no solution.
    pub is_bound: bool,
}

/// A call of a library. Buffers are given by their index in
/// [`Problem::buffers`](crate::Problem::buffers).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// A copy from device memory to device memory.
    Copy {
        /// Where from.
        from: usize,
        /// Where to.
        to: usize,
        /// How many bytes.
        bytes: u64,
    },
    /// A whole reduction, whose one result is the output's first element.
    Reduce {
        /// `sum`, `product`, `min` or `max`.
        op: &'static str,
        /// `i32`, `u32`, `i64`, `f32` or `f64`.
        element: &'static str,
        /// The elements.
        input: usize,
        /// The result.
        output: usize,
        /// How many elements.
        n: u64,
    },
    /// The transpose of a row-major matrix of 32-bit floats.
    Transpose {
        /// The matrix.
        input: usize,
        /// Its transpose.
        output: usize,
        /// Rows of the input.
        rows: u32,
        /// Columns of the input.
        cols: u32,
    },
    /// The product c = a b of row-major matrices of 32-bit floats, without tensor cores.
    Matmul {
        /// m × k.
        a: usize,
        /// k × n.
        b: usize,
        /// m × n.
        c: usize,
        /// Rows of a and c.
        m: u32,
        /// Columns of b and c.
        n: u32,
        /// Columns of a, rows of b.
        k: u32,
    },
    /// How often each of 256 byte values occurs.
    Histogram {
        /// The bytes.
        input: usize,
        /// 256 counters of 32 bits, which are overwritten.
        bins: usize,
        /// How many bytes.
        n: u64,
    },
}

/// What was asked for, for messages: `reduce(sum of i32, n = 1000)`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { bytes, .. } => write!(f, "copy({bytes} bytes)"),
            Self::Reduce { op, element, n, .. } => write!(f, "reduce({op} of {element}, n = {n})"),
            Self::Transpose { rows, cols, .. } => write!(f, "transpose({rows} × {cols})"),
            Self::Matmul { m, n, k, .. } => write!(f, "matmul(m = {m}, n = {n}, k = {k})"),
            Self::Histogram { n, .. } => write!(f, "histogram(n = {n})"),
        }
    }
}
