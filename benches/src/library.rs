//! The library of baselines: NVIDIA's own libraries behind the few C functions of `cuda/baselines.cu`.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use host::Device;
use host::device::{DeviceMemory, GpuStream};

use crate::error::Error;

/// The most buffers that a call takes.
const MOST: usize = 4;
/// The most numbers that it takes.
pub const NUMBERS: usize = 4;

/// A request to the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name that `cuda/baselines.cu` has for it.
    pub function: &'static CStr,
    /// The buffers that it works on, `MOST` at most: each one's index in the problem's buffers, and how many bytes
    /// the work needs it to have.
    pub buffers: Vec<(usize, u64)>,
    /// The numbers that `cuda/baselines.cu` documents for it, and zeros behind them.
    pub numbers: [u64; NUMBERS],
}

/// An open library, with a handle for the stream of one device.
pub struct Library {
    handle: *mut c_void,
    functions: &'static Functions,
    /// The versions of NVIDIA's libraries, in words.
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
    /// Opens a library for work on the stream of `device`. The file must be made of `cuda/baselines.cu`: what it
    /// does when it is loaded cannot be checked.
    ///
    /// # Errors
    /// [`Error::Cuda`] when the file is not such a library, and when it refuses the stream.
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
            "cannot use the library of baselines {}: {}; without it, baselines are left out",
            path.display(),
            // A loader's reasons may have several lines.
            in_one_line(&why),
        )))
    }

    fn on_stream(path: &Path, stream: &GpuStream) -> Result<Self, String> {
        if !path.is_file() {
            return Err("there is no such file".to_owned());
        }
        // SAFETY: opening a library runs its constructors; the caller names one that this program has made.
        let library = unsafe { libloading::Library::new(OsStr::new(path)) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            cause.unwrap_or_else(|| error.to_string())
        })?;
        // SAFETY: the name is of nobody else's function, which gives a table of this form, and the table stays where it is while the library is open.
        let functions = unsafe {
            let table = library.get::<unsafe extern "C" fn() -> *const Functions>("ladder_baselines");
            let table = table.map_err(|_| "it has no ladder_baselines".to_owned())?;
            &*table()
        };
        // A CUDA runtime is not made to be closed before the process ends. So it never is, and the table stays.
        std::mem::forget(library);

        let mut handle = ptr::null_mut();
        // SAFETY: `stream` is open, and its clone below keeps it open for as long as the handle is; `handle` has
        // room for a pointer.
        let code = unsafe { (functions.open)(stream.as_raw(), &mut handle) };
        // SAFETY: the function takes nothing, and gives a text that stays.
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

    /// Puts a call into the stream. `memory[i]` is the buffer of index `i`.
    ///
    /// # Errors
    /// When a buffer is missing or too small, when the stream is not the library's, and when the library refuses the
    /// call. The error is a message.
    pub fn enqueue(&self, call: &Call, stream: &GpuStream, memory: &[DeviceMemory]) -> Result<(), String> {
        if stream.as_raw() != self.stream.as_raw() {
            return Err("the library was opened for another device".to_owned());
        }
        let addresses = addresses(&call.buffers, memory)?;
        let (name, numbers) = (call.function.as_ptr(), call.numbers.as_ptr());
        // SAFETY: the handle is open until `self` is dropped; the function reads a name and as many addresses and
        // numbers as there are. The addresses are of memory of this stream's device, as large as the work needs,
        // and stay good until the work is over, because freeing device memory waits for it.
        match unsafe { (self.functions.call)(self.handle, name, addresses.as_ptr(), numbers) } {
            0 => Ok(()),
            code => Err(self.message(code)),
        }
    }

    /// The library's message about its last error.
    fn message(&self, code: c_int) -> String {
        // SAFETY: the function takes an open handle or null, and gives a text that is good until the next call.
        let words = unsafe { text((self.functions.message)(self.handle)) };
        words.unwrap_or_else(|| format!("the library gives {code} and no words"))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open, and closed here only; its stream is dropped after it.
            unsafe { (self.functions.close)(self.handle) };
        }
    }
}

/// The addresses of buffers that have room for what they need, and zeros behind them.
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

/// A C string as one line; `None` for a null pointer.
///
/// # Safety
/// `words` is null, or points to a text that ends with a NUL and is not changed meanwhile.
unsafe fn text(words: *const c_char) -> Option<String> {
    if words.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller promises the rest.
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
