//! What a panic does: it ends the launch, with the driver's `__assertfail`, which prints the message, the file, the
//! line and the thread, and gives the host `CUDA_ERROR_ASSERT` ("CUDA C++ Programming Guide", "Assertion").
//!
//! A message is cut where the buffer is full. Rust's formatting calls through pointers, for which ptxas gives the whole
//! kernel the registers of the most demanding function that could be called: 56, or 255 where floats are formatted. It
//! cannot tell either how much stack that takes, and the driver gives 1 KiB, which is little: see [`io`](crate::io). So
//! the buffer of formatted messages is on the heap. The panics that come with ordinary code cost none of it: a message without arguments is
//! copied, and `cuda_builder` replaces `core`'s own functions for an index or a range out of bounds by those below.
//! Such a kernel has at least 24 registers for each thread, or 35 where an index is checked.

use core::alloc::Layout;
use core::fmt::{self, Write};
use core::panic::{Location, PanicInfo};

/// Bytes of a message, above which it is cut.
const LONGEST: usize = 511;

struct Message {
    /// Ends with zeros.
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
        // The last byte stays 0. Nothing here may panic.
        if let Some(place) = self.text[..LONGEST].get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Fails with a text, a number, a text and a number.
    fn fail_with(mut self, texts: [&str; 2], numbers: [usize; 2], place: Option<&Location<'_>>) -> ! {
        let _ = self.write_str(texts[0]);
        self.number(numbers[0]);
        let _ = self.write_str(texts[1]);
        self.number(numbers[1]);
        self.fail(place)
    }

    fn fail(&self, place: Option<&Location<'_>>) -> ! {
        let (file, line) = place.map_or((c"?", 0), |place| (place.file_as_c_str(), place.line()));
        // SAFETY: the texts end with a zero; `trap` has no preconditions (PTX ISA §9.7.19.4).
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

// Inlined where it is known whether there is anything to format.
#[panic_handler]
#[inline(always)]
fn panic(info: &PanicInfo<'_>) -> ! {
    match info.message().as_str() {
        Some(text) => literal(text, info.location()),
        None => formatted(info),
    }
}

/// Of a message without arguments, and in the place of `core::option::expect_failed`.
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
    // SAFETY: any size will do, and what `malloc` gives is aligned to 16 bytes.
    let message = unsafe { crate::mem::malloc(size_of::<Message>()).cast::<Message>().as_mut() };
    let Some(message) = message else {
        literal("a panic, and no room on the device's heap for its message", info.location())
    };
    *message = Message::new();
    let _ = write!(message, "{}", info.message());
    message.fail(info.location())
}

/// In the place of `core::panicking::panic_bounds_check`.
#[cold]
#[inline(never)]
pub fn index_fail(index: usize, len: usize, place: &'static Location<'static>) -> ! {
    Message::new().fail_with(["index out of bounds: the len is ", " but the index is "], [len, index], Some(place))
}

/// In the place of `core::slice::index::slice_index_fail`.
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
    let texts = ["no room on the device's heap for bytes: ", ", aligned to "];
    Message::new().fail_with(texts, [layout.size(), layout.align()], None)
}
