//! Features that cust lacks: more shared memory than the default limit, arguments that are known only at run time,
//! tensor maps, and the messages of the driver's compiler.

use std::ffi::{CString, c_void};
use std::ptr;

use cust_raw::{
    CUfunction, CUjit_option, CUresult, cuFuncGetAttribute, cuFuncSetAttribute, cuModuleLoadDataEx, cuModuleUnload,
};
use simt::TensorMap;

use crate::table::cuTensorMapEncodeTiled;

/// The shared memory in bytes that a block can use by default.
const DEFAULT_SHARED_BYTES: i32 = 48 << 10;

/// Allows a kernel to use `bytes` bytes of dynamic shared memory.
///
/// # Errors
/// Returns the driver's error when `bytes` exceeds the limit for a block.
///
/// # Safety
/// The caller must ensure that the function's module is loaded.
pub unsafe fn allow_shared(function: CUfunction, bytes: u32) -> Result<(), CUresult> {
    use cust_raw::CUfunction_attribute_enum::{
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as STATIC,
    };
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    if bytes == 0 {
        return Ok(());
    }
    let mut static_bytes = 0;
    // SAFETY: the function's module is loaded, and `static_bytes` is writable memory for the result.
    let mut result = unsafe { cuFuncGetAttribute(&raw mut static_bytes, STATIC, function) };
    if result == CUresult::CUDA_SUCCESS && bytes.saturating_add(static_bytes) > DEFAULT_SHARED_BYTES {
        // SAFETY: the function's module is loaded, and the other arguments are numbers.
        result = unsafe { cuFuncSetAttribute(function, DYNAMIC, bytes) };
    }
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(error),
    }
}

/// Returns the arguments of a launch as the driver expects them: the address of each argument's bytes.
pub fn addresses(arguments: &mut [Vec<u8>]) -> Vec<*mut c_void> {
    arguments.iter_mut().map(|argument| argument.as_mut_ptr().cast()).collect()
}

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`: reading a sector loads 256 bytes into the L2.
const PROMOTION: u32 = 3;

/// Encodes a tensor map for a kernel's 128-byte parameter, without interleaved channels and with an L2 promotion of 256
/// bytes.
///
/// # Errors
/// Returns the driver's error when the map is invalid, and `CUDA_ERROR_NOT_SUPPORTED` when the driver is older than
/// CUDA 12.0.
pub fn encode_tiled(map: &TensorMap) -> Result<[u8; 128], CUresult> {
    /// A map with the alignment that the driver requires.
    #[repr(C, align(64))]
    struct Aligned([u8; 128]);

    let rank = map.sizes.len();
    if (map.strides.len() + 1, map.tile.len(), map.steps.len()) != (rank, rank, rank) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let mut encoded = Aligned([0; 128]);
    // SAFETY: `encoded` is writable memory for a map, aligned to 64 bytes. The check above ensures that there is one
    // size, tile side and step per dimension, and one stride per dimension except the first. The driver does not access
    // the tensor's address.
    let result = unsafe {
        cuTensorMapEncodeTiled(
            encoded.0.as_mut_ptr().cast(),
            map.element as u32,
            rank as u32,
            ptr::without_provenance_mut(map.address as usize),
            map.sizes.as_ptr(),
            map.strides.as_ptr(),
            map.tile.as_ptr(),
            map.steps.as_ptr(),
            0,
            map.swizzle as u32,
            PROMOTION,
            map.nan.into(),
        )
    };
    match result {
        CUresult::CUDA_SUCCESS => Ok(encoded.0),
        error => Err(error),
    }
}

/// Compiles PTX in the current context and returns the error messages of the driver's compiler.
pub fn compiler_log(ptx: &str) -> String {
    const BYTES: usize = 4096;
    let Ok(image) = CString::new(ptx) else {
        return "the PTX contains a NUL".to_owned();
    };
    let mut log = vec![0u8; BYTES];
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(BYTES)];
    let mut module = ptr::null_mut();
    // SAFETY: `image` is NUL-terminated. There are two options and two values: a buffer that outlives the call, and the
    // buffer's size, which is passed by value.
    let result = unsafe {
        cuModuleLoadDataEx(&raw mut module, image.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the module was loaded just now, and nothing else refers to it.
        unsafe { cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
    String::from_utf8_lossy(&log[..end]).into_owned()
}
