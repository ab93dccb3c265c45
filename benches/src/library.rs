//! The library of baselines: NVIDIA's libraries with the C interface of `cuda/baselines.cu`.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use host::Device;
use host::device::{DeviceMemory, GpuStream};

use crate::error::Error;

/// The maximum number of buffers that a call accepts.
const MOST: usize = 4;
/// The maximum number of numeric arguments that a call accepts.
pub const NUMBERS: usize = 4;

/// A request to the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's name in `cuda/baselines.cu`.
    pub function: &'static CStr,
    /// The buffers of the call, at most `MOST`: the index of each in the problem's buffers, and its required size in
    /// bytes.
    pub buffers: Vec<(usize, u64)>,
    /// The numbers that `cuda/baselines.cu` documents for the function, followed by zeros.
    pub numbers: [u64; NUMBERS],
}

/// An open library, with a handle for the stream of one device.
pub struct Library {
    handle: *mut c_void,
    functions: &'static Functions,
    /// The names and versions of NVIDIA's libraries.
    pub versions: String,
    stream: GpuStream,
}

/// The table that the library's function `ladder_baselines` returns. Functions that return a number return 0 on
/// success.
#[repr(C)]
struct Functions {
    versions: unsafe extern "C" fn() -> *const c_char,
    open: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
    message: unsafe extern "C" fn(*const c_void) -> *const c_char,
    call: unsafe extern "C" fn(*mut c_void, *const c_char, *const u64, *const u64) -> c_int,
}

impl Library {
    /// Opens a library for work on the stream of `device`. The file must be built from `cuda/baselines.cu`: the code
    /// that runs when the library is loaded cannot be checked.
    ///
    /// # Errors
    /// Returns [`Error::Cuda`] when the file is not such a library, and when the library refuses the stream.
    pub fn open(path: &Path, device: &mut dyn Device) -> Result<Self, Error> {
        let mut library = None;
        let opened = device.call("opening it", &[], &mut |stream, _| {
            library = Some(Self::on_stream(path, stream)?);
            Ok(())
        });
        let why = match (opened, library) {
            (Ok(_), Some(library)) => return Ok(library),
            (Err(host::Error::Call { reason, .. }), _) => reason,
            (Err(error), _) => error.to_string(),
            (Ok(_), None) => "the device has no stream".to_owned(),
        };
        Err(Error::Cuda(format!(
            "cannot use the library of baselines {}: {}; all baselines of this library are left out",
            path.display(),
            // The loader's message may have several lines.
            in_one_line(&why),
        )))
    }

    fn on_stream(path: &Path, stream: &GpuStream) -> Result<Self, String> {
        if !path.is_file() {
            return Err("there is no such file".to_owned());
        }
        // SAFETY: opening a library runs its constructors; `path` is a library that this program has built.
        let library = unsafe { libloading::Library::new(OsStr::new(path)) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            cause.unwrap_or_else(|| error.to_string())
        })?;
        // SAFETY: only `cuda/baselines.cu` defines `ladder_baselines`, which returns a table of this form. The table
        // stays at its address while the library is open.
        let functions = unsafe {
            let table = library.get::<unsafe extern "C" fn() -> *const Functions>("ladder_baselines");
            let table = table.map_err(|_| "it has no ladder_baselines".to_owned())?;
            &*table()
        };
        // A CUDA runtime does not support being closed before the process ends. The library therefore stays open, and
        // the table stays valid.
        std::mem::forget(library);

        let mut handle = ptr::null_mut();
        // SAFETY: `stream` is open, and its clone below keeps it open as long as the handle; `handle` is valid for
        // writing a pointer.
        let code = unsafe { (functions.open)(stream.as_raw(), &mut handle) };
        // SAFETY: the function has no parameters, and returns a text that stays valid.
        let versions = unsafe { text((functions.versions)()) };
        let library = Self {
            handle,
            functions,
            versions: versions.unwrap_or_else(|| "versions unknown".to_owned()),
            stream: stream.clone(),
        };
        if code != 0 || library.handle.is_null() {
            return Err(library.message(code));
        }
        Ok(library)
    }

    /// Enqueues a call on the stream. `memory[i]` is the buffer with index `i`.
    ///
    /// # Errors
    /// Returns a message when a buffer is missing or too small, when the stream is not the library's, and when the
    /// library refuses the call.
    pub fn enqueue(&self, call: &Call, stream: &GpuStream, memory: &[DeviceMemory]) -> Result<(), String> {
        if stream.as_raw() != self.stream.as_raw() {
            return Err("the library was opened for another device".to_owned());
        }
        let addresses = addresses(&call.buffers, memory)?;
        let (name, numbers) = (call.function.as_ptr(), call.numbers.as_ptr());
        // SAFETY: the handle is open until `self` is dropped. The function reads a name, `MOST` addresses and `NUMBERS`
        // numbers. The addresses are memory of this stream's device with the required sizes. They stay valid until the
        // work is done, because freeing device memory waits for the work.
        match unsafe { (self.functions.call)(self.handle, name, addresses.as_ptr(), numbers) } {
            0 => Ok(()),
            code => Err(self.message(code)),
        }
    }

    /// Returns the library's message about its last error.
    fn message(&self, code: c_int) -> String {
        // SAFETY: the function accepts an open handle or null, and returns a text that is valid until the next call.
        let words = unsafe { text((self.functions.message)(self.handle)) };
        words.unwrap_or_else(|| format!("the library returned {code} without a message"))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open, and is closed only here; its stream is dropped afterwards.
            unsafe { (self.functions.close)(self.handle) };
        }
    }
}

/// Returns the addresses of buffers that are large enough, followed by zeros.
fn addresses(buffers: &[(usize, u64)], memory: &[DeviceMemory]) -> Result<[u64; MOST], String> {
    let mut addresses = [0; MOST];
    if buffers.len() > MOST {
        return Err(format!("a call takes {MOST} buffers, not {}", buffers.len()));
    }
    for (address, &(index, needed)) in addresses.iter_mut().zip(buffers) {
        let Some(buffer) = memory.get(index) else {
            return Err(format!("it takes buffer {index} of {}", memory.len()));
        };
        if buffer.bytes < needed {
            return Err(format!("buffer {index} has only {} bytes", buffer.bytes));
        }
        *address = buffer.address;
    }
    Ok(addresses)
}

/// Returns a C string as one line, or `None` for a null pointer.
///
/// # Safety
/// `words` must be null, or point to a NUL-terminated text that does not change during the call.
unsafe fn text(words: *const c_char) -> Option<String> {
    if words.is_null() {
        return None;
    }
    // SAFETY: `words` is not null, so it points to a NUL-terminated text that does not change during the call.
    let words = in_one_line(&unsafe { CStr::from_ptr(words) }.to_string_lossy());
    (!words.is_empty()).then_some(words)
}

fn in_one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_missing_or_too_small_never_reach_the_library() {
        let memory = [(4096, 64), (8192, 4)].map(|(address, bytes)| DeviceMemory { address, bytes });
        for (buffers, why) in [
            (&[(0, 64), (2, 4)][..], "it takes buffer 2 of 2"),
            (&[(0, 65), (1, 4)], "buffer 0 has only 64 bytes"),
            (&[(0, 64), (1, 8)], "buffer 1 has only 4 bytes"),
            (&[(0, u64::MAX), (1, 4)], "buffer 0 has only 64 bytes"),
            (&[(0, 0); 5], "a call takes 4 buffers, not 5"),
        ] {
            assert_eq!(addresses(buffers, &memory), Err(why.to_owned()));
        }
        assert_eq!(addresses(&[(1, 4), (0, 64)], &memory), Ok([8192, 4096, 0, 0]));
    }
}
