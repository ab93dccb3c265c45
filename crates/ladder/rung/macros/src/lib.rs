//! The attribute [`macro@rung`], which turns a function into the kernels of a rung and its description.
//!
//! Use it through the crate `rung`, which re-exports it. What it expands to works with rust-cuda's `cuda_std` and with
//! the one in this workspace: it calls `cuda_std::kernel` for the entry points and writes everything else itself.

use proc_macro::TokenStream;

mod arguments;
mod expand;

/// Makes an `unsafe fn` a rung: one kernel for each block size and variant, and a constant that describes them.
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
/// use the generics of the function around it. So every kernel is a copy of the function, with a constant for each
/// generic at the head of its body: what `template<unsigned BLOCK>` and a `switch` are in CUDA C++.
///
/// # The function
/// - Its name is the name of the rung, and its parameters name the ladder's buffers and numbers: the host looks up
///   `input`, `output` and `n` by these names.
/// - `#[grid_constant] map: &T` passes a `T` by value among the launch's arguments, as tensor maps must be passed: CUDA
///   C++'s `const __grid_constant__ T` (CUDA C++ Programming Guide, "`__grid_constant__`").
/// - The generics `const BLOCK: u32`, or `const BLOCK_X: u32` and `const BLOCK_Y: u32`, are the block's size.
/// - Any other generic takes the values that the attribute lists for it.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `lesson = "…"` | what the rung teaches, in one line; required |
/// | `after = other_rung` | the rung that this one changes; missing only for the first rung of a ladder |
/// | `blocks = [64, 128]`, `[(32, 16)]` | the block sizes to compile for; without it, one kernel accepts every block |
/// | `default_block = 128` | the block of a launch that names none; required unless `blocks` lists exactly one |
/// | `block_for = \|shape\| …` | the block for a shape, `fn(&[u64]) -> [u32; 3]`, where it is not always `default_block` |
/// | `fixed_block` | the kernel supports no other block than that of `block_for` or `default_block` |
/// | `items_per_thread = 4` | elements that a thread takes, 1 without it |
/// | `row_bytes = 16` | the bytes that rows of the inputs must be multiples of, 1 without it |
/// | `box_rows = { k_map: 128 }` | the rows of a tensor map's boxes, by its parameter; may name the generics, as in `R * 2` |
/// | `grid = \|launch\| …` | the grid, `fn(&rung::LaunchRequest) -> [u32; 3]`; without it, blocks along x for all elements |
/// | `dynamic_shared = BLOCK * 4` | bytes of dynamic shared memory of a block; may name the generic types, as in `size_of::<T>()` |
/// | `NAME = { _: false, columns: true }` | the values of the generic `NAME`, with their suffixes; `_` has none |
/// | `(A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) }` | the values of several generics together |
/// | `(D, BLOCK) = { _: (128, 384), d64: (64, 512) }` | a block size for each value; `blocks` is then missing |
/// | `published = 1.4 over other_rung` | the speedup that the ladder's source text gives |
/// | `published_count = "…"` | the count that the source text gives |
/// | `resident = 2` | blocks that a multiprocessor should hold, which limits registers (`.minnctapersm`, PTX ISA §11.4) |
/// | `cluster = 2` | blocks of a cluster along x (`.reqnctapercluster`, PTX ISA §11.4) |
/// | `in_place` | the kernel overwrites its input |
/// | `single_pass` | one launch gives the whole result, where other rungs leave a last step to the host |
/// | `is_bound` | the kernel moves the bytes without doing the work: a measure for the other rungs |
/// | `blocks_wait` | blocks wait for each other, so all of them must be resident at the same time |
///
/// The kernels are named after the rung, then the suffixes of the values in the order of the attribute, then the block:
/// `gemm_mma_f32_columns_256`.
///
/// # Errors
/// Wrong arguments are compile errors at the argument, with what to write instead.
#[proc_macro_attribute]
pub fn rung(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(arguments.into(), item.into()).into()
}
