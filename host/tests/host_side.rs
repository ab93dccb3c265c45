//! The programs in the book's chapters on memory, launches and errors. Each program uses cust, as any program can, and
//! runs on a GPU if there is one, or on the simulator through Ladder's `libcuda.so.1`.

#![allow(clippy::unwrap_used)]

use std::env;
use std::process::Command;

use cust::device::DeviceAttribute;
use cust::error::{CudaError, CudaResult};
use cust::memory::{AsyncCopyDestination, LockedBuffer};
use cust::prelude::*;
use host::KERNELS;

/// Loads a kernel of `kernels-gpu/src/arguments.rs`.
fn module(kernel: &str) -> Module {
    let device = Device::get_device(0).unwrap();
    let capability = [DeviceAttribute::ComputeCapabilityMajor, DeviceAttribute::ComputeCapabilityMinor]
        .map(|attribute| device.get_attribute(attribute).unwrap() as u32);
    let ptx = KERNELS.newest_for(Some(capability.into())).unwrap().unwrap();
    Module::from_ptx(ptx.part(kernel), &[]).unwrap()
}

fn axpy(module: &Module, a: f32, x: &[f32], y: &[f32]) -> CudaResult<Vec<f32>> {
    let axpy = module.get_function("axpy_slice")?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    // Allocates device memory and copies the elements to the device.
    let x = DeviceBuffer::from_slice(x)?;
    let y = DeviceBuffer::from_slice(y)?;
    let blocks = (x.len() as u32).div_ceil(256);
    // SAFETY: the arguments match the kernel's parameters: a number, a slice as its
    // pointer and its length, and a pointer to the same number of elements.
    unsafe {
        launch!(axpy<<<blocks, 256, 0, stream>>>(
            a, x.as_device_ptr(), x.len(), y.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    // Copies to the host. Both buffers are freed at the end of the function.
    y.as_host_vec()
}

#[test]
fn copies_and_a_launch() {
    let _context = cust::quick_init().unwrap();
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
    assert_eq!(axpy(&module("axpy_slice"), 2.0, &x, &[1.0; 1000]).unwrap(), expected);
}

/// The number of parts. One part is copied while another part is computed.
const PARTS: usize = 4;

fn axpy_in_parts(module: &Module, a: f32, x: &[f32], y: &mut [f32]) -> CudaResult<()> {
    let axpy = module.get_function("axpy_slice")?;
    // Pinned memory, which the device reads and writes without the CPU.
    let x = LockedBuffer::from_slice(x)?;
    let mut result = LockedBuffer::from_slice(y)?;
    let mut streams = Vec::new();
    let len = x.len().div_ceil(PARTS);
    for (x, y) in x.chunks(len).zip(result.chunks_mut(len)) {
        let stream = Stream::new(StreamFlags::DEFAULT, None)?;
        let blocks = (x.len() as u32).div_ceil(256);
        // SAFETY: the parts do not overlap, and no other code uses `x` and `result` until
        // all streams are synchronized. The arguments match the kernel's parameters.
        unsafe {
            let device_x = DeviceBuffer::from_slice_async(x, &stream)?;
            let device_y = DeviceBuffer::from_slice_async(y, &stream)?;
            launch!(axpy<<<blocks, 256, 0, stream>>>(
                a, device_x.as_device_ptr(), device_x.len(), device_y.as_device_ptr()
            ))?;
            device_y.async_copy_to(y, &stream)?;
            // The memory is freed when the stream reaches these calls.
            device_x.drop_async(&stream)?;
            device_y.drop_async(&stream)?;
        }
        streams.push(stream);
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    y.copy_from_slice(&result);
    Ok(())
}

#[test]
fn copies_and_kernels_overlap() {
    let _context = cust::quick_init().unwrap();
    let x: Vec<f32> = (0..4097).map(|i| i as f32).collect();
    let mut y = vec![1.0; 4097];
    axpy_in_parts(&module("axpy_slice"), 2.0, &x, &mut y).unwrap();
    assert!(x.iter().zip(&y).all(|(x, y)| *y == 1.0 + 2.0 * x));
}

/// Returns the median time of a launch in milliseconds.
fn median_time(stream: &Stream, launch: impl Fn() -> CudaResult<()>) -> CudaResult<f32> {
    let start = Event::new(EventFlags::DEFAULT)?;
    let stop = Event::new(EventFlags::DEFAULT)?;
    // The first launches load the code and fill the caches.
    for _ in 0..3 {
        launch()?;
    }
    let mut times = Vec::new();
    for _ in 0..20 {
        start.record(stream)?;
        launch()?;
        stop.record(stream)?;
        stop.synchronize()?;
        times.push(stop.elapsed_time_f32(&start)?);
    }
    times.sort_by(f32::total_cmp);
    Ok(times[times.len() / 2])
}

#[test]
fn events_time_a_kernel() {
    let _context = cust::quick_init().unwrap();
    let module = module("axpy_pointers");
    let axpy = module.get_function("axpy_pointers").unwrap();
    let stream = Stream::new(StreamFlags::DEFAULT, None).unwrap();
    let (x, y) = (DeviceBuffer::from_slice(&[1.0f32; 256]).unwrap(), DeviceBuffer::from_slice(&[0.0f32; 256]).unwrap());
    let time = median_time(&stream, || {
        // SAFETY: the arguments match the kernel's parameters, and both buffers have 256 elements.
        unsafe { launch!(axpy<<<1, 256, 0, stream>>>(2.0f32, x.as_device_ptr(), y.as_device_ptr(), 256usize)) }
    });
    assert!(time.unwrap() > 0.0);
    assert_eq!(y.as_host_vec().unwrap(), [46.0; 256]);
}

/// The environment variable that marks the process in which a launch fails. After the failure, every call to the device
/// in that process fails.
const FAILS: &str = "LADDER_HOST_SIDE_FAILS";

fn launch_with_an_error(module: &Module) -> CudaResult<()> {
    let axpy = module.get_function("axpy_pointers")?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let x = DeviceBuffer::<f32>::zeroed(1000)?;
    let y = DeviceBuffer::<f32>::zeroed(1000)?;
    // The launch itself fails, because no device supports blocks of 4096 threads.
    // SAFETY: the driver refuses this launch, so no thread runs.
    let refused = unsafe {
        launch!(axpy<<<1, 4096, 0, stream>>>(
            1.0f32, x.as_device_ptr(), y.as_device_ptr(), x.len()
        ))
    };
    assert_eq!(refused, Err(CudaError::InvalidValue));

    // The kernel fails, because it reads 2^40 elements. The launch succeeds, because the
    // kernel has not run yet.
    // SAFETY: none. The launch breaks the kernel's contract to show the error.
    unsafe {
        launch!(axpy<<<1 << 20, 256, 0, stream>>>(
            1.0f32, x.as_device_ptr(), y.as_device_ptr(), 1usize << 40
        ))?;
    }
    assert_eq!(stream.synchronize(), Err(CudaError::IllegalAddress));
    // From now on, every call of this process fails with the same error.
    assert_eq!(DeviceBuffer::<f32>::zeroed(1).err(), Some(CudaError::IllegalAddress));
    Ok(())
}

#[test]
fn errors_appear_at_a_later_call() {
    if env::var_os(FAILS).is_some() {
        let _context = std::mem::ManuallyDrop::new(cust::quick_init().unwrap());
        return launch_with_an_error(&module("axpy_pointers")).unwrap();
    }
    let mut again = Command::new(env::current_exe().unwrap());
    let output = again.args(["errors_appear_at_a_later_call", "--exact"]).env(FAILS, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
}

fn dot(module: &Module, a: &[f32], b: &[f32], threads: u32) -> CudaResult<f32> {
    let dot = module.get_function("dot")?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let (a, b) = (DeviceBuffer::from_slice(a)?, DeviceBuffer::from_slice(b)?);
    let sum = DeviceBuffer::from_slice(&[0.0f32])?;
    let blocks = (a.len() as u32).div_ceil(threads);
    let shared_bytes = threads * size_of::<f32>() as u32;
    // SAFETY: the arguments match the kernel's parameters: two slices and a pointer to one
    // element. The launch provides an f32 of dynamic shared memory per thread, and
    // `threads` is a power of two.
    unsafe {
        launch!(dot<<<blocks, threads, shared_bytes, stream>>>(
            a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(), sum.as_device_ptr()
        ))?;
    }
    Ok(sum.as_host_vec()?[0])
}

#[test]
fn the_launch_gives_dynamic_shared_memory() {
    let _context = cust::quick_init().unwrap();
    let module = module("dot");
    for threads in [32, 64, 256] {
        assert_eq!(dot(&module, &[2.0; 1000], &[3.0; 1000], threads).unwrap(), 6000.0);
    }
}

fn filtered(module: &Module, weights: &[f32; 5], input: &[f32]) -> CudaResult<Vec<f32>> {
    module.get_global::<[f32; 5]>(c"WEIGHTS")?.copy_from(weights)?;
    let filter = module.get_function("filter")?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let input = DeviceBuffer::from_slice(input)?;
    let output = DeviceBuffer::<f32>::zeroed(input.len())?;
    let blocks = (input.len() as u32).div_ceil(128);
    // SAFETY: the arguments match the kernel's parameters: a slice, and a pointer to the same number of elements.
    unsafe {
        launch!(filter<<<blocks, 128, 0, stream>>>(
            input.as_device_ptr(), input.len(), output.as_device_ptr()
        ))?;
    }
    output.as_host_vec()
}

#[test]
fn the_host_sets_constant_memory() {
    let _context = cust::quick_init().unwrap();
    let found = filtered(&module("filter"), &[0.0, 0.25, 0.5, 0.25, 0.0], &[4.0, 8.0, 16.0, 0.0]).unwrap();
    assert_eq!(found, [4.0, 9.0, 10.0, 4.0]);
}

#[test]
fn the_driver_suggests_a_block_size() {
    let _context = cust::quick_init().unwrap();
    let module = module("axpy_slice");
    let axpy = module.get_function("axpy_slice").unwrap();
    let (blocks, threads) = axpy.suggested_launch_configuration(0, 0.into()).unwrap();
    assert!(threads.is_multiple_of(32) && blocks > 0, "{blocks} blocks of {threads} threads");
}
