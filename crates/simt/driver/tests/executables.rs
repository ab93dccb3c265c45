//! Executable graphs: launches, updates, memory nodes and user objects. The error codes match an H200.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::captures::ADD;
use crate::graphs::{
    Fill, INVALID_HANDLE, KernelParams, NOT_SUPPORTED, addition, count, cuGraphAddDependencies_v2, cuGraphClone,
    cuGraphDestroy, cuGraphDestroyNode, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch,
    cuGraphRemoveDependencies_v2, empty, executable, fill, graph, run, with_params,
};
use crate::streams::{device_memory, read_u32, stream};
use crate::support::{Handle, INVALID_VALUE, NO_HANDLE, OK, context, cuMemFree_v2, functions, kernel};

functions! {
    fn cuGraphAddMemAllocNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *mut [u64; 15],
    );
    fn cuGraphExecUpdate_v2(exec: Handle, graph: Handle, result: *mut [u64; 3]);
    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: *const KernelParams);
    fn cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const Fill, context: Handle);
    fn cuGraphAddMemFreeNode(node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, address: u64);
    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: *mut u64);
    fn cuGraphExecGetFlags(exec: Handle, flags: *mut u64);
    fn cuGraphNodeSetEnabled(exec: Handle, node: Handle, is_enabled: u32);
    fn cuGraphNodeGetEnabled(exec: Handle, node: Handle, is_enabled: *mut u32);
    fn cuGraphDebugDotPrint(graph: Handle, path: *const u8, flags: u32);
    fn cuUserObjectCreate(
        object: *mut Handle, data: *mut c_void, destroy: extern "C" fn(*mut c_void), count: u32, flags: u32,
    );
    fn cuUserObjectRetain(object: Handle, count: u32);
    fn cuUserObjectRelease(object: Handle, count: u32);
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32);
    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: u32);
}

const OPERATING_SYSTEM: u32 = 304;
const UPDATE_FAILURE: u32 = 910;

#[test]
fn executable_graphs_can_be_updated() {
    context(0);
    let (main_graph, add, target, stream) = (graph(), kernel(ADD), device_memory(64), stream(0));
    let start = fill(main_graph, &[], target, 10);
    let addend = addition(main_graph, &[start], add, target, 1);
    let exec = executable(main_graph, 0);
    let set = with_params(add, target, 3, |params| cuGraphExecKernelNodeSetParams_v2(exec, addend, &params));
    assert_eq!(set, OK);
    run(exec, stream);
    assert_eq!(read_u32(target), 13);
    let changed = Fill { address: target, pitch: 0, value: 40, element: 4, width: 1, height: 1 };
    assert_eq!(cuGraphExecMemsetNodeSetParams(exec, start, &changed, 0), OK);
    assert_eq!(cuGraphExecMemsetNodeSetParams(exec, addend, &changed, 0), INVALID_VALUE);
    assert_eq!(cuGraphNodeSetEnabled(exec, addend, 0), OK);
    let mut is_enabled = 9;
    assert_eq!(cuGraphNodeGetEnabled(exec, addend, &mut is_enabled), OK);
    run(exec, stream);
    assert_eq!((read_u32(target), is_enabled), (40, 0));
    assert_eq!(cuGraphNodeSetEnabled(exec, addend, 1), OK);
    // Update of the whole graph.
    let other = graph();
    let first = fill(other, &[], target, 7);
    let second = addition(other, &[first], add, target, 2);
    let mut result = [9; 3];
    assert_eq!(cuGraphExecUpdate_v2(exec, other, &mut result), OK);
    assert_eq!((result[0] as u32, result[1], result[2]), (0, 0, 0));
    run(exec, stream);
    assert_eq!(read_u32(target), 9);
    let mut refused = |expected: [u64; 3]| {
        assert_eq!(cuGraphExecUpdate_v2(exec, other, &mut result), UPDATE_FAILURE);
        assert_eq!([u64::from(result[0] as u32), result[1], result[2]], expected);
    };
    let third = empty(other, &[second]);
    refused([2, 0, 0]);
    assert_eq!(cuGraphDestroyNode(third), OK);
    assert_eq!(cuGraphRemoveDependencies_v2(other, &first, &second, std::ptr::null(), 1), OK);
    refused([2, second as u64, 0]);
    assert_eq!(cuGraphAddDependencies_v2(other, &second, &first, std::ptr::null(), 1), OK);
    refused([3, first as u64, 0]);
    // Flags.
    let mut flags = 9;
    assert_eq!(cuGraphExecGetFlags(executable(main_graph, 1 | 8), &mut flags), OK);
    assert_eq!(flags, 9);
    for wrong in [2, 5, 16] {
        assert_eq!(cuGraphInstantiateWithFlags(&mut 0, main_graph, wrong), INVALID_VALUE, "{wrong}");
    }
    assert_eq!((cuGraphLaunch(0, stream), cuGraphLaunch(exec, NO_HANDLE)), (INVALID_VALUE, INVALID_HANDLE));
    assert_eq!((cuGraphExecDestroy(exec), cuGraphExecDestroy(exec)), (OK, INVALID_VALUE));
}

#[test]
fn graphs_allocate_memory() {
    context(0);
    let (main_graph, target, stream) = (graph(), device_memory(64), stream(0));
    // `CUDA_MEM_ALLOC_NODE_PARAMS`: pinned memory of device 0.
    let mut params = [0_u64; 15];
    (params[0], params[1], params[13]) = (1, 1, 1000);
    let mut node = 0;
    let mut add = |params: &mut [u64; 15]| cuGraphAddMemAllocNode(&mut node, main_graph, std::ptr::null(), 0, params);
    assert_eq!(add(&mut params), OK);
    for (index, value) in [(13, 0), (1, 1 | 50 << 32), (0, 0)] {
        let mut wrong = params;
        wrong[index] = value;
        assert_eq!(add(&mut wrong), INVALID_VALUE, "{index}");
    }
    let address = params[14];
    assert_ne!(address, 0);
    fill(main_graph, &[node], address, 55);
    let exec = executable(main_graph, 0);
    assert_eq!(cuGraphInstantiateWithFlags(&mut 0, main_graph, 0), NOT_SUPPORTED);
    assert_eq!((cuGraphClone(&mut 0, main_graph), cuGraphDestroyNode(node)), (NOT_SUPPORTED, NOT_SUPPORTED));
    run(exec, stream);
    assert_eq!(read_u32(address), 55);
    assert_eq!(cuGraphLaunch(exec, stream), INVALID_VALUE);
    let mut used = 0;
    assert_eq!(cuDeviceGetGraphMemAttribute(0, 0, &mut used), OK);
    assert!(used >= 1000, "{used}");
    assert_eq!((cuMemFree_v2(address), cuMemFree_v2(address)), (OK, INVALID_VALUE));
    run(exec, stream);
    assert_eq!(cuGraphExecDestroy(exec), OK);
    let exec = executable(main_graph, 1);
    run(exec, stream);
    run(exec, stream);
    assert_eq!((cuMemFree_v2(address), cuGraphExecDestroy(exec)), (OK, OK));
    assert_eq!(cuGraphAddMemFreeNode(&mut 0, main_graph, &node, 1, address), INVALID_VALUE);
    // Another graph frees the memory.
    let other = graph();
    assert_eq!(cuGraphAddMemFreeNode(&mut 0, other, std::ptr::null(), 0, address), OK);
    let (exec, free) = (executable(main_graph, 0), executable(other, 0));
    assert_eq!(cuGraphLaunch(free, stream), INVALID_VALUE);
    run(exec, stream);
    run(free, stream);
    assert_eq!(cuGraphLaunch(free, stream), INVALID_VALUE);
    run(exec, stream);
    // A graph that allocates and frees its memory can be launched repeatedly.
    let both = graph();
    assert_eq!(cuGraphAddMemAllocNode(&mut node, both, std::ptr::null(), 0, &mut params), OK);
    assert_eq!(cuGraphAddMemFreeNode(&mut 0, both, &node, 1, target), INVALID_VALUE);
    assert_eq!(cuGraphAddMemFreeNode(&mut 0, both, &node, 1, params[14]), OK);
    assert_eq!(cuGraphAddMemFreeNode(&mut 0, both, &node, 1, params[14]), INVALID_VALUE);
    let exec = executable(both, 0);
    run(exec, stream);
    run(exec, stream);
    assert_eq!(cuMemFree_v2(params[14]), INVALID_VALUE);
}

#[test]
fn graphs_retain_user_objects() {
    static ENDS: AtomicU32 = AtomicU32::new(0);
    context(0);
    let data = (&raw const ENDS).cast_mut().cast();
    let (mut object, main_graph, stream) = (0, graph(), stream(0));
    assert_eq!(cuUserObjectCreate(&mut object, data, count, 1, 0), INVALID_VALUE);
    assert_eq!(cuUserObjectCreate(&mut object, data, count, 0, 1), INVALID_VALUE);
    assert_eq!(cuUserObjectCreate(&mut object, data, count, 2, 1), OK);
    assert_eq!((cuUserObjectRetain(object, 1), cuUserObjectRetain(object, 0)), (OK, INVALID_VALUE));
    assert_eq!(cuUserObjectRelease(object, 2), OK);
    assert_eq!(cuGraphRetainUserObject(main_graph, object, 1, 2), INVALID_VALUE);
    assert_eq!(
        (cuGraphRetainUserObject(main_graph, object, 1, 0), cuGraphRetainUserObject(main_graph, object, 1, 1)),
        (OK, OK)
    );
    assert_eq!(cuGraphReleaseUserObject(main_graph, object, 1), OK);
    let exec = executable(main_graph, 0);
    assert_eq!((cuGraphDestroy(main_graph), ENDS.load(Ordering::Relaxed)), (OK, 0));
    run(exec, stream);
    assert_eq!(cuGraphExecDestroy(exec), OK);
    while ENDS.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(cuUserObjectRelease(object, 1), INVALID_VALUE);
}

#[test]
fn graphs_are_written_as_dot() {
    context(0);
    let (main_graph, add, target) = (graph(), kernel(ADD), device_memory(64));
    let start = fill(main_graph, &[], target, 1);
    addition(main_graph, &[start], add, target, 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("graph.dot");
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).expect("a path without a NUL");
    assert_eq!(cuGraphDebugDotPrint(main_graph, name.as_ptr().cast(), 0), OK);
    let text = std::fs::read_to_string(&path).expect("the DOT file is readable");
    assert!(text.starts_with("digraph") && text.contains("MEMSET") && text.matches("->").count() == 1, "{text}");
    assert_eq!(cuGraphDebugDotPrint(main_graph, std::ptr::null(), 0), INVALID_VALUE);
    assert_eq!(cuGraphDebugDotPrint(main_graph, c"/nowhere/at/all".as_ptr().cast(), 0), OPERATING_SYSTEM);
}
