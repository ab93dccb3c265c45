//! What every function of the driver goes through: arguments from C, results to C, and what is checked before.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::error::{Code, Error, Result};
use crate::abi::report;

/// The address of a function with C's calling convention.
#[derive(Debug, Clone, Copy)]
pub struct Function(pub *const ());

// SAFETY: the address of code, which all threads may call.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// A function by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    /// The same for programs that are compiled for a default stream of each thread (`_ptsz` and `_ptds`).
    pub(crate) with_own_default: Function,
}

/// A function by its name.
pub(crate) const fn entry(name: &'static str, function: *const (), with_own_default: *const ()) -> Entry {
    Entry { name, function: Function(function), with_own_default: Function(with_own_default) }
}

/// Defines functions of the driver as `cuda.h` declares them, and lists them as `FUNCTIONS`.
///
/// A body is that of a Rust function that returns [`Result<()>`](crate::abi::error::Result). `fn a | b(…)` is exported as `a` and
/// as `b`.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident $(| $alias:ident)* ($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "as the driver's interface has it")]
            unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                $crate::abi::call::call(stringify!($name), move || $body)
            }
        )*

        /// The same functions for programs that are compiled for a default stream of each thread.
        #[allow(unused_imports, non_snake_case, clippy::too_many_arguments, reason = "as above")]
        mod with_own_default {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                    // SAFETY: the caller keeps what the driver's interface asks for.
                    $crate::abi::call::with_own_default(|| unsafe { super::$name($($arg),*) })
                }
            )*
        }

        /// The functions of this module by their names.
        pub(crate) const FUNCTIONS: &[$crate::abi::call::Entry] =
            &[$(
                $crate::abi::call::entry(stringify!($name), $name as *const (), with_own_default::$name as *const ()),
                $($crate::abi::call::entry(stringify!($alias), $name as *const (), with_own_default::$name as *const ()),)*
            )*];
    };
}
pub(crate) use functions;

thread_local! {
    /// Whether this thread runs a host function that was enqueued in a stream.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    /// Whether the stream 0 is this thread's own default stream in the call that it makes.
    static HAS_OWN_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

/// Whether the stream 0 is the default stream of this thread alone, in the call that it makes.
pub(crate) fn has_own_default() -> bool {
    HAS_OWN_DEFAULT.get()
}

/// Makes a call in which the stream 0 is the default stream of this thread alone.
pub(crate) fn with_own_default(call: impl FnOnce() -> u32) -> u32 {
    HAS_OWN_DEFAULT.set(true);
    let code = call();
    HAS_OWN_DEFAULT.set(false);
    code
}

/// Runs the body of a function, and turns its result into the driver's code. A panic ends here.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<()>) -> u32 {
    if IN_HOST_FUNCTION.get() && !matches!(name, "cuGetErrorName" | "cuGetErrorString") {
        return Code::NOT_PERMITTED.0;
    }
    let result = catch_unwind(AssertUnwindSafe(body));
    let error = match result {
        Ok(Ok(())) => return Code::SUCCESS.0,
        Ok(Err(error)) => error,
        Err(_) => Error::new(Code::UNKNOWN, "the simulated driver panicked, which is an error of its own"),
    };
    report::error(name, &error);
    error.code.0
}

/// Runs a host function of a stream: calls of the driver are refused meanwhile.
pub(crate) fn host_function(run: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    run();
    IN_HOST_FUNCTION.set(false);
}

/// A place for a result: null, or a pointer that values can be written through as long as an `Out` has it.
///
/// A C program makes one by passing a pointer to a function of `cuda.h`, which says how many values it has to fit.
/// In Rust, only `unsafe` functions make one that is not null.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// A null pointer.
    pub(crate) const fn none() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Makes a place of a pointer.
    ///
    /// # Safety
    /// The caller must ensure that `place` is null, or that the values of its kind that `cuda.h` names can be written
    /// through it as long as the `Out` or a copy of it is used.
    pub(crate) const unsafe fn from_ptr(place: *mut T) -> Self {
        Self(place)
    }

    /// Makes a place of an address that the program passes as a number.
    ///
    /// # Safety
    /// The caller must ensure what [`from_ptr`](Self::from_ptr) requires of the pointer with this address.
    pub(crate) unsafe fn from_address(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Writes a result that has to be asked for: `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
    pub(crate) fn set(self, value: T) -> Result<()> {
        self.check()?;
        self.offer(value);
        Ok(())
    }

    /// Refuses a null pointer.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.is_null() { Err(Code::INVALID_VALUE.into()) } else { Ok(()) }
    }

    /// Writes a result that need not be asked for.
    pub(crate) fn offer(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: a pointer in an `Out` is null, which this one is not, or can be written through.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Whether the caller asks for it.
    pub(crate) fn is_asked(self) -> bool {
        !self.0.is_null()
    }

    /// Writes as many values as there is room for.
    pub(crate) fn set_all(self, values: impl IntoIterator<Item = T>, room: usize) {
        if !self.0.is_null() {
            for (at, value) in values.into_iter().take(room).enumerate() {
                // SAFETY: the pointer fits as many values as `cuda.h` says, which is the caller's `room`.
                unsafe { self.0.add(at).write_unaligned(value) };
            }
        }
    }

    /// The place itself.
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// The address of the place, through which a copy writes later.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

impl Out<std::ffi::c_void> {
    /// A place whose type another argument says.
    ///
    /// # Safety
    /// The caller must ensure that `cuda.h` gives the place this type.
    pub(crate) const unsafe fn cast<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

impl Out<c_char> {
    /// Writes a text and a NUL into a buffer of so many bytes; what does not fit is cut off.
    pub(crate) fn set_text(self, text: &str, room: usize) -> Result<()> {
        self.check()?;
        if room == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let bytes = text.bytes().take(room - 1).chain([0]).map(|byte| byte as c_char);
        self.set_all(bytes, room);
        Ok(())
    }
}

/// An argument that is passed by its address: null, or a pointer that values can be read through as long as an `In`
/// has it.
///
/// A C program makes one by passing a pointer to a function of `cuda.h`, which says how many values it points to.
/// In Rust, only `unsafe` functions make one that is not null.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// The value: `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
    pub(crate) fn get(self) -> Result<T> {
        self.optional().ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// The value, if there is one.
    pub(crate) fn optional(self) -> Option<T> {
        // SAFETY: a pointer in an `In` is null, which is checked first, or can be read through.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// So many values.
    pub(crate) fn all(self, count: usize) -> Result<Vec<T>> {
        if count > 0 && self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: the pointer has as many values as `cuda.h` says, which is the caller's `count`.
        Ok((0..count).map(|at| unsafe { self.0.add(at).read_unaligned() }).collect())
    }
}

impl In<std::ffi::c_void> {
    /// A value whose type another argument says.
    ///
    /// # Safety
    /// The caller must ensure that `cuda.h` gives the argument this type.
    pub(crate) const unsafe fn cast<T>(self) -> In<T> {
        In(self.0.cast())
    }
}

impl<T> In<T> {
    /// A null pointer.
    pub(crate) const fn none() -> Self {
        Self(std::ptr::null())
    }

    /// Makes an argument of a pointer.
    ///
    /// # Safety
    /// The caller must ensure that `place` is null, or that the values of its kind that `cuda.h` names can be read
    /// through it as long as the `In` or a copy of it is used.
    pub(crate) const unsafe fn from_ptr(place: *const T) -> Self {
        Self(place)
    }

    /// The place itself.
    pub(crate) fn as_ptr(self) -> *const T {
        self.0
    }

    /// The address of the place, through which a copy reads later.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

impl In<c_char> {
    /// A text that ends in a NUL.
    pub(crate) fn text(&self) -> Result<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: a text of `cuda.h` ends in a NUL, and the pointer can be read through as long as `self` has it.
        let text: &CStr = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Error::new(Code::INVALID_VALUE, "a name that is not UTF-8"))
    }
}
