//! The kernels that both machines run.

/// A kernel of square matrices of `n` × `n` floats: some inputs, then the output, then `n`.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) ptx: &'static str,
    pub(super) n: u32,
    pub(super) grid: [u32; 2],
    pub(super) block: [u32; 2],
    pub(super) inputs: Vec<Vec<f32>>,
    /// The expected output.
    pub(super) expected: Vec<f32>,
}

impl Kernel {
    /// A transpose through tiles of 32 × 32 in shared memory. `n` is a multiple of 32.
    pub(super) fn transpose(n: u32) -> Self {
        let input = matrix(n, 1);
        let side = n as usize;
        let expected = (0..side * side).map(|at| input[at % side * side + at / side]).collect();
        Self {
            name: "transpose",
            ptx: include_str!("../kernels/transpose.ptx"),
            n,
            grid: [n / 32, n / 32],
            block: [32, 8],
            inputs: vec![input],
            expected,
        }
    }

    /// A matrix product, one element a thread. `n` is a multiple of 16.
    pub(super) fn matmul(n: u32) -> Self {
        let ptx = include_str!("../kernels/matmul.ptx");
        Self::product("matmul", ptx, n, [n / 16, n / 16], [16, 16])
    }

    /// A matrix product by `wmma`, a tile of 16 × 16 each warp. `n` is a multiple of 16.
    pub(super) fn wmma(n: u32) -> Self {
        let ptx = include_str!("../kernels/wmma.ptx");
        Self::product("wmma_gemm", ptx, n, [n / 16, n / 16], [32, 1])
    }

    /// A matrix product by `mma`, a tile of 16 × 8 each warp. `n` is a multiple of 16.
    pub(super) fn mma(n: u32) -> Self {
        let ptx = include_str!("../kernels/mma.ptx");
        Self::product("mma_gemm", ptx, n, [n / 8, n / 16], [32, 1])
    }

    fn product(name: &'static str, ptx: &'static str, n: u32, grid: [u32; 2], block: [u32; 2]) -> Self {
        let (a, b) = (matrix(n, 1), matrix(n, 2));
        let side = n as usize;
        let expected = (0..side * side)
            .map(|at| {
                let (row, column) = (at / side, at % side);
                (0..side).map(|k| a[row * side + k] * b[k * side + column]).sum()
            })
            .collect();
        Self { name, ptx, n, grid, block, inputs: vec![a, b], expected }
    }

    /// Whether ptoxide runs it: it has no tensor cores.
    pub(super) fn is_for_ptoxide(&self) -> bool {
        !self.ptx.contains("mma")
    }
}

/// Small whole numbers, of which products and sums are exact in any order.
fn matrix(n: u32, seed: u32) -> Vec<f32> {
    (0..n * n).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 28) as f32).collect()
}
