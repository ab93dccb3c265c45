//! NCCL, NVIDIA's library for sums and copies over several GPUs: found when the program runs, so that no build needs it.
//!
//! In flow addresses of device memory and streams, as numbers and pointers; out flow errors in words, NCCL's own where it has
//! some. Every call that waits for other ranks has a time limit, behind which the communicator is aborted: nothing hangs.
//! The crate calls no CUDA functions: its caller makes the device's context current first. It must not know about ladders.
//!
//! cudarc has bindings too, with devices, streams and memory of its own and a panic where a library is missing. Here the
//! devices are cust's, and a machine without NCCL is an ordinary one; so these are our own, of the functions that are used.
//!
//! The names and signatures are those of `nccl.h` (NCCL's documentation, "NCCL API").

mod functions;

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use functions::{Code, Functions, RawComm};

pub use functions::UniqueId;

/// The environment variable that names NCCL's library. When it is set, and not empty, no other is looked for.
pub const OVERRIDE: &str = "LADDER_LIBNCCL";

/// NCCL's variable that turns off sums within NVLink's switches, which take multicast objects.
const NO_MULTICAST: &str = "NCCL_NVLS_ENABLE";

/// How often a call that waits is looked after, and from when on other ranks are suspected of failure.
const PAUSE: Duration = Duration::from_millis(20);
const IMPATIENT: Duration = Duration::from_millis(500);

/// How long the end of a communicator that is aborted is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The types of elements (`ncclDataType_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is its name")]
pub enum Element {
    U8 = 1,
    I32 = 2,
    U32 = 3,
    I64 = 4,
    U64 = 5,
    F32 = 7,
    F64 = 8,
}

/// What is done with elements (`ncclRedOp_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is its name")]
pub enum Op {
    Sum = 0,
    Product = 1,
    Max = 2,
    Min = 3,
}

/// The library.
pub struct Nccl {
    functions: Functions,
    /// The library as it was opened: a name that the system's loader found, or a path.
    pub path: String,
    /// Its version, such as 2.28.3.
    pub version: Version,
}

/// A version of the library. Ranks with different ones do not understand each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// From the library's number: 2.8.4 is 2804, and from 2.9 on 2.9.1 is 20901.
    fn of(number: u32) -> Self {
        match number {
            ..10_000 => Self(number / 1000, number / 100 % 10, number % 100),
            _ => Self(number / 10_000, number / 100 % 100, number % 100),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The oldest version that will do: the first that aborts a communicator whose calls wait in another thread.
const OLDEST: Version = Version(2, 14, 0);

/// Finds the library, once: where [`OVERRIDE`] says, else as the system's loader does, else in what `cargo xtask setup
/// --nvidia` installs. Unless the environment says otherwise, it will not use multicast.
///
/// # Errors
/// Why there is none: each place that was tried, and what is wrong with it.
///
/// # Safety
/// The first call is made before other threads read or write the environment.
pub unsafe fn find() -> Result<&'static Nccl, String> {
    static FOUND: OnceLock<Result<Nccl, String>> = OnceLock::new();
    let look = || {
        if std::env::var_os(NO_MULTICAST).is_none() {
            // SAFETY: the caller's promise.
            unsafe { std::env::set_var(NO_MULTICAST, "0") };
        }
        let named = std::env::var(OVERRIDE).ok().filter(|name| !name.is_empty());
        let candidates = named.map_or_else(usual, |name| vec![name]);
        let mut tried = Vec::new();
        for path in candidates {
            match Nccl::open(&path) {
                Ok(nccl) => return Ok(nccl),
                Err(why) => tried.push(format!("{path}: {why}")),
            }
        }
        Err(format!("no NCCL on this machine ({}); {OVERRIDE} names its library", tried.join("; ")))
    };
    FOUND.get_or_init(look).as_ref().map_err(Clone::clone)
}

/// The places that the library may be in, the surest first.
fn usual() -> Vec<String> {
    let installed = locate::nvidia::folder().map(|folder| folder.join("nvidia/nccl/lib/libnccl.so.2"));
    let installed = installed.filter(|path| path.is_file()).map(|path| path.display().to_string());
    ["libnccl.so.2", "libnccl.so"].into_iter().map(str::to_owned).chain(installed).collect()
}

impl Nccl {
    /// Opens a library.
    ///
    /// # Errors
    /// Why it will not do, in words.
    pub fn open(path: &str) -> Result<Self, String> {
        let functions = Functions::open(path)?;
        let mut number = 0;
        // SAFETY: a place for the number.
        let code = unsafe { (functions.get_version)(&raw mut number) };
        if code != Code::SUCCESS {
            return Err(format!("it does not say its version (NCCL error {})", code.0));
        }
        let version = Version::of(number.unsigned_abs());
        if (version.0, version.1) < (OLDEST.0, OLDEST.1) {
            return Err(format!("NCCL {version}; {OLDEST} or newer is needed"));
        }
        Ok(Self { functions, path: path.to_owned(), version })
    }

    /// The identity of a new communicator, which one rank makes and all get.
    ///
    /// # Errors
    /// NCCL's, in words.
    pub fn unique_id(&self) -> Result<UniqueId, String> {
        let mut id = UniqueId::default();
        // SAFETY: a place for the identity.
        let code = unsafe { (self.functions.get_unique_id)(&raw mut id) };
        self.check(code, ptr::null_mut()).map(|()| id)
    }

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

    /// The error of a result, if it is one: NCCL's words for the code, and its last message.
    fn check(&self, code: Code, comm: RawComm) -> Result<(), String> {
        if code == Code::SUCCESS {
            return Ok(());
        }
        // SAFETY: both return static texts, or none.
        let (name, last) = unsafe {
            (
                functions::text((self.functions.get_error_string)(code)),
                functions::text((self.functions.get_last_error)(comm)),
            )
        };
        let last = last.trim();
        Err(if last.is_empty() { format!("NCCL: {name}") } else { format!("NCCL: {name} ({last})") })
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

#[cfg(test)]
mod tests {
    use super::{Nccl, Version};

    #[test]
    fn versions_of_all_ages() {
        assert_eq!([2804, 20_901, 22_803].map(|number| Version::of(number).to_string()), ["2.8.4", "2.9.1", "2.28.3"]);
    }

    #[test]
    fn a_library_that_is_missing_or_another_one_is_refused() {
        let refused = |path: &str| Nccl::open(path).err().unwrap_or_default();
        assert!(refused("./no-nccl.so").contains("no-nccl.so"), "{}", refused("./no-nccl.so"));
        #[cfg(target_os = "linux")]
        assert!(refused("libc.so.6").starts_with("it is no NCCL"), "{}", refused("libc.so.6"));
    }
}
