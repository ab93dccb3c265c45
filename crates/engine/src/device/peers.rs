//! The library of peers: NVIDIA's own libraries behind a few C functions, which `benches/cuda/peers.cu` has.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use cust::sys::{CUdeviceptr, CUstream};
use libloading::Library;

use crate::error::Error;
use crate::peer::Call;

/// A library that is open, and its handle for one stream.
pub(super) struct Peers {
    handle: *mut c_void,
    functions: Functions,
    path: String,
}

/// A buffer of the device: where it is and its bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: u64,
}

/// The operations and types of `ladder_reduce`, by their numbers; of the types, the bytes as well.
const OPS: [&str; 4] = ["sum", "product", "min", "max"];
const TYPES: [(&str, u64); 5] = [("i32", 4), ("u32", 4), ("i64", 8), ("f32", 4), ("f64", 8)];

const BINS_BYTES: u64 = 256 * 4;

macro_rules! functions {
    ($($field:ident: $symbol:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library. All but `versions` take its handle first, and those that give a
        /// number give 0 where all went well.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// The library's functions of these names must be those of `benches/cuda/peers.cu`.
            unsafe fn new(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    $($field: {
                        // SAFETY: of the type that the caller promises.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol)
                        };
                        *symbol.map_err(|_| format!("it has no {}", $symbol))?
                    },)*
                })
            }
        }
    };
}

functions! {
    open: "ladder_peers_open", fn(CUstream, *mut *mut c_void) -> c_int;
    close: "ladder_peers_close", fn(*mut c_void);
    message: "ladder_peers_message", fn(*const c_void) -> *const c_char;
    versions: "ladder_peers_versions", fn() -> *const c_char;
    copy: "ladder_copy", fn(*mut c_void, CUdeviceptr, CUdeviceptr, u64) -> c_int;
    reduce: "ladder_reduce", fn(*mut c_void, c_int, c_int, CUdeviceptr, CUdeviceptr, u64) -> c_int;
    transpose: "ladder_transpose", fn(*mut c_void, CUdeviceptr, CUdeviceptr, u32, u32) -> c_int;
    matmul: "ladder_matmul", fn(*mut c_void, CUdeviceptr, CUdeviceptr, CUdeviceptr, u32, u32, u32) -> c_int;
    histogram: "ladder_histogram", fn(*mut c_void, CUdeviceptr, CUdeviceptr, u64) -> c_int;
}

impl Peers {
    /// Opens a library for work on `stream`, and gives its versions in words.
    ///
    /// # Safety
    /// `stream` is a stream of the context that is current, and outlives the result; so does the context, which
    /// is the device's primary one, because that is the one that the CUDA runtime behind the library uses.
    pub(super) unsafe fn open(library: &Path, stream: CUstream) -> Result<(Self, String), Error> {
        let path = library.display().to_string();
        let refused = |why: String| Error::Peers {
            path: path.clone(),
            // A loader's reasons may have several lines.
            why: why.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        if !library.is_file() {
            return Err(refused("there is no such file".to_owned()));
        }
        // SAFETY: opening a library runs its constructors; it is the user's to say which one is trusted.
        let library = unsafe { Library::new(OsStr::new(library)) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            refused(cause.unwrap_or_else(|| error.to_string()))
        })?;
        // SAFETY: the names are of nobody else's functions.
        let functions = unsafe { Functions::new(&library) }.map_err(refused)?;
        // The pointers are good for as long as the library is open, and a CUDA runtime is not made to be closed
        // before the process ends. So it never is.
        std::mem::forget(library);

        let mut handle = ptr::null_mut();
        // SAFETY: the stream is the caller's, and `handle` has room for a pointer.
        let code = unsafe { (functions.open)(stream, &mut handle) };
        let peers = Self {
            handle,
            functions,
            path: path.clone(),
        };
        if code != 0 || peers.handle.is_null() {
            return Err(refused(peers.message(code)));
        }
        // SAFETY: it takes nothing, and gives a text that stays.
        let versions = unsafe { (peers.functions.versions)() };
        let versions = text(versions).unwrap_or_else(|| "versions unknown".to_owned());
        Ok((peers, versions))
    }

    /// Enqueues a call on the stream. `memory[i]` is the buffer of index `i`.
    pub(super) fn enqueue(&self, call: &Call, memory: &[Memory]) -> Result<(), Error> {
        let failed = |reason| Error::PeerCall {
            call: call.clone(),
            reason,
        };
        // The address of a buffer that has room for so many bytes.
        let room = |index: usize, bytes: Option<u64>| {
            let buffer = memory.get(index).copied().ok_or_else(|| {
                failed(format!("buffer {index} of {} is an argument", memory.len()))
            })?;
            match bytes {
                Some(bytes) if bytes <= buffer.bytes => Ok(buffer.address),
                _ => Err(failed(format!(
                    "buffer {index} has only {} bytes",
                    buffer.bytes
                ))),
            }
        };
        let matrix =
            |rows: u32, columns: u32| (u64::from(rows) * u64::from(columns)).checked_mul(4);
        let (handle, functions) = (self.handle, &self.functions);
        let code = match *call {
            Call::Copy { from, to, bytes } => {
                let (from, to) = (room(from, Some(bytes))?, room(to, Some(bytes))?);
                // SAFETY: the handle is open until `self` is dropped; the function gets device memory of the
                // size that the work needs, checked above, and its buffers outlive the work, because freeing
                // device memory waits for it. So in all of these.
                unsafe { (functions.copy)(handle, to, from, bytes) }
            }
            Call::Reduce {
                op,
                element,
                input,
                output,
                n,
            } => {
                let op = OPS.iter().position(|name| *name == op);
                let number = TYPES.iter().position(|(name, _)| *name == element);
                let (Some(op), Some(number)) = (op, number) else {
                    return Err(failed("it has no such operation or type".to_owned()));
                };
                let size = TYPES[number].1;
                let (input, output) =
                    (room(input, n.checked_mul(size))?, room(output, Some(size))?);
                let (op, number) = (op as c_int, number as c_int);
                // SAFETY: as above.
                unsafe { (functions.reduce)(handle, op, number, input, output, n) }
            }
            Call::Transpose {
                input,
                output,
                rows,
                cols,
            } => {
                let bytes = matrix(rows, cols);
                let (input, output) = (room(input, bytes)?, room(output, bytes)?);
                // SAFETY: as above.
                unsafe { (functions.transpose)(handle, input, output, rows, cols) }
            }
            Call::Matmul { a, b, c, m, n, k } => {
                let a = room(a, matrix(m, k))?;
                let b = room(b, matrix(k, n))?;
                let c = room(c, matrix(m, n))?;
                // SAFETY: as above.
                unsafe { (functions.matmul)(handle, a, b, c, m, n, k) }
            }
            Call::Histogram { input, bins, n } => {
                let (input, bins) = (room(input, Some(n))?, room(bins, Some(BINS_BYTES))?);
                // SAFETY: as above.
                unsafe { (functions.histogram)(handle, input, bins, n) }
            }
        };
        match code {
            0 => Ok(()),
            code => Err(failed(self.message(code))),
        }
    }

    /// The library's words for what went wrong last.
    fn message(&self, code: c_int) -> String {
        // SAFETY: it takes an open handle or null, and gives a text that is good until the next call.
        let words = unsafe { (self.functions.message)(self.handle) };
        text(words).unwrap_or_else(|| format!("{} gives {code} and no words", self.path))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: it is open, and closed here only; its stream and context are still there.
            unsafe { (self.functions.close)(self.handle) };
        }
    }
}

/// A C text in one line; `None` where there is none.
fn text(words: *const c_char) -> Option<String> {
    if words.is_null() {
        return None;
    }
    // SAFETY: the library's texts end with a NUL and are not changed while they are read here.
    let words = unsafe { CStr::from_ptr(words) }.to_string_lossy();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}
