//! Compiles PTX into a module with the driver's compiler.

use std::ffi::{CString, c_void};
use std::ptr;

use cust::module::Module;
use cust::sys;

use super::describe;
use crate::error::Error;

/// Compiles a text with the driver, which takes a while.
pub(super) fn compile(ptx: &str) -> Result<Module, Error> {
    Module::from_ptx(ptx, &[]).map_err(|error| Error::Ptx { reason: describe(error), log: jit_log(ptx) })
}

/// The log of the driver's PTX compiler for a `ptx` that it rejected. cust does not request this log.
fn jit_log(ptx: &str) -> String {
    const BYTES: usize = 4096;
    let Ok(image) = CString::new(ptx) else {
        return "the PTX has a NUL in it".to_owned();
    };
    let mut log = vec![0u8; BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(BYTES)];
    let mut module = ptr::null_mut();
    // SAFETY: `image` is NUL-terminated; `options` and `values` have two entries each, a buffer and its
    // size, by value as the driver takes it; the buffer outlives the call.
    let result = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result == sys::cudaError_enum::CUDA_SUCCESS {
        // SAFETY: the module was loaded just now and nothing else refers to it.
        unsafe { sys::cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
    String::from_utf8_lossy(&log[..end]).into_owned()
}
