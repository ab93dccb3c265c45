//! Options of the compilation of PTX: the buffers for its messages, and what can be asked of it.

use std::ffi::c_char;

use crate::abi::call::{In, Out};
use crate::abi::error::Result;

/// `CU_JIT_INFO_LOG_BUFFER` and its neighbours.
const INFO_BUFFER: u32 = 3;
const INFO_BYTES: u32 = 4;
const ERROR_BUFFER: u32 = 5;
const ERROR_BYTES: u32 = 6;

/// The options that have to do with messages. The others make a GPU's code faster or slower and change no result.
#[derive(Default)]
pub(crate) struct JitOptions {
    info: Option<Buffer>,
    error: Option<Buffer>,
}

// SAFETY: places that the program keeps for whichever thread uses the options.
unsafe impl Send for JitOptions {}
// SAFETY: as above; of two messages at once, either may be the one that stays.
unsafe impl Sync for JitOptions {}

/// A buffer for messages.
struct Buffer {
    text: Out<c_char>,
    /// Its size.
    bytes: usize,
    /// Where the driver writes how many bytes it has filled: the value of the option itself.
    filled: Out<usize>,
}

impl JitOptions {
    /// Reads the options that a program gives: numbers, and a value of eight bytes for each.
    pub(crate) fn read(count: u32, names: In<u32>, values: In<usize>) -> Result<Self> {
        let names = names.all(count as usize)?;
        let given = values.all(count as usize)?;
        let buffer = |buffer: u32, size: u32| {
            let at = |option: u32| names.iter().position(|name| *name == option);
            let (text, bytes) = (at(buffer)?, at(size)?);
            // SAFETY: the value of this option is the address of a buffer, which `cuda.h` has the program keep as long as
            // it uses the options.
            let text = unsafe { Out::<c_char>::from_address(given[text]) };
            // SAFETY: the list of values has one at this index, and `cuda.h` lets the driver change that of a size.
            let filled = unsafe { Out::from_ptr(values.as_ptr().cast_mut().add(bytes)) };
            Some(Buffer { text, bytes: given[bytes] as u32 as usize, filled })
        };
        Ok(Self { info: buffer(INFO_BUFFER, INFO_BYTES), error: buffer(ERROR_BUFFER, ERROR_BYTES) })
    }

    /// Writes an error into the buffer for errors, if there is one, and nothing into that for information.
    pub(crate) fn tell(&self, error: &str) {
        for (buffer, text) in [(&self.error, error), (&self.info, "")] {
            let Some(Buffer { text: to, bytes, filled }) = buffer else { continue };
            if *bytes > 0 && to.set_text(text, *bytes).is_ok() {
                filled.offer((text.len() + 1).min(*bytes));
            }
        }
    }
}
