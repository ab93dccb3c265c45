//! Graphs: nodes, edges and executable graphs. The error codes match an H200.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::captures::ADD;
use crate::streams::{device_memory, event, read_u32, stream};
use crate::support::{Handle, INVALID_VALUE, OK, context, functions, kernel};

functions! {
    fn cuGraphCreate(graph: *mut Handle, flags: u32);
    fn cuGraphDestroy(graph: Handle);
    fn cuGraphClone(clone: *mut Handle, graph: Handle);
    fn cuGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle);
    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    fn cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize);
    fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize);
    fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize);
    fn cuGraphAddDependencies_v2(
        graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize,
    );
    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize,
    );
    fn cuGraphNodeGetType(node: Handle, kind: *mut u32);
    fn cuGraphDestroyNode(node: Handle);
    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize);
    fn cuGraphAddKernelNode_v2(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const KernelParams,
    );
    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: *mut KernelParams);
    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: *const KernelParams);
    fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, value: *mut [u32; 16]);
    fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: *const [u32; 16]);
    fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle);
    fn cuGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const Fill,
        context: Handle,
    );
    fn cuGraphMemsetNodeGetParams(node: Handle, params: *mut Fill);
    fn cuGraphAddNode_v2(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, data: *const u64, count: usize,
        params: *mut [u64; 32],
    );
    fn cuGraphNodeSetParams(node: Handle, params: *mut [u64; 32]);
    fn cuGraphAddHostNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, params: *const HostCall,
    );
    fn cuGraphAddChildGraphNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, child: Handle,
    );
    fn cuGraphChildGraphNodeGetGraph(node: Handle, graph: *mut Handle);
    fn cuGraphAddEventRecordNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, event: Handle,
    );
    fn cuGraphEventRecordNodeGetEvent(node: Handle, event: *mut Handle);
    fn cuGraphEventWaitNodeGetEvent(node: Handle, event: *mut Handle);
    fn cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64);
    fn cuGraphInstantiateWithParams(exec: *mut Handle, graph: Handle, params: *mut [u64; 4]);
    fn cuGraphLaunch(exec: Handle, stream: Handle);
    fn cuGraphExecDestroy(exec: Handle);
    fn cuStreamSynchronize(stream: Handle);
    fn cuEventQuery(event: Handle);
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const u64, extra: *const usize,
    );
}

pub(crate) const INVALID_HANDLE: u32 = 400;
const LOSSY_QUERY: u32 = 402;
pub(crate) const NOT_SUPPORTED: u32 = 801;

/// `CUgraphNodeType`.
pub(crate) const KERNEL: u32 = 0;

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelParams {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) params: *const *const u64,
    pub(crate) extra: *const usize,
    pub(crate) kernel: Handle,
    pub(crate) context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    pub(crate) element: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
pub(crate) struct HostCall {
    pub(crate) function: extern "C" fn(*mut c_void),
    pub(crate) data: *mut c_void,
}

/// Launches `blocks` blocks of the kernel in `ADD`.
pub(crate) fn launch_blocks(function: Handle, stream: Handle, target: u64, add: u32, blocks: u32) -> u32 {
    let add = u64::from(add);
    let params = [&raw const target, &raw const add];
    cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, stream, params.as_ptr(), std::ptr::null())
}

/// Launches one block of the kernel in `ADD`.
pub(crate) fn launch(function: Handle, stream: Handle, target: u64, add: u32) -> u32 {
    launch_blocks(function, stream, target, add, 1)
}

/// Returns the nodes of a graph.
pub(crate) fn nodes(graph: Handle) -> Vec<Handle> {
    let mut count = 0;
    assert_eq!(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count), OK);
    let mut nodes = vec![0; count];
    assert_eq!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count), OK);
    nodes
}

/// Returns the type of a node.
pub(crate) fn kind(node: Handle) -> u32 {
    let mut kind = 99;
    assert_eq!(cuGraphNodeGetType(node, &mut kind), OK);
    kind
}

pub(crate) fn graph() -> Handle {
    let mut graph = 0;
    assert_eq!(cuGraphCreate(&mut graph, 0), OK);
    graph
}

pub(crate) fn executable(graph: Handle, flags: u64) -> Handle {
    let mut exec = 0;
    assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, flags), OK);
    exec
}

pub(crate) fn run(exec: Handle, stream: Handle) {
    assert_eq!(cuGraphLaunch(exec, stream), OK);
    assert_eq!(cuStreamSynchronize(stream), OK);
}

/// Instantiates a graph, launches it and waits for it.
pub(crate) fn launch_and_wait(graph: Handle, stream: Handle) {
    let exec = executable(graph, 0);
    run(exec, stream);
    assert_eq!(cuGraphExecDestroy(exec), OK);
}

/// Adds a memset node that sets one `u32`.
pub(crate) fn fill(graph: Handle, dependencies: &[Handle], address: u64, value: u32) -> Handle {
    let fill = Fill { address, value, element: 4, width: 1, height: 1, pitch: 0 };
    let mut node = 0;
    assert_eq!(cuGraphAddMemsetNode(&mut node, graph, dependencies.as_ptr(), dependencies.len(), &fill, 0), OK);
    node
}

pub(crate) fn empty(graph: Handle, dependencies: &[Handle]) -> Handle {
    let mut node = 0;
    assert_eq!(cuGraphAddEmptyNode(&mut node, graph, dependencies.as_ptr(), dependencies.len()), OK);
    node
}

/// Calls `with` with the parameters of a launch of the kernel in `ADD`.
pub(crate) fn with_params<R>(function: Handle, target: u64, add: u32, with: impl FnOnce(KernelParams) -> R) -> R {
    let add = u64::from(add);
    let params = [&raw const target, &raw const add];
    let (params, extra) = (params.as_ptr(), std::ptr::null());
    let (grid, block) = ([1; 3], [1; 3]);
    with(KernelParams { function, grid, block, shared_bytes: 0, params, extra, kernel: 0, context: 0 })
}

/// Adds a kernel node that adds `add` to a value in memory.
pub(crate) fn addition(graph: Handle, dependencies: &[Handle], function: Handle, target: u64, add: u32) -> Handle {
    let mut node = 0;
    let added = with_params(function, target, add, |params| {
        cuGraphAddKernelNode_v2(&mut node, graph, dependencies.as_ptr(), dependencies.len(), &params)
    });
    assert_eq!(added, OK);
    node
}

#[test]
fn nodes_and_edges() {
    context(0);
    let (main_graph, other) = (graph(), graph());
    let (a, b, c) = (empty(main_graph, &[]), empty(main_graph, &[]), empty(other, &[]));
    let connect = |from: Handle, to: Handle| cuGraphAddDependencies_v2(main_graph, &from, &to, std::ptr::null(), 1);
    assert_eq!(
        (connect(a, b), connect(a, b), connect(a, a), connect(a, c)),
        (OK, INVALID_VALUE, INVALID_VALUE, INVALID_VALUE)
    );
    let (mut from, mut to, mut data, mut count) = ([9; 3], [9; 3], [9; 3], 3);
    assert_eq!(cuGraphGetEdges_v2(main_graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count), OK);
    assert_eq!((from, to, data, count), ([a, 0, 0], [b, 0, 0], [0; 3], 1));
    count = 3;
    assert_eq!(cuGraphGetRootNodes(main_graph, from.as_mut_ptr(), &mut count), OK);
    assert_eq!((from, count), ([a, 0, 0], 1));
    count = 1;
    assert_eq!(cuGraphNodeGetDependencies_v2(b, from.as_mut_ptr(), std::ptr::null_mut(), &mut count), OK);
    assert_eq!((from[0], count), (a, 1));
    assert_eq!(cuGraphNodeGetDependentNodes_v2(a, to.as_mut_ptr(), std::ptr::null_mut(), &mut count), OK);
    assert_eq!((to[0], count), (b, 1));
    assert_eq!(cuGraphAddEmptyNode(&mut 0, main_graph, [a, a].as_ptr(), 2), INVALID_VALUE);
    assert_eq!(cuGraphAddEmptyNode(&mut 0, main_graph, std::ptr::null(), 1), INVALID_VALUE);
    assert_eq!(cuGraphGetNodes(main_graph, std::ptr::null_mut(), std::ptr::null_mut()), INVALID_VALUE);
    // Only edges between kernel nodes have data.
    assert_eq!(cuGraphAddDependencies_v2(main_graph, &b, &a, &0x0001_0001, 1), INVALID_VALUE);
    let add = kernel(ADD);
    let target = device_memory(4);
    let (first, second) = (addition(other, &[], add, target, 1), addition(other, &[], add, target, 1));
    let last = empty(other, &[]);
    // The source port of an edge, its type, and whether it may lead to a kernel node and to another node.
    for (port, kind, to_kernel, to_other) in [
        (0, 1, false, false),
        (1, 0, false, false),
        (1, 1, true, false),
        (2, 0, true, true),
        (2, 1, true, false),
        (2, 2, false, false),
        (3, 0, false, false),
    ] {
        let data = port | kind << 16;
        for (to, is_known) in [(second, to_kernel), (last, to_other)] {
            let code = cuGraphAddDependencies_v2(other, &first, &to, &data, 1);
            assert_eq!(code, if is_known { OK } else { INVALID_VALUE }, "{port} {kind}");
            if is_known {
                let (mut from, mut count) = (0, 1);
                let shown = cuGraphNodeGetDependencies_v2(to, &mut from, std::ptr::null_mut(), &mut count);
                assert_eq!(shown, LOSSY_QUERY);
                assert_eq!(cuGraphRemoveDependencies_v2(other, &first, &to, &data, 1), OK);
            }
        }
    }
    assert_eq!(cuGraphAddDependencies_v2(other, &first, &second, &0x0001_0001, 1), OK);
    assert_eq!(cuGraphRemoveDependencies_v2(other, &first, &second, std::ptr::null(), 1), INVALID_VALUE);
    assert_eq!(cuGraphRemoveDependencies_v2(other, &first, &second, &0x0001_0001, 1), OK);
    // Instantiation detects the cycle.
    assert_eq!(connect(b, a), OK);
    let mut params = [0; 4];
    assert_eq!(cuGraphInstantiateWithFlags(&mut 0, main_graph, 0), INVALID_VALUE);
    assert_eq!(cuGraphInstantiateWithParams(&mut 0, main_graph, &mut params), INVALID_VALUE);
    assert_eq!((params[2], params[3] as u32), (b as u64, 2));
    assert_eq!(cuGraphDestroyNode(b), OK);
    assert_eq!(
        (nodes(main_graph), cuGraphDestroyNode(b), cuGraphNodeGetType(b, &mut 0)),
        (vec![a], INVALID_VALUE, INVALID_VALUE)
    );
    assert_eq!((cuGraphDestroy(main_graph), cuGraphDestroy(main_graph)), (OK, INVALID_VALUE));
    assert_eq!(cuGraphNodeGetType(a, &mut 0), INVALID_VALUE);
}

#[test]
fn kernel_nodes_are_checked_as_launches_are() {
    context(0);
    let (main_graph, add, target, stream) = (graph(), kernel(ADD), device_memory(64), stream(0));
    let refused = |change: fn(&mut KernelParams), code: u32| {
        let added = with_params(add, target, 1, |mut params| {
            change(&mut params);
            cuGraphAddKernelNode_v2(&mut 0, main_graph, std::ptr::null(), 0, &params)
        });
        assert_eq!(added, code);
    };
    refused(|params| params.grid[0] = 0, INVALID_VALUE);
    refused(|params| params.grid[1] = 70_000, INVALID_VALUE);
    refused(|params| params.block[0] = 2048, INVALID_VALUE);
    refused(|params| params.shared_bytes = 1 << 20, INVALID_VALUE);
    refused(|params| params.params = std::ptr::null(), INVALID_VALUE);
    refused(|params| params.extra = std::ptr::dangling(), INVALID_VALUE);
    refused(|params| params.function = 0, INVALID_HANDLE);
    let node = addition(main_graph, &[], add, target, 5);
    let mut params = with_params(add, target, 1, |params| params);
    assert_eq!(cuGraphKernelNodeGetParams_v2(node, &mut params), OK);
    assert_eq!((params.function, params.grid, params.extra.is_null()), (add, [1; 3], true));
    // SAFETY: the driver returns the addresses of two arguments of eight and four bytes.
    let shown = unsafe { (**params.params, *(*params.params.add(1)).cast::<u32>()) };
    assert_eq!(shown, (target, 5));
    let set = with_params(add, target, 7, |params| cuGraphKernelNodeSetParams_v2(node, &params));
    assert_eq!(set, OK);
    launch_and_wait(main_graph, stream);
    assert_eq!(read_u32(target), 7);
    let not_kernel = empty(main_graph, &[]);
    assert_eq!(cuGraphKernelNodeGetParams_v2(not_kernel, &mut params), INVALID_VALUE);
    // Attributes.
    let mut value = [0; 16];
    for id in 0..18 {
        let known = [1, 2, 4, 5, 8, 9, 10, 13, 14].contains(&id);
        let code = if known { OK } else { INVALID_VALUE };
        assert_eq!(cuGraphKernelNodeGetAttribute(node, id, &mut value), code, "{id}");
    }
    value = [0; 16];
    value[0] = -3_i32 as u32;
    assert_eq!(cuGraphKernelNodeSetAttribute(node, 8, &value), OK);
    let copy = addition(main_graph, &[], add, target, 1);
    assert_eq!(cuGraphKernelNodeCopyAttributes(copy, node), OK);
    assert_eq!(cuGraphKernelNodeGetAttribute(copy, 8, &mut value), OK);
    assert_eq!(value[0] as i32, -3);
    assert_eq!(cuGraphKernelNodeGetAttribute(not_kernel, 8, &mut value), INVALID_VALUE);
}

#[test]
fn generic_node_functions() {
    context(0);
    let (main_graph, target, stream) = (graph(), device_memory(64), stream(0));
    let mut params = [0_u64; 32];
    params[0] = 2;
    (params[2], params[4], params[5], params[6]) = (target, 30 | 4 << 32, 1, 1);
    let mut node = 0;
    assert_eq!(cuGraphAddNode_v2(&mut node, main_graph, std::ptr::null(), std::ptr::null(), 0, &mut params), OK);
    let mut fill = Fill::default();
    assert_eq!(cuGraphMemsetNodeGetParams(node, &mut fill), OK);
    assert_eq!(fill, Fill { address: target, pitch: 0, value: 30, element: 4, width: 1, height: 1 });
    params[4] = 31 | 4 << 32;
    assert_eq!(cuGraphNodeSetParams(node, &mut params), OK);
    launch_and_wait(main_graph, stream);
    assert_eq!(read_u32(target), 31);
    let wrong = |change: fn(&mut [u64; 32]), code: u32| {
        let mut params = params;
        change(&mut params);
        assert_eq!(cuGraphAddNode_v2(&mut 0, main_graph, std::ptr::null(), std::ptr::null(), 0, &mut params), code);
    };
    wrong(|params| params[31] = 1, INVALID_VALUE);
    wrong(|params| params[1] = 1, INVALID_VALUE);
    wrong(|params| params[0] = 99, INVALID_VALUE);
    wrong(|params| params[0] = 13, NOT_SUPPORTED);
    wrong(|params| params[5] = 0, INVALID_VALUE);
    wrong(|params| params[5] = 1 << 62, INVALID_VALUE);
    wrong(|params| params[2] += 1, INVALID_VALUE);
}

pub(crate) extern "C" fn count(counter: *mut c_void) {
    // SAFETY: each test passes the address of a static counter.
    unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn child_graphs_clones_and_host_nodes() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    context(0);
    let (child, main_graph, add, target, stream) = (graph(), graph(), kernel(ADD), device_memory(64), stream(0));
    let first = addition(child, &[], add, target, 1);
    let call = HostCall { function: count, data: (&raw const CALLS).cast_mut().cast() };
    assert_eq!(cuGraphAddHostNode(&mut 0, child, &first, 1, &call), OK);
    let start = fill(main_graph, &[], target, 20);
    let (mut node, mut embedded, mut end) = (0, 0, 0);
    assert_eq!(cuGraphAddChildGraphNode(&mut node, main_graph, &start, 1, child), OK);
    assert_eq!(cuGraphChildGraphNodeGetGraph(node, &mut embedded), OK);
    assert_eq!((embedded == child, cuGraphDestroy(embedded), nodes(embedded).len()), (false, INVALID_VALUE, 2));
    let reached = event(0);
    assert_eq!(cuGraphAddEventRecordNode(&mut end, main_graph, &node, 1, reached), OK);
    let mut shown = 0;
    assert_eq!(cuGraphEventRecordNodeGetEvent(end, &mut shown), OK);
    assert_eq!((shown, cuGraphEventWaitNodeGetEvent(end, &mut shown)), (reached, INVALID_VALUE));
    assert_eq!(cuGraphAddEventRecordNode(&mut 0, main_graph, std::ptr::null(), 0, 0), INVALID_VALUE);
    let mut clone = 0;
    assert_eq!(cuGraphClone(&mut clone, main_graph), OK);
    let mut copy = 0;
    assert_eq!(cuGraphNodeFindInClone(&mut copy, start, clone), OK);
    assert_ne!(copy, start);
    assert_eq!(cuGraphNodeFindInClone(&mut copy, start, main_graph), INVALID_VALUE);
    assert_eq!(cuGraphNodeFindInClone(&mut copy, first, clone), INVALID_VALUE);
    launch_and_wait(clone, stream);
    assert_eq!((read_u32(target), CALLS.load(Ordering::Relaxed), cuEventQuery(reached)), (21, 1, OK));
    assert_eq!(cuGraphDestroy(main_graph), OK);
    assert_eq!(cuGraphGetNodes(embedded, std::ptr::null_mut(), &mut 0), INVALID_VALUE);
}
