use super::{File, circles, graph, in_workspace, members};
use crate::process::root;

/// Returns the cycles in a crate of these files, each a path below `src` and its text.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    found_in("", files)
}

/// Returns the cycles in a module of this name that consists of these files.
fn found_in(inner: &str, files: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| {
        let modules = path.trim_end_matches(".rs").split('/');
        let modules = modules.filter(|module| !matches!(*module, "lib" | "mod"));
        let modules = modules.map(str::to_owned).collect();
        let (shown, text) = ((*path).to_owned(), (*text).to_owned());
        File { shown, modules, text }
    };
    circles(&graph(&files.iter().map(file).collect::<Vec<_>>(), inner))
}

#[test]
fn each_import_of_a_cycle_has_a_location() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nuse a::A; use b::B;"),
        ("a.rs", "//! crate::c\n\nuse crate::b::B;"),
        ("b/mod.rs", "mod deep;"),
        ("b/deep.rs", "fn f() { super::super::c::g() }"),
        ("c.rs", "use std::fmt;\nuse crate::{\n    a::{self, b},\n};"),
    ];
    assert_eq!(
        found(&files),
        ["the modules a, b, c import each other in a cycle\n  \
          a -> b  a.rs:3\n  b -> c  b/deep.rs:1\n  c -> a  c.rs:3"]
    );
}

#[test]
fn ordered_modules_have_no_cycle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use a::A;"),
        ("a.rs", "use crate::b::{c, a};\nuse self::inner::x;\nmod inner { use super::y; }"),
        ("b.rs", "// crate::a\nconst TEXT: &str = \"crate::a\";\n#[cfg(test)]\nmod tests { use crate::a; }"),
        ("b/inner.rs", "use super::a; use crate::b::a;"),
    ];
    assert_eq!(found(&files), Vec::<String>::new());
}

#[test]
fn re_exported_names_belong_to_their_module() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use a::{A, deep::{B as C, D}};"),
        ("a.rs", "use super::b::B;"),
        ("b.rs", "use crate::C;"),
    ];
    assert_eq!(found(&files).len(), 1);
    let unknown = [files[0], files[1], ("b.rs", "use crate::B;")];
    assert_eq!(found(&unknown).len(), 0, "B is called C at the root");
}

#[test]
fn test_files_are_ignored() {
    let files = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "#[cfg(test)]\nmod checks;"),
        ("b/checks.rs", "use crate::a;"),
        ("b/checks/more.rs", "use crate::a;"),
    ];
    assert_eq!(found(&files), Vec::<String>::new());
}

#[test]
fn super_is_relative_to_its_module() {
    let inline = "mod inner { use super::super::b; }\nuse super::b;";
    let files = [("lib.rs", ""), ("a.rs", inline), ("b.rs", "mod inner { use super::a; }")];
    assert_eq!(found(&files).len(), 0, "b's inner module names b::a");
    let files = [files[0], files[1], ("b.rs", "mod inner { use super::super::a; }")];
    assert_eq!(found(&files).len(), 1);
}

#[test]
fn inner_module_is_checked_as_a_root() {
    let files = [
        ("mod.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::inner::{b, c};"),
        ("b.rs", "use crate::a; use crate::other::a; use super::c;"),
    ];
    assert_eq!(found_in("inner", &files), Vec::<String>::new());
    let files = [files[0], files[1], ("b/deep.rs", "use crate::inner::a::A;")];
    assert_eq!(found_in("inner", &files).len(), 1);
    assert_eq!(found_in("", &files).len(), 0, "the crate's root has no module `inner` here");
}

#[test]
fn workspace_members_have_sources() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("it is there");
    let members = members(&manifest);
    assert!(members.contains(&"xtask".to_owned()), "{members:?}");
    let found = in_workspace(&root()).expect("every member has sources");
    assert!(!found.iter().any(|circle| circle.starts_with("xtask:")), "{found:?}");
}
