//! Tests that `libcuda.so.1` exports exactly the functions and variables of NVIDIA's driver.

use std::collections::BTreeMap;
use std::fs;

use crate::run::library;

macro_rules! names {
    ($($number:literal $name:ident,)*) => {
        [$((stringify!($name), $number)),*]
    };
}

/// The number of symbols that driver 580.159.04 exports.
const EXPORTED: usize = 707;

#[test]
fn the_library_exports_the_symbols_of_the_driver() {
    let file = fs::read(library().join("libcuda.so.1")).expect("the library can be read");
    let mut found = exported(&file);
    assert!(found.remove("ladder_simt_driver").is_some(), "this symbol marks Ladder's `libcuda.so.1`");
    // The sizes of functions are not compared.
    let functions = driver::for_each_symbol!(names).map(|(name, _)| (name, None));
    let variables = driver::for_each_variable!(names).map(|(name, bytes)| (name, Some(bytes)));
    let expected: BTreeMap<&str, Option<u64>> = functions.into_iter().chain(variables).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), EXPORTED);
}

/// Returns the symbols that a 64-bit ELF file exports, with the size of each variable (`elf.h`).
fn exported(file: &[u8]) -> BTreeMap<&str, Option<u64>> {
    const DYNAMIC_SYMBOLS: u64 = 11;
    const OBJECT: u8 = 1;
    let integer = |at: usize, bytes: usize| {
        let bytes = file[at..at + bytes].iter().rev();
        bytes.fold(0, |integer, byte| integer << 8 | u64::from(*byte))
    };
    let offset = |at: usize| integer(at, 8) as usize;
    let sections = offset(40);
    let section = |index: usize| sections + 64 * index;
    let mut all = (0..integer(60, 2) as usize).map(section);
    let symbols = all.find(|at| integer(at + 4, 4) == DYNAMIC_SYMBOLS).expect("a library has a symbol table");
    let names = offset(section(integer(symbols + 40, 4) as usize) + 24);
    let (first, bytes) = (offset(symbols + 24), offset(symbols + 32));
    let entries = (first..first + bytes).step_by(24);
    // Symbols with section index 0 are undefined: another library defines them.
    let definitions = entries.filter(|at| integer(at + 6, 2) != 0);
    let read = |at: usize| {
        let name = &file[names + integer(at, 4) as usize..];
        let name = name.split(|byte| *byte == 0).next().expect("a symbol has a name");
        let size = (file[at + 4] & 15 == OBJECT).then(|| integer(at + 16, 8));
        (std::str::from_utf8(name).expect("a symbol name is UTF-8"), size)
    };
    definitions.map(read).collect()
}
