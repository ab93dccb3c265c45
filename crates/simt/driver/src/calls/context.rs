//! The functions of contexts: `cuCtx…` and `cuDevicePrimaryCtx…`. Ending a context frees everything that belongs to the
//! context.

use std::sync::atomic::Ordering;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::context::{self, CHANGE, Context, create, current, pop, push, set_current, top};
use crate::gpu::queue::queue;
use crate::gpu::state::driver;
use crate::gpu::{array, capture, event, function, limits, memory, peer, stream, texture};

/// The result of `cuCtxGetApiVersion` for contexts of the current interface.
const API_VERSION: u32 = 3020;

/// `CUctxCreateParams`: the parameters of a new context in addition to flags.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CreateParams {
    affinities: usize,
    affinity_count: i32,
    cig: usize,
}

/// Releases a primary context. The last release ends it.
pub(crate) fn release(context: &Context) -> Result<()> {
    let _change = lock(CHANGE.get());
    let less = |count: u64| count.checked_sub(1);
    match context.retained.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
        Ok(1) => clear(context),
        Ok(_) => Ok(()),
        Err(_) => Err(Code::INVALID_CONTEXT.into()),
    }
}

/// Waits for all work of a context and prints the output of its kernels.
pub(crate) fn synchronize(context: &Context) -> Result<()> {
    capture::check_context(context.handle)?;
    finish(context)?;
    context.check()
}

fn finish(context: &Context) -> Result<()> {
    queue()?.wait_for_context(context.handle);
    driver()?.print_printed();
    Ok(())
}

/// Frees everything that belongs to a context.
fn clear(context: &Context) -> Result<()> {
    finish(context)?;
    let values = std::mem::take(&mut *lock(&context.values));
    for (key, (value, destructor)) in values {
        if let Some(destructor) = destructor {
            // SAFETY: the runtime registered the destructor with this key and value, and the entry is removed, so it
            // runs once.
            unsafe { destructor(context.handle, key, value) };
        }
    }
    // Report leaks only now, because a destructor of the static runtime may have freed memory.
    {
        let driver = driver()?;
        driver.sanitizer.report_leaks(Some(context.handle), &driver.simulator());
    }
    let enders = [
        stream::remove_all,
        event::remove_all,
        function::unload_all,
        texture::remove_all,
        array::remove_all,
        memory::remove_all,
        peer::remove_all,
    ];
    enders.into_iter().for_each(|remove_all: fn(Handle)| remove_all(context.handle));
    let driver = driver()?;
    driver.simulator().free_heap();
    *lock(&context.limits) = limits::initial(&driver.devices[context.device]);
    Ok(())
}

functions! {
    fn cuCtxCreate | cuCtxCreate_v2(context: Out<Handle>, flags: u32, device: i32) {
        context.check()?;
        context.set(create(device, flags)?)
    }

    fn cuCtxCreate_v3(context: Out<Handle>, _affinities: usize, count: i32, flags: u32, device: i32) {
        context.check()?;
        if count != 0 {
            return Err(Error::new(Code::NOT_SUPPORTED, "contexts that use only part of a device are not supported"));
        }
        context.set(create(device, flags)?)
    }

    fn cuCtxCreate_v4(context: Out<Handle>, params: In<CreateParams>, flags: u32, device: i32) {
        context.check()?;
        if params.optional().is_some_and(|params| params.affinity_count != 0 || params.cig != 0) {
            return Err(Error::new(Code::NOT_SUPPORTED, "contexts that use only part of a device are not supported"));
        }
        context.set(create(device, flags)?)
    }

    fn cuCtxDestroy_v2 | cuCtxDestroy | cuCtxDetach(handle: Handle) {
        driver()?;
        let context =
            Context::of(handle).ok().filter(|context| handle != 0 && !context.is_primary).ok_or(Code::INVALID_CONTEXT)?;
        clear(&context)?;
        context::remove(&context)
    }

    fn cuCtxGetCurrent(context: Out<Handle>) {
        driver()?;
        context.set(top().map_or(0, |current| current.handle))
    }

    fn cuCtxSetCurrent(context: Handle) {
        driver()?;
        set_current(match context {
            0 => None,
            _ => Some(Context::of(context)?),
        });
        Ok(())
    }

    fn cuCtxPushCurrent | cuCtxPushCurrent_v2(context: Handle) {
        driver()?;
        push(context)
    }

    fn cuCtxPopCurrent | cuCtxPopCurrent_v2(context: Out<Handle>) {
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
        synchronize(&*current()?)
    }

    fn cuCtxSynchronize_v2(context: Handle) {
        synchronize(&*Context::of(context)?)
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

    // `sim` has neither a profiler nor persisting lines in its L2. A missing profiler is not an error on a GPU either.
    fn cuProfilerStart | cuProfilerStop | cuCtxResetPersistingL2Cache() {
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
        // Pending launches keep the limits that were set when they were enqueued.
        let driver = driver()?;
        queue()?.wait_for_all();
        if limit == limits::HEAP_BYTES && driver.simulator().has_heap() {
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
        // `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`: the only bank size since Maxwell, whatever a program sets.
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

    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: i32) {
        context.check()?;
        let primary = Context::primary(device)?;
        primary.retain()?;
        context.set(primary.handle)
    }

    fn cuDevicePrimaryCtxRelease_v2 | cuDevicePrimaryCtxRelease(device: i32) {
        release(&*Context::primary(device)?)
    }

    fn cuDevicePrimaryCtxReset_v2 | cuDevicePrimaryCtxReset(device: i32) {
        let primary = Context::primary(device)?;
        let _change = lock(CHANGE.get());
        clear(&primary)?;
        primary.retained.store(0, Ordering::Relaxed);
        Ok(())
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
