//! The driver's functions. Each is listed and defined once here, and forwards to the real library.
//!
//! Names and signatures are those of `cuda.h` (CUDA Driver API 11.4, as in cust's bindings). The linker sees
//! these names: `cuda.h` makes `cuMemAlloc` a macro for `cuMemAlloc_v2`.

// The functions are named like the driver's functions.
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};
use std::sync::OnceLock;

use cust_raw::*;

use crate::codes;
use crate::load::{self, Found, Lookup};

/// Defines [`Table`] and the functions from two lists. The first list contains the functions of cust's bindings, which
/// cust calls. The second list contains newer functions, which are not exported and which only this crate calls.
///
/// `or f` can follow a signature whose parameters are an error and a place for a text. If the driver writes no text,
/// the function writes `f(error)` to that place.
macro_rules! functions {
    (
        $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(or $rescue:path)?;)*
        newer { $(fn $newer:ident($($new_arg:ident: $new_ty:ty),* $(,)?);)* }
    ) => {
        /// The functions in our lists, as exported by the real library.
        pub(crate) struct Table {
            // The real function returns a number, which only `codes::known` converts to a `CUresult`.
            $($name: Option<unsafe extern "C" fn($($ty),*) -> c_uint>,)*
            $($newer: Option<unsafe extern "C" fn($($new_ty),*) -> c_uint>,)*
        }

        impl Table {
            /// Looks up every function once.
            ///
            /// # Safety
            /// The caller must ensure that `lookup` finds the functions of a CUDA driver or of an imitation. A function
            /// with a name in our list must have that function's signature, and must exist as long as the table.
            pub(crate) unsafe fn new(lookup: &Lookup<'_>) -> Table {
                Table {
                    $($name: functions!(@lookup lookup, $name($($ty),*)),)*
                    $($newer: functions!(@lookup lookup, $newer($($new_ty),*)),)*
                }
            }

            /// Returns the functions that cust calls but the library does not export.
            pub(crate) fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $(if self.$name.is_none() {
                    missing.push(stringify!($name));
                })*
                missing
            }
        }

        $(
            // The compiler checks our signature against the one that cust calls.
            const _: unsafe extern "C" fn($($ty),*) -> CUresult = cust_raw::$name;

            /// The driver's function with this name.
            ///
            /// # Safety
            /// The caller must meet the requirements of the CUDA Driver API.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
                let result = match driver().map(|table| table.$name) {
                    // SAFETY: the arguments are those of the caller, who meets the driver's contract, and the pointer
                    // came from `Table::new`.
                    Some(Some(function)) => codes::known(unsafe { function($($arg),*) }),
                    Some(None) => LACKS_FUNCTION,
                    None => NO_DRIVER,
                };
                functions!(@rescue result, ($($arg),*) $($rescue)?)
            }
        )*

        $(
            /// The driver's function with this name, which older drivers lack.
            ///
            /// # Safety
            /// The caller must meet the requirements of the CUDA Driver API.
            #[allow(clippy::too_many_arguments, reason = "the driver's function has this many")]
            pub(crate) unsafe fn $newer($($new_arg: $new_ty),*) -> CUresult {
                match driver().map(|table| table.$newer) {
                    // SAFETY: the arguments are those of the caller, who meets the driver's contract, and the pointer
                    // came from `Table::new`.
                    Some(Some(function)) => codes::known(unsafe { function($($new_arg),*) }),
                    Some(None) => LACKS_FUNCTION,
                    None => NO_DRIVER,
                }
            }
        )*
    };
    (@lookup $lookup:ident, $name:ident($($ty:ty),*)) => {
        $lookup(stringify!($name)).and_then(|function| {
            // SAFETY: a function that `lookup` finds has the signature of its name. A library may also export null
            // under a name, which becomes `None`.
            unsafe { std::mem::transmute::<*const (), Option<unsafe extern "C" fn($($ty),*) -> c_uint>>(function) }
        })
    };
    (@rescue $result:ident, $args:tt) => { $result };
    (@rescue $result:ident, ($error:ident, $text:ident) $rescue:path) => {
        // SAFETY: `cuda.h` requires that the caller passes a pointer that is null or writable.
        unsafe { fill($result, $rescue($error), $text) }
    };
}

/// Returns the result of looking for the driver. The first call looks for it.
pub(crate) fn found() -> &'static Found<Table> {
    static FOUND: OnceLock<Found<Table>> = OnceLock::new();
    FOUND.get_or_init(|| {
        load::look(|lookup| {
            // SAFETY: `look` passes the functions of a driver that stays loaded.
            let table = unsafe { Table::new(lookup) };
            let missing = table.missing();
            (table, missing)
        })
    })
}

/// Returns the driver's functions, if there is a driver. In a thread that is inside a [`driver::Simulation`], returns
/// the functions of simt's driver.
fn driver() -> Option<&'static Table> {
    static SIMULATED: OnceLock<Option<Table>> = OnceLock::new();
    match driver::is_inside() {
        // SAFETY: the functions are those of simt's driver, which is part of this program.
        true => SIMULATED
            .get_or_init(|| load::simulated(|lookup| (unsafe { Table::new(lookup) }, Vec::new()), Vec::new()).table)
            .as_ref(),
        false => found().table.as_ref(),
    }
}

/// The result of every function when there is no driver. The driver returns the same code on a machine without a GPU,
/// and cust maps it to `CudaError::NoDevice`. (`CUDA_ERROR_STUB_LIBRARY` would be more precise, but cust maps it to
/// "unknown error".)
const NO_DRIVER: CUresult = CUresult::CUDA_ERROR_NO_DEVICE;

/// The result of a function that the driver lacks. It is not `CUDA_ERROR_NOT_FOUND`, because looking up a kernel that a
/// module does not contain also returns that code.
const LACKS_FUNCTION: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;

/// Returns our text for `cuGetErrorString` if the driver provides none. cust's `Display` for an error calls that
/// function, and `to_string` would panic if it failed.
fn described(error: CUresult) -> &'static CStr {
    match driver() {
        None if error == NO_DRIVER => c"no CUDA driver on this machine",
        _ => codes::name(error),
    }
}

/// Writes `ours` to `text`, unless the driver wrote a text there.
///
/// # Safety
/// The caller must ensure that `text` is null or writable, and that the driver wrote it if `result` is a success.
unsafe fn fill(result: CUresult, ours: &'static CStr, text: *mut *const c_char) -> CUresult {
    if text.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: `text` is not null and therefore writable. It is read only after a success, when the driver has written
    // it.
    unsafe {
        if result != CUresult::CUDA_SUCCESS || (*text).is_null() {
            *text = ours.as_ptr();
        }
    }
    CUresult::CUDA_SUCCESS
}

functions! {
    // errors, and the driver itself
    fn cuGetErrorString(error: CUresult, text: *mut *const c_char) or described;
    fn cuGetErrorName(error: CUresult, text: *mut *const c_char) or codes::name;
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(driver_version: *mut c_int);
    fn cuProfilerStart();
    fn cuProfilerStop();

    // devices
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    fn cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(ctx: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
    fn cuDevicePrimaryCtxReset_v2(device: CUdevice);
    fn cuDeviceGetPCIBusId(bus_id: *mut c_char, len: c_int, device: CUdevice);

    // contexts
    fn cuCtxCreate_v2(ctx: *mut CUcontext, flags: c_uint, device: CUdevice);
    fn cuCtxDestroy_v2(ctx: CUcontext);
    fn cuCtxPushCurrent_v2(ctx: CUcontext);
    fn cuCtxPopCurrent_v2(ctx: *mut CUcontext);
    fn cuCtxSetCurrent(ctx: CUcontext);
    fn cuCtxGetCurrent(ctx: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxSynchronize();
    fn cuCtxSetLimit(limit: CUlimit, value: usize);
    fn cuCtxGetLimit(value: *mut usize, limit: CUlimit);
    fn cuCtxGetCacheConfig(config: *mut CUfunc_cache);
    fn cuCtxSetCacheConfig(config: CUfunc_cache);
    fn cuCtxGetSharedMemConfig(config: *mut CUsharedconfig);
    fn cuCtxSetSharedMemConfig(config: CUsharedconfig);
    fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
    fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);

    // modules and the linker
    fn cuModuleLoad(module: *mut CUmodule, path: *const c_char);
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, num_options: c_uint,
        options: *mut CUjit_option, option_values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        device: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char,
    );
    fn cuLinkCreate_v2(
        num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void,
        state_out: *mut CUlinkState,
    );
    fn cuLinkAddData_v2(
        state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize,
        name: *const c_char, num_options: c_uint, options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize);
    fn cuLinkDestroy(state: CUlinkState);

    // kernels
    fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    fn cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache);
    fn cuFuncSetSharedMemConfig(function: CUfunction, config: CUsharedconfig);
    fn cuLaunchKernel(
        function: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint,
        block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint,
        stream: CUstream, kernel_params: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn cuLaunchCooperativeKernel(
        function: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint,
        block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint,
        stream: CUstream, kernel_params: *mut *mut c_void,
    );
    fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        num_blocks: *mut c_int, function: CUfunction, block_size: c_int, dynamic_smem_size: usize,
    );
    fn cuOccupancyMaxPotentialBlockSize(
        min_grid_size: *mut c_int, block_size: *mut c_int, function: CUfunction,
        block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize,
        block_size_limit: c_int,
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamic_smem_size: *mut usize, function: CUfunction, num_blocks: c_int, block_size: c_int,
    );

    // memory
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(device: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(device: CUdeviceptr);
    fn cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize);
    fn cuMemFreeHost(pointer: *mut c_void);
    fn cuMemAllocManaged(device: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, bytes: usize);
    fn cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, bytes: usize);
    fn cuMemcpyHtoA_v2(
        dst_array: CUarray, dst_offset: usize, src_host: *const c_void, bytes: usize,
    );
    fn cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: CUarray, src_offset: usize, bytes: usize);
    fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D);
    fn cuMemcpyHtoDAsync_v2(
        dst_device: CUdeviceptr, src_host: *const c_void, bytes: usize, stream: CUstream,
    );
    fn cuMemcpyDtoHAsync_v2(
        dst_host: *mut c_void, src_device: CUdeviceptr, bytes: usize, stream: CUstream,
    );
    fn cuMemcpyDtoDAsync_v2(
        dst_device: CUdeviceptr, src_device: CUdeviceptr, bytes: usize, stream: CUstream,
    );
    fn cuMemsetD8_v2(dst_device: CUdeviceptr, value: c_uchar, count: usize);
    fn cuMemsetD16_v2(dst_device: CUdeviceptr, value: c_ushort, count: usize);
    fn cuMemsetD32_v2(dst_device: CUdeviceptr, value: c_uint, count: usize);
    fn cuMemsetD8Async(dst_device: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream);
    fn cuMemsetD16Async(dst_device: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream);
    fn cuMemsetD32Async(dst_device: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    fn cuMemFreeAsync(device: CUdeviceptr, stream: CUstream);
    fn cuMemAllocAsync(device: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemPrefetchAsync(
        device: CUdeviceptr, count: usize, dst_device: CUdevice, stream: CUstream,
    );
    fn cuMemAdvise(pointer: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);

    // streams and events
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int);
    fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuStreamQuery(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventQuery(event: CUevent);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);

    // graphs
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    fn cuGraphAddKernelNode(
        node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode,
        num_dependencies: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphKernelNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType);
    fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize);
    fn cuGraphGetEdges(
        graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, num_edges: *mut usize,
    );
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint);

    // arrays, textures, surfaces, external memory
    fn cuArrayDestroy(array: CUarray);
    fn cuArray3DCreate_v2(handle: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR);
    fn cuArray3DGetDescriptor_v2(descriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray);
    fn cuImportExternalMemory(
        memory: *mut CUexternalMemory, handle_desc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    );
    fn cuExternalMemoryGetMappedBuffer(
        device: *mut CUdeviceptr, memory: CUexternalMemory,
        buffer_desc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
    );
    fn cuDestroyExternalMemory(memory: CUexternalMemory);
    fn cuTexObjectCreate(
        tex_object: *mut CUtexObject, res_desc: *const CUDA_RESOURCE_DESC,
        tex_desc: *const CUDA_TEXTURE_DESC, res_view_desc: *const CUDA_RESOURCE_VIEW_DESC,
    );
    fn cuTexObjectDestroy(tex_object: CUtexObject);
    fn cuTexObjectGetResourceDesc(res_desc: *mut CUDA_RESOURCE_DESC, tex_object: CUtexObject);
    fn cuTexObjectGetResourceViewDesc(
        res_view_desc: *mut CUDA_RESOURCE_VIEW_DESC, tex_object: CUtexObject,
    );
    fn cuSurfObjectCreate(surf_object: *mut CUsurfObject, res_desc: *const CUDA_RESOURCE_DESC);
    fn cuSurfObjectDestroy(surf_object: CUsurfObject);
    fn cuSurfObjectGetResourceDesc(res_desc: *mut CUDA_RESOURCE_DESC, surf_object: CUsurfObject);

    newer {
        fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
        fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_uint, device: CUdevice, peer: CUdevice);
        fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
        fn cuMemcpyPeerAsync(
            to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
            stream: CUstream,
        );
        // CUDA 12.0
        fn cuTensorMapEncodeTiled(
            map: *mut c_void, element: c_uint, rank: c_uint, address: *mut c_void, sizes: *const u64,
            strides: *const u64, tile: *const u32, steps: *const u32, interleave: c_uint, swizzle: c_uint,
            promotion: c_uint, fill: c_uint,
        );
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn keeps_the_drivers_text() {
        let mut text = c"the driver's".as_ptr();
        // SAFETY: `text` is a writable local that holds a literal.
        let result = unsafe { fill(CUresult::CUDA_SUCCESS, c"ours", &raw mut text) };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        // SAFETY: `text` points to one of the two literals.
        assert_eq!(unsafe { CStr::from_ptr(text) }, c"the driver's");
    }

    #[test]
    fn writes_our_text_if_the_driver_has_none() {
        for failure in [CUresult::CUDA_ERROR_INVALID_VALUE, NO_DRIVER, LACKS_FUNCTION] {
            // After a failed call, the value may be anything and must not be read.
            let mut text = ptr::dangling();
            // SAFETY: `text` is a writable local, and is not read after a failure.
            let result = unsafe { fill(failure, c"ours", &raw mut text) };
            assert_eq!(result, CUresult::CUDA_SUCCESS);
            // SAFETY: `fill` has written the address of a literal.
            assert_eq!(unsafe { CStr::from_ptr(text) }, c"ours");
        }
    }

    #[test]
    fn a_null_symbol_counts_as_missing() {
        // SAFETY: the lookup returns only null, which stands for a missing function.
        let table = unsafe { Table::new(&|_| Some(ptr::null())) };
        assert!(table.cuInit.is_none());
        assert!(table.missing().contains(&"cuInit"));
    }

    #[test]
    fn a_null_output_is_an_error() {
        // SAFETY: the function accepts a null pointer.
        let result = unsafe { cuGetErrorString(NO_DRIVER, ptr::null_mut()) };
        assert_ne!(result, CUresult::CUDA_SUCCESS);
    }
}
