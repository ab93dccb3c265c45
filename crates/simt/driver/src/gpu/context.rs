//! Contexts: the primary context of each device, the contexts that a program creates, and each thread's context stack.

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
/// The primary contexts, indexed by device number.
static PRIMARY: PerDriver<Mutex<Vec<Arc<Context>>>> = PerDriver::new();

/// A function that the static runtime registers for the end of a context. The arguments are the context, the key and
/// the value.
pub(crate) type Destructor = unsafe extern "C" fn(Handle, usize, usize);

/// A context.
pub(crate) struct Context {
    pub(crate) handle: Handle,
    /// The number of the context's device.
    pub(crate) device: usize,
    /// Whether this is the primary context of the device.
    pub(crate) is_primary: bool,
    pub(crate) flags: AtomicU32,
    pub(crate) limits: Mutex<Limits>,
    is_destroyed: AtomicBool,
    /// The retain count of a primary context.
    pub(crate) retained: AtomicU64,
    /// The values that the runtime stored in the context, by key.
    pub(crate) values: Mutex<HashMap<usize, (usize, Option<Destructor>)>>,
    pub(crate) cache: AtomicU32,
}

thread_local! {
    /// The context stack of this thread. The last entry is the current context.
    static STACK: RefCell<Vec<Arc<Context>>> = const { RefCell::new(Vec::new()) };
}

/// The lock that is held while a primary context begins or ends. It prevents a concurrent `retain` from returning a
/// context that is ending.
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

    /// Returns the context with this handle; 0 means the current context.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        match handle {
            0 => current(),
            _ => CONTEXTS.find(handle).ok_or_else(|| Code::INVALID_CONTEXT.into()),
        }
    }

    /// Returns the primary context of a device.
    pub(crate) fn primary(device: i32) -> Result<Arc<Self>> {
        let driver = driver()?;
        driver.device(device)?;
        let mut all = lock(PRIMARY.get());
        if all.is_empty() {
            all.extend((0..driver.devices.len()).map(|device| Self::new(driver, device, 0, true)));
        }
        Ok(all[device as usize].clone())
    }

    /// Returns whether the context is usable: a primary context while it is retained, any other context until it is
    /// destroyed.
    pub(crate) fn is_active(&self) -> bool {
        match self.is_primary {
            true => self.retained.load(Ordering::Relaxed) > 0,
            false => !self.is_destroyed.load(Ordering::Relaxed),
        }
    }

    /// Returns an error when the context is destroyed, or ended by an error.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_active() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        check_process()
    }

    /// Increments the retain count.
    ///
    /// # Errors
    /// Returns the error of a kernel that ended a context of this process earlier. As with a real GPU, no context can
    /// begin afterwards.
    pub(crate) fn retain(&self) -> Result<()> {
        let _change = lock(CHANGE.get());
        check_process()?;
        self.retained.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the number of bytes that the context's kernels may print, and the size of the heap for `malloc` in
    /// kernels.
    pub(crate) fn buffers(&self) -> (u64, u64) {
        let limits = lock(&self.limits);
        let of = |limit| limits.get(&limit).copied().unwrap_or_default();
        (of(limits::PRINTF_BYTES), of(limits::HEAP_BYTES))
    }
}

/// Returns the error of a kernel that ended a context of this process, if there was one. As with a real GPU, such an
/// error ends all contexts of the process, and no context can begin afterwards.
fn check_process() -> Result<()> {
    match driver()?.fault() {
        Some(code) => Err(code.into()),
        None => Ok(()),
    }
}

/// Returns the current context of this thread. Returns `CUDA_ERROR_INVALID_CONTEXT` when the thread has no current
/// context, and a kernel's error when that error ended the context.
pub(crate) fn current() -> Result<Arc<Context>> {
    driver()?;
    let context = top().ok_or(Code::INVALID_CONTEXT)?;
    context.check()?;
    Ok(context)
}

/// Returns the current context, whatever its state.
pub(crate) fn top() -> Option<Arc<Context>> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

/// Replaces the context stack of this thread and returns the old stack. The last entry is the current context.
pub(crate) fn replace_stack(contexts: Vec<Arc<Context>>) -> Vec<Arc<Context>> {
    STACK.replace(contexts)
}

/// Replaces the current context; `None` removes it.
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

/// Forgets a context that a program destroyed. If it was current, the context below it on the stack becomes current.
pub(crate) fn remove(context: &Context) -> Result<()> {
    context.is_destroyed.store(true, Ordering::Relaxed);
    CONTEXTS.remove(context.handle)?;
    STACK.with_borrow_mut(|stack| drop(stack.pop_if(|top| top.handle == context.handle)));
    Ok(())
}
