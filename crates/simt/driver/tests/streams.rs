//! Streams and events: synchronization, and operations on words of memory. The error codes match an H200.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::support::{
    Handle, INVALID_CONTEXT, INVALID_VALUE, NO_HANDLE, OK, context, cuCtxSetCurrent, cuCtxSynchronize, cuMemAlloc_v2,
    cuMemcpyDtoH_v2, functions,
};

functions! {
    fn cuStreamCreate(stream: *mut Handle, flags: u32);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuGetProcAddress_v2(
        name: *const u8, address: *mut *const (), version: i32, flags: u64, status: *mut u32,
    );
    fn cuStreamSynchronize(stream: Handle);
    fn cuStreamQuery(stream: Handle);
    fn cuStreamGetId(stream: Handle, id: *mut u64);
    fn cuStreamGetId_ptsz(stream: Handle, id: *mut u64);
    fn cuCtxGetId(context: Handle, id: *mut u64);
    fn cuGetExportTable(table: *mut *const usize, id: *const u8);
    fn cuStreamGetAttribute(stream: Handle, id: u32, value: *mut [u32; 16]);
    fn cuStreamSetAttribute(stream: Handle, id: u32, value: *const [u32; 16]);
    fn cuStreamCopyAttributes(to: Handle, from: Handle);
    fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: u32);
    fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: u32);
    fn cuStreamWriteValue32(stream: Handle, address: u64, value: u32, flags: u32);
    fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, flags: u32);
    fn cuStreamWriteValue32_v2_ptsz(stream: Handle, address: u64, value: u32, flags: u32);
    fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, flags: u32);
    fn cuStreamBatchMemOp_v2(stream: Handle, count: u32, ops: *const MemOp, flags: u32);
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    fn cuLaunchHostFunc(stream: Handle, function: extern "C" fn(*mut c_void), data: *mut c_void);
    fn cuEventCreate(event: *mut Handle, flags: u32);
    fn cuEventDestroy_v2(event: Handle);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32);
    fn cuEventQuery(event: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle);
    fn cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32);
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    fn cuCtxDestroy_v2(context: Handle);
}

const INVALID_HANDLE: u32 = 400;
const ILLEGAL_STATE: u32 = 401;
const NOT_READY: u32 = 600;
const CONTEXT_IS_DESTROYED: u32 = 709;
const NOT_SUPPORTED: u32 = 801;

/// The legacy default stream and the per-thread default stream.
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;

/// `CUstreamBatchMemOpParams`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct MemOp {
    operation: u32,
    other_flags: u32,
    address: u64,
    value: u64,
    flags: u32,
    rest: [u32; 5],
}

/// Creates a stream.
pub(crate) fn stream(flags: u32) -> Handle {
    let mut stream = 0;
    assert_eq!(cuStreamCreate(&mut stream, flags), OK);
    stream
}

/// Creates an event.
pub(crate) fn event(flags: u32) -> Handle {
    let mut event = 0;
    assert_eq!(cuEventCreate(&mut event, flags), OK);
    event
}

/// Allocates device memory, which is zero.
pub(crate) fn device_memory(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(cuMemAlloc_v2(&mut address, bytes), OK);
    address
}

/// Allocates page-locked host memory, which is zero. Returns its address for kernels and a reference for the host.
fn host_memory() -> (u64, &'static AtomicU32) {
    let mut address = 0;
    assert_eq!(cuMemHostAlloc(&mut address, 64, 2), OK);
    // SAFETY: the driver has just allocated 64 bytes at this address, and they are never freed.
    (address, unsafe { &*(address as *const AtomicU32) })
}

/// Reads a `u32` from device memory.
pub(crate) fn read_u32(address: u64) -> u32 {
    let mut value = 0_u32;
    assert_eq!(cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4), OK);
    value
}

#[test]
fn a_memory_wait_blocks_only_its_stream() {
    context(0);
    let (slow, fast, data) = (stream(0), stream(0), device_memory(64));
    let (flag, word) = host_memory();
    assert_eq!(cuStreamWaitValue32_v2(slow, flag, 5, 0), OK);
    assert_eq!(cuStreamWriteValue32_v2(slow, data, 7, 0), OK);
    assert_eq!(cuStreamQuery(slow), NOT_READY);
    assert_eq!(cuStreamWriteValue32_v2(fast, data, 3, 0), OK);
    assert_eq!(cuStreamSynchronize(fast), OK);
    assert_eq!(cuStreamQuery(slow), NOT_READY);
    word.store(5, Ordering::Relaxed);
    assert_eq!(cuStreamSynchronize(slow), OK);
    assert_eq!(read_u32(data), 7);
}

#[test]
fn the_default_stream_and_blocking_ones_wait_for_each_other() {
    context(0);
    let (slow, blocking, other, data) = (stream(0), stream(0), stream(1), device_memory(64));
    let (flag, word) = host_memory();
    assert_eq!(cuStreamWaitValue32_v2(slow, flag, 1, 0), OK);
    assert_eq!(cuStreamWriteValue32_v2(slow, data, 21, 0), OK);
    assert_eq!(cuStreamWriteValue32_v2(0, data, 22, 0), OK);
    assert_eq!((cuStreamQuery(0), cuStreamQuery(LEGACY)), (NOT_READY, NOT_READY));
    assert_eq!(cuStreamWriteValue32_v2(blocking, data + 4, 1, 0), OK);
    assert_eq!(cuStreamQuery(blocking), NOT_READY);
    assert_eq!(cuStreamWriteValue32_v2(other, data + 8, 1, 0), OK);
    assert_eq!(cuStreamSynchronize(other), OK);
    assert_eq!(cuStreamQuery(PER_THREAD), OK);
    word.store(1, Ordering::Relaxed);
    assert_eq!(cuStreamSynchronize(0), OK);
    assert_eq!(read_u32(data), 22);
    assert_eq!(read_u32(data + 4), 1);
}

#[test]
fn each_thread_has_a_per_thread_default_stream() {
    let context_handle = context(0);
    let id = |get: fn(Handle, *mut u64) -> u32, stream: Handle| {
        let mut id = 0;
        assert_eq!(get(stream, &mut id), OK);
        id
    };
    assert_eq!(id(cuStreamGetId, 0), id(cuStreamGetId, LEGACY));
    assert_eq!(id(cuStreamGetId_ptsz, 0), id(cuStreamGetId, PER_THREAD));
    assert_eq!(id(cuStreamGetId_ptsz, LEGACY), id(cuStreamGetId, LEGACY));
    assert_ne!(id(cuStreamGetId, 0), id(cuStreamGetId, PER_THREAD));
    let other = std::thread::spawn(move || {
        assert_eq!(cuCtxSetCurrent(context_handle), OK);
        id(cuStreamGetId, PER_THREAD)
    });
    assert_ne!(other.join().expect("no panic"), id(cuStreamGetId, PER_THREAD));
    // Programs with per-thread default streams request the functions with a flag.
    for (flags, symbol) in [(0, "cuStreamGetId"), (1, "cuStreamGetId"), (2, "cuStreamGetId_ptsz")] {
        let (mut found, expected) = (std::ptr::null(), driver::function(symbol).map(|function| function.0));
        let name = c"cuStreamGetId".as_ptr().cast();
        assert_eq!(cuGetProcAddress_v2(name, &mut found, 13_000, flags, std::ptr::null_mut()), OK);
        assert_eq!(Some(found), expected, "{flags}");
    }
    let data = device_memory(4);
    assert_eq!(cuStreamWriteValue32_v2_ptsz(0, data, 9, 0), OK);
    assert_eq!(read_u32(data), 9);
    assert_eq!((cuStreamDestroy_v2(0), cuStreamDestroy_v2(PER_THREAD)), (INVALID_HANDLE, INVALID_HANDLE));
}

/// cuBLAS 12.9 requests the current context, its ID and a stream's ID in this way. An H100's driver returns the same.
#[test]
fn export_tables_return_context_and_stream_ids() {
    let context_handle = context(0);
    let slot = |table: u128, index: usize| {
        let mut slots = std::ptr::null();
        assert_eq!(cuGetExportTable(&mut slots, table.to_be_bytes().as_ptr()), OK);
        // SAFETY: the first slot of a table is its size in bytes, and the table has that size.
        let slots = unsafe { std::slice::from_raw_parts(slots, *slots / 8) };
        // SAFETY: the slots that the test calls take at most four arguments of 64 bits each.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(usize, usize, usize, usize) -> u32>(slots[index]) }
    };
    const TOOLS: u128 = 0x42d8_5a81_23f6_cb47_8298_f6e7_8a3a_ecdc;
    const NUMBERS: u128 = 0x2131_8c60_9714_3248_8ca6_41ff_7324_c8f2;
    let (mut current, mut id, mut expected) = (0_usize, 0_u64, 0_u64);
    // SAFETY: the first argument is the address of `current`, and the function ignores the second argument.
    assert_eq!(unsafe { slot(TOOLS, 2)((&raw mut current).addr(), 0, 0, 0) }, OK);
    assert_eq!(current, context_handle);
    // SAFETY: the arguments are a context and the address of `id`.
    assert_eq!(unsafe { slot(NUMBERS, 4)(context_handle, (&raw mut id).addr(), 0, 0) }, OK);
    assert_eq!((cuCtxGetId(context_handle, &mut expected), id), (OK, expected));
    for (stream, equivalent, has_per_thread_default) in
        [(0, LEGACY, 0), (0, PER_THREAD, 1), (LEGACY, LEGACY, 1), (PER_THREAD, PER_THREAD, 0), (stream(1), 0, 0)]
    {
        let mut inner = 0_usize;
        // SAFETY: the arguments are a context, a stream, the address of `inner` and a flag.
        let result =
            unsafe { slot(NUMBERS, 51)(context_handle, stream, (&raw mut inner).addr(), has_per_thread_default) };
        assert_eq!(result, OK);
        // SAFETY: the arguments are a context, an internal stream of the driver and the address of `id`.
        assert_eq!(unsafe { slot(NUMBERS, 39)(context_handle, inner, (&raw mut id).addr(), 0) }, OK);
        let public = if equivalent == 0 { stream } else { equivalent };
        assert_eq!((cuStreamGetId(public, &mut expected), id), (OK, expected), "{stream}");
    }
    // SAFETY: this slot takes no arguments and refuses the call.
    assert_eq!(unsafe { slot(NUMBERS, 92)(0, 0, 0, 0) }, NOT_SUPPORTED);
}

#[test]
fn words_of_memory_are_compared_and_written() {
    context(0);
    let (main_stream, data) = (stream(0), device_memory(64));
    let (flag, word) = host_memory();
    word.store(5, Ordering::Relaxed);
    for (value, condition) in [(5, 0), (u32::MAX - 5, 0), (5, 1), (4, 2), (0, 3)] {
        assert_eq!(cuStreamWaitValue32_v2(main_stream, flag, value, condition), OK);
        assert_eq!(cuStreamSynchronize(main_stream), OK, "{value} {condition}");
    }
    // The initial value of the word, the operand and condition of the wait, and the final value of the word.
    for (initial, value, condition, final_value) in [(5, 6, 0, 6), (5, 4, 1, 4), (5, 2, 2, 2), (u32::MAX, 1, 3, 5)] {
        word.store(initial, Ordering::Relaxed);
        assert_eq!(cuStreamWaitValue32_v2(main_stream, flag, value, condition), OK);
        assert_eq!(cuStreamQuery(main_stream), NOT_READY, "{value} {condition}");
        word.store(final_value, Ordering::Relaxed);
        assert_eq!(cuStreamSynchronize(main_stream), OK, "{value} {condition}");
    }
    assert_eq!(cuStreamWriteValue64_v2(main_stream, data + 8, 1 << 40, 0), OK);
    assert_eq!(cuStreamWaitValue64_v2(main_stream, data + 8, 1 << 40, 1), OK);
    assert_eq!(cuStreamSynchronize(main_stream), OK);
    assert_eq!((read_u32(data + 8), read_u32(data + 12)), (0, 1 << 8));
    let mut managed = 0;
    assert_eq!(cuMemAllocManaged(&mut managed, 64, 1), OK);
    for (address, flags) in [(flag, 4), (flag + 2, 0), (0, 0), (0x1000, 0), (managed, 0)] {
        assert_eq!(cuStreamWaitValue32_v2(main_stream, address, 5, flags), INVALID_VALUE, "{address:#x} {flags}");
    }
    assert_eq!(cuStreamWaitValue32_v2(main_stream, flag, 5, 1 << 30), NOT_SUPPORTED);
    assert_eq!(cuStreamWaitValue64_v2(main_stream, data + 4, 5, 0), INVALID_VALUE);
    assert_eq!(cuStreamWriteValue32_v2(main_stream, data, 5, 1), INVALID_VALUE);
    assert_eq!(cuStreamWriteValue32(main_stream, data, 5, 1), OK);
    assert_eq!(cuStreamWriteValue32_v2(main_stream, data + 1, 5, 0), INVALID_VALUE);
    assert_eq!(cuStreamWriteValue32_v2(NO_HANDLE, data, 5, 0), INVALID_HANDLE);
}

#[test]
fn memory_operation_batches_run_in_order() {
    context(0);
    let (main_stream, data) = (stream(0), device_memory(64));
    let write = MemOp { operation: 2, address: data, value: 11, ..MemOp::default() };
    let wait = MemOp { operation: 1, flags: 1, ..write };
    let long = MemOp { operation: 5, address: data + 8, value: 1 << 40, ..MemOp::default() };
    let barrier = MemOp { operation: 6, ..MemOp::default() };
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 4, [write, wait, barrier, long].as_ptr(), 0), OK);
    assert_eq!(cuStreamSynchronize(main_stream), OK);
    assert_eq!((read_u32(data), read_u32(data + 12)), (11, 1 << 8));
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 0, std::ptr::null(), 0), OK);
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 1, std::ptr::null(), 0), INVALID_VALUE);
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 1, &write, 1), INVALID_VALUE);
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 256, &write, 0), INVALID_VALUE);
    let wrong = |operation, other_flags| MemOp { operation, other_flags, ..MemOp::default() };
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 1, &wrong(9, 0), 0), INVALID_VALUE);
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 1, &wrong(6, 2), 0), INVALID_VALUE);
    assert_eq!(cuStreamBatchMemOp_v2(main_stream, 1, &wrong(3, 0), 0), NOT_SUPPORTED);
}

#[test]
fn streams_have_attributes() {
    context(0);
    let (main_stream, other) = (stream(0), stream(0));
    let get = |stream: Handle, id: u32| {
        let mut value = [0; 16];
        (cuStreamGetAttribute(stream, id, &mut value), value[0])
    };
    let known = [(1, 0), (3, u32::MAX), (8, 0), (9, 256), (10, 0)];
    for id in 0..18 {
        let expected = known.iter().find(|(known, _)| *known == id).map_or((INVALID_VALUE, 0), |entry| (OK, entry.1));
        assert_eq!(get(main_stream, id), expected, "{id}");
        let set = cuStreamSetAttribute(main_stream, id, &[1; 16]);
        assert_eq!(set, expected.0, "{id}");
    }
    assert_eq!(cuStreamSetAttribute(main_stream, 3, &[9; 16]), INVALID_VALUE);
    assert_eq!(cuStreamSetAttribute(main_stream, 3, std::ptr::null()), INVALID_VALUE);
    assert_eq!(cuStreamGetAttribute(main_stream, 3, std::ptr::null_mut()), INVALID_VALUE);
    assert_eq!(cuStreamCopyAttributes(other, main_stream), OK);
    assert_eq!(get(other, 3), (OK, 1));
    assert_eq!(get(PER_THREAD, 3), (OK, u32::MAX));
}

#[test]
fn events_are_waited_for_and_have_times() {
    context(0);
    let (main_stream, other) = (stream(0), stream(0));
    let (start, end, untimed) = (event(0), event(0), event(2));
    let mut milliseconds = -1.0;
    assert_eq!(cuEventCreate(&mut 0, 4), INVALID_VALUE);
    assert_eq!(cuEventCreate(&mut 0, 8), INVALID_VALUE);
    assert_eq!(cuEventElapsedTime_v2(&mut milliseconds, start, end), INVALID_HANDLE);
    assert_eq!((cuEventQuery(start), cuEventSynchronize(start)), (OK, OK));
    assert_eq!((cuEventRecord(start, main_stream), cuEventSynchronize(start)), (OK, OK));
    let (flag, word) = host_memory();
    assert_eq!(cuStreamWaitValue32_v2(main_stream, flag, 1, 0), OK);
    assert_eq!(cuEventRecord(end, main_stream), OK);
    assert_eq!(cuEventQuery(end), NOT_READY);
    assert_eq!(cuEventElapsedTime_v2(&mut milliseconds, start, end), NOT_READY);
    assert_eq!(cuStreamWaitEvent(other, end, 0), OK);
    assert_eq!(cuStreamQuery(other), NOT_READY);
    std::thread::sleep(Duration::from_millis(2));
    word.store(1, Ordering::Relaxed);
    assert_eq!(cuStreamSynchronize(other), OK);
    assert_eq!(cuEventElapsedTime_v2(&mut milliseconds, start, end), OK);
    assert!((1.0..60_000.0).contains(&milliseconds), "{milliseconds} ms");
    assert_eq!(cuEventElapsedTime_v2(&mut milliseconds, end, end), OK);
    assert_eq!(milliseconds, 0.0);
    assert_eq!(cuEventRecord(untimed, main_stream), OK);
    assert_eq!(cuEventElapsedTime_v2(&mut milliseconds, start, untimed), INVALID_HANDLE);
    assert_eq!(cuEventRecordWithFlags(start, main_stream, 1), ILLEGAL_STATE);
    assert_eq!(cuEventRecordWithFlags(start, main_stream, 2), INVALID_VALUE);
    assert_eq!(cuStreamWaitEvent(main_stream, start, 1), ILLEGAL_STATE);
    assert_eq!(cuStreamWaitEvent(main_stream, start, 2), INVALID_VALUE);
    assert_eq!(cuStreamWaitEvent(main_stream, 0, 0), INVALID_HANDLE);
    // A destroyed event still blocks the streams that already wait for it.
    word.store(0, Ordering::Relaxed);
    assert_eq!(cuStreamWaitValue32_v2(main_stream, flag, 1, 0), OK);
    assert_eq!(cuEventRecord(end, main_stream), OK);
    assert_eq!(cuStreamWaitEvent(other, end, 0), OK);
    assert_eq!(cuEventDestroy_v2(end), OK);
    assert_eq!((cuEventQuery(end), cuStreamQuery(other)), (INVALID_HANDLE, NOT_READY));
    word.store(1, Ordering::Relaxed);
    assert_eq!(cuCtxSynchronize(), OK);
}

#[test]
fn events_and_streams_of_other_contexts() {
    let first = context(0);
    let (main_stream, start) = (stream(0), event(0));
    assert_eq!(cuEventRecord(start, main_stream), OK);
    let second = context(0);
    let (other, end) = (stream(0), event(0));
    assert_eq!(cuEventRecord(start, other), INVALID_HANDLE);
    assert_eq!(cuStreamWaitEvent(other, start, 0), OK);
    assert_eq!(cuEventRecord(end, other), OK);
    assert_eq!((cuEventSynchronize(start), cuEventSynchronize(end)), (OK, OK));
    assert_eq!(cuEventElapsedTime_v2(&mut 0.0, start, end), INVALID_HANDLE);
    assert_eq!(cuCtxDestroy_v2(second), OK);
    assert_eq!(cuEventQuery(end), CONTEXT_IS_DESTROYED);
    assert_eq!(cuCtxSetCurrent(0), OK);
    assert_eq!(
        (cuEventQuery(start), cuEventRecord(start, main_stream), cuStreamSynchronize(main_stream)),
        (OK, OK, OK)
    );
    assert_eq!((cuEventRecord(start, 0), cuStreamSynchronize(0)), (INVALID_CONTEXT, INVALID_CONTEXT));
    assert_eq!(cuCtxSetCurrent(first), OK);
}

/// Waits until the flag is set.
extern "C" fn wait_for_flag(flag: *mut c_void) {
    // SAFETY: the test passes the address of a static flag.
    let flag = unsafe { &*flag.cast::<AtomicBool>() };
    while !flag.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_host_function_may_wait_for_another_stream() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    context(0);
    let (waiting, other, data) = (stream(0), stream(0), device_memory(4));
    assert_eq!(cuLaunchHostFunc(waiting, wait_for_flag, (&raw const FLAG).cast_mut().cast()), OK);
    assert_eq!(cuStreamWriteValue32_v2(other, data, 1, 0), OK);
    assert_eq!(cuStreamSynchronize(other), OK);
    assert_eq!(cuStreamQuery(waiting), NOT_READY);
    FLAG.store(true, Ordering::Relaxed);
    assert_eq!(cuStreamSynchronize(waiting), OK);
}
