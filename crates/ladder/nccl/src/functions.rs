//! The NCCL functions that this crate uses, with their signatures.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

/// A communicator (`ncclComm_t`).
pub(crate) type RawComm = *mut c_void;

/// A result code (`ncclResult_t`). Newer libraries can return additional codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) c_uint);

impl Code {
    pub(crate) const SUCCESS: Self = Self(0);
}

/// The unique ID of a communicator (`ncclUniqueId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

impl Default for UniqueId {
    fn default() -> Self {
        Self([0; 128])
    }
}

/// Declares the functions of a library, which are looked up by name.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident: $name:literal, $type:ty;)*) => {
        pub(crate) struct Functions {
            $($(#[$doc])* pub(crate) $field: $type,)*
            /// Keeps the library loaded.
            _library: Library,
        }

        impl Functions {
            /// Opens a library and looks up its functions.
            ///
            /// # Errors
            /// Returns the loader's error in one line, or the name of a missing function.
            pub(crate) fn open(path: &str) -> Result<Self, String> {
                // SAFETY: opening a library runs its initializers. The library is the system's NCCL, or a library that
                // the user names as NCCL.
                let library = unsafe { Library::new(path) }.map_err(|error| reason(&error))?;
                Ok(Self {
                    $($field: {
                        // SAFETY: the signature equals the signature in nccl.h.
                        let found = unsafe { library.get::<$type>(concat!($name, "\0").as_bytes()) };
                        *found.map_err(|_| format!("not an NCCL library, or too old: the function {} is missing", $name))?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    get_version: "ncclGetVersion", unsafe extern "C" fn(*mut c_int) -> Code;
    get_unique_id: "ncclGetUniqueId", unsafe extern "C" fn(*mut UniqueId) -> Code;
    comm_init_rank: "ncclCommInitRank", unsafe extern "C" fn(*mut RawComm, c_int, UniqueId, c_int) -> Code;
    comm_destroy: "ncclCommDestroy", unsafe extern "C" fn(RawComm) -> Code;
    comm_abort: "ncclCommAbort", unsafe extern "C" fn(RawComm) -> Code;
    comm_get_async_error: "ncclCommGetAsyncError", unsafe extern "C" fn(RawComm, *mut Code) -> Code;
    all_reduce: "ncclAllReduce",
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_uint, c_uint, RawComm, *mut c_void) -> Code;
    broadcast: "ncclBroadcast",
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_uint, c_int, RawComm, *mut c_void) -> Code;
    reduce: "ncclReduce",
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_uint, c_uint, c_int, RawComm, *mut c_void) -> Code;
    reduce_scatter: "ncclReduceScatter",
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_uint, c_uint, RawComm, *mut c_void) -> Code;
    all_gather: "ncclAllGather",
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_uint, RawComm, *mut c_void) -> Code;
    group_start: "ncclGroupStart", unsafe extern "C" fn() -> Code;
    group_end: "ncclGroupEnd", unsafe extern "C" fn() -> Code;
    get_error_string: "ncclGetErrorString", unsafe extern "C" fn(Code) -> *const c_char;
    get_last_error: "ncclGetLastError", unsafe extern "C" fn(RawComm) -> *const c_char;
}

/// Converts a C string of the library to a `String`. Null becomes an empty string.
///
/// # Safety
/// The caller must ensure that `text` is null or points to a NUL-terminated string that stays valid during the call.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: `text` is not null, so it points to a NUL-terminated string that stays valid during the call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns the loader's error message without the text that `libloading` adds.
fn reason(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
