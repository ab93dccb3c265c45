//! User objects: data of the program that graphs keep alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::get;
use crate::abi::call::{Out, functions, host_function};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles};
use crate::gpu::op::HostFunction;
use crate::gpu::state::driver;

static OBJECTS: Handles<UserObject> = Handles::new();

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which is mandatory.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`.
const MOVE: u32 = 1;

/// A user object.
pub(crate) struct UserObject {
    handle: Handle,
    data: usize,
    destroy: HostFunction,
    /// The number of references.
    count: AtomicU64,
}

impl UserObject {
    /// Releases references. The last release destroys the object.
    fn release(&self, count: u64) {
        let less = |now: u64| (now > 0).then(|| now.saturating_sub(count));
        let previous = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if previous.is_ok_and(|previous| previous <= count) {
            drop(OBJECTS.remove(self.handle));
            // SAFETY: the program registered the destructor with this data, and only the last release calls it.
            host_function(|| unsafe { (self.destroy)(self.data) });
        }
    }
}

/// A graph's references to an object.
pub(crate) struct Reference {
    object: Arc<UserObject>,
    count: u64,
}

impl Clone for Reference {
    fn clone(&self) -> Self {
        self.object.count.fetch_add(self.count, Ordering::Relaxed);
        Self { object: self.object.clone(), count: self.count }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if self.count > 0 {
            self.object.release(self.count);
        }
    }
}

fn find(object: Handle, count: u32) -> Result<Arc<UserObject>> {
    driver()?;
    let found = OBJECTS.find(object).filter(|_| count > 0 && count <= i32::MAX as u32);
    found.ok_or_else(|| Error::new(Code::INVALID_VALUE, "the object does not exist, or the reference count is 0"))
}

functions! {
    fn cuUserObjectCreate(
        object: Out<Handle>, data: usize, destroy: Option<HostFunction>, count: u32, flags: u32,
    ) {
        driver()?;
        object.check()?;
        let destroy = destroy.ok_or(Code::INVALID_VALUE)?;
        if flags != NO_DESTRUCTOR_SYNC || count == 0 || count > i32::MAX as u32 {
            return Err(Code::INVALID_VALUE.into());
        }
        let created = OBJECTS.add(|handle| UserObject { handle, data, destroy, count: AtomicU64::new(count.into()) });
        object.set(created.handle)
    }

    fn cuUserObjectRetain(object: Handle, count: u32) {
        find(object, count)?.count.fetch_add(count.into(), Ordering::Relaxed);
        Ok(())
    }

    fn cuUserObjectRelease(object: Handle, count: u32) {
        find(object, count)?.release(count.into());
        Ok(())
    }

    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        let graph = get(graph)?;
        let object = find(object, count)?;
        if flags > MOVE {
            return Err(Code::INVALID_VALUE.into());
        }
        let count = count.into();
        if flags != MOVE {
            object.count.fetch_add(count, Ordering::Relaxed);
        }
        let mut inner = graph.lock();
        match inner.objects.iter_mut().find(|reference| reference.object.handle == object.handle) {
            Some(reference) => reference.count += count,
            None => inner.objects.push(Reference { object, count }),
        }
        Ok(())
    }

    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) {
        let graph = get(graph)?;
        let object = find(object, count)?;
        let mut inner = graph.lock();
        let reference = inner.objects.iter_mut().find(|reference| reference.object.handle == object.handle);
        let released = reference.map_or(0, |reference| {
            let released = reference.count.min(count.into());
            reference.count -= released;
            released
        });
        inner.objects.retain(|reference| reference.count > 0);
        drop(inner);
        object.release(released);
        Ok(())
    }
}
