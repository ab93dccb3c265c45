//! Writes macros that name all functions and variables that the real driver exports, from `src/names.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/names.txt");
    let text = fs::read_to_string("src/names.txt").expect("src/names.txt can be read");
    let (mut symbols, mut variables) = (BTreeSet::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        for word in words {
            let Some((_, suffix)) = word.split_once(':') else {
                variables.insert(name, word);
                continue;
            };
            let plain = suffix.trim_end_matches(['+', '*']);
            let symbol = format!("{name}{}", if plain == "_" { "" } else { plain });
            match suffix.chars().last() {
                Some('+') => drop(symbols.insert(format!("{symbol}_ptsz"))),
                Some('*') => drop(symbols.insert(format!("{symbol}_ptds"))),
                _ => {}
            }
            symbols.insert(symbol);
        }
    }
    let mut out = String::from(
        "/// Calls a macro with the number and the name of each function that the real driver exports.\n\
         #[macro_export]\nmacro_rules! for_each_symbol {\n    ($macro:ident) => {\n        $macro! {\n",
    );
    for (number, symbol) in symbols.iter().enumerate() {
        writeln!(out, "            {number} {symbol},").expect("writing to a string");
    }
    out.push_str(
        "        }\n    };\n}\n\n/// Calls a macro with the size in bytes and the name of each variable that the real driver exports.\n\
         #[macro_export]\nmacro_rules! for_each_variable {\n    ($macro:ident) => {\n        $macro! {\n",
    );
    for (name, bytes) in &variables {
        writeln!(out, "            {bytes} {name},").expect("writing to a string");
    }
    out.push_str("        }\n    };\n}\n");
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("symbols.rs"), out).expect("OUT_DIR can be written");
}
