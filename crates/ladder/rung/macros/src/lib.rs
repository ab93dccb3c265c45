//! The attribute [`macro@rung`], which turns a function into the kernels of a rung and its description.
//!
//! Use the attribute through the crate `rung`, which re-exports it. The expansion works with rust-cuda's `cuda_std` and
//! with this workspace's `cuda_std`: it uses `cuda_std::kernel` for the entry points and contains everything else
//! itself.

use proc_macro::TokenStream;

mod arguments;
mod expand;

/// Turns an `unsafe fn` into a rung: one kernel for each block size and variant, and a constant that describes them.
///
/// ```ignore
/// use cuda_std::{address_space, thread};
/// use rung::rung;
///
/// /// Sums each block's elements in shared memory.
/// ///
/// /// # Safety
/// /// `input` points to `n` elements, and `output` to one for each block.
/// #[rung(
///     after = reduce_gmem,
///     lesson = "each thread stores one word in shared memory; all rounds run there",
///     blocks = [64, 128, 256],
///     default_block = 128,
/// )]
/// pub unsafe fn reduce_smem<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
///     #[address_space(shared)]
///     static mut TILE: MaybeUninit<[i32; BLOCK as usize]> = MaybeUninit::uninit();
///     // …
/// }
/// ```
///
/// This gives the kernels `reduce_smem_64`, `reduce_smem_128` and `reduce_smem_256`, and the constant `REDUCE_SMEM` of
/// type `rung::Rung`. A kernel has no generics, because a launch names one piece of machine code, and a static cannot
/// use the generics of the function around it. Therefore every kernel is a copy of the function, with a constant for
/// each generic at the start of its body. In CUDA C++, `template<unsigned BLOCK>` and a `switch` do the same.
///
/// # The function
/// - Its name is the name of the rung, and its parameters name the ladder's buffers and numbers: the host looks up
///   `input`, `output` and `n` by these names.
/// - `#[grid_constant] map: &T` passes a `T` by value among the launch's arguments, as tensor maps require. It
///   corresponds to CUDA C++'s `const __grid_constant__ T` (CUDA C++ Programming Guide, "`__grid_constant__`").
/// - The generics `const BLOCK: u32`, or `const BLOCK_X: u32` and `const BLOCK_Y: u32`, are the block's size.
/// - Any other generic takes the values that the attribute lists for it.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `lesson = "…"` | what the rung teaches, in one line; required |
/// | `after = other_rung` | the rung that this rung changes; omitted only for the first rung of a ladder |
/// | `blocks = [64, 128]`, `[(32, 16)]` | the block sizes to compile for; without it, one kernel accepts every block |
/// | `default_block = 128` | the block of a launch that names no block; required unless `blocks` lists exactly one size |
/// | `block_for = \|shape\| …` | the block for a shape, `fn(&[u64]) -> [u32; 3]`, if it is not always `default_block` |
/// | `fixed_block` | the kernel supports only the block of `block_for` or `default_block` |
/// | `items_per_thread = 4` | elements per thread; default: 1 |
/// | `row_bytes = 16` | the size of each input row must be a multiple of this number of bytes; default: 1 |
/// | `box_rows = { k_map: 128 }` | the rows of a tensor map's boxes, by the map's parameter; may name the generics, as in `R * 2` |
/// | `grid = \|launch\| …` | the grid, `fn(&rung::LaunchRequest) -> [u32; 3]`; without it, blocks along x for all elements |
/// | `dynamic_shared = BLOCK * 4` | bytes of dynamic shared memory of a block; may name the generic types, as in `size_of::<T>()` |
/// | `NAME = { _: false, columns: true }` | the values of the generic `NAME`, with their suffixes; `_` means no suffix |
/// | `(A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) }` | the values of several generics together |
/// | `(D, BLOCK) = { _: (128, 384), d64: (64, 512) }` | a block size for each value; omit `blocks` |
/// | `published = 1.4 over other_rung` | the speedup that the ladder's source text reports |
/// | `published_count = "…"` | the count that the source text reports |
/// | `resident = 2` | the number of resident blocks per multiprocessor, which limits registers (`.minnctapersm`, PTX ISA §11.4) |
/// | `cluster = 2` | the number of blocks of a cluster along x (`.reqnctapercluster`, PTX ISA §11.4) |
/// | `in_place` | the kernel overwrites its input |
/// | `single_pass` | one launch computes the whole result, while other rungs leave a last step to the host |
/// | `is_bound` | the kernel moves the bytes without doing the work: a bound for the other rungs |
/// | `blocks_wait` | blocks wait for each other, so all of them must be resident at the same time |
///
/// The kernels are named after the rung, then the suffixes of the values in the order of the attribute, then the block:
/// `gemm_mma_f32_columns_256`.
///
/// # Errors
/// A wrong argument causes a compile error at the argument, and the message suggests a correction.
#[proc_macro_attribute]
pub fn rung(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(arguments.into(), item.into()).into()
}
