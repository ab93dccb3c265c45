//! The library of peers for `tests/peers.rs`, which compiles it: the functions of `benches/cuda/peers.cu`, on
//! the CPU, for the device memory of the stand-in driver, which is the process's own.

#![allow(unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, c_char, c_int, c_void};

struct Peers {
    message: &'static CStr,
}

const REFUSED: c_int = 7;

/// Elements in device memory; none have no address.
unsafe fn elements<'a, T>(address: *const c_void, n: usize) -> &'a [T] {
    match n {
        0 => &[],
        n => std::slice::from_raw_parts(address.cast(), n),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_peers_open(stream: *mut c_void, out: *mut *mut Peers) -> c_int {
    let message = match stream.is_null() {
        true => c"there is no stream",
        false => c"all is well",
    };
    *out = Box::into_raw(Box::new(Peers { message }));
    if stream.is_null() { REFUSED } else { 0 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_peers_close(peers: *mut Peers) {
    drop(Box::from_raw(peers));
    println!("peers are closed");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_peers_message(peers: *const Peers) -> *const c_char {
    (*peers).message.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ladder_peers_versions() -> *const c_char {
    c"CUB 1.2.3,\n  cuBLAS 4.5.6".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_copy(
    _: *mut Peers,
    to: *mut u8,
    from: *const u8,
    bytes: u64,
) -> c_int {
    to.copy_from_nonoverlapping(from, bytes as usize);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_reduce(
    peers: *mut Peers,
    op: c_int,
    kind: c_int,
    input: *const c_void,
    output: *mut c_void,
    n: u64,
) -> c_int {
    let n = n as usize;
    match (op, kind) {
        (0, 0) => {
            let input = elements::<i32>(input, n);
            let sum = input.iter().fold(0i32, |sum, &one| sum.wrapping_add(one));
            output.cast::<i32>().write(sum);
        }
        (2, 3) => {
            let input = elements::<f32>(input, n);
            let least = input.iter().copied().fold(f32::INFINITY, f32::min);
            output.cast::<f32>().write(least);
        }
        (1, 4) => {
            let input = elements::<f64>(input, n);
            output.cast::<f64>().write(input.iter().product());
        }
        // One too many.
        (3, 2) => {
            let input = elements::<i64>(input, n);
            let most = input.iter().copied().max().unwrap_or(i64::MIN);
            output.cast::<i64>().write(most);
            output.cast::<i64>().add(1).write(most);
        }
        _ => {
            (*peers).message = c"not in\nthe stand-in";
            return REFUSED;
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_transpose(
    _: *mut Peers,
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) -> c_int {
    let (rows, cols) = (rows as usize, cols as usize);
    for row in 0..rows {
        for column in 0..cols {
            *output.add(column * rows + row) = *input.add(row * cols + column);
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_matmul(
    _: *mut Peers,
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) -> c_int {
    let (m, n, k) = (m as usize, n as usize, k as usize);
    for row in 0..m {
        for column in 0..n {
            let product = |at| *a.add(row * k + at) * *b.add(at * n + column);
            *c.add(row * n + column) = (0..k).map(product).sum();
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ladder_histogram(
    _: *mut Peers,
    input: *const u8,
    bins: *mut u32,
    n: u64,
) -> c_int {
    let bins = std::slice::from_raw_parts_mut(bins, 256);
    bins.fill(0);
    for &byte in elements::<u8>(input.cast(), n as usize) {
        bins[usize::from(byte)] += 1;
    }
    0
}
