//! What `libcuda.so.1` exports: the functions and variables of the real driver, and no others.

use std::collections::BTreeMap;
use std::fs;

use crate::run::library;

macro_rules! names {
    ($($number:literal $name:ident,)*) => {
        [$((stringify!($name), $number)),*]
    };
}

/// How many there are in driver 580.159.04.
const EXPORTED: usize = 707;

#[test]
fn the_librarys_symbols_are_the_drivers() {
    let file = fs::read(library().join("libcuda.so.1")).expect("the library can be read");
    let mut found = exported(&file);
    assert!(found.remove("ladder_simulated_driver").is_some(), "what tells it from the driver of a GPU");
    // Of functions, the size is not known.
    let functions = driver::for_each_symbol!(names).map(|(name, _)| (name, None));
    let variables = driver::for_each_variable!(names).map(|(name, bytes)| (name, Some(bytes)));
    let expected: BTreeMap<&str, Option<u64>> = functions.into_iter().chain(variables).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), EXPORTED);
}

/// The symbols that an ELF file of 64 bits exports, and the sizes of those that are variables (`elf.h`).
fn exported(file: &[u8]) -> BTreeMap<&str, Option<u64>> {
    const DYNAMIC_SYMBOLS: u64 = 11;
    const OBJECT: u8 = 1;
    let number = |at: usize, bytes: usize| {
        let bytes = file[at..at + bytes].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let place = |at: usize| number(at, 8) as usize;
    let sections = place(40);
    let section = |index: usize| sections + 64 * index;
    let mut all = (0..number(60, 2) as usize).map(section);
    let symbols = all.find(|at| number(at + 4, 4) == DYNAMIC_SYMBOLS).expect("a library has a table of symbols");
    let texts = place(section(number(symbols + 40, 4) as usize) + 24);
    let (first, bytes) = (place(symbols + 24), place(symbols + 32));
    let entries = (first..first + bytes).step_by(24);
    // Those of section 0 are another library's.
    let own = entries.filter(|at| number(at + 6, 2) != 0);
    let read = |at: usize| {
        let name = &file[texts + number(at, 4) as usize..];
        let name = name.split(|byte| *byte == 0).next().expect("a name");
        let size = (file[at + 4] & 15 == OBJECT).then(|| number(at + 16, 8));
        (std::str::from_utf8(name).expect("a name is a text"), size)
    };
    own.map(read).collect()
}
