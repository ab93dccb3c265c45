//! Finds functions by name: the implemented functions, and stubs for all others.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::LazyLock;

use crate::abi::call::{Entry, Function, In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::report;

include!(concat!(env!("OUT_DIR"), "/symbols.rs"));

macro_rules! stand_ins {
    ($($number:literal $name:ident,)*) => {
        /// All functions that the real driver exports, each with a stub that returns `CUDA_ERROR_NOT_SUPPORTED`.
        const STAND_INS: &[(&str, Function)] =
            &[$((stringify!($name), Function(stand_in::<$number> as extern "C" fn() -> u32 as *const ())),)*];
    };
}
for_each_symbol!(stand_ins);

/// Replaces a function that is not implemented. The stub ignores its arguments, which is safe because the caller cleans
/// them up in C's calling convention.
extern "C" fn stand_in<const NUMBER: usize>() -> u32 {
    report::unsupported(STAND_INS[NUMBER].0, "");
    Code::NOT_SUPPORTED.0
}

/// Replaces the functions of `cudadebugger.h`, which debuggers call: there is no debugger for `sim`.
extern "C" fn no_debugger() -> u32 {
    // `CUDBG_ERROR_UNINITIALIZED`. For functions without a result, the value is ignored.
    5
}

/// The functions by name.
static FUNCTIONS_BY_NAME: LazyLock<HashMap<&str, Function>> = LazyLock::new(|| {
    let all = || crate::ALL.iter().copied().flatten().copied().flatten();
    let implemented: HashMap<&str, &Entry> = all().map(|entry| (entry.name, entry)).collect();
    debug_assert_eq!(implemented.len(), all().count(), "each function once");
    let found = |name: &'static str, stand_in: Function| {
        let plain = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds"));
        match (implemented.get(name), plain.and_then(|plain| implemented.get(plain))) {
            (Some(entry), _) => entry.function,
            (None, Some(plain)) => plain.with_per_thread_default,
            (None, None) if name.starts_with("cudbg") => Function(no_debugger as extern "C" fn() -> u32 as *const ()),
            (None, None) => stand_in,
        }
    };
    STAND_INS.iter().map(|(name, stand_in)| (*name, found(name, *stand_in))).collect()
});

/// Returns the function that the real driver exports under a name. A function that is not implemented returns
/// `CUDA_ERROR_NOT_SUPPORTED`, and the log names it once.
#[must_use]
pub fn function(symbol: &str) -> Option<Function> {
    FUNCTIONS_BY_NAME.get(symbol).copied()
}

/// The CUDA version of symbols that no program can find by name.
const NEVER: i32 = 99_999;

/// For each name, the symbols that the name has meant, each with the first CUDA version of that meaning, oldest first.
static VERSIONS: LazyLock<HashMap<&str, Vec<(i32, String)>>> = LazyLock::new(|| {
    let lines = include_str!("names.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let version = |word: &str| {
            let (version, suffix) = word.split_once(':')?;
            let suffix = suffix.trim_end_matches(['+', '*']);
            Some((version.parse().ok()?, format!("{name}{}", if suffix == "_" { "" } else { suffix })))
        };
        let versions: Vec<_> = words.filter_map(version).filter(|(since, _)| *since < NEVER).collect();
        (!versions.is_empty()).then_some((name, versions))
    };
    lines.filter_map(read).collect()
});

/// `CUdriverProcAddressQueryResult`.
const FOUND: u32 = 0;
const NO_SUCH_SYMBOL: u32 = 1;
const NOT_IN_THIS_VERSION: u32 = 2;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

/// Returns the function that a name means for a program written for this version of CUDA, or the reason why the name
/// has no function.
fn proc_address(name: &str, version: i32, flags: u64) -> std::result::Result<Function, u32> {
    // An empty name means `cuGetProcAddress`.
    let name = if name.is_empty() { "cuGetProcAddress" } else { name };
    let version = if name == "cuGetProcAddress" && version == 0 { i32::MAX } else { version };
    let versions = VERSIONS.get(name).ok_or(NO_SUCH_SYMBOL)?;
    let symbol = versions.iter().rev().find(|(since, _)| *since <= version);
    let (_, symbol) = symbol.ok_or(NOT_IN_THIS_VERSION)?;
    let per_thread = ["_ptsz", "_ptds"].iter().find_map(|suffix| function(&format!("{symbol}{suffix}")));
    let per_thread = per_thread.filter(|_| flags & PER_THREAD_DEFAULT_STREAM != 0);
    per_thread.or_else(|| function(symbol)).ok_or(NO_SUCH_SYMBOL)
}

fn get_proc_address(
    name: In<c_char>,
    address: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: Out<u32>,
) -> Result<()> {
    address.check()?;
    let name = name.text()?;
    let found = proc_address(name, version, flags);
    status.offer(found.err().unwrap_or(FOUND));
    match found {
        Ok(function) => address.set(function.0.cast()),
        Err(_) => {
            address.set(std::ptr::null())?;
            // If the program passes a place for the reason, a missing name is not an error.
            match status.is_requested() {
                true => Ok(()),
                false => Err(Error::from(Code::NOT_FOUND)),
            }
        }
    }
}

functions! {
    fn cuGetProcAddress(name: In<c_char>, address: Out<*const c_void>, version: i32, flags: u64) {
        get_proc_address(name, address, version, flags, Out::none())
    }

    fn cuGetProcAddress_v2(
        name: In<c_char>, address: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>,
    ) {
        get_proc_address(name, address, version, flags, status)
    }
}
