//! Calls in which every argument is zero: null pointers, null handles, and sizes of zero.

use super::support::{OK, context};

/// Memory functions that refuse such a call.
const REFUSED: &str = "
    cuMemAlloc_v2 cuMemAllocPitch_v2 cuMemAllocManaged cuMemAllocHost_v2 cuMemHostAlloc cuMemHostRegister_v2
    cuMemHostUnregister cuMemHostGetDevicePointer_v2 cuMemHostGetFlags cuMemGetAddressRange_v2 cuPointerGetAttribute
    cuPointerSetAttribute cuMemAdvise cuMemAdvise_v2 cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuMemPrefetchBatchAsync
    cuMemDiscardBatchAsync cuMemDiscardAndPrefetchBatchAsync cuMemRangeGetAttribute cuMemRangeGetAttributes
    cuMemGetHandleForAddressRange cuIpcGetMemHandle cuMemAllocAsync cuMemAllocFromPoolAsync cuMemPoolCreate
    cuMemPoolDestroy cuMemPoolTrimTo cuMemPoolGetAttribute cuMemPoolSetAttribute cuMemPoolSetAccess cuMemPoolGetAccess
    cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool cuMemGetDefaultMemPool cuMemGetMemPool cuMemSetMemPool
    cuMemGetAllocationGranularity cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemRetainAllocationHandle
    cuMemGetAllocationPropertiesFromHandle cuMemMap cuMemUnmap cuMemSetAccess cuMemGetAccess cuMemcpy2D_v2
    cuMemcpy2DUnaligned_v2 cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2 cuMemcpy3DPeer cuMemcpy3DPeerAsync
    cuMemcpyBatchAsync cuMemcpyBatchAsync_v2 cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_v2 cuArrayCreate_v2
    cuArray3DCreate_v2 cuArrayGetDescriptor_v2 cuArray3DGetDescriptor_v2 cuArrayGetMemoryRequirements
    cuArrayGetSparseProperties cuArrayGetPlane cuArrayDestroy cuMipmappedArrayCreate cuMipmappedArrayGetLevel
    cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties cuMipmappedArrayDestroy cuMemcpyHtoA_v2
    cuMemcpyHtoAAsync_v2 cuMemcpyAtoH_v2 cuMemcpyAtoHAsync_v2 cuMemcpyDtoA_v2 cuMemcpyAtoD_v2 cuMemcpyAtoA_v2
    cuTexObjectCreate cuTexObjectGetResourceDesc cuTexObjectGetTextureDesc cuTexObjectGetResourceViewDesc
    cuSurfObjectCreate cuSurfObjectGetResourceDesc cuTensorMapEncodeTiled cuTensorMapEncodeIm2col
    cuTensorMapReplaceAddress cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy
";
/// Memory functions that accept such a call.
const ACCEPTED: &str = "
    cuMemFree_v2 cuMemFreeHost cuMemFreeAsync cuTexObjectDestroy cuSurfObjectDestroy cuPointerGetAttributes cuMemcpy
    cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 cuMemsetD8_v2
";
const UNKNOWN: u32 = 999;

#[test]
fn all_zero_arguments() {
    type W = usize;
    type Function = unsafe extern "C" fn(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W) -> u32;
    context(0);
    let call = |name: &str| {
        let function = driver::function(name).expect("the driver has the function");
        // SAFETY: a function ignores arguments beyond its parameters, and no function has more than 15 parameters.
        let function: Function = unsafe { std::mem::transmute(function.0) };
        // SAFETY: zeros are null pointers and null handles, which the driver must refuse.
        unsafe { function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) }
    };
    for name in REFUSED.split_whitespace() {
        assert!(![OK, UNKNOWN].contains(&call(name)), "{name}");
    }
    for name in ACCEPTED.split_whitespace() {
        assert_eq!(call(name), OK, "{name}");
    }
}
