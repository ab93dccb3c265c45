//! Stream capture: operations that become nodes, and calls that a capture forbids. The error codes match an H200.

use crate::copies::{Attributes, Operation, cuMemcpy3DBatchAsync_v2, cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2};
use crate::graphs::{KERNEL, kind, launch, launch_and_wait, nodes};
use crate::streams::{device_memory, event, read_u32, stream};
use crate::structs::Location;
use crate::support::{
    Handle, INVALID_VALUE, OK, context, cuCtxSetCurrent, cuCtxSynchronize, cuMemAlloc_v2, cuMemFree_v2, functions,
    in_child_process, kernel,
};

functions! {
    fn cuStreamBeginCapture_v2(stream: Handle, mode: u32);
    fn cuStreamBeginCaptureToGraph(
        stream: Handle, graph: Handle, nodes: *const Handle, data: *const u64, count: usize, mode: u32,
    );
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    fn cuStreamIsCapturing(stream: Handle, status: *mut u32);
    fn cuStreamGetCaptureInfo_v3(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        edges: *mut *const u64, count: *mut usize,
    );
    fn cuStreamUpdateCaptureDependencies_v2(
        stream: Handle, nodes: *const Handle, data: *const u64, count: usize, flags: u32,
    );
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32);
    fn cuStreamSynchronize(stream: Handle);
    fn cuStreamQuery(stream: Handle);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32);
    fn cuEventQuery(event: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle);
    fn cuMemsetD32_v2(address: u64, value: u32, count: usize);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle);
    fn cuMemFreeAsync(address: u64, stream: Handle);
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Handle);
    fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: u32, stream: Handle);
    fn cuMemPrefetchBatchAsync(
        addresses: *const u64, sizes: *const usize, count: usize, locations: *const Location, indices: *const usize,
        location_count: usize, flags: u64, stream: Handle,
    );
    fn cuMemDiscardBatchAsync(addresses: *const u64, sizes: *const usize, count: usize, flags: u64, stream: Handle);
    fn cuMemDiscardAndPrefetchBatchAsync(
        addresses: *const u64, sizes: *const usize, count: usize, locations: *const Location, indices: *const usize,
        location_count: usize, flags: u64, stream: Handle,
    );
    fn cuStreamAttachMemAsync(stream: Handle, address: u64, bytes: usize, flags: u32);
    fn cuStreamAddCallback(stream: Handle, function: extern "C" fn(usize, u32, usize), data: usize, flags: u32);
    fn cuGraphLaunch(exec: Handle, stream: Handle);
    fn cuGraphCreate(graph: *mut Handle, flags: u32);
    fn cuGraphDestroy(graph: Handle);
    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize);
    fn cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64);
}

const ILLEGAL_STATE: u32 = 401;
const UNSUPPORTED: u32 = 900;
const INVALIDATED: u32 = 901;
const MERGE: u32 = 902;
const UNMATCHED: u32 = 903;
const UNJOINED: u32 = 904;
const ISOLATION: u32 = 905;
const IMPLICIT: u32 = 906;
const CAPTURED_EVENT: u32 = 907;
const WRONG_THREAD: u32 = 908;

/// The capture modes, and the capture states of a stream: not capturing, capturing, and invalidated.
const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const FAILED: u32 = 2;

fn status(stream: Handle) -> (u32, u32) {
    let mut status = 77;
    (cuStreamIsCapturing(stream, &mut status), status)
}

fn begin(stream: Handle) {
    assert_eq!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL), OK);
}

fn end(stream: Handle) -> (u32, Handle) {
    let mut graph = 1;
    (cuStreamEndCapture(stream, &mut graph), graph)
}

/// Ends a capture that has been invalidated.
fn end_invalidated(stream: Handle) {
    assert_eq!(status(stream), (OK, FAILED));
    assert_eq!(end(stream), (INVALIDATED, 0));
    assert_eq!(status(stream), (OK, NONE));
}

/// PTX of the kernel `k`, which adds `number` to a value in memory.
pub(crate) const ADD: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 place, .param .u32 number)
{
    .reg .b64 %a;
    .reg .b32 %r<3>;
    ld.param.u64 %a, [place];
    cvta.to.global.u64 %a, %a;
    ld.param.u32 %r0, [number];
    ld.global.u32 %r1, [%a];
    add.u32 %r1, %r1, %r0;
    st.global.u32 [%a], %r1;
    ret;
}
";

#[test]
fn captured_operations_become_nodes() {
    context(0);
    let (origin, data, add) = (stream(0), device_memory(64), kernel(ADD));
    begin(origin);
    assert_eq!(status(origin), (OK, ACTIVE));
    assert_eq!(cuStreamBeginCapture_v2(origin, THREAD_LOCAL), ILLEGAL_STATE);
    assert_eq!(cuMemsetD32Async(data, 5, 1, origin), OK);
    assert_eq!(launch(add, origin, data, 3), OK);
    let (mut graph, mut count, mut dependencies) = (0, 0, std::ptr::null());
    let (mut state, mut id, mut edges) = (0, 0, std::ptr::null());
    let info =
        cuStreamGetCaptureInfo_v3(origin, &mut state, &mut id, &mut graph, &mut dependencies, &mut edges, &mut count);
    assert_eq!((info, state, count), (OK, ACTIVE, 1));
    assert_eq!(cuGraphDestroy(graph), INVALID_VALUE);
    assert_eq!(end(origin), (OK, graph));
    assert_eq!(end(origin), (ILLEGAL_STATE, 0));
    assert_eq!(nodes(graph).iter().map(|node| kind(*node)).collect::<Vec<_>>(), [2, KERNEL]);
    assert_eq!(read_u32(data), 0);
    launch_and_wait(graph, origin);
    assert_eq!(read_u32(data), 8);
}

#[test]
fn events_carry_a_capture_into_other_streams() {
    context(0);
    let (origin, other, data, add) = (stream(0), stream(0), device_memory(64), kernel(ADD));
    let (fork, join) = (event(2), event(2));
    begin(origin);
    assert_eq!(launch(add, origin, data, 1), OK);
    assert_eq!(cuEventRecord(fork, origin), OK);
    assert_eq!(cuStreamWaitEvent(other, fork, 0), OK);
    assert_eq!(status(other), (OK, ACTIVE));
    assert_eq!(launch(add, other, data, 10), OK);
    assert_eq!(cuEventRecord(join, other), OK);
    assert_eq!(cuStreamWaitEvent(origin, join, 0), OK);
    assert_eq!(launch(add, origin, data, 100), OK);
    let (code, graph) = end(origin);
    assert_eq!((code, nodes(graph).len(), status(other)), (OK, 3, (OK, NONE)));
    launch_and_wait(graph, origin);
    assert_eq!(read_u32(data), 111);
    // A capture fails if forked work is not joined, or if it ends in a stream other than its origin.
    for ends_in_other in [false, true] {
        begin(origin);
        assert_eq!(cuEventRecord(fork, origin), OK);
        assert_eq!(cuStreamWaitEvent(other, fork, 0), OK);
        assert_eq!(launch(add, other, data, 1), OK);
        if ends_in_other {
            assert_eq!(end(other), (UNMATCHED, 0));
            end_invalidated(origin);
        } else {
            assert_eq!(end(origin), (UNJOINED, 0));
        }
        assert_eq!(status(other), (OK, NONE));
    }
    // A stream that enters the capture without adding work need not be joined.
    begin(origin);
    assert_eq!(cuEventRecord(fork, origin), OK);
    assert_eq!(cuStreamWaitEvent(other, fork, 0), OK);
    assert_eq!(end(origin).0, OK);
}

#[test]
fn events_do_not_cross_capture_boundaries() {
    context(0);
    let (origin, other, data) = (stream(0), stream(0), device_memory(64));
    let (inside, outside, unrecorded) = (event(0), event(0), event(0));
    assert_eq!(cuEventRecord(outside, other), OK);
    begin(origin);
    assert_eq!(cuStreamWaitEvent(origin, unrecorded, 0), OK);
    assert_eq!(cuStreamWaitEvent(origin, outside, 0), ISOLATION);
    end_invalidated(origin);
    for wait in [cuEventQuery, cuEventSynchronize] {
        begin(origin);
        assert_eq!(cuEventRecord(inside, origin), OK);
        assert_eq!(wait(inside), CAPTURED_EVENT);
        end_invalidated(origin);
        assert_eq!((wait(inside), cuStreamWaitEvent(other, inside, 0)), (INVALID_VALUE, INVALID_VALUE));
    }
    begin(origin);
    begin(other);
    assert_eq!(cuEventRecord(inside, origin), OK);
    assert_eq!(cuStreamWaitEvent(other, inside, 0), MERGE);
    end_invalidated(origin);
    end_invalidated(other);
    // External events become nodes.
    assert_eq!(cuEventRecord(inside, other), OK);
    begin(origin);
    assert_eq!(cuStreamWaitEvent(origin, outside, 1), OK);
    assert_eq!(cuMemsetD32Async(data, 4, 1, origin), OK);
    assert_eq!(cuEventRecordWithFlags(inside, origin, 1), OK);
    let (code, graph) = end(origin);
    assert_eq!((code, nodes(graph).iter().map(|node| kind(*node)).collect::<Vec<_>>()), (OK, vec![6, 2, 7]));
    launch_and_wait(graph, origin);
    assert_eq!((cuEventQuery(inside), read_u32(data)), (OK, 4));
}

#[test]
fn the_default_stream_is_refused_during_a_capture() {
    context(0);
    let (origin, nonblocking, data, add) = (stream(0), stream(1), device_memory(64), kernel(ADD));
    assert_eq!((cuStreamBeginCapture_v2(0, 0), cuStreamBeginCapture_v2(1, 0)), (UNSUPPORTED, UNSUPPORTED));
    assert_eq!(cuStreamBeginCapture_v2(origin, 3), INVALID_VALUE);
    assert_eq!(end(origin), (ILLEGAL_STATE, 0));
    begin(origin);
    assert_eq!(status(0).0, IMPLICIT);
    assert_eq!(status(origin), (OK, ACTIVE));
    assert_eq!(launch(add, 0, data, 1), IMPLICIT);
    assert_eq!(cuStreamQuery(0), IMPLICIT);
    assert_eq!(cuMemsetD32_v2(data, 1, 1), IMPLICIT);
    assert_eq!(launch(add, origin, data, 1), INVALIDATED);
    end_invalidated(origin);
    // The default stream does not synchronize with non-blocking streams.
    begin(nonblocking);
    assert_eq!(launch(add, 0, data, 1), OK);
    assert_eq!(end(nonblocking).0, OK);
    // The per-thread default stream can be captured.
    let per_thread = 2;
    begin(per_thread);
    assert_eq!(launch(add, per_thread, data, 1), OK);
    assert_eq!(launch(add, 0, data, 1), IMPLICIT);
    end_invalidated(per_thread);
}

extern "C" fn never(_stream: usize, _status: u32, _data: usize) {}

#[test]
fn calls_without_a_node_type_invalidate_the_capture() {
    context(0);
    let (origin, other, data, add) = (stream(1), stream(1), device_memory(64), kernel(ADD));
    let (mut graph, mut exec, mut address) = (0, 0, 0);
    assert_eq!(cuGraphCreate(&mut graph, 0), OK);
    assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), OK);
    let mut calls: Vec<(u32, Box<dyn FnMut() -> u32>)> = vec![
        (UNSUPPORTED, Box::new(|| cuMemAlloc_v2(&mut address, 4))),
        (UNSUPPORTED, Box::new(|| cuMemFree_v2(0))),
        (UNSUPPORTED, Box::new(cuCtxSynchronize)),
        (UNSUPPORTED, Box::new(|| cuStreamSynchronize(origin))),
        (UNSUPPORTED, Box::new(|| cuStreamQuery(origin))),
        (UNSUPPORTED, Box::new(|| cuStreamQuery(other))),
        (UNSUPPORTED, Box::new(|| cuStreamAttachMemAsync(origin, data, 0, 1))),
        (UNSUPPORTED, Box::new(|| cuStreamAddCallback(origin, never, 0, 0))),
        (UNSUPPORTED, Box::new(|| cuGraphLaunch(exec, origin))),
        (INVALID_VALUE, Box::new(|| crate::graphs::launch_blocks(add, origin, data, 1, 0))),
    ];
    for (index, (code, call)) in calls.iter_mut().enumerate() {
        begin(origin);
        assert_eq!(call(), *code, "{index}");
        end_invalidated(origin);
    }
    // An invalid argument is refused without invalidating the capture.
    begin(origin);
    assert_eq!(cuMemsetD32Async(data + 1, 1, 1, origin), INVALID_VALUE);
    assert_eq!(end(origin).0, OK);
    // A relaxed capture allows calls that are merely unsafe.
    assert_eq!(cuStreamBeginCapture_v2(origin, RELAXED), OK);
    assert_eq!((cuMemAlloc_v2(&mut 0, 4), cuStreamSynchronize(other)), (OK, OK));
    assert_eq!(cuCtxSynchronize(), UNSUPPORTED);
    end_invalidated(origin);
    // Destroying a stream also discards its capture.
    begin(origin);
    assert_eq!(cuStreamDestroy_v2(origin), OK);
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), OK);
}

#[test]
fn copy_batches_are_refused_and_the_capture_continues() {
    if !in_child_process("captures::copy_batches_are_refused_and_the_capture_continues", &[]) {
        return;
    }
    context(0);
    let (origin, data, other, add) = (stream(0), device_memory(64), device_memory(64), kernel(ADD));
    assert_eq!(cuMemsetD32_v2(other, 7, 1), OK);
    let attributes = Attributes { order: 1, ..Attributes::default() };
    let row = || cuMemcpyBatchAsync_v2(&data, &other, &4, 1, &attributes, &0, 1, origin);
    let with_index = || cuMemcpyBatchAsync(&data, &other, &4, 1, &attributes, &0, 1, &mut 0, origin);
    let area = Operation::of_memory(other, data, [4, 1, 1]);
    let areas = || cuMemcpy3DBatchAsync_v2(1, &area, 0, origin);
    let batches: [&dyn Fn() -> u32; 3] = [&row, &with_index, &areas];
    for (index, batch) in batches.iter().enumerate() {
        assert_eq!((batch(), cuStreamSynchronize(origin), read_u32(data)), (OK, OK, 7), "{index}");
        for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
            assert_eq!(cuMemsetD32_v2(data, 0, 1), OK);
            assert_eq!(cuStreamBeginCapture_v2(origin, mode), OK);
            assert_eq!(launch(add, origin, data, 5), OK);
            assert_eq!((batch(), status(origin)), (UNSUPPORTED, (OK, ACTIVE)), "{index}, mode {mode}");
            assert_eq!(launch(add, origin, data, 6), OK);
            let (code, graph) = end(origin);
            assert_eq!((code, nodes(graph).len()), (OK, 2), "{index}, mode {mode}");
            launch_and_wait(graph, origin);
            assert_eq!(read_u32(data), 11, "{index}, mode {mode}");
        }
    }
}

#[test]
fn prefetches_and_discards_invalidate_the_capture() {
    if !in_child_process("captures::prefetches_and_discards_invalidate_the_capture", &[]) {
        return;
    }
    context(0);
    let (origin, add, data, mut managed) = (stream(0), kernel(ADD), device_memory(64), 0);
    assert_eq!(cuMemAllocManaged(&mut managed, 1 << 20, 1), OK);
    let (bytes, location) = (1 << 20, Location { kind: 1, id: 0 });
    let calls: [&dyn Fn(Handle) -> u32; 5] = [
        &|stream| cuMemPrefetchAsync(managed, bytes, 0, stream),
        &|stream| cuMemPrefetchAsync_v2(managed, bytes, location, 0, stream),
        &|stream| cuMemPrefetchBatchAsync(&managed, &bytes, 1, &location, &0, 1, 0, stream),
        &|stream| cuMemDiscardBatchAsync(&managed, &bytes, 1, 0, stream),
        &|stream| cuMemDiscardAndPrefetchBatchAsync(&managed, &bytes, 1, &location, &0, 1, 0, stream),
    ];
    for (index, call) in calls.iter().enumerate() {
        assert_eq!(call(origin), OK, "{index}");
        for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
            assert_eq!(cuStreamBeginCapture_v2(origin, mode), OK);
            assert_eq!(launch(add, origin, data, 5), OK);
            assert_eq!(call(origin), UNSUPPORTED, "{index}, mode {mode}");
            end_invalidated(origin);
        }
        // The call is allowed in a stream that is not captured. The default stream would wait for the captured stream.
        let other = stream(1);
        begin(origin);
        assert_eq!((call(other), status(origin)), (OK, (OK, ACTIVE)), "{index}");
        if index < 2 {
            assert_eq!(call(0), IMPLICIT, "{index}");
            end_invalidated(origin);
        } else {
            assert_eq!((call(0), call(1), end(origin).0), (INVALID_VALUE, INVALID_VALUE, OK), "{index}");
        }
    }
}

#[test]
fn capture_modes_restrict_other_threads() {
    if !in_child_process("captures::capture_modes_restrict_other_threads", &[]) {
        return;
    }
    let context = context(0);
    let origin = stream(1);
    let on_other_thread = |call: fn(Handle) -> u32| {
        let thread = std::thread::spawn(move || {
            assert_eq!(cuCtxSetCurrent(context), OK);
            call(origin)
        });
        thread.join().expect("no panic")
    };
    for (mode, allocation, end_code) in
        [(GLOBAL, UNSUPPORTED, INVALIDATED), (THREAD_LOCAL, OK, WRONG_THREAD), (RELAXED, OK, OK)]
    {
        assert_eq!(cuStreamBeginCapture_v2(origin, mode), OK);
        assert_eq!(on_other_thread(|_| cuMemAlloc_v2(&mut 0, 4)), allocation, "{mode}");
        assert_eq!(on_other_thread(|origin| end(origin).0), end_code, "{mode}");
        assert_eq!((status(origin), end(origin)), ((OK, NONE), (ILLEGAL_STATE, 0)), "{mode}");
    }
    let exchange = |mut mode: u32| {
        assert_eq!(cuThreadExchangeStreamCaptureMode(&mut mode), OK);
        mode
    };
    assert_eq!(exchange(RELAXED), GLOBAL);
    assert_eq!(cuStreamBeginCapture_v2(origin, GLOBAL), OK);
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), OK);
    assert_eq!(exchange(THREAD_LOCAL), RELAXED);
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), UNSUPPORTED);
    end_invalidated(origin);
}

#[test]
fn a_capture_can_extend_a_graph() {
    context(0);
    let (origin, data, add) = (stream(0), device_memory(64), kernel(ADD));
    let (mut graph, mut first, mut last, mut exec) = (0, 0, 0, 0);
    assert_eq!(cuGraphCreate(&mut graph, 0), OK);
    assert_eq!(cuGraphAddEmptyNode(&mut first, graph, std::ptr::null(), 0), OK);
    assert_eq!(cuStreamUpdateCaptureDependencies_v2(origin, &first, std::ptr::null(), 1, 1), ILLEGAL_STATE);
    let begin_in_graph =
        |nodes: *const Handle| cuStreamBeginCaptureToGraph(origin, graph, nodes, std::ptr::null(), 1, THREAD_LOCAL);
    assert_eq!(begin_in_graph(&0), INVALID_VALUE);
    assert_eq!(begin_in_graph(&first), OK);
    assert_eq!(launch(add, origin, data, 1), OK);
    let update = |flags| cuStreamUpdateCaptureDependencies_v2(origin, &first, std::ptr::null(), 1, flags);
    assert_eq!((update(1), update(7)), (OK, INVALID_VALUE));
    assert_eq!(launch(add, origin, data, 2), OK);
    assert_eq!(end(origin), (OK, graph));
    assert_eq!(cuGraphAddEmptyNode(&mut last, graph, &first, 1), OK);
    assert_eq!(nodes(graph).len(), 4);
    assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), OK);
    launch_and_wait(graph, origin);
    assert_eq!(read_u32(data), 3);
}

#[test]
fn allocations_and_frees_are_captured() {
    context(0);
    let (origin, data) = (stream(0), device_memory(64));
    let mut address = 0;
    begin(origin);
    assert_eq!(cuMemAllocAsync(&mut address, 1024, origin), OK);
    assert_eq!(cuMemsetD32Async(address, 3, 8, origin), OK);
    assert_eq!(cuMemcpyDtoDAsync_v2(data, address, 4, origin), OK);
    assert_eq!(cuMemFreeAsync(address, origin), OK);
    assert_eq!(cuMemFreeAsync(data, origin), INVALID_VALUE);
    let (code, graph) = end(origin);
    assert_eq!((code, nodes(graph).iter().map(|node| kind(*node)).collect::<Vec<_>>()), (OK, vec![10, 2, 1, 11]));
    launch_and_wait(graph, origin);
    assert_eq!(read_u32(data), 3);
    assert_eq!(cuMemFree_v2(address), INVALID_VALUE);
}
