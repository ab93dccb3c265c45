//! Checks the names in docs/rust-cuda.md.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};

use crate::{check, krate};

/// A row of the table: one item of upstream's.
struct Item {
    path: String,
    status: &'static str,
    on_gpu_only: bool,
}

/// Expands the braces in a name into one name per word.
fn expanded(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let (words, after) = rest.split_once('}').unwrap();
    words.split(',').flat_map(|word| expanded(&format!("{before}{word}{after}"))).collect()
}

fn items() -> Vec<Item> {
    let table = include_str!("../../../../../docs/rust-cuda.md");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")).flat_map(|row| {
        let (names, rest) = row.split_once("` | ").unwrap();
        let (status, note) = rest.split_once(" |").unwrap();
        assert!(["same", "differs", "missing"].contains(&status), "{row}");
        assert!(status == "same" || note.len() > 20, "a reason: {row}");
        let on_gpu_only = note.contains("for the GPU only");
        expanded(names).into_iter().map(move |path| Item { path, status, on_gpu_only })
    });
    rows.collect()
}

/// Returns the source of a crate with one line that uses each item.
fn uses<'a>(items: impl Iterator<Item = &'a Item>) -> String {
    let (mut imports, mut methods) = (String::new(), String::new());
    for Item { path, .. } in items {
        let krate = if path.starts_with("cuda_builder::") { "" } else { "cuda_std::" };
        let (parent, name) = path.rsplit_once("::").unwrap_or(("", path));
        let is_type = parent.rsplit("::").next().unwrap().starts_with(char::is_uppercase);
        if is_type && (parent.ends_with("Float") || parent.ends_with("FloatExt") || parent.ends_with("Value")) {
            // A trait's method needs a type that implements the trait.
            let of = if parent.ends_with("ReduceValue") { "u32" } else { "f32" };
            methods += &format!("    let _ = <{of} as {krate}{parent}>::{name};\n");
        } else if is_type {
            // `impl AsRef` arguments have a concrete type only in a call.
            methods += &match name {
                "new" if krate.is_empty() => format!("    let _ = || {parent}::new(\"\");\n"),
                "build_args" => format!("    let _ = |it: {parent}| it.build_args(&[\"\"]);\n"),
                "copy_to" | "final_module_path" => format!("    let _ = |it: {parent}| it.{name}(\"\");\n"),
                _ => format!("    let _ = {krate}{parent}::{name};\n"),
            };
        } else {
            imports += &format!("use {krate}{path} as _;\n");
        }
    }
    format!("#![no_std]\n#![allow(unused_imports, deprecated)]\n{imports}pub fn methods() {{\n{methods}}}\n")
}

fn errors(krate: &Path) -> String {
    String::from_utf8(check(krate, &["--message-format=short"]).stderr).unwrap()
}

#[test]
fn the_table_is_unique_and_available_items_compile() {
    let items = items();
    let mut paths: Vec<_> = items.iter().map(|item| &item.path).collect();
    paths.sort();
    let duplicate = paths.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!((duplicate, items.len() > 1500), (None, true));

    let available = || items.iter().filter(|item| item.status != "missing");
    let on_host = krate("names_on_host", true, &uses(available().filter(|item| !item.on_gpu_only)));
    let checked = check(&on_host, &["--message-format=short"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));

    let kernel = "#[cuda_std::kernel]\npub unsafe fn kernel() {}\n";
    let source = uses(available().filter(|item| !item.path.starts_with("cuda_builder::"))) + kernel;
    // The dependencies of `kernels` are compiled for the same architecture.
    let builder = CudaBuilder::new(krate("names_on_gpu", false, &source)).arch(NvvmArch::Compute90);
    let ptx: PathBuf = builder.build().unwrap();
    assert!(std::fs::read_to_string(ptx).unwrap().contains(".entry kernel("));
}

#[test]
fn missing_items_do_not_compile() {
    let items = items();
    let missing = || items.iter().filter(|item| item.status == "missing");
    let is_method = |item: &&Item| item.path.contains("CudaBuilder::");
    for (name, source) in [
        ("names_missing", uses(missing().filter(|item| !is_method(item)))),
        ("names_missing_methods", uses(missing().filter(is_method))),
    ] {
        let errors = errors(&krate(name, true, &source));
        for (number, line) in (1..)
            .zip(source.lines())
            .filter(|(_, line)| line.trim_start().starts_with("let") || line.starts_with("use"))
        {
            assert!(errors.contains(&format!("lib.rs:{number}:")), "{line} compiles: {errors}");
        }
    }
}
