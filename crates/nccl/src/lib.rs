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
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use functions::{Code, Config, Functions, RawComm};

pub use functions::UniqueId;

/// The environment variable that names NCCL's library. When it is set, and not empty, no other is looked for.
pub const OVERRIDE: &str = "LADDER_LIBNCCL";

/// NCCL's variable that turns off sums within NVLink's switches, which take multicast objects.
const NO_MULTICAST: &str = "NCCL_NVLS_ENABLE";

/// How often a call that is under way is asked for its end.
const PAUSE: Duration = Duration::from_micros(200);

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

/// The oldest version that will do: the first whose communicators can be made with a time limit.
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
    fn open(path: &str) -> Result<Self, String> {
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

    /// Makes this thread's current device a rank of a communicator, and waits for the other ranks.
    ///
    /// # Errors
    /// NCCL's, in words, and that not all ranks came within the limit.
    pub fn join(
        &'static self,
        id: UniqueId,
        ranks: usize,
        rank: usize,
        limit: Duration,
    ) -> Result<Communicator, String> {
        let mut raw: RawComm = ptr::null_mut();
        let mut config = Config::new();
        let (ranks, number) = (ranks as i32, rank as i32);
        // SAFETY: places for the communicator and for the configuration, which has the size that it says.
        let code = unsafe { (self.functions.comm_init_rank_config)(&raw mut raw, ranks, id, number, &raw mut config) };
        let communicator = Communicator { nccl: self, raw, limit, is_grouped: false };
        communicator.settle(code, "making the communicator")?;
        Ok(communicator)
    }

    /// The error of a result, if it is one: NCCL's words for the code, and its last message.
    fn check(&self, code: Code, comm: RawComm) -> Result<(), String> {
        if code == Code::SUCCESS || code == Code::IN_PROGRESS {
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

/// A rank's part of a communicator. It is destroyed when it is dropped, and aborted when a call has failed.
pub struct Communicator {
    nccl: &'static Nccl,
    /// Null once it is aborted.
    raw: RawComm,
    limit: Duration,
    /// Whether calls are collected, and wait for the end of their group.
    is_grouped: bool,
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

    /// Enqueues several calls as one (`ncclGroupStart`, `ncclGroupEnd`).
    pub fn group(&mut self, calls: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let (start, end) = (self.nccl.functions.group_start, self.nccl.functions.group_end);
        // SAFETY: it takes nothing.
        self.nccl.check(unsafe { start() }, self.raw)?;
        self.is_grouped = true;
        let called = calls(self);
        self.is_grouped = false;
        // SAFETY: a group has begun.
        let ended = self.call("a group of calls", |_| unsafe { end() });
        called.and(ended)
    }

    /// What has gone wrong on any rank so far, as far as it is known here (`ncclCommGetAsyncError`).
    pub fn check(&mut self) -> Result<(), String> {
        self.call("looking for errors", |_| Code::SUCCESS)
    }

    /// Ends it without waiting for the other ranks, whose calls fail then (`ncclCommAbort`).
    pub fn abort(&mut self) {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        if !raw.is_null() {
            // SAFETY: it is a communicator, and nobody uses it any more.
            unsafe { (self.nccl.functions.comm_abort)(raw) };
        }
    }

    fn call(&mut self, what: &str, call: impl FnOnce(RawComm) -> Code) -> Result<(), String> {
        if self.raw.is_null() {
            return Err(format!("{what} after the communicator was aborted"));
        }
        let code = call(self.raw);
        let result = if self.is_grouped { self.nccl.check(code, self.raw) } else { self.settle(code, what) };
        if result.is_err() {
            self.abort();
        }
        result
    }

    /// Waits until a call is no longer under way; what it has enqueued may be.
    fn settle(&self, code: Code, what: &str) -> Result<(), String> {
        self.nccl.check(code, self.raw)?;
        let begin = Instant::now();
        while !self.raw.is_null() {
            let mut state = Code::SUCCESS;
            // SAFETY: a communicator, and a place for its state.
            let asked = unsafe { (self.nccl.functions.comm_get_async_error)(self.raw, &raw mut state) };
            self.nccl.check(asked, self.raw)?;
            self.nccl.check(state, self.raw)?;
            if state != Code::IN_PROGRESS {
                break;
            }
            if begin.elapsed() > self.limit {
                return Err(format!("NCCL: {what} was not over after {:?}: another rank does not answer", self.limit));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let raw = ManuallyDrop::new(std::mem::replace(&mut self.raw, ptr::null_mut()));
        if raw.is_null() {
            return;
        }
        // A communicator whose making was given up is no good for anything else.
        let mut state = Code::SUCCESS;
        // SAFETY: a communicator, and a place for its state.
        let asked = unsafe { (self.nccl.functions.comm_get_async_error)(*raw, &raw mut state) };
        let end = match (asked, state) {
            (Code::SUCCESS, Code::SUCCESS) => self.nccl.functions.comm_destroy,
            _ => self.nccl.functions.comm_abort,
        };
        // SAFETY: nobody uses it any more.
        unsafe { end(*raw) };
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
