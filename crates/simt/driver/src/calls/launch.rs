//! Launches of kernels and graphs.

use std::ffi::c_void;

use super::stream::record;
use crate::abi::call::{In, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::graph::exec;
use crate::gpu::launch::Request;
use crate::gpu::launch_attributes::{self as attributes, LaunchAttribute, LaunchConfig};
use crate::gpu::op::Op;
use crate::gpu::stream::Stream;
use crate::gpu::{capture, event, submit};

/// Enqueues a launch. An invalid launch invalidates the capture of its stream.
fn enqueue(request: &Request, stream: Handle) -> Result<()> {
    let prepared = request.prepare();
    if prepared.is_err() {
        capture::invalidate(&Stream::of(stream)?.0);
    }
    submit::enqueue(stream, Op::Launch(prepared?))
}

/// The effects of a launch's attributes.
#[derive(Default)]
struct Changes {
    cluster: Option<[u32; 3]>,
    is_cooperative: bool,
    /// Events that are recorded after the launch.
    events: Vec<Handle>,
}

impl Changes {
    fn read(attributes: &[LaunchAttribute]) -> Result<Self> {
        let mut changes = Self::default();
        for LaunchAttribute { id, value, .. } in attributes {
            let sides = [value[0], value[1], value[2]];
            match *id {
                attributes::COOPERATIVE => changes.is_cooperative = value[0] != 0,
                attributes::CLUSTER => changes.cluster = Some(sides),
                attributes::PROGRAMMATIC_EVENT | attributes::COMPLETION_EVENT => {
                    let event = u64::from(value[0]) | u64::from(value[1]) << 32;
                    changes.events.push(untimed(event as Handle)?);
                }
                attributes::PREFERRED_CLUSTER => {
                    let regular = attributes.iter().find(|attribute| attribute.id == attributes::CLUSTER);
                    let is_multiple = |regular: &LaunchAttribute| {
                        sides.iter().zip(regular.value).all(|(side, of)| *side > 0 && of > 0 && side % of == 0)
                    };
                    if !regular.is_some_and(is_multiple) {
                        let what = format!("the preferred cluster {sides:?} is not a multiple of the regular cluster");
                        return Err(Error::new(Code::INVALID_CLUSTER_SIZE, what));
                    }
                }
                attributes::DEVICE_UPDATABLE => {
                    return Err(Error::new(Code::NOT_SUPPORTED, "device-updatable kernel nodes are not supported"));
                }
                attributes::IGNORE
                | attributes::ACCESS_POLICY_WINDOW
                | attributes::CLUSTER_SCHEDULING
                | attributes::PROGRAMMATIC_SERIALIZATION
                | attributes::PRIORITY
                | attributes::MEMORY_DOMAIN_MAP
                | attributes::MEMORY_DOMAIN
                | attributes::SHARED_CARVEOUT
                | attributes::NVLINK_CENTRIC => {}
                other => {
                    return Err(Error::new(Code::INVALID_VALUE, format!("a launch has no attribute {other}")));
                }
            }
        }
        Ok(changes)
    }
}

/// Returns the handle of an event without timing, the only kind of event that a launch can record here.
fn untimed(handle: Handle) -> Result<Handle> {
    match event::get(handle)?.has_time() {
        true => Err(Error::new(Code::NOT_SUPPORTED, "a launch can record only events created without timing")),
        false => Ok(handle),
    }
}

functions! {
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const c_void, extra: *const usize,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let request = Request { function, grid, block, shared_bytes, cluster: None, is_cooperative: false, params, extra };
        enqueue(&request, stream)
    }

    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let extra = std::ptr::null();
        let request = Request { function, grid, block, shared_bytes, cluster: None, is_cooperative: true, params, extra };
        enqueue(&request, stream)
    }

    fn cuLaunchKernelEx(config: In<LaunchConfig>, function: Handle, params: *const *const c_void, extra: *const usize) {
        let config = config.get()?;
        let attributes = config.attributes()?;
        let Changes { cluster, is_cooperative, events } = Changes::read(&attributes)?;
        let LaunchConfig { grid, block, shared_bytes, stream, .. } = config;
        let request = Request { function, grid, block, shared_bytes, cluster, is_cooperative, params, extra };
        enqueue(&request, stream)?;
        events.into_iter().try_for_each(|event| record(event, stream, 0))
    }

    fn cuGraphLaunch(exec: Handle, stream: Handle) {
        let exec = exec::get(exec)?;
        let (stream, context) = Stream::of(stream)?;
        capture::refuse(&stream)?;
        exec.launch(&stream, &context)
    }

    fn cuGraphUpload(exec: Handle, stream: Handle) {
        exec::get(exec)?;
        capture::refuse(&Stream::of(stream)?.0)
    }
}
