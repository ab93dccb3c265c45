//! Handles: the numbers by which a program names the driver's objects.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::error::{Code, Result};

/// The driver's type for a handle: in C, a pointer to an incomplete type.
pub(crate) type Handle = usize;

/// The next handle. Handles are never reused, and never small, because the driver's interface gives small values
/// special meanings.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

thread_local! {
    /// The number of the driver that this thread currently uses; 0 for the driver that the program's calls reach.
    static DRIVER: Cell<usize> = const { Cell::new(0) };
}

/// Makes this thread create and find objects of the driver with this number from now on.
pub(crate) fn enter(driver: usize) {
    DRIVER.set(driver);
}

/// Returns whether this thread is inside a driver that the program's calls do not reach ([`crate::Simulation`]).
pub(crate) fn is_private() -> bool {
    DRIVER.get() > 0
}

/// A value for each driver of the process. The value is created as the default on first use, and exists until the
/// process ends.
pub(crate) struct PerDriver<T: 'static>(Mutex<BTreeMap<usize, &'static T>>);

impl<T: Default> PerDriver<T> {
    /// Returns an empty map, in which no driver has a value.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the value of the driver that this thread currently uses.
    pub(crate) fn get(&self) -> &'static T {
        lock(&self.0).entry(DRIVER.get()).or_insert_with(|| Box::leak(Box::default()))
    }
}

/// The objects of one kind, by handle. A driver does not know the handles of other drivers.
pub(crate) struct Handles<T: 'static>(PerDriver<Mutex<HashMap<Handle, Arc<T>>>>);

impl<T> Handles<T> {
    /// Returns an empty map.
    pub(crate) const fn new() -> Self {
        Self(PerDriver::new())
    }

    fn map(&self) -> MutexGuard<'static, HashMap<Handle, Arc<T>>> {
        lock(self.0.get())
    }

    /// Adds the object that `make` returns for a new handle.
    pub(crate) fn add(&self, make: impl FnOnce(Handle) -> T) -> Arc<T> {
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        self.map().insert(handle, object.clone());
        object
    }

    /// Returns the object with this handle, or `CUDA_ERROR_INVALID_HANDLE` when there is none.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<T>> {
        self.find(handle).ok_or_else(|| Code::INVALID_HANDLE.into())
    }

    /// Returns the object with this handle, if there is one.
    pub(crate) fn find(&self, handle: Handle) -> Option<Arc<T>> {
        self.map().get(&handle).cloned()
    }

    /// Removes the object with this handle. Returns `CUDA_ERROR_INVALID_HANDLE` when there is none.
    pub(crate) fn remove(&self, handle: Handle) -> Result<Arc<T>> {
        self.map().remove(&handle).ok_or_else(|| Code::INVALID_HANDLE.into())
    }

    /// Removes and returns all objects for which `is_match` returns true.
    pub(crate) fn remove_where(&self, mut is_match: impl FnMut(&T) -> bool) -> Vec<Arc<T>> {
        self.map().extract_if(|_, object| is_match(object)).map(|(_, object)| object).collect()
    }
}

/// Locks a mutex and ignores poisoning. A panic ends only the call in which it happens. Each change of the driver's
/// state is a single assignment, or leaves a valid state if it is interrupted.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
