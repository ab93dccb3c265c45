//! The functions of the library that are used, with their signatures.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

/// A communicator (`ncclComm_t`).
pub(crate) type RawComm = *mut c_void;

/// A result (`ncclResult_t`): newer libraries may have more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) c_uint);

impl Code {
    pub(crate) const SUCCESS: Self = Self(0);
}

/// The identity of a communicator (`ncclUniqueId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

impl Default for UniqueId {
    fn default() -> Self {
        Self([0; 128])
    }
}

/// Looks up the functions of a library by their names.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident: $name:literal, $type:ty;)*) => {
        pub(crate) struct Functions {
            $($(#[$doc])* pub(crate) $field: $type,)*
            /// Keeps them there.
            _library: Library,
        }

        impl Functions {
            /// Opens a library that has them.
            ///
            /// # Errors
            /// The loader's, in one line, and which function the library lacks.
            pub(crate) fn open(path: &str) -> Result<Self, String> {
                // SAFETY: opening a library runs its initializers: those of the system's NCCL, or of what the user
                // names to be used as such.
                let library = unsafe { Library::new(path) }.map_err(|error| reason(&error))?;
                Ok(Self {
                    $($field: {
                        // SAFETY: the signature is that of nccl.h.
                        let found = unsafe { library.get::<$type>(concat!($name, "\0").as_bytes()) };
                        *found.map_err(|_| format!("it is no NCCL, or too old: it has no {}", $name))?
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

/// A text of the library's, empty where there is none.
///
/// # Safety
/// It is null, or ends in a NUL and stays meanwhile.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// An error of the loader, without the words around the loader's own.
fn reason(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
