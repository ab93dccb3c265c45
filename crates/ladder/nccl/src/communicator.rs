//! A rank's part of a communicator: how it is made, what it does, and how it ends when another rank does not answer.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::functions::{Code, RawComm, UniqueId};
use crate::{Element, Nccl, Op};

/// How often a call that waits is looked after, and from when on other ranks are suspected of failure.
const PAUSE: Duration = Duration::from_millis(20);
const IMPATIENT: Duration = Duration::from_millis(500);

/// How long the end of a communicator that is aborted is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

impl Nccl {
    /// Makes a device a rank of so many of a communicator, and waits for the other ranks. `enter` makes the device the current one of
    /// the thread that it is called in. Now and later, while it waits for others, it asks `watch` whether that is worth it.
    ///
    /// # Errors
    /// NCCL's, in words, that not all ranks came within the limit, and what `watch` says.
    pub fn join(
        &'static self,
        id: UniqueId,
        [rank, ranks]: [usize; 2],
        limit: Duration,
        mut watch: Watch,
        enter: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Result<Communicator, String> {
        let init = self.functions.comm_init_rank;
        let (sender, joined) = mpsc::channel();
        // Nothing ends this call when a rank never comes, so who waits for it is somebody else.
        thread::spawn(move || {
            let mut raw: RawComm = ptr::null_mut();
            // SAFETY: a place for the communicator.
            let join = |()| unsafe { init(&raw mut raw, ranks as i32, id, rank as i32) };
            let code = enter().map(join);
            // Who waited may have given up.
            let _ = sender.send(code.map(|code| (code, Raw(AtomicPtr::new(raw)))));
        });
        let begin = Instant::now();
        let (code, raw) = loop {
            match joined.recv_timeout(PAUSE) {
                Ok(joined) => break joined?,
                Err(RecvTimeoutError::Disconnected) => return Err("NCCL: its thread has ended".to_owned()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(why) = watch() {
                return Err(why);
            }
            if begin.elapsed() > limit {
                return Err(late("making the communicator", limit));
            }
        };
        self.check(code, ptr::null_mut())?;
        let call = Arc::new(Call { raw, since: Mutex::new(None) });
        let watched = Arc::downgrade(&call);
        thread::spawn(move || guard(self, &watched, limit, watch));
        Ok(Communicator { nccl: self, call, limit })
    }
}

/// Says why other ranks are not worth waiting for any more, until then nothing.
pub type Watch = Box<dyn FnMut() -> Option<String> + Send>;

/// A rank's part of a communicator. It is destroyed when it is dropped, and aborted when a call has failed.
pub struct Communicator {
    nccl: &'static Nccl,
    call: Arc<Call>,
    limit: Duration,
}

/// What a call and the one who looks after it share.
struct Call {
    raw: Raw,
    /// Since when a call waits.
    since: Mutex<Option<Instant>>,
}

/// A communicator's handle; null once it is aborted.
struct Raw(AtomicPtr<c_void>);

impl Call {
    fn raw(&self) -> RawComm {
        self.raw.0.load(Ordering::SeqCst)
    }

    /// Aborts the communicator, in a thread of its own: NCCL waits then until the device has done all that it was given, which it
    /// may never do.
    fn abort(&self, nccl: &'static Nccl) {
        let raw = Raw(AtomicPtr::new(self.raw.0.swap(ptr::null_mut(), Ordering::SeqCst)));
        if raw.0.load(Ordering::SeqCst).is_null() {
            return;
        }
        let (sender, done) = mpsc::channel();
        thread::spawn(move || {
            let raw = raw;
            // SAFETY: it is a communicator, and nobody uses it any more but a call that ends by this.
            unsafe { (nccl.functions.comm_abort)(raw.0.into_inner()) };
            // Who waited may have gone on.
            let _ = sender.send(());
        });
        // Whether it is aborted by then or not, nothing more can be done.
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// Aborts a communicator whose call waits in vain, as long as there is the communicator.
fn guard(nccl: &'static Nccl, call: &Weak<Call>, limit: Duration, mut watch: Watch) {
    while let Some(call) = call.upgrade() {
        let waited =
            call.since.lock().unwrap_or_else(PoisonError::into_inner).map_or(Duration::ZERO, |since| since.elapsed());
        if waited > limit || (waited > IMPATIENT && watch().is_some()) {
            call.abort(nccl);
        }
        drop(call);
        thread::sleep(PAUSE);
    }
}

/// What is said of a call that took too long.
fn late(what: &str, limit: Duration) -> String {
    format!("NCCL: {what} was not over after {limit:?}: another rank does not answer")
}

/// A piece of device memory, a number of elements, and the stream that works on it.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Where the elements are.
    pub from: u64,
    /// Where the results go; it may be the same place.
    pub to: u64,
    /// How many elements.
    pub count: usize,
    /// Their type.
    pub element: Element,
    /// The `CUstream`.
    pub stream: *mut c_void,
}

impl Work {
    fn from(&self) -> *const c_void {
        ptr::without_provenance(self.from as usize)
    }

    fn to(&self) -> *mut c_void {
        ptr::without_provenance_mut(self.to as usize)
    }
}

/// All of these are enqueued in the work's stream; every rank has to call the same in the same order. Errors are NCCL's, in words,
/// also of an earlier call; the communicator is aborted then, and every further call fails.
///
/// # Safety
/// The memory is the current device's and has so many elements, and nobody else uses it until the stream has done the work.
#[allow(clippy::missing_safety_doc, reason = "it is that of all of them, above")]
impl Communicator {
    /// Combines the elements of all ranks, for every rank (`ncclAllReduce`).
    pub unsafe fn all_reduce(&mut self, work: &Work, op: Op) -> Result<(), String> {
        let all_reduce = self.nccl.functions.all_reduce;
        // SAFETY: the caller's promise.
        self.call("an all-reduce", |comm| unsafe {
            all_reduce(work.from(), work.to(), work.count, work.element as u32, op as u32, comm, work.stream)
        })
    }

    /// Copies the elements of a rank to all (`ncclBroadcast`).
    pub unsafe fn broadcast(&mut self, work: &Work, root: usize) -> Result<(), String> {
        let broadcast = self.nccl.functions.broadcast;
        // SAFETY: the caller's promise.
        self.call("a broadcast", |comm| unsafe {
            broadcast(work.from(), work.to(), work.count, work.element as u32, root as i32, comm, work.stream)
        })
    }

    /// Combines the elements of all ranks, for one of them (`ncclReduce`).
    pub unsafe fn reduce(&mut self, work: &Work, op: Op, root: usize) -> Result<(), String> {
        let reduce = self.nccl.functions.reduce;
        let (element, root) = (work.element as u32, root as i32);
        // SAFETY: the caller's promise.
        self.call("a reduce", |comm| unsafe {
            reduce(work.from(), work.to(), work.count, element, op as u32, root, comm, work.stream)
        })
    }

    /// Combines the elements of all ranks, a part of so many for each (`ncclReduceScatter`).
    pub unsafe fn reduce_scatter(&mut self, work: &Work, op: Op) -> Result<(), String> {
        let reduce_scatter = self.nccl.functions.reduce_scatter;
        // SAFETY: the caller's promise.
        self.call("a reduce-scatter", |comm| unsafe {
            reduce_scatter(work.from(), work.to(), work.count, work.element as u32, op as u32, comm, work.stream)
        })
    }

    /// Puts so many elements of each rank behind one another, for every rank (`ncclAllGather`).
    pub unsafe fn all_gather(&mut self, work: &Work) -> Result<(), String> {
        let all_gather = self.nccl.functions.all_gather;
        // SAFETY: the caller's promise.
        self.call("an all-gather", |comm| unsafe {
            all_gather(work.from(), work.to(), work.count, work.element as u32, comm, work.stream)
        })
    }

    /// Enqueues several calls as one (`ncclGroupStart`, `ncclGroupEnd`).
    pub fn group(&mut self, calls: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let (start, end) = (self.nccl.functions.group_start, self.nccl.functions.group_end);
        // SAFETY: it takes nothing.
        self.nccl.check(unsafe { start() }, self.call.raw())?;
        let called = calls(self);
        // SAFETY: a group has begun.
        let ended = self.call("a group of calls", |_| unsafe { end() });
        called.and(ended)
    }

    /// What has gone wrong on any rank so far, as far as it is known here (`ncclCommGetAsyncError`).
    pub fn check(&mut self) -> Result<(), String> {
        let ask = self.nccl.functions.comm_get_async_error;
        let mut state = Code::SUCCESS;
        self.call("looking for errors", |comm| {
            // SAFETY: a communicator, and a place for its state.
            let asked = unsafe { ask(comm, &raw mut state) };
            if asked == Code::SUCCESS { state } else { asked }
        })
    }

    /// Ends it without waiting for the other ranks, whose calls fail then (`ncclCommAbort`).
    pub fn abort(&mut self) {
        self.call.abort(self.nccl);
    }

    fn call(&mut self, what: &str, call: impl FnOnce(RawComm) -> Code) -> Result<(), String> {
        let raw = self.call.raw();
        if raw.is_null() {
            return Err(format!("{what} after the communicator was aborted"));
        }
        let begin = Instant::now();
        let set = |since| *self.call.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
        set(Some(begin));
        let code = call(raw);
        set(None);
        let result = match self.call.raw().is_null() {
            true if begin.elapsed() > self.limit => Err(late(what, self.limit)),
            true => Err(format!("NCCL: {what} was aborted, because another rank has failed")),
            false => self.nccl.check(code, raw),
        };
        if result.is_err() {
            self.abort();
        }
        result
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let raw = self.call.raw.0.swap(ptr::null_mut(), Ordering::SeqCst);
        if !raw.is_null() {
            // SAFETY: nobody uses it any more. One with which something went wrong was aborted.
            unsafe { (self.nccl.functions.comm_destroy)(raw) };
        }
    }
}
