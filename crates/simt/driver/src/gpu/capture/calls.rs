//! The driver's capture functions.

use super::{begin, end, status, update};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::Handle;
use crate::gpu::graph::{self, Dependency, EdgeData};
use crate::gpu::hazards;
use crate::gpu::stream::Stream;

/// `CU_STREAM_ADD_CAPTURE_DEPENDENCIES` and `CU_STREAM_SET_CAPTURE_DEPENDENCIES`.
const ADD: u32 = 0;
const SET: u32 = 1;

/// The places for the state of a capture.
struct Places {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle>,
    nodes: Out<*const Handle>,
    edges: Out<*const EdgeData>,
    count: Out<usize>,
}

fn show(stream: Handle, places: &Places) -> Result<()> {
    let (stream, _) = Stream::of(stream)?;
    let Places { status: state, id, graph, nodes, edges, count } = places;
    state.set(status(&stream)?)?;
    super::show(&stream, |capture, into, dependencies, data| {
        if nodes.is_requested() && !edges.is_requested() && data.iter().any(|data| *data != EdgeData::default()) {
            return Err(Code::LOSSY_QUERY.into());
        }
        id.offer(capture);
        graph.offer(into);
        nodes.offer(dependencies.as_ptr());
        edges.offer(data.as_ptr());
        count.offer(dependencies.len());
        Ok(())
    })
}

fn change(stream: Handle, nodes: In<Handle>, data: In<EdgeData>, count: usize, flags: u32) -> Result<()> {
    let (stream, _) = Stream::of(stream)?;
    if status(&stream)? == 0 {
        return Err(Code::ILLEGAL_STATE.into());
    }
    if !matches!(flags, ADD | SET) {
        return Err(Code::INVALID_VALUE.into());
    }
    update(&stream, Dependency::read(nodes, data, count)?, flags == SET)
}

functions! {
    fn cuStreamBeginCapture(stream: Handle) {
        begin(Stream::of(stream)?.0, hazards::GLOBAL, None)
    }

    fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) {
        begin(Stream::of(stream)?.0, mode, None)
    }

    fn cuStreamBeginCaptureToGraph(
        stream: Handle, into: Handle, nodes: In<Handle>, data: In<EdgeData>, count: usize, mode: u32,
    ) {
        let graph = graph::get(into)?;
        let dependencies = Dependency::read(nodes, data, count)?;
        graph.check(&dependencies)?;
        begin(Stream::of(stream)?.0, mode, Some((graph, dependencies)))
    }

    fn cuStreamEndCapture(stream: Handle, into: Out<Handle>) {
        into.check()?;
        into.offer(0);
        into.set(end(&Stream::of(stream)?.0)?.handle)
    }

    fn cuStreamIsCapturing(stream: Handle, state: Out<u32>) {
        state.check()?;
        state.set(status(&Stream::of(stream)?.0)?)
    }

    fn cuStreamGetCaptureInfo(stream: Handle, status: Out<u32>, id: Out<u64>) {
        show(stream, &Places { status, id, graph: Out::none(), nodes: Out::none(), edges: Out::none(), count: Out::none() })
    }

    fn cuStreamGetCaptureInfo_v2(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const Handle>, count: Out<usize>,
    ) {
        show(stream, &Places { status, id, graph, nodes, edges: Out::none(), count })
    }

    fn cuStreamGetCaptureInfo_v3(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const Handle>,
        edges: Out<*const EdgeData>, count: Out<usize>,
    ) {
        if edges.is_requested() && !nodes.is_requested() {
            return Err(Code::INVALID_VALUE.into());
        }
        show(stream, &Places { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies(stream: Handle, nodes: In<Handle>, count: usize, flags: u32) {
        change(stream, nodes, In::none(), count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2(
        stream: Handle, nodes: In<Handle>, data: In<EdgeData>, count: usize, flags: u32,
    ) {
        change(stream, nodes, data, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        mode.check()?;
        // SAFETY: `check` ensures that `mode` is not null, and `cuda.h` requires that it holds the new mode.
        let new = unsafe { mode.as_ptr().read_unaligned() };
        mode.set(hazards::exchange_mode(new)?)
    }
}
