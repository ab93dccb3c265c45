//! The entry of every driver function: converts arguments from C and results to C, and makes the checks before the
//! call.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::error::{Code, Error, Result};
use crate::abi::report;

/// The address of a function with C's calling convention.
#[derive(Debug, Clone, Copy)]
pub struct Function(pub *const ());

// SAFETY: the pointer is the address of code, which all threads may call.
unsafe impl Send for Function {}
// SAFETY: the pointer is the address of code, which all threads may call.
unsafe impl Sync for Function {}

/// A function and its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    /// The variant for programs that are compiled with a default stream per thread (`_ptsz` and `_ptds`).
    pub(crate) with_per_thread_default: Function,
}

/// Creates an entry from a function's name and addresses.
pub(crate) const fn entry(name: &'static str, function: *const (), with_per_thread_default: *const ()) -> Entry {
    Entry { name, function: Function(function), with_per_thread_default: Function(with_per_thread_default) }
}

/// Defines functions of the driver as `cuda.h` declares them, and lists them as `FUNCTIONS`.
///
/// Each function body returns [`Result<()>`](crate::abi::error::Result). `fn a | b(…)` is exported as `a` and as `b`.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident $(| $alias:ident)* ($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "as in the driver's interface")]
            unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                $crate::abi::call::call(stringify!($name), move || $body)
            }
        )*

        /// The variants for programs that are compiled with a default stream per thread.
        #[allow(unused_imports, non_snake_case, clippy::too_many_arguments, reason = "as above")]
        mod with_per_thread_default {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                    // SAFETY: the arguments are passed on unchanged, and both variants have the same contract in
                    // `cuda.h`.
                    $crate::abi::call::with_per_thread_default(|| unsafe { super::$name($($arg),*) })
                }
            )*
        }

        /// The functions of this module by their names.
        pub(crate) const FUNCTIONS: &[$crate::abi::call::Entry] =
            &[$(
                $crate::abi::call::entry(
                    stringify!($name), $name as *const (), with_per_thread_default::$name as *const (),
                ),
                $($crate::abi::call::entry(
                    stringify!($alias), $name as *const (), with_per_thread_default::$name as *const (),
                ),)*
            )*];
    };
}
pub(crate) use functions;

thread_local! {
    /// Whether this thread is running a host function that was enqueued in a stream.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    /// Whether stream 0 means this thread's private default stream during the current call.
    static HAS_PER_THREAD_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether stream 0 means this thread's private default stream during the current call.
pub(crate) fn has_per_thread_default() -> bool {
    HAS_PER_THREAD_DEFAULT.get()
}

/// Makes a call in which stream 0 means this thread's private default stream.
pub(crate) fn with_per_thread_default(call: impl FnOnce() -> u32) -> u32 {
    HAS_PER_THREAD_DEFAULT.set(true);
    let code = call();
    HAS_PER_THREAD_DEFAULT.set(false);
    code
}

/// Runs the body of a function and converts its result to the driver's code. A panic in the body becomes an error
/// code.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<()>) -> u32 {
    if IN_HOST_FUNCTION.get() && !matches!(name, "cuGetErrorName" | "cuGetErrorString") {
        return Code::NOT_PERMITTED.0;
    }
    let result = catch_unwind(AssertUnwindSafe(body));
    let error = match result {
        Ok(Ok(())) => return Code::SUCCESS.0,
        Ok(Err(error)) => error,
        Err(_) => Error::new(Code::UNKNOWN, "simt's driver panicked; this is a bug in the driver"),
    };
    report::error(name, &error);
    error.code.0
}

/// Runs a host function of a stream. Driver calls from the host function are refused.
pub(crate) fn host_function(run: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    run();
    IN_HOST_FUNCTION.set(false);
}

/// A place for results: null, or a pointer that is writable for the lifetime of the `Out`.
///
/// A C program creates an `Out` by passing a pointer to a function of `cuda.h`. The function's documentation gives the
/// number of values. In Rust, only `unsafe` functions create a non-null `Out`.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Returns a null pointer.
    pub(crate) const fn none() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Creates an `Out` from a pointer.
    ///
    /// # Safety
    /// The caller must ensure that `place` is null, or that it points to the values that `cuda.h` names. These values
    /// must be writable as long as the `Out` or a copy of it is used.
    pub(crate) const unsafe fn from_ptr(place: *mut T) -> Self {
        Self(place)
    }

    /// Creates an `Out` from an address that the program passes as a number.
    ///
    /// # Safety
    /// The requirements of [`from_ptr`](Self::from_ptr) apply to the pointer with this address.
    pub(crate) unsafe fn from_address(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Writes a required result. Returns `CUDA_ERROR_INVALID_VALUE` when the pointer is null.
    pub(crate) fn set(self, value: T) -> Result<()> {
        self.check()?;
        self.offer(value);
        Ok(())
    }

    /// Returns `CUDA_ERROR_INVALID_VALUE` when the pointer is null.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.is_null() { Err(Code::INVALID_VALUE.into()) } else { Ok(()) }
    }

    /// Writes an optional result, unless the pointer is null.
    pub(crate) fn offer(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the pointer is not null, and a non-null pointer in an `Out` is writable.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Returns whether the caller passed a pointer, and so requests the result.
    pub(crate) fn is_requested(self) -> bool {
        !self.0.is_null()
    }

    /// Writes up to `capacity` values.
    pub(crate) fn set_all(self, values: impl IntoIterator<Item = T>, capacity: usize) {
        if !self.0.is_null() {
            for (at, value) in values.into_iter().take(capacity).enumerate() {
                // SAFETY: the place fits `capacity` values, as `cuda.h` documents, and `at < capacity`.
                unsafe { self.0.add(at).write_unaligned(value) };
            }
        }
    }

    /// Returns the pointer.
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Returns the address of the place, for a copy that writes to it later.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

impl Out<std::ffi::c_void> {
    /// Returns the place with the type that another argument determines.
    ///
    /// # Safety
    /// The caller must ensure that the place has this type in `cuda.h`.
    pub(crate) const unsafe fn cast<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

impl Out<c_char> {
    /// Writes a text and a NUL into a buffer of `capacity` bytes, and truncates the text if necessary.
    pub(crate) fn set_text(self, text: &str, capacity: usize) -> Result<()> {
        self.check()?;
        if capacity == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let bytes = text.bytes().take(capacity - 1).chain([0]).map(|byte| byte as c_char);
        self.set_all(bytes, capacity);
        Ok(())
    }
}

/// An argument that is passed by address: null, or a pointer that is readable for the lifetime of the `In`.
///
/// A C program creates an `In` by passing a pointer to a function of `cuda.h`. The function's documentation gives the
/// number of values. In Rust, only `unsafe` functions create a non-null `In`.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// Returns the value, or `CUDA_ERROR_INVALID_VALUE` when the pointer is null.
    pub(crate) fn get(self) -> Result<T> {
        self.optional().ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Returns the value, or `None` when the pointer is null.
    pub(crate) fn optional(self) -> Option<T> {
        // SAFETY: the pointer is not null, and a non-null pointer in an `In` is readable.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Returns `count` values.
    pub(crate) fn all(self, count: usize) -> Result<Vec<T>> {
        if count > 0 && self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: the pointer has `count` values, as `cuda.h` documents, and `at < count`.
        Ok((0..count).map(|at| unsafe { self.0.add(at).read_unaligned() }).collect())
    }
}

impl In<std::ffi::c_void> {
    /// Returns the argument with the type that another argument determines.
    ///
    /// # Safety
    /// The caller must ensure that the argument has this type in `cuda.h`.
    pub(crate) const unsafe fn cast<T>(self) -> In<T> {
        In(self.0.cast())
    }
}

impl<T> In<T> {
    /// Returns a null pointer.
    pub(crate) const fn none() -> Self {
        Self(std::ptr::null())
    }

    /// Creates an `In` from a pointer.
    ///
    /// # Safety
    /// The caller must ensure that `place` is null, or that it points to the values that `cuda.h` names. These values
    /// must be readable as long as the `In` or a copy of it is used.
    pub(crate) const unsafe fn from_ptr(place: *const T) -> Self {
        Self(place)
    }

    /// Returns the pointer.
    pub(crate) fn as_ptr(self) -> *const T {
        self.0
    }

    /// Returns the address of the argument, for a copy that reads from it later.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

impl In<c_char> {
    /// Returns the NUL-terminated text that the pointer points to.
    pub(crate) fn text(&self) -> Result<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: texts in `cuda.h` are NUL-terminated, and the pointer is readable while `self` is borrowed.
        let text: &CStr = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Error::new(Code::INVALID_VALUE, "the name is not UTF-8"))
    }
}
