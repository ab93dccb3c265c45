//! A CUDA driver with one device that exists only on paper, for `tests/driver.rs`, which compiles it.
//!
//! `--cfg lacks_name` leaves two functions out, as an old driver would; `--cfg new_code` answers with a
//! result that cust's bindings have no name for; `--cfg no_device` is a driver without a GPU.

#![allow(unexpected_cfgs, unsafe_op_in_unsafe_fn)]

use std::ffi::{c_char, c_int, c_uint};

const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 1;
const NO_DEVICE: c_uint = 100;
const INVALID_CLUSTER_SIZE: c_uint = 912;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> c_uint {
    if cfg!(no_device) { NO_DEVICE } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_uint {
    *count = 1;
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_uint {
    *device = 40 + ordinal;
    SUCCESS
}

#[cfg(not(lacks_name))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> c_uint {
    let text = c"Stand-in 40".to_bytes_with_nul();
    if device != 40 || (len as usize) < text.len() {
        return INVALID_VALUE;
    }
    name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_uint {
    *bytes = 3 << 20;
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) -> c_uint {
    if cfg!(new_code) {
        return INVALID_CLUSTER_SIZE;
    }
    // 16: CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    *value = if attribute == 16 { 7 } else { -1 };
    SUCCESS
}

#[cfg(not(lacks_name))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: c_uint, text: *mut *const c_char) -> c_uint {
    if error == NO_DEVICE {
        *text = c"the stand-in has no device".as_ptr();
        SUCCESS
    } else {
        // What the real one does for a code that it does not know.
        *text = std::ptr::null();
        INVALID_VALUE
    }
}
