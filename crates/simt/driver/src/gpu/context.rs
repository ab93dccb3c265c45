//! Contexts: the primary one of each device, those that a program creates, and the stack of current ones of each thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::abi::call::Out;
use crate::abi::error::{Code, Result};
use crate::abi::handles::{Handle, Handles, PerDriver, lock};
use crate::gpu::limits::{self, Limits};
use crate::gpu::state::{Driver, driver};

/// All contexts.
static CONTEXTS: Handles<Context> = Handles::new();
/// The primary contexts, by the numbers of their devices.
static PRIMARY: PerDriver<Mutex<Vec<Arc<Context>>>> = PerDriver::new();

/// A function that the static runtime wants to be called when a context ends: of the context, the key and the value.
pub(crate) type Destructor = unsafe extern "C" fn(Handle, usize, usize);

/// A context.
pub(crate) struct Context {
    pub(crate) handle: Handle,
    /// The number of its device.
    pub(crate) device: usize,
    /// Whether it is the primary context of its device.
    pub(crate) is_primary: bool,
    pub(crate) flags: AtomicU32,
    pub(crate) limits: Mutex<Limits>,
    is_destroyed: AtomicBool,
    /// How often the primary context is retained.
    pub(crate) retained: AtomicU64,
    /// The values that the runtime has stored in it, by their keys.
    pub(crate) values: Mutex<HashMap<usize, (usize, Option<Destructor>)>>,
    pub(crate) cache: AtomicU32,
}

thread_local! {
    /// The current contexts of this thread. The last one is current.
    static STACK: RefCell<Vec<Arc<Context>>> = const { RefCell::new(Vec::new()) };
}

/// Held while a primary context begins or ends: who retains it meanwhile gets a new one, and not the one that ends.
pub(crate) static CHANGE: PerDriver<Mutex<()>> = PerDriver::new();

impl Context {
    fn new(driver: &Driver, device: usize, flags: u32, is_primary: bool) -> Arc<Self> {
        let limits = limits::initial(&driver.devices[device]);
        CONTEXTS.add(|handle| Self {
            handle,
            device,
            is_primary,
            flags: flags.into(),
            limits: Mutex::new(limits),
            is_destroyed: false.into(),
            retained: 0.into(),
            values: Mutex::default(),
            cache: 0.into(),
        })
    }

    /// The context of a handle; 0 is the current one.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        match handle {
            0 => current(),
            _ => CONTEXTS.find(handle).ok_or_else(|| Code::INVALID_CONTEXT.into()),
        }
    }

    /// The primary context of a device.
    pub(crate) fn primary(device: i32) -> Result<Arc<Self>> {
        let driver = driver()?;
        driver.device(device)?;
        let mut all = lock(PRIMARY.get());
        if all.is_empty() {
            all.extend((0..driver.devices.len()).map(|device| Self::new(driver, device, 0, true)));
        }
        Ok(all[device as usize].clone())
    }

    /// Whether it can be used: contexts that a program has created until they are destroyed, primary ones while they are
    /// retained.
    pub(crate) fn is_active(&self) -> bool {
        match self.is_primary {
            true => self.retained.load(Ordering::Relaxed) > 0,
            false => !self.is_destroyed.load(Ordering::Relaxed),
        }
    }

    /// Refuses a context that an error has ended, or that is destroyed.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_active() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        check_process()
    }

    /// Keeps it, if it is a primary context.
    ///
    /// # Errors
    /// The error of a kernel that has ended a context of this process before: as with a real GPU, none begins any more.
    pub(crate) fn retain(&self) -> Result<()> {
        let _change = lock(CHANGE.get());
        check_process()?;
        self.retained.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The bytes that its kernels may print, and those that `malloc` gives out in them.
    pub(crate) fn buffers(&self) -> (u64, u64) {
        let limits = lock(&self.limits);
        let of = |limit| limits.get(&limit).copied().unwrap_or_default();
        (of(limits::PRINTF_BYTES), of(limits::HEAP_BYTES))
    }
}

/// Refuses a process in which an error of a kernel has ended a context: as with a real GPU, its other contexts have ended
/// too, and none begins any more.
fn check_process() -> Result<()> {
    match driver()?.fault() {
        Some(code) => Err(code.into()),
        None => Ok(()),
    }
}

/// The current context of this thread: `CUDA_ERROR_INVALID_CONTEXT` when there is none, its own error when one has
/// ended it.
pub(crate) fn current() -> Result<Arc<Context>> {
    driver()?;
    let context = top().ok_or(Code::INVALID_CONTEXT)?;
    context.check()?;
    Ok(context)
}

/// The current context, whatever its state.
pub(crate) fn top() -> Option<Arc<Context>> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

/// Makes these the current contexts of this thread, the last one first, and returns those that were.
pub(crate) fn replace_stack(contexts: Vec<Arc<Context>>) -> Vec<Arc<Context>> {
    STACK.replace(contexts)
}

/// Makes a context the current one, in the place of the one that was; `None` takes that away.
pub(crate) fn set_current(context: Option<Arc<Context>>) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        stack.extend(context);
    });
}

pub(crate) fn create(device: i32, flags: u32) -> Result<Handle> {
    let driver = driver()?;
    driver.device(device)?;
    check_process()?;
    let context = Context::new(driver, device as usize, flags, false);
    STACK.with_borrow_mut(|stack| stack.push(context.clone()));
    Ok(context.handle)
}

pub(crate) fn push(context: Handle) -> Result<()> {
    if context == 0 {
        return Err(Code::INVALID_CONTEXT.into());
    }
    let context = Context::of(context)?;
    STACK.with_borrow_mut(|stack| stack.push(context));
    Ok(())
}

pub(crate) fn pop(context: Out<Handle>) -> Result<()> {
    let popped = STACK.with_borrow_mut(Vec::pop).ok_or(Code::INVALID_CONTEXT)?;
    context.offer(popped.handle);
    Ok(())
}

/// Forgets a context that a program has destroyed. If it was the current one, the one below it is that now.
pub(crate) fn remove(context: &Context) -> Result<()> {
    context.is_destroyed.store(true, Ordering::Relaxed);
    CONTEXTS.remove(context.handle)?;
    STACK.with_borrow_mut(|stack| drop(stack.pop_if(|top| top.handle == context.handle)));
    Ok(())
}
