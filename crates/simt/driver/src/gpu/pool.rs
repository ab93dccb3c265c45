//! Pools of memory, and memory that streams allocate and free.

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
/// The pools of devices and the host.
static DEFAULTS: PerDriver<Mutex<Vec<Defaults>>> = PerDriver::new();

/// A pool gets memory in pieces of this size.
const PIECE_BYTES: u64 = 32 << 20;

/// `CUmemAllocationType`.
const PINNED: u32 = 1;
const MANAGED: u32 = 2;

/// `CUmemPool_attribute`. The first three have to do with the reuse of freed memory, of which nothing is seen here.
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
    /// What its memory is.
    pub(crate) kind: Kind,
    is_default: bool,
    /// The most bytes that it may have.
    max_bytes: u64,
    state: Mutex<State>,
    is_destroyed: AtomicBool,
}

/// How much memory a pool has.
struct State {
    reuse: [u32; 3],
    /// Bytes that it keeps when a stream is waited for.
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

    /// The pool of a handle: `CUDA_ERROR_INVALID_VALUE` when there is none.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        driver()?;
        let pool = POOLS.find(handle).filter(|pool| !pool.is_destroyed.load(Ordering::Relaxed));
        pool.ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Counts memory that `allocate` allocates for it, unless that would be more than it may have.
    pub(crate) fn allocate(&self, bytes: usize, allocate: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let used = lock(&self.state).used;
        if used.saturating_add(bytes as u64) > self.max_bytes {
            let what = format!("{bytes} bytes of a pool that has {used} of at most {}", self.max_bytes);
            return Err(Error::new(Code::OUT_OF_MEMORY, what));
        }
        // The machine is always locked before a pool.
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
    /// Gives back what is not used, but for so many bytes.
    fn trim(&mut self, kept: u64) {
        let needed = self.used.next_multiple_of(PIECE_BYTES);
        self.reserved = needed.max(self.reserved.min(kept));
    }
}

/// Takes note that memory, of a pool perhaps, is not used any more, and will be freed.
pub(crate) fn note_unused(range: &Range) {
    if let Some(pool) = POOLS.find(range.pool) {
        let mut state = lock(&pool.state);
        state.used = state.used.saturating_sub(range.bytes);
    }
}

/// Takes note that memory, of a pool perhaps, was freed.
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

/// The pool that a device or the host has by itself, once it was asked for, and the one that is used now.
struct Defaults {
    location: Location,
    kind: Kind,
    default: Arc<Pool>,
    current: Handle,
}

/// What the pools of a location that hold memory of this type (`CUmemAllocationType`) consist of.
fn kind_of(location: Location, kind: u32) -> Result<Kind> {
    match kind {
        PINNED if location.checked()?.is_device() => Ok(Kind::Device),
        PINNED => Ok(Kind::Host),
        MANAGED if location.kind == 0 || location.checked().is_ok() => Ok(Kind::Managed),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// Does something with the default and the current pool of a location.
fn with_defaults<T>(location: Location, kind: u32, with: impl FnOnce(&mut Defaults) -> T) -> Result<T> {
    let kind = kind_of(location, kind)?;
    driver()?;
    let mut all = lock(DEFAULTS.get());
    let at = all.iter().position(|defaults| defaults.location == location && defaults.kind == kind).unwrap_or_else(|| {
        let default = Pool::add(location, kind, true, u64::MAX);
        all.push(Defaults { location, kind, current: default.handle, default });
        all.len() - 1
    });
    Ok(with(&mut all[at]))
}

/// The location of a device: `CUDA_ERROR_INVALID_DEVICE` when there is none.
fn device(device: i32) -> Result<Location> {
    driver()?.device(device)?;
    Ok(Location { kind: location::DEVICE, id: device })
}

/// The pool that a device uses now.
pub(crate) fn of_device(number: i32) -> Result<Arc<Pool>> {
    current(device(number)?, PINNED)
}

/// The pool that a location uses now.
fn current(location: Location, kind: u32) -> Result<Arc<Pool>> {
    let (current, default) = with_defaults(location, kind, |defaults| (defaults.current, defaults.default.clone()))?;
    Ok(Pool::of(current).unwrap_or(default))
}

/// Makes a pool that which is used now.
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

/// Makes a pool.
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
        // It stays until all its memory is freed. Whoever uses it without naming it uses the default one from now on.
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
        // SAFETY: `cuda.h` gives the attributes for which this is called a `cuuint64_t`.
        let long = |number: u64| unsafe { value.cast() }.set(number);
        match attribute {
            // SAFETY: `cuda.h` gives the first attributes, those about reuse, an `int`.
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
        // SAFETY: `cuda.h` gives the attributes for which this is called a `cuuint64_t`.
        let long = || unsafe { value.cast::<u64>() }.get();
        match attribute {
            1..=LAST_REUSE => {
                // SAFETY: `cuda.h` gives the first attributes, those about reuse, an `int`.
                let is_on = unsafe { value.cast::<u32>() }.get()? != 0;
                state.reuse[attribute as usize - 1] = is_on.into();
                return Ok(());
            }
            RELEASE_THRESHOLD => state.threshold = long()?,
            // High water marks are set back to what there is now.
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
                Err(Error::new(Code::NOT_SUPPORTED, "the host accesses memory of pools at other addresses"))
            }
            (_, NO_ACCESS | READ_WRITE) if location.is_device() => {
                device(location.id)?;
                // Its own device keeps its access. The others have it: all simulated devices have one memory.
                let is_own = location == pool.location;
                if is_own && flags == NO_ACCESS { Err(Code::INVALID_DEVICE.into()) } else { Ok(()) }
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
