//! The library of baselines that this crate's tests compile. It runs the functions of `cuda/baselines.cu` on the CPU, with
//! memory of the process as device memory.

#![allow(unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, c_char, c_int, c_void};

struct Handle {
    message: &'static CStr,
}

#[repr(C)]
pub struct Table {
    versions: extern "C" fn() -> *const c_char,
    open: unsafe extern "C" fn(*mut c_void, *mut *mut Handle) -> c_int,
    close: unsafe extern "C" fn(*mut Handle),
    message: unsafe extern "C" fn(*const Handle) -> *const c_char,
    call: unsafe extern "C" fn(*mut Handle, *const c_char, *const u64, *const u64) -> c_int,
}

static TABLE: Table = Table { versions, open, close, message, call };

#[unsafe(no_mangle)]
pub extern "C" fn ladder_baselines() -> *const Table {
    &TABLE
}

const REFUSED: c_int = 7;

/// Returns elements in device memory. An empty slice needs no address.
unsafe fn elements<'a, T>(address: u64, n: u64) -> &'a [T] {
    match n {
        0 => &[],
        n => std::slice::from_raw_parts(address as *const T, n as usize),
    }
}

unsafe extern "C" fn open(stream: *mut c_void, out: *mut *mut Handle) -> c_int {
    let message = match stream.is_null() {
        true => c"there is no stream",
        false => c"all is well",
    };
    *out = Box::into_raw(Box::new(Handle { message }));
    if stream.is_null() { REFUSED } else { 0 }
}

unsafe extern "C" fn close(handle: *mut Handle) {
    drop(Box::from_raw(handle));
    if std::env::var_os("LADDER_STAND_IN_TELLS").is_some() {
        println!("the library is closed");
    }
}

unsafe extern "C" fn message(handle: *const Handle) -> *const c_char {
    (*handle).message.as_ptr()
}

extern "C" fn versions() -> *const c_char {
    c"CUB 1.2.3,\n  cuBLAS 4.5.6".as_ptr()
}

unsafe extern "C" fn call(handle: *mut Handle, name: *const c_char, buffers: *const u64, numbers: *const u64) -> c_int {
    let (buffers, numbers) = (*buffers.cast::<[u64; 4]>(), *numbers.cast::<[u64; 4]>());
    match CStr::from_ptr(name).to_str() {
        Ok("copy") => copy(buffers, numbers),
        Ok("reduce") => return reduce(handle, buffers, numbers),
        Ok("transpose") => transpose(buffers, numbers),
        Ok("matmul") => matmul(buffers, numbers),
        Ok("histogram") => histogram(buffers, numbers),
        Ok("scan") => scan(buffers, numbers),
        Ok("sort") => sort(buffers, numbers),
        _ => return REFUSED,
    }
    0
}

unsafe fn copy([from, to, ..]: [u64; 4], [bytes, ..]: [u64; 4]) {
    (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes as usize);
}

unsafe fn reduce(handle: *mut Handle, [input, output, ..]: [u64; 4], [op, kind, n, _]: [u64; 4]) -> c_int {
    match (op, kind) {
        (0, 0) => {
            let input = elements::<i32>(input, n);
            let sum = input.iter().fold(0i32, |sum, &one| sum.wrapping_add(one));
            (output as *mut i32).write(sum);
        }
        (2, 3) => {
            let input = elements::<f32>(input, n);
            let least = input.iter().copied().fold(f32::INFINITY, f32::min);
            (output as *mut f32).write(least);
        }
        (1, 4) => {
            let input = elements::<f64>(input, n);
            (output as *mut f64).write(input.iter().product());
        }
        // Writes one element too many.
        (3, 2) => {
            let input = elements::<i64>(input, n);
            let most = input.iter().copied().max().unwrap_or(i64::MIN);
            (output as *mut i64).write(most);
            (output as *mut i64).add(1).write(most);
        }
        _ => {
            (*handle).message = c"not in\nthe stand-in";
            return REFUSED;
        }
    }
    0
}

unsafe fn transpose([input, output, ..]: [u64; 4], [rows, cols, ..]: [u64; 4]) {
    let (input, output) = (elements::<f32>(input, rows * cols), output as *mut f32);
    for (at, &element) in (0..).zip(input) {
        let (row, column) = (at / cols, at % cols);
        *output.add((column * rows + row) as usize) = element;
    }
}

unsafe fn matmul([a, b, c, _]: [u64; 4], [m, n, k, _]: [u64; 4]) {
    let (a, b) = (elements::<f32>(a, m * k), elements::<f32>(b, k * n));
    let (n, k) = (n as usize, k as usize);
    for row in 0..m as usize {
        for column in 0..n {
            let product = |at| a[row * k + at] * b[at * n + column];
            *(c as *mut f32).add(row * n + column) = (0..k).map(product).sum();
        }
    }
}

unsafe fn histogram([input, bins, ..]: [u64; 4], [n, ..]: [u64; 4]) {
    let bins = std::slice::from_raw_parts_mut(bins as *mut u32, 256);
    bins.fill(0);
    for &byte in elements::<u8>(input, n) {
        bins[usize::from(byte)] += 1;
    }
}

unsafe fn scan([input, output, ..]: [u64; 4], [_, is_exclusive, n, _]: [u64; 4]) {
    let (mut sum, output) = (0_i32, output as *mut i32);
    for (at, &element) in elements::<i32>(input, n).iter().enumerate() {
        let before = sum;
        sum = sum.wrapping_add(element);
        output.add(at).write(if is_exclusive == 1 { before } else { sum });
    }
}

unsafe fn sort([keys, values, sorted_keys, sorted_values]: [u64; 4], [_, has_values, n, _]: [u64; 4]) {
    let keys = elements::<u32>(keys, n);
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&index| keys[index]);
    for (place, index) in order.into_iter().enumerate() {
        (sorted_keys as *mut u32).add(place).write(keys[index]);
        if has_values == 1 {
            (sorted_values as *mut u32).add(place).write(elements::<u32>(values, n)[index]);
        }
    }
}
