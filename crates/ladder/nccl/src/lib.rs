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

mod communicator;
mod functions;

use std::fmt;
use std::ptr;
use std::sync::OnceLock;

use functions::{Code, Functions, RawComm};

pub use communicator::{Communicator, Watch, Work};
pub use functions::UniqueId;

/// The environment variable that names NCCL's library. When it is set, and not empty, no other is looked for.
pub const OVERRIDE: &str = "LADDER_LIBNCCL";

/// NCCL's variable that turns off sums within NVLink's switches, which take multicast objects.
const NO_MULTICAST: &str = "NCCL_NVLS_ENABLE";

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
