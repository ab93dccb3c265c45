//! NCCL, NVIDIA's library for collective operations on several GPUs. The crate loads the library at run time, so no
//! build needs it.
//!
//! The inputs are addresses of device memory and streams, as numbers and pointers. Errors are returned as text, using
//! NCCL's messages if there are any. Every call that waits for other ranks has a time limit. When the limit expires,
//! the communicator is aborted, so no call hangs. The crate calls no CUDA functions: the caller must first make the
//! device's context current. This crate must not depend on ladders.
//!
//! cudarc also has bindings for NCCL, but these bindings use cudarc's types for devices, streams and memory, and they
//! panic if a library is missing. Ladder uses cust's devices and supports machines without NCCL. Therefore, this crate
//! has separate bindings for the functions that Ladder uses.
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

/// The environment variable that names NCCL's library. If the variable is set and not empty, no other library is tried.
pub const OVERRIDE: &str = "LADDER_LIBNCCL";

/// NCCL's environment variable that disables reductions in NVLink switches, which require multicast objects.
const NO_MULTICAST: &str = "NCCL_NVLS_ENABLE";

/// The types of elements (`ncclDataType_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Element {
    U8 = 1,
    I32 = 2,
    U32 = 3,
    I64 = 4,
    U64 = 5,
    F32 = 7,
    F64 = 8,
}

/// The reduction operations (`ncclRedOp_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Op {
    Sum = 0,
    Product = 1,
    Max = 2,
    Min = 3,
}

/// The loaded NCCL library.
pub struct Nccl {
    functions: Functions,
    /// The name or path with which the library was opened.
    pub path: String,
    /// The version, such as 2.28.3.
    pub version: Version,
}

/// A version of the library. All ranks must use the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Decodes the library's version number. 2.8.4 is encoded as 2804, but from version 2.9 on, 2.9.1 is encoded as
    /// 20901.
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

/// The oldest supported version: the first version that can abort a communicator while another thread waits in a call.
const OLDEST: Version = Version(2, 14, 0);

/// Finds the library once. If [`OVERRIDE`] is set, tries only the library that this variable names. Otherwise tries the
/// system's loader, and then the files that `cargo xtask setup --nvidia` installs. Disables multicast unless NCCL's
/// variable for it is already set.
///
/// # Errors
/// Returns a message with each candidate that was tried and the reason why it was rejected.
///
/// # Safety
/// The caller must ensure that no other thread reads or writes the environment during the first call.
pub unsafe fn find() -> Result<&'static Nccl, String> {
    static FOUND: OnceLock<Result<Nccl, String>> = OnceLock::new();
    let find = || {
        if std::env::var_os(NO_MULTICAST).is_none() {
            // SAFETY: no other thread accesses the environment during this first call.
            unsafe { std::env::set_var(NO_MULTICAST, "0") };
        }
        let named = std::env::var(OVERRIDE).ok().filter(|name| !name.is_empty());
        let candidates = named.map_or_else(candidates, |name| vec![name]);
        let mut tried = Vec::new();
        for path in candidates {
            match Nccl::open(&path) {
                Ok(nccl) => return Ok(nccl),
                Err(why) => tried.push(format!("{path}: {why}")),
            }
        }
        Err(format!("NCCL was not found ({}); set {OVERRIDE} to the path of its library", tried.join("; ")))
    };
    FOUND.get_or_init(find).as_ref().map_err(Clone::clone)
}

/// Returns the names and paths to try, in order.
fn candidates() -> Vec<String> {
    let installed = locate::nvidia::folder().map(|folder| folder.join("nvidia/nccl/lib/libnccl.so.2"));
    let installed = installed.filter(|path| path.is_file()).map(|path| path.display().to_string());
    ["libnccl.so.2", "libnccl.so"].into_iter().map(str::to_owned).chain(installed).collect()
}

impl Nccl {
    /// Opens a library.
    ///
    /// # Errors
    /// Returns a message with the reason why the library cannot be used.
    pub fn open(path: &str) -> Result<Self, String> {
        let functions = Functions::open(path)?;
        let mut number = 0;
        // SAFETY: `number` is a valid location for the version number.
        let code = unsafe { (functions.get_version)(&raw mut number) };
        if code != Code::SUCCESS {
            return Err(format!("the library does not report its version (NCCL error {})", code.0));
        }
        let version = Version::of(number.unsigned_abs());
        if (version.0, version.1) < (OLDEST.0, OLDEST.1) {
            return Err(format!("NCCL {version} is too old; {OLDEST} or newer is needed"));
        }
        Ok(Self { functions, path: path.to_owned(), version })
    }

    /// Creates the unique ID of a new communicator. One rank creates the ID and shares it with all ranks.
    ///
    /// # Errors
    /// Returns NCCL's error in words.
    pub fn unique_id(&self) -> Result<UniqueId, String> {
        let mut id = UniqueId::default();
        // SAFETY: `id` is a valid location for the unique ID.
        let code = unsafe { (self.functions.get_unique_id)(&raw mut id) };
        self.check(code, ptr::null_mut()).map(|()| id)
    }

    /// Converts a result code to an error with NCCL's name for the code and NCCL's last message.
    fn check(&self, code: Code, comm: RawComm) -> Result<(), String> {
        if code == Code::SUCCESS {
            return Ok(());
        }
        // SAFETY: both functions return static strings or null.
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
    fn old_and_new_version_numbers() {
        assert_eq!([2804, 20_901, 22_803].map(|number| Version::of(number).to_string()), ["2.8.4", "2.9.1", "2.28.3"]);
    }

    #[test]
    fn missing_or_wrong_library_is_an_error() {
        let refused = |path: &str| Nccl::open(path).err().unwrap_or_default();
        assert!(refused("./no-nccl.so").contains("no-nccl.so"), "{}", refused("./no-nccl.so"));
        #[cfg(target_os = "linux")]
        assert!(refused("libc.so.6").starts_with("not an NCCL library"), "{}", refused("libc.so.6"));
    }
}
