//! The functions of contexts: `cuCtx…` and `cuDevicePrimaryCtx…`.

use std::sync::atomic::Ordering;

use super::{Context, create, current, destroy, pop, push, reset, set_current, top};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error};
use crate::abi::handles::{Handle, lock};
use crate::gpu::state::driver;
use crate::gpu::{limits, stream};

/// The API version that `cuCtxGetApiVersion` answers for contexts of the current interface.
const API_VERSION: u32 = 3020;

/// `CUctxCreateParams`: what a context is created with besides flags.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CreateParams {
    affinities: usize,
    affinity_count: i32,
    cig: usize,
}

functions! {
    fn cuCtxCreate(context: Out<Handle>, flags: u32, device: i32) {
        context.check()?;
        context.set(create(device, flags)?)
    }

    fn cuCtxCreate_v2(context: Out<Handle>, flags: u32, device: i32) {
        context.check()?;
        context.set(create(device, flags)?)
    }

    fn cuCtxCreate_v3(context: Out<Handle>, _affinities: usize, count: i32, flags: u32, device: i32) {
        context.check()?;
        if count != 0 {
            return Err(Error::new(Code::NOT_SUPPORTED, "contexts on a part of a device"));
        }
        context.set(create(device, flags)?)
    }

    fn cuCtxCreate_v4(context: Out<Handle>, params: In<CreateParams>, flags: u32, device: i32) {
        context.check()?;
        if params.optional().is_some_and(|own| own.affinity_count != 0 || own.cig != 0) {
            return Err(Error::new(Code::NOT_SUPPORTED, "contexts on a part of a device"));
        }
        context.set(create(device, flags)?)
    }

    fn cuCtxDestroy_v2 | cuCtxDestroy(context: Handle) {
        destroy(context)
    }

    fn cuCtxDetach(context: Handle) {
        destroy(context)
    }

    fn cuCtxGetCurrent(context: Out<Handle>) {
        driver()?;
        context.set(top().map_or(0, |own| own.handle))
    }

    fn cuCtxSetCurrent(context: Handle) {
        driver()?;
        set_current(match context {
            0 => None,
            _ => Some(Context::of(context)?),
        });
        Ok(())
    }

    fn cuCtxPushCurrent(context: Handle) {
        driver()?;
        push(context)
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        driver()?;
        push(context)
    }

    fn cuCtxPopCurrent(context: Out<Handle>) {
        driver()?;
        pop(context)
    }

    fn cuCtxPopCurrent_v2(context: Out<Handle>) {
        driver()?;
        pop(context)
    }

    fn cuCtxGetDevice(device: Out<i32>) {
        driver()?;
        let context = top().ok_or(Code::INVALID_CONTEXT)?;
        device.set(context.device as i32)
    }

    fn cuCtxGetDevice_v2(device: Out<i32>, context: Handle) {
        driver()?;
        device.set(Context::of(context)?.device as i32)
    }

    fn cuCtxSynchronize() {
        current()?.synchronize()
    }

    fn cuCtxSynchronize_v2(context: Handle) {
        Context::of(context)?.synchronize()
    }

    fn cuCtxGetApiVersion(context: Handle, version: Out<u32>) {
        Context::of(context)?;
        version.set(API_VERSION)
    }

    fn cuCtxGetFlags(flags: Out<u32>) {
        flags.set(current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxSetFlags(flags: u32) {
        current()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    // No profiler ever runs with the simulated device, which is no error on a GPU either.
    fn cuProfilerStart() {
        current().map(drop)
    }

    fn cuProfilerStop() {
        current().map(drop)
    }

    fn cuCtxGetId(context: Handle, id: Out<u64>) {
        id.set(Context::of(context)?.handle as u64)
    }

    fn cuCtxGetLimit(value: Out<usize>, limit: u32) {
        let context = current()?;
        let found = limits::find(&lock(&context.limits), limit)?;
        value.set(found as usize)
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        let context = current()?;
        limits::find(&lock(&context.limits), limit)?;
        let value = limits::rounded(&driver()?.devices[context.device], limit, value as u64)?;
        // Launches that wait have the limits that there were when they were enqueued.
        let driver = driver()?;
        driver.queue.wait_for_all();
        if limit == limits::HEAP_BYTES && driver.machine().has_heap() {
            return Err(Error::new(Code::INVALID_VALUE, "the size of the heap is fixed once a kernel has used it"));
        }
        lock(&context.limits).insert(limit, value);
        Ok(())
    }

    fn cuCtxGetCacheConfig(config: Out<u32>) {
        config.set(current()?.cache.load(Ordering::Relaxed))
    }

    fn cuCtxSetCacheConfig(config: u32) {
        current()?.cache.store(config, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: Out<u32>) {
        current()?;
        // `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`: all that there is since Maxwell, whatever a program sets.
        config.set(1)
    }

    fn cuCtxSetSharedMemConfig(_config: u32) {
        current().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        current()?;
        least.offer(0);
        greatest.offer(stream::GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: i32) {
        context.check()?;
        let primary = Context::primary(device)?;
        primary.retain()?;
        context.set(primary.handle)
    }

    fn cuDevicePrimaryCtxRelease_v2 | cuDevicePrimaryCtxRelease(device: i32) {
        Context::primary(device)?.release()
    }

    fn cuDevicePrimaryCtxReset_v2 | cuDevicePrimaryCtxReset(device: i32) {
        reset(device)
    }

    fn cuDevicePrimaryCtxSetFlags_v2 | cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) {
        Context::primary(device)?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let primary = Context::primary(device)?;
        flags.set(primary.flags.load(Ordering::Relaxed))?;
        active.set(primary.is_active().into())
    }
}
