//! Several simulated GPUs of one process: none notices what happens on another.

use driver::{Resources, Simulation};

use crate::captures::{
    ADD, cuStreamBeginCapture_v2, cuStreamEndCapture, cuStreamIsCapturing, cuStreamSynchronize,
    cuThreadExchangeStreamCaptureMode,
};
use crate::executables::{cuDeviceGetGraphMemAttribute, cuGraphAddMemAllocNode};
use crate::graphs::{INVALID_HANDLE, executable, graph, launch, run};
use crate::streams::{device_memory, number, stream};
use crate::support::{Handle, INVALID_VALUE, OK, cuMemAlloc_v2, cuMemFree_v2, functions, kernel};

functions! {
    fn cuIpcGetMemHandle(handle: *mut [u8; 64], address: u64);
}

type Gpu = Resources<()>;

fn gpu() -> Gpu {
    let simulation = Simulation::new(1).expect("the host starts a thread");
    Resources::new(Some(simulation), || Ok::<_, String>(())).expect("nothing is made")
}

/// Calls the driver of a simulated GPU.
fn on<R>(gpu: &mut Gpu, act: impl FnOnce() -> R) -> R {
    gpu.with(|()| Ok::<_, String>(act()), |error, _| error).expect("no error")
}

fn status(stream: Handle) -> (u32, u32) {
    let mut status = 77;
    (cuStreamIsCapturing(stream, &mut status), status)
}

#[test]
fn captures_forbid_nothing_on_another_gpu() {
    let (mut one, mut other) = (gpu(), gpu());
    let captured = on(&mut one, || {
        let (captured, data) = (stream(1), device_memory(64));
        assert_eq!(cuStreamBeginCapture_v2(captured, 0), OK);
        assert_eq!(launch(kernel(ADD), captured, data, 3), OK);
        captured
    });
    on(&mut other, || {
        let own = stream(0);
        assert_eq!((cuMemAlloc_v2(&mut 0, 64), cuStreamSynchronize(own)), (OK, OK));
        // The thread's mode is one for each GPU, too.
        assert_eq!(cuStreamBeginCapture_v2(own, 0), OK);
        let mut mode = 2;
        assert_eq!((cuThreadExchangeStreamCaptureMode(&mut mode), mode), (OK, 0));
        assert_eq!(cuMemAlloc_v2(&mut 0, 64), OK);
        assert_eq!(status(captured).0, INVALID_HANDLE);
    });
    on(&mut one, || {
        assert_eq!(status(captured), (OK, 1));
        let (mut graph, mut mode) = (0, 0);
        assert_eq!((cuThreadExchangeStreamCaptureMode(&mut mode), mode), (OK, 0));
        assert_eq!(cuStreamEndCapture(captured, &mut graph), OK);
    });
    // The capture of the other GPU is still active, and no later simulation sees it.
    drop(other);
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
fn memory_has_other_addresses_on_another_gpu() {
    let (mut one, mut other) = (gpu(), gpu());
    let used = || {
        let mut used = 77;
        assert_eq!(cuDeviceGetGraphMemAttribute(0, 0, &mut used), OK);
        used
    };
    let (plain, of_graph, stays) = on(&mut one, || {
        let graph = graph();
        let address = allocation(graph);
        run(executable(graph, 0), stream(0));
        assert_eq!(used(), 64);
        (device_memory(64), address, graph)
    });
    on(&mut other, || {
        assert_eq!(used(), 0);
        assert_eq!((cuMemFree_v2(of_graph), cuMemFree_v2(plain)), (INVALID_VALUE, INVALID_VALUE));
        let (graph, own) = (graph(), device_memory(64));
        assert!(![plain, of_graph].contains(&own) && ![plain, of_graph].contains(&allocation(graph)));
        assert_ne!(graph, stays);
        assert_eq!((number(own), used()), (0, 0));
    });
    on(&mut one, || assert_eq!((used(), cuMemFree_v2(of_graph), used()), (64, OK, 0)));
    drop(one);
    // The next simulation does not see the memory.
    on(&mut gpu(), || assert_eq!((used(), cuMemFree_v2(of_graph)), (0, INVALID_VALUE)));
}

#[test]
fn every_gpu_reports_what_it_does_not_support() {
    for mut gpu in [gpu(), gpu()] {
        let call = || cuIpcGetMemHandle(&mut [0; 64], device_memory(64)).to_string();
        let said = gpu.with(|()| Err::<(), _>(call()), |_, said| said);
        assert!(said.as_ref().is_err_and(|said| said.contains("belongs to one process")), "{said:?}");
    }
}
