//! One rank of a communicator: its creation, its collective calls, and its abort when another rank does not respond.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::functions::{Code, RawComm, UniqueId};
use crate::{Element, Nccl, Op};

/// The interval at which waiting calls are checked.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a call waits before other ranks are suspected of failure.
const SUSPICION: Duration = Duration::from_millis(500);

/// The maximum time to wait for an abort to finish.
const PATIENCE: Duration = Duration::from_secs(5);

impl Nccl {
    /// Joins a communicator of `ranks` ranks as rank `rank` and waits for the other ranks. `enter` makes the device
    /// current in the thread that calls it. Whenever this rank waits for other ranks, in this call and later calls,
    /// `watch` is polled for a reason to give up.
    ///
    /// # Errors
    /// Returns NCCL's error in words, a message that not all ranks joined within the limit, or the reason that `watch`
    /// returned.
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
        // This call never returns if a rank never joins, so a separate thread makes the call.
        thread::spawn(move || {
            let mut raw: RawComm = ptr::null_mut();
            // SAFETY: `raw` is a valid location for the communicator's handle.
            let join = |()| unsafe { init(&raw mut raw, ranks as i32, id, rank as i32) };
            let code = enter().map(join);
            // The receiver may have given up.
            let _ = sender.send(code.map(|code| (code, Raw(AtomicPtr::new(raw)))));
        });
        let begin = Instant::now();
        let (code, raw) = loop {
            match joined.recv_timeout(PAUSE) {
                Ok(joined) => break joined?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("NCCL: the thread that joins the communicator exited without a result".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(why) = watch() {
                return Err(why);
            }
            if begin.elapsed() > limit {
                return Err(late("creating the communicator", limit));
            }
        };
        self.check(code, ptr::null_mut())?;
        let call = Arc::new(Call { raw, since: Mutex::new(None) });
        let watched = Arc::downgrade(&call);
        thread::spawn(move || guard(self, &watched, limit, watch));
        Ok(Communicator { nccl: self, call, limit })
    }
}

/// A function that returns `None` while it makes sense to keep waiting for other ranks, and otherwise the reason to
/// give up.
pub type Watch = Box<dyn FnMut() -> Option<String> + Send>;

/// One rank of a communicator. Dropping this value destroys the rank's communicator. A failed call aborts the
/// communicator.
pub struct Communicator {
    nccl: &'static Nccl,
    call: Arc<Call>,
    limit: Duration,
}

/// The state that a call shares with the guard thread.
struct Call {
    raw: Raw,
    /// The start time of the waiting call, if any.
    since: Mutex<Option<Instant>>,
}

/// A communicator's handle. Null after the communicator is aborted.
struct Raw(AtomicPtr<c_void>);

impl Call {
    fn raw(&self) -> RawComm {
        self.raw.0.load(Ordering::SeqCst)
    }

    /// Aborts the communicator in a separate thread: NCCL waits until the device has finished all enqueued work, which
    /// might never happen.
    fn abort(&self, nccl: &'static Nccl) {
        let raw = Raw(AtomicPtr::new(self.raw.0.swap(ptr::null_mut(), Ordering::SeqCst)));
        if raw.0.load(Ordering::SeqCst).is_null() {
            return;
        }
        let (sender, done) = mpsc::channel();
        thread::spawn(move || {
            let raw = raw;
            // SAFETY: `raw` is a communicator whose handle was swapped out, so only a call that this abort ends may
            // still use it.
            unsafe { (nccl.functions.comm_abort)(raw.0.into_inner()) };
            // The receiver may have stopped waiting.
            let _ = sender.send(());
        });
        // There is nothing more to do if the abort does not finish in time.
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// Watches a communicator as long as it exists, and aborts it if a call waits too long or `watch` returns a reason.
fn guard(nccl: &'static Nccl, call: &Weak<Call>, limit: Duration, mut watch: Watch) {
    while let Some(call) = call.upgrade() {
        let waited =
            call.since.lock().unwrap_or_else(PoisonError::into_inner).map_or(Duration::ZERO, |since| since.elapsed());
        if waited > limit || (waited > SUSPICION && watch().is_some()) {
            call.abort(nccl);
        }
        drop(call);
        thread::sleep(PAUSE);
    }
}

/// Returns the message for a call that took too long.
fn late(what: &str, limit: Duration) -> String {
    format!("NCCL: {what} did not finish within {limit:?}: another rank does not respond")
}

/// The buffers of a collective call, the number of elements, and the stream.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The address of the elements.
    pub from: u64,
    /// The address of the results, which can equal `from`.
    pub to: u64,
    /// The number of elements.
    pub count: usize,
    /// The type of the elements.
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

/// These calls enqueue work in the stream of `work`. Every rank must make the same calls in the same order. A call
/// returns NCCL's error in words, which can come from an earlier call. After an error, the communicator is aborted and
/// every further call fails.
///
/// # Safety
/// The caller must ensure that the memory belongs to the current device and holds enough elements. No other code may
/// use the memory until the stream has finished the work.
#[allow(clippy::missing_safety_doc, reason = "the requirements of all functions are above")]
impl Communicator {
    /// Combines the elements of all ranks and delivers the result to every rank (`ncclAllReduce`).
    pub unsafe fn all_reduce(&mut self, work: &Work, op: Op) -> Result<(), String> {
        let all_reduce = self.nccl.functions.all_reduce;
        // SAFETY: the caller ensures that both buffers hold enough elements and stay unused until the stream has
        // finished.
        self.call("an all-reduce", |comm| unsafe {
            all_reduce(work.from(), work.to(), work.count, work.element as u32, op as u32, comm, work.stream)
        })
    }

    /// Copies the elements of one rank to all ranks (`ncclBroadcast`).
    pub unsafe fn broadcast(&mut self, work: &Work, root: usize) -> Result<(), String> {
        let broadcast = self.nccl.functions.broadcast;
        // SAFETY: the caller ensures that both buffers hold enough elements and stay unused until the stream has
        // finished.
        self.call("a broadcast", |comm| unsafe {
            broadcast(work.from(), work.to(), work.count, work.element as u32, root as i32, comm, work.stream)
        })
    }

    /// Combines the elements of all ranks and delivers the result to one rank (`ncclReduce`).
    pub unsafe fn reduce(&mut self, work: &Work, op: Op, root: usize) -> Result<(), String> {
        let reduce = self.nccl.functions.reduce;
        let (element, root) = (work.element as u32, root as i32);
        // SAFETY: the caller ensures that both buffers hold enough elements and stay unused until the stream has
        // finished.
        self.call("a reduce", |comm| unsafe {
            reduce(work.from(), work.to(), work.count, element, op as u32, root, comm, work.stream)
        })
    }

    /// Combines the elements of all ranks and delivers `work.count` elements of the result to each rank
    /// (`ncclReduceScatter`).
    pub unsafe fn reduce_scatter(&mut self, work: &Work, op: Op) -> Result<(), String> {
        let reduce_scatter = self.nccl.functions.reduce_scatter;
        // SAFETY: the caller ensures that both buffers hold enough elements and stay unused until the stream has
        // finished.
        self.call("a reduce-scatter", |comm| unsafe {
            reduce_scatter(work.from(), work.to(), work.count, work.element as u32, op as u32, comm, work.stream)
        })
    }

    /// Concatenates `work.count` elements of each rank and delivers the result to every rank (`ncclAllGather`).
    pub unsafe fn all_gather(&mut self, work: &Work) -> Result<(), String> {
        let all_gather = self.nccl.functions.all_gather;
        // SAFETY: the caller ensures that both buffers hold enough elements and stay unused until the stream has
        // finished.
        self.call("an all-gather", |comm| unsafe {
            all_gather(work.from(), work.to(), work.count, work.element as u32, comm, work.stream)
        })
    }

    /// Enqueues several calls as one (`ncclGroupStart`, `ncclGroupEnd`).
    pub fn group(&mut self, calls: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let (start, end) = (self.nccl.functions.group_start, self.nccl.functions.group_end);
        // SAFETY: the function has no parameters.
        self.nccl.check(unsafe { start() }, self.call.raw())?;
        let called = calls(self);
        // SAFETY: `start` has started a group.
        let ended = self.call("a group of calls", |_| unsafe { end() });
        called.and(ended)
    }

    /// Returns an error if one is known on this rank, including errors of other ranks (`ncclCommGetAsyncError`).
    pub fn check(&mut self) -> Result<(), String> {
        let get_error = self.nccl.functions.comm_get_async_error;
        let mut state = Code::SUCCESS;
        self.call("the check for errors", |comm| {
            // SAFETY: `comm` is a communicator, and `state` is a valid location for its state.
            let code = unsafe { get_error(comm, &raw mut state) };
            if code == Code::SUCCESS { state } else { code }
        })
    }

    /// Aborts the communicator without waiting for the other ranks, whose calls then fail (`ncclCommAbort`).
    pub fn abort(&mut self) {
        self.call.abort(self.nccl);
    }

    fn call(&mut self, what: &str, call: impl FnOnce(RawComm) -> Code) -> Result<(), String> {
        let raw = self.call.raw();
        if raw.is_null() {
            return Err(format!("NCCL: {what} failed, because the communicator was aborted"));
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
            // SAFETY: the handle was swapped out, so no other code uses the communicator. A communicator with an error
            // was aborted and has a null handle.
            unsafe { (self.nccl.functions.comm_destroy)(raw) };
        }
    }
}
