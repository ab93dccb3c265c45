//! The panic handler. A panic ends the launch through the driver's `__assertfail`, which prints the message, the file,
//! the line and the thread. The host receives `CUDA_ERROR_ASSERT` ("CUDA C++ Programming Guide", "Assertion").
//!
//! A message is truncated when it fills the buffer. Rust's formatting makes indirect calls. Because of these calls,
//! ptxas allocates to the whole kernel the number of registers that the most demanding callable function needs: 56, or
//! 255 if floats are formatted. ptxas does not know the stack size of these functions either, and the driver gives each
//! thread only 1 KiB (see [`io`](crate::io)). The buffer of formatted messages is therefore on the heap. Panics of
//! ordinary code avoid these costs. A message without arguments is copied instead of formatted. `cuda_builder` replaces
//! `core`'s functions for an out-of-bounds index or range with the functions below. A kernel with only such panics uses
//! at least 24 registers per thread, or 35 if it checks an index.

use core::alloc::Layout;
use core::fmt::{self, Write};
use core::panic::{Location, PanicInfo};

/// The number of bytes after which a message is truncated.
const LONGEST: usize = 511;

struct Message {
    /// The text, padded with zeros.
    text: [u8; LONGEST + 1],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self { text: [0; LONGEST + 1], len: 0 }
    }

    #[inline(never)]
    fn number(&mut self, number: usize) {
        let mut power = 1;
        while number / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.push(b'0' + (number / power % 10) as u8);
            power /= 10;
        }
    }

    fn push(&mut self, byte: u8) {
        // The last byte stays 0. This code must not panic.
        if let Some(place) = self.text[..LONGEST].get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Fails with a message that consists of two texts, each followed by a number.
    fn fail_with(mut self, texts: [&str; 2], numbers: [usize; 2], place: Option<&Location<'_>>) -> ! {
        let _ = self.write_str(texts[0]);
        self.number(numbers[0]);
        let _ = self.write_str(texts[1]);
        self.number(numbers[1]);
        self.fail(place)
    }

    fn fail(&self, place: Option<&Location<'_>>) -> ! {
        let (file, line) = place.map_or((c"?", 0), |place| (place.file_as_c_str(), place.line()));
        // SAFETY: the strings end with a zero byte; `trap` has no preconditions (PTX ISA §9.7.19.4).
        unsafe {
            crate::io::__assertfail(self.text.as_ptr(), file.as_ptr().cast(), line, c"panic".as_ptr().cast(), 1);
            core::arch::nvptx::trap()
        }
    }
}

impl Write for Message {
    #[inline(never)]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

// The function is inlined, because the call site knows whether the message has arguments.
#[panic_handler]
#[inline(always)]
fn panic(info: &PanicInfo<'_>) -> ! {
    match info.message().as_str() {
        Some(text) => literal(text, info.location()),
        None => formatted(info),
    }
}

/// Panics with a message that has no arguments. Also replaces `core::option::expect_failed`.
#[cold]
#[inline(never)]
pub fn literal(text: &str, place: Option<&Location<'_>>) -> ! {
    let mut message = Message::new();
    let _ = message.write_str(text);
    message.fail(place)
}

#[cold]
#[inline(never)]
fn formatted(info: &PanicInfo<'_>) -> ! {
    // SAFETY: `malloc` accepts any size, and its result is null or is aligned to 16 bytes and exclusive to this thread.
    let message = unsafe { crate::mem::malloc(size_of::<Message>()).cast::<Message>().as_mut() };
    let Some(message) = message else {
        literal("a kernel panicked, but the device's heap is too full for the message", info.location())
    };
    *message = Message::new();
    let _ = write!(message, "{}", info.message());
    message.fail(info.location())
}

/// Replaces `core::panicking::panic_bounds_check`.
#[cold]
#[inline(never)]
pub fn index_fail(index: usize, len: usize, place: &'static Location<'static>) -> ! {
    Message::new().fail_with(["index out of bounds: the len is ", " but the index is "], [len, index], Some(place))
}

/// Replaces `core::slice::index::slice_index_fail`.
#[cold]
#[inline(never)]
pub fn range_fail(start: usize, end: usize, len: usize, place: &'static Location<'static>) -> ! {
    let out_of_range = " out of range for slice of length ";
    let (texts, numbers) = match () {
        () if start > len => (["range start index ", out_of_range], [start, len]),
        () if end > len => (["range end index ", out_of_range], [end, len]),
        () => (["slice index starts at ", " but ends at "], [start, end]),
    };
    Message::new().fail_with(texts, numbers, Some(place))
}

#[cfg(feature = "alloc")]
#[alloc_error_handler]
#[cold]
fn alloc_error(layout: Layout) -> ! {
    let texts = ["allocation on the device's heap failed; bytes: ", ", alignment: "];
    Message::new().fail_with(texts, [layout.size(), layout.align()], None)
}
