//! Memory pools, and the memory that streams allocate from them and free.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, PerDriver, lock};
use crate::gpu::location::{self, Access, Location, NO_ACCESS, READ_WRITE};
use crate::gpu::ranges::{Kind, Range};
use crate::gpu::state::driver;

static POOLS: Handles<Pool> = Handles::new();
/// The default and current pools of devices and the host.
static DEFAULTS: PerDriver<Mutex<Vec<Defaults>>> = PerDriver::new();

/// A pool reserves memory in units of this size.
const PIECE_BYTES: u64 = 32 << 20;

/// `CUmemAllocationType`.
const PINNED: u32 = 1;
const MANAGED: u32 = 2;

/// `CUmemPool_attribute`. The first three control the reuse of freed memory, and have no effect here.
const LAST_REUSE: u32 = 3;
const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_CURRENT: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED_CURRENT: u32 = 7;
const USED_HIGH: u32 = 8;

/// A pool.
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    location: Location,
    /// The kind of the pool's memory.
    pub(crate) kind: Kind,
    is_default: bool,
    /// The maximum size of the pool in bytes.
    max_bytes: u64,
    state: Mutex<State>,
    is_destroyed: AtomicBool,
}

/// The memory usage of a pool.
struct State {
    reuse: [u32; 3],
    /// The number of bytes that stay reserved when a stream is synchronized.
    threshold: u64,
    used: u64,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

impl Pool {
    fn add(location: Location, kind: Kind, is_default: bool, max_bytes: u64) -> Arc<Self> {
        let state = State { reuse: [1; 3], threshold: 0, used: 0, used_high: 0, reserved: 0, reserved_high: 0 };
        POOLS.add(|handle| Self {
            handle,
            location,
            kind,
            is_default,
            max_bytes,
            state: Mutex::new(state),
            is_destroyed: false.into(),
        })
    }

    /// Returns the pool with this handle, or `CUDA_ERROR_INVALID_VALUE` when there is none.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        driver()?;
        let pool = POOLS.find(handle).filter(|pool| !pool.is_destroyed.load(Ordering::Relaxed));
        pool.ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Allocates memory with `allocate` and counts it. Returns an error when the pool would exceed its maximum size.
    pub(crate) fn allocate(&self, bytes: usize, allocate: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let used = lock(&self.state).used;
        if used.saturating_add(bytes as u64) > self.max_bytes {
            let what =
                format!("cannot allocate {bytes} bytes from a pool; {used} of {} bytes are in use", self.max_bytes);
            return Err(Error::new(Code::OUT_OF_MEMORY, what));
        }
        // Lock order: the simulator is locked before a pool.
        let address = allocate()?;
        let mut state = lock(&self.state);
        state.used += bytes as u64;
        state.used_high = state.used_high.max(state.used);
        state.reserved = state.reserved.max(state.used.next_multiple_of(PIECE_BYTES));
        state.reserved_high = state.reserved_high.max(state.reserved);
        Ok(address)
    }
}

impl State {
    /// Releases unused memory, but keeps up to `kept` bytes reserved.
    fn trim(&mut self, kept: u64) {
        let needed = self.used.next_multiple_of(PIECE_BYTES);
        self.reserved = needed.max(self.reserved.min(kept));
    }
}

/// Records that memory, which may belong to a pool, is unused and will be freed.
pub(crate) fn note_unused(range: &Range) {
    if let Some(pool) = POOLS.find(range.pool) {
        let mut state = lock(&pool.state);
        state.used = state.used.saturating_sub(range.bytes);
    }
}

/// Records that memory, which may belong to a pool, has been freed.
pub(crate) fn note_freed(range: &Range) {
    let Some(pool) = POOLS.find(range.pool) else { return };
    let mut state = lock(&pool.state);
    let threshold = state.threshold;
    state.trim(threshold);
    let is_over = state.used == 0 && pool.is_destroyed.load(Ordering::Relaxed);
    drop(state);
    if is_over {
        drop(POOLS.remove(pool.handle));
    }
}

/// The default pool of a device or the host, created on first use, and the current pool.
struct Defaults {
    location: Location,
    kind: Kind,
    default: Arc<Pool>,
    current: Handle,
}

/// Returns the kind of memory in pools of this location and type (`CUmemAllocationType`).
fn kind_of(location: Location, kind: u32) -> Result<Kind> {
    match kind {
        PINNED if location.checked()?.is_device() => Ok(Kind::Device),
        PINNED => Ok(Kind::Host),
        MANAGED if location.kind == 0 || location.checked().is_ok() => Ok(Kind::Managed),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// Runs `with` on the default and current pool of a location.
fn with_defaults<T>(location: Location, kind: u32, with: impl FnOnce(&mut Defaults) -> T) -> Result<T> {
    let kind = kind_of(location, kind)?;
    driver()?;
    let mut all = lock(DEFAULTS.get());
    let at =
        all.iter().position(|defaults| defaults.location == location && defaults.kind == kind).unwrap_or_else(|| {
            let default = Pool::add(location, kind, true, u64::MAX);
            all.push(Defaults { location, kind, current: default.handle, default });
            all.len() - 1
        });
    Ok(with(&mut all[at]))
}

/// Returns the location of a device, or `CUDA_ERROR_INVALID_DEVICE` when there is none.
fn device(device: i32) -> Result<Location> {
    driver()?.device(device)?;
    Ok(Location { kind: location::DEVICE, id: device })
}

/// Returns the current pool of a device.
pub(crate) fn of_device(number: i32) -> Result<Arc<Pool>> {
    current(device(number)?, PINNED)
}

/// Returns the current pool of a location.
fn current(location: Location, kind: u32) -> Result<Arc<Pool>> {
    let (current, default) = with_defaults(location, kind, |defaults| (defaults.current, defaults.default.clone()))?;
    Ok(Pool::of(current).unwrap_or(default))
}

/// Sets the current pool of a location.
fn set_current(location: Location, kind: u32, pool: Handle) -> Result<()> {
    let pool = Pool::of(pool)?;
    if pool.location != location || pool.kind != kind_of(location, kind)? {
        return Err(Code::INVALID_VALUE.into());
    }
    with_defaults(location, kind, |defaults| defaults.current = pool.handle)
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Props {
    kind: u32,
    handle_types: u32,
    location: Location,
    security_attributes: usize,
    max_bytes: usize,
    usage: u16,
    reserved: [u8; 54],
}

/// Creates a pool.
pub(crate) fn create(props: &Props) -> Result<Handle> {
    driver()?;
    location::check_handle_types(props.handle_types)?;
    let kind = kind_of(props.location, props.kind)?;
    let max_bytes = match props.max_bytes as u64 {
        0 => u64::MAX,
        most => most.checked_next_multiple_of(PIECE_BYTES).unwrap_or(u64::MAX),
    };
    Ok(Pool::add(props.location, kind, false, max_bytes).handle)
}

functions! {
    fn cuMemPoolCreate(pool: Out<Handle>, props: In<Props>) {
        pool.check()?;
        pool.set(create(&props.get()?)?)
    }

    fn cuMemPoolDestroy(pool: Handle) {
        let pool = Pool::of(pool)?;
        if pool.is_default {
            return Err(Code::INVALID_VALUE.into());
        }
        // The pool exists until all its memory is freed. If it was a current pool, the default pool takes its place.
        pool.is_destroyed.store(true, Ordering::Relaxed);
        if lock(&pool.state).used == 0 {
            POOLS.remove(pool.handle)?;
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: Handle, kept: usize) {
        lock(&Pool::of(pool)?.state).trim(kept as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: Out<c_void>) {
        let pool = Pool::of(pool)?;
        let state = lock(&pool.state);
        // SAFETY: the closure is called only for attributes that are a `cuuint64_t` in `cuda.h`.
        let long = |number: u64| unsafe { value.cast() }.set(number);
        match attribute {
            // SAFETY: the first attributes, which control reuse, are an `int` in `cuda.h`.
            1..=LAST_REUSE => unsafe { value.cast() }.set(state.reuse[attribute as usize - 1]),
            RELEASE_THRESHOLD => long(state.threshold),
            RESERVED_CURRENT => long(state.reserved),
            RESERVED_HIGH => long(state.reserved_high),
            USED_CURRENT => long(state.used),
            USED_HIGH => long(state.used_high),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: In<c_void>) {
        let pool = Pool::of(pool)?;
        let mut state = lock(&pool.state);
        // SAFETY: the closure is called only for attributes that are a `cuuint64_t` in `cuda.h`.
        let long = || unsafe { value.cast::<u64>() }.get();
        match attribute {
            1..=LAST_REUSE => {
                // SAFETY: the first attributes, which control reuse, are an `int` in `cuda.h`.
                let is_on = unsafe { value.cast::<u32>() }.get()? != 0;
                state.reuse[attribute as usize - 1] = is_on.into();
                return Ok(());
            }
            RELEASE_THRESHOLD => state.threshold = long()?,
            // Resets a high-water mark to the current value.
            RESERVED_HIGH if long()? == 0 => state.reserved_high = state.reserved,
            USED_HIGH if long()? == 0 => state.used_high = state.used,
            _ => return Err(Code::INVALID_VALUE.into()),
        }
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: Handle, access: In<Access>, count: usize) {
        let pool = Pool::of(pool)?;
        access.all(count)?.into_iter().try_for_each(|Access { location, flags }| match (location, flags) {
            (_, NO_ACCESS | READ_WRITE) if location.kind == location::HOST => {
                Err(Error::new(Code::NOT_SUPPORTED, "host access to pools is not supported"))
            }
            (_, NO_ACCESS | READ_WRITE) if location.is_device() => {
                device(location.id)?;
                // The pool's device cannot lose its access. Other devices always have access, because all devices share
                // one memory.
                let is_same_device = location == pool.location;
                if is_same_device && flags == NO_ACCESS { Err(Code::INVALID_DEVICE.into()) } else { Ok(()) }
            }
            _ => Err(Code::INVALID_VALUE.into()),
        })
    }

    fn cuMemPoolGetAccess(flags: Out<u32>, pool: Handle, location: In<Location>) {
        let pool = Pool::of(pool)?;
        let location = location.get()?.checked()?;
        flags.set(if location.is_device() || pool.kind != Kind::Device { READ_WRITE } else { NO_ACCESS })
    }

    fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, number: i32) {
        pool.set(with_defaults(device(number)?, PINNED, |defaults| defaults.default.handle)?)
    }

    fn cuDeviceGetMemPool(pool: Out<Handle>, number: i32) {
        pool.set(of_device(number)?.handle)
    }

    fn cuDeviceSetMemPool(number: i32, pool: Handle) {
        set_current(device(number)?, PINNED, pool)
    }

    fn cuMemGetDefaultMemPool(pool: Out<Handle>, location: In<Location>, kind: u32) {
        pool.check()?;
        pool.set(with_defaults(location.get()?, kind, |defaults| defaults.default.handle)?)
    }

    fn cuMemGetMemPool(pool: Out<Handle>, location: In<Location>, kind: u32) {
        pool.check()?;
        pool.set(current(location.get()?, kind)?.handle)
    }

    fn cuMemSetMemPool(location: In<Location>, kind: u32, pool: Handle) {
        set_current(location.get()?, kind, pool)
    }
}
