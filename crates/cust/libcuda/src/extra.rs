//! What cust lacks: shared memory beyond the usual, arguments that are not known before the program runs, and the words of the
//! driver's compiler.

use std::ffi::{CString, c_void};
use std::ptr;

use cust_raw::{
    CUfunction, CUjit_option, CUresult, cuFuncGetAttribute, cuFuncSetAttribute, cuModuleLoadDataEx, cuModuleUnload,
};

/// The bytes of shared memory that a block can have without being allowed more.
const WITHOUT: i32 = 48 << 10;

/// Lets a kernel have so much dynamic shared memory.
///
/// # Errors
/// The driver's, when it is more than a block can have.
///
/// # Safety
/// The function's module is loaded.
pub unsafe fn allow_shared(function: CUfunction, bytes: u32) -> Result<(), CUresult> {
    use cust_raw::CUfunction_attribute_enum::{
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as STATIC,
    };
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    if bytes == 0 {
        return Ok(());
    }
    let mut own = 0;
    // SAFETY: the caller's promise, and a place for the number.
    let mut result = unsafe { cuFuncGetAttribute(&raw mut own, STATIC, function) };
    if result == CUresult::CUDA_SUCCESS && bytes.saturating_add(own) > WITHOUT {
        // SAFETY: the caller's promise; the other arguments are numbers.
        result = unsafe { cuFuncSetAttribute(function, DYNAMIC, bytes) };
    }
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(error),
    }
}

/// The arguments of a launch as the driver takes them: the address of each one's bytes.
pub fn addresses(arguments: &mut [Vec<u8>]) -> Vec<*mut c_void> {
    arguments.iter_mut().map(|argument| argument.as_mut_ptr().cast()).collect()
}

/// What the driver's compiler says about PTX that it has refused in the current context.
pub fn compiler_log(ptx: &str) -> String {
    const BYTES: usize = 4096;
    let Ok(image) = CString::new(ptx) else {
        return "the PTX has a NUL in it".to_owned();
    };
    let mut log = vec![0u8; BYTES];
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(BYTES)];
    let mut module = ptr::null_mut();
    // SAFETY: `image` is NUL-terminated; there are two options and two values, a buffer and its size, by value as the driver
    // takes it; the buffer outlives the call.
    let result = unsafe {
        cuModuleLoadDataEx(&raw mut module, image.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the module was loaded just now and nothing else refers to it.
        unsafe { cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
    String::from_utf8_lossy(&log[..end]).into_owned()
}
