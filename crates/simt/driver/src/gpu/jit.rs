//! Options for compiling PTX: the log buffers, and options without effect.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use crate::abi::call::{In, Out};
use crate::abi::error::Result;

/// `CU_JIT_INFO_LOG_BUFFER` and the related options.
const INFO_BUFFER: u32 = 3;
const INFO_BYTES: u32 = 4;
const ERROR_BUFFER: u32 = 5;
const ERROR_BYTES: u32 = 6;

/// The log options. The other options affect only the speed of a GPU's code, not its results.
#[derive(Default)]
pub(crate) struct JitOptions {
    info: Option<Buffer>,
    error: Option<Buffer>,
}

/// The lock that is held while a message is written, because two threads can load code with the same buffers.
static WRITING: Mutex<()> = Mutex::new(());

// SAFETY: the program keeps the buffers alive, whichever thread uses the options.
unsafe impl Send for JitOptions {}
// SAFETY: `tell` writes to the buffers only while it holds `WRITING`.
unsafe impl Sync for JitOptions {}

/// A log buffer.
struct Buffer {
    text: Out<c_char>,
    /// The size of the buffer in bytes.
    bytes: usize,
    /// The place for the number of bytes written: the value of the size option, which the driver overwrites.
    filled: Out<usize>,
}

impl JitOptions {
    /// Reads the options of a program: option numbers, and a value of eight bytes for each.
    pub(crate) fn read(count: u32, names: In<u32>, values: In<usize>) -> Result<Self> {
        let names = names.all(count as usize)?;
        let option_values = values.all(count as usize)?;
        let buffer = |buffer: u32, size: u32| {
            let at = |option: u32| names.iter().position(|name| *name == option);
            let (text, bytes) = (at(buffer)?, at(size)?);
            // SAFETY: the value of this option is the address of a buffer. `cuda.h` requires that the program keeps the
            // buffer while it uses the options.
            let text = unsafe { Out::<c_char>::from_address(option_values[text]) };
            // SAFETY: `bytes` is an index into the list of values, and `cuda.h` lets the driver overwrite the value of
            // a size option.
            let filled = unsafe { Out::from_ptr(values.as_ptr().cast_mut().add(bytes)) };
            Some(Buffer { text, bytes: option_values[bytes] as u32 as usize, filled })
        };
        Ok(Self { info: buffer(INFO_BUFFER, INFO_BYTES), error: buffer(ERROR_BUFFER, ERROR_BYTES) })
    }

    /// Writes an error into the error buffer, if there is one, and empties the info buffer.
    pub(crate) fn tell(&self, error: &str) {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        for (buffer, text) in [(&self.error, error), (&self.info, "")] {
            let Some(Buffer { text: to, bytes, filled }) = buffer else { continue };
            if *bytes > 0 && to.set_text(text, *bytes).is_ok() {
                filled.offer((text.len() + 1).min(*bytes));
            }
        }
    }
}
