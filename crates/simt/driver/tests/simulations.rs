//! Several simulations in one process, each with one GPU. They do not affect each other.

use driver::{Resources, Simulation};

use crate::captures::{
    ADD, cuStreamBeginCapture_v2, cuStreamEndCapture, cuStreamIsCapturing, cuStreamSynchronize,
    cuThreadExchangeStreamCaptureMode,
};
use crate::executables::{cuDeviceGetGraphMemAttribute, cuGraphAddMemAllocNode};
use crate::graphs::{INVALID_HANDLE, executable, graph, launch, run};
use crate::streams::{device_memory, read_u32, stream};
use crate::support::{Handle, INVALID_VALUE, OK, cuMemAlloc_v2, cuMemFree_v2, functions, kernel};

functions! {
    fn cuIpcGetMemHandle(handle: *mut [u8; 64], address: u64);
}

type Gpu = Resources<()>;

fn gpu() -> Gpu {
    let simulation = Simulation::new(1).expect("the host can start a thread");
    Resources::new(Some(simulation), || Ok::<_, String>(())).expect("the resources need no setup")
}

/// Calls the driver of a simulation.
fn on<R>(gpu: &mut Gpu, act: impl FnOnce() -> R) -> R {
    gpu.with(|()| Ok::<_, String>(act()), |error, _| error).expect("no error")
}

fn status(stream: Handle) -> (u32, u32) {
    let mut status = 77;
    (cuStreamIsCapturing(stream, &mut status), status)
}

#[test]
fn a_capture_does_not_affect_another_gpu() {
    let (mut first, mut second) = (gpu(), gpu());
    let captured = on(&mut first, || {
        let (captured, data) = (stream(1), device_memory(64));
        assert_eq!(cuStreamBeginCapture_v2(captured, 0), OK);
        assert_eq!(launch(kernel(ADD), captured, data, 3), OK);
        captured
    });
    on(&mut second, || {
        let local_stream = stream(0);
        assert_eq!((cuMemAlloc_v2(&mut 0, 64), cuStreamSynchronize(local_stream)), (OK, OK));
        // Each thread has a separate capture mode for each GPU.
        assert_eq!(cuStreamBeginCapture_v2(local_stream, 0), OK);
        let mut mode = 2;
        assert_eq!((cuThreadExchangeStreamCaptureMode(&mut mode), mode), (OK, 0));
        assert_eq!(cuMemAlloc_v2(&mut 0, 64), OK);
        assert_eq!(status(captured).0, INVALID_HANDLE);
    });
    on(&mut first, || {
        assert_eq!(status(captured), (OK, 1));
        let (mut graph, mut mode) = (0, 0);
        assert_eq!((cuThreadExchangeStreamCaptureMode(&mut mode), mode), (OK, 0));
        assert_eq!(cuStreamEndCapture(captured, &mut graph), OK);
    });
    // The capture on the second GPU is still active, and no later simulation sees it.
    drop(second);
    on(&mut gpu(), || assert_eq!(cuMemAlloc_v2(&mut 0, 64), OK));
}

/// Adds an allocation of 64 bytes to a graph, and returns its address.
fn allocation(graph: Handle) -> u64 {
    let (mut node, mut params) = (0, [0_u64; 15]);
    // Pinned memory of the first device.
    (params[0], params[1], params[13]) = (1, 1, 64);
    assert_eq!(cuGraphAddMemAllocNode(&mut node, graph, std::ptr::null(), 0, &mut params), OK);
    params[14]
}

#[test]
fn memory_addresses_differ_between_gpus() {
    let (mut first, mut second) = (gpu(), gpu());
    let used = || {
        let mut used = 77;
        assert_eq!(cuDeviceGetGraphMemAttribute(0, 0, &mut used), OK);
        used
    };
    let (plain_address, graph_address, live_graph) = on(&mut first, || {
        let graph = graph();
        let address = allocation(graph);
        run(executable(graph, 0), stream(0));
        assert_eq!(used(), 64);
        (device_memory(64), address, graph)
    });
    on(&mut second, || {
        assert_eq!(used(), 0);
        assert_eq!((cuMemFree_v2(graph_address), cuMemFree_v2(plain_address)), (INVALID_VALUE, INVALID_VALUE));
        let (graph, address) = (graph(), device_memory(64));
        assert!(
            ![plain_address, graph_address].contains(&address)
                && ![plain_address, graph_address].contains(&allocation(graph))
        );
        assert_ne!(graph, live_graph);
        assert_eq!((read_u32(address), used()), (0, 0));
    });
    on(&mut first, || assert_eq!((used(), cuMemFree_v2(graph_address), used()), (64, OK, 0)));
    drop(first);
    // The next simulation does not see the memory.
    on(&mut gpu(), || assert_eq!((used(), cuMemFree_v2(graph_address)), (0, INVALID_VALUE)));
}

#[test]
fn each_gpu_reports_unsupported_calls() {
    for mut gpu in [gpu(), gpu()] {
        let call = || cuIpcGetMemHandle(&mut [0; 64], device_memory(64)).to_string();
        let message = gpu.with(|()| Err::<(), _>(call()), |_, message| message);
        assert!(message.as_ref().is_err_and(|message| message.contains("belongs to one process")), "{message:?}");
    }
}
