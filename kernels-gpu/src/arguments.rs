//! The kernels of the book's chapters on launches and on Rust, which show how slices, constants and dynamic shared
//! memory reach a kernel. They are not rungs of a ladder.
//!
//! `ladder ptx NAME` shows one of these kernels. `host/tests/host_side.rs` launches the kernels through the crate
//! `cust`.
//!
//! # Safety
//! Launches are one-dimensional. Every raw pointer points to an element for each index that its kernel computes, and
//! nothing else uses the output during the launch.
#![allow(clippy::missing_safety_doc, reason = "the section above holds for all kernels")]
#![allow(improper_ctypes_definitions, reason = "a slice is passed as its pointer and its length")]

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_f32_device;
use cuda_std::{address_space, kernel, shared, thread};

/// Adds `a * x` to `y`. `x` and `y` are pointers to `n` elements.
#[kernel]
pub unsafe fn axpy_pointers(a: f32, x: *const f32, y: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        // SAFETY: i < n, and each array has n elements. No other thread uses element i.
        unsafe { *y.add(i) += a * *x.add(i) };
    }
}

/// Adds `a * x` to `y`. `x` is a slice, and the guard also serves as the bounds check of `x[i]`.
#[kernel]
pub unsafe fn axpy_slice(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: i < x.len(), and `y` has x.len() elements. No other thread uses element i.
        unsafe { *y.add(i) += a * x[i] };
    }
}

/// Adds `a * x` to `y`. The guard compares the index with `n`, so `x[i]` needs a separate bounds check.
#[kernel]
pub unsafe fn axpy_checked(a: f32, x: &[f32], y: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        // SAFETY: i < n, and `y` has n elements. No other thread uses element i.
        unsafe { *y.add(i) += a * x[i] };
    }
}

/// Sums each column of a row-major matrix, one column per thread. Each step of the loop has a bounds check.
#[kernel]
pub unsafe fn column_sums_indexed(matrix: &[f32], sums: *mut f32, rows: usize, columns: usize) {
    let column = thread::index_1d() as usize;
    if column < columns {
        let mut sum = 0.0;
        for row in 0..rows {
            sum += matrix[row * columns + column];
        }
        // SAFETY: column < columns, and `sums` has `columns` elements. No other thread writes this element.
        unsafe { *sums.add(column) = sum };
    }
}

/// Sums each column like `column_sums_indexed`, but with a single check before the loop.
#[kernel]
pub unsafe fn column_sums_checked_once(matrix: &[f32], sums: *mut f32, rows: usize, columns: usize) {
    assert!(rows.checked_mul(columns).is_some_and(|n| n <= matrix.len()));
    let column = thread::index_1d() as usize;
    if column < columns {
        let mut sum = 0.0;
        for row in 0..rows {
            // SAFETY: row < rows and column < columns, so the index is below rows * columns. The assertion ensures that
            // `matrix` has rows * columns elements.
            sum += unsafe { matrix.get_unchecked(row * columns + column) };
        }
        // SAFETY: column < columns, and `sums` has `columns` elements. No other thread writes this element.
        unsafe { *sums.add(column) = sum };
    }
}

/// The weights of `filter`, in constant memory. The host sets them before the launch.
#[address_space(constant)]
#[unsafe(no_mangle)]
static mut WEIGHTS: [f32; 5] = [0.0; 5];

/// Computes a weighted mean of each element and its four neighbors. Elements outside the input count as 0.
#[kernel]
pub unsafe fn filter(input: &[f32], output: *mut f32) {
    let weights = (&raw const WEIGHTS).cast::<f32>();
    let i = thread::index_1d() as usize;
    if i < input.len() {
        let mut sum = 0.0;
        for k in 0..5 {
            let element = input.get((i + k).wrapping_sub(2)).copied().unwrap_or(0.0);
            // SAFETY: k < 5. No thread writes constant memory, and the host does not write it
            // during the launch.
            sum += unsafe { *weights.add(k) } * element;
        }
        // SAFETY: i < input.len(), and `output` has input.len() elements. No other thread writes this element.
        unsafe { *output.add(i) = sum };
    }
}

/// Adds the dot product of `a` and `b` to `sum`. The launch provides dynamic shared memory for one `f32` per thread,
/// and the number of threads in a block is a power of two.
#[kernel]
pub unsafe fn dot(a: &[f32], b: &[f32], sum: *mut f32) {
    let products = shared::dynamic_shared_mem::<f32>();
    let (i, thread) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    let mut stride = thread::block_dim_x() as usize / 2;
    // SAFETY: `products` has an element per thread, and thread and thread + stride are below the number of threads. A
    // barrier separates the writes of a round from the reads of the next round. The addition to `sum` is atomic.
    unsafe {
        *products.add(thread) = if i < a.len() && i < b.len() { a[i] * b[i] } else { 0.0 };
        while stride > 0 {
            thread::sync_threads();
            if thread < stride {
                *products.add(thread) += *products.add(thread + stride);
            }
            stride /= 2;
        }
        if thread == 0 {
            atomic_fetch_add_f32_device(sum, Relaxed, *products);
        }
    }
}
