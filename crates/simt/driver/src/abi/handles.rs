//! Handles: the numbers by which a program names the driver's objects.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::error::{Code, Result};

/// The driver's type for a handle: to C, a pointer to something unknown.
pub(crate) type Handle = usize;

/// The next handle. No handle is ever used again, and none is small: the driver's interface gives small ones meanings.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

thread_local! {
    /// The number of the driver that this thread is inside of; 0 for the one that the program's calls reach.
    static DRIVER: Cell<usize> = const { Cell::new(0) };
}

/// From now on, this thread makes and finds the objects of the driver of this number.
pub(crate) fn enter(driver: usize) {
    DRIVER.set(driver);
}

/// Whether this thread is inside of a driver that the program's calls do not reach ([`crate::Simulation`]).
pub(crate) fn is_private() -> bool {
    DRIVER.get() > 0
}

/// A value of each driver of the process. A driver gets the default value at the first use, and keeps it as long as the
/// process runs.
pub(crate) struct PerDriver<T: 'static>(Mutex<BTreeMap<usize, &'static T>>);

impl<T: Default> PerDriver<T> {
    /// No driver has a value.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The value of the driver that this thread is inside of.
    pub(crate) fn get(&self) -> &'static T {
        lock(&self.0).entry(DRIVER.get()).or_insert_with(|| Box::leak(Box::default()))
    }
}

/// The objects of one kind by their handles. A driver does not know the handles of another.
pub(crate) struct Handles<T: 'static>(PerDriver<Mutex<HashMap<Handle, Arc<T>>>>);

impl<T> Handles<T> {
    /// No objects.
    pub(crate) const fn new() -> Self {
        Self(PerDriver::new())
    }

    fn map(&self) -> MutexGuard<'static, HashMap<Handle, Arc<T>>> {
        lock(self.0.get())
    }

    /// Adds the object that `make` makes for its handle.
    pub(crate) fn add(&self, make: impl FnOnce(Handle) -> T) -> Arc<T> {
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        self.map().insert(handle, object.clone());
        object
    }

    /// The object of a handle: `CUDA_ERROR_INVALID_HANDLE` when there is none.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<T>> {
        self.find(handle).ok_or_else(|| Code::INVALID_HANDLE.into())
    }

    /// The object of a handle, if there is one.
    pub(crate) fn find(&self, handle: Handle) -> Option<Arc<T>> {
        self.map().get(&handle).cloned()
    }

    /// Takes an object away: `CUDA_ERROR_INVALID_HANDLE` when there is none.
    pub(crate) fn remove(&self, handle: Handle) -> Result<Arc<T>> {
        self.map().remove(&handle).ok_or_else(|| Code::INVALID_HANDLE.into())
    }

    /// Takes away all objects of which this is true.
    pub(crate) fn remove_where(&self, mut is_meant: impl FnMut(&T) -> bool) -> Vec<Arc<T>> {
        self.map().extract_if(|_, own| is_meant(own)).map(|(_, own)| own).collect()
    }
}

/// Locks a mutex. A panic elsewhere has ended that call alone, and each change of the driver's state is one assignment or
/// can be seen half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
