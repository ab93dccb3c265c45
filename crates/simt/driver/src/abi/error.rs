//! The driver's result codes, and errors with their details.

use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::LazyLock;

use simt_check::diagnostic::Diagnostic;

use crate::abi::call::{Out, functions};

/// A result code of the driver (`CUresult` in `cuda.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

macro_rules! codes {
    ($($name:ident = $number:literal),* $(,)?) => {
        #[allow(missing_docs, reason = "the names are those of cuda.h")]
        impl Code {
            $(pub(crate) const $name: Code = Code($number);)*
        }
    };
}

codes! {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, UNSUPPORTED_LIMIT = 215, INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222,
    INVALID_SOURCE = 300, FILE_NOT_FOUND = 301,
    OPERATING_SYSTEM = 304, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, LOSSY_QUERY = 402, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    LAUNCH_TIMEOUT = 702, PEER_ACCESS_UNSUPPORTED = 217, PEER_ACCESS_ALREADY_ENABLED = 704, PEER_ACCESS_NOT_ENABLED = 705,
    CONTEXT_IS_DESTROYED = 709, ASSERT = 710, HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713, ILLEGAL_INSTRUCTION = 715, MISALIGNED_ADDRESS = 716, INVALID_PC = 718, LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, NOT_PERMITTED = 800, NOT_SUPPORTED = 801, STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_INVALIDATED = 901, STREAM_CAPTURE_MERGE = 902, STREAM_CAPTURE_UNMATCHED = 903,
    STREAM_CAPTURE_UNJOINED = 904, STREAM_CAPTURE_ISOLATION = 905, STREAM_CAPTURE_IMPLICIT = 906, CAPTURED_EVENT = 907,
    STREAM_CAPTURE_WRONG_THREAD = 908, GRAPH_EXEC_UPDATE_FAILURE = 910, INVALID_CLUSTER_SIZE = 912, UNKNOWN = 999,
}

/// All codes with the driver's numbers, names and texts.
static CODES: LazyLock<Vec<(u32, CString, CString)>> = LazyLock::new(|| {
    let lines = include_str!("errors.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &str| {
        let (number, rest) = line.split_once(' ')?;
        let (name, text) = rest.split_once('|')?;
        Some((number.parse().ok()?, CString::new(name).ok()?, CString::new(text).ok()?))
    };
    lines.filter_map(read).collect()
});

impl Code {
    fn find(self) -> Option<&'static (u32, CString, CString)> {
        CODES.iter().find(|(number, ..)| *number == self.0)
    }

    /// Returns the name in `cuda.h`.
    pub(crate) fn name(self) -> Option<&'static CStr> {
        self.find().map(|(_, name, _)| name.as_c_str())
    }

    /// Returns the driver's description of the code.
    pub(crate) fn text(self) -> Option<&'static CStr> {
        self.find().map(|(.., text)| text.as_c_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(&name.to_string_lossy()),
            None => write!(f, "{}", self.0),
        }
    }
}

/// An error: the code that the program receives, and the details for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) code: Code,
    /// The reason; empty if the code needs no explanation.
    pub(crate) reason: String,
    /// The reason with its location in a kernel, if there is a location.
    pub(crate) diagnostic: Option<Box<Diagnostic>>,
}

/// The result of a driver function.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error with a reason for the log.
    pub(crate) fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), diagnostic: None }
    }
}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self { code, reason: String::new(), diagnostic: None }
    }
}

functions! {
    fn cuGetErrorName(code: u32, name: Out<*const std::ffi::c_char>) {
        let known = Code(code).name();
        name.set(known.map_or(std::ptr::null(), CStr::as_ptr))?;
        known.map(drop).ok_or_else(|| Code::INVALID_VALUE.into())
    }

    fn cuGetErrorString(code: u32, text: Out<*const std::ffi::c_char>) {
        let known = Code(code).text();
        text.set(known.map_or(std::ptr::null(), CStr::as_ptr))?;
        known.map(drop).ok_or_else(|| Code::INVALID_VALUE.into())
    }
}
