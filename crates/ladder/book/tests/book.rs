//! Tests the book in the repository: every directive resolves, every command runs, no link is dead, and every measured
//! number comes from a directive.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs};

use book::{Destination, RENDERED, Recorded, prepare};

/// Locks the process's folder, from which a book is read, so that one test runs at a time.
fn locked_folder() -> MutexGuard<'static, ()> {
    static FOLDER: Mutex<()> = Mutex::new(());
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
}

#[test]
fn the_chapters_in_the_repository_are_current() {
    let _lock = locked_folder();
    let book =
        prepare(root(), Destination::Repository).unwrap_or_else(|faults| panic!("the book has faults:\n{faults}"));
    assert!(book.commands > 0 && !book.files.is_empty());
    let folder = root().join(RENDERED);
    for (name, text) in book.all_files() {
        let path = folder.join(name);
        let current = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}; {HOW}", path.display()));
        if let Some((old, new)) = current.lines().zip(text.lines()).find(|(old, new)| old != new) {
            panic!("{} is not current: {HOW}\n- {old}\n+ {new}", path.display());
        }
        assert_eq!(current.len(), text.len(), "{} is not current: {HOW}", path.display());
        assert!(!name.ends_with(".md") || text.contains("# "), "{name} has no title");
    }
    let written = ["", "figures"].map(|part| fs::read_dir(folder.join(part)).unwrap().flatten().count());
    // The folder of the figures is an entry of the first folder.
    assert_eq!(written.iter().sum::<usize>(), book.all_files().count() + 1, "{RENDERED} has extra files: {HOW}");
}

/// How to update the finished chapters.
const HOW: &str = "`cargo xtask book` writes it";

/// Runs only with the tools that produced a record. `UPDATE_RECORDED=1` renews the records with the installed tools.
#[test]
fn recorded_output_is_current() {
    let _lock = locked_folder();
    env::set_current_dir(root()).unwrap();
    for recorded in Recorded::all().unwrap() {
        let Some(now) = recorded.rerun().unwrap() else { return };
        if env::var_os("UPDATE_RECORDED").is_some() {
            now.write().unwrap();
        } else if now.made_by == recorded.made_by {
            let how = "`UPDATE_RECORDED=1 cargo test -p book` renews it";
            assert_eq!(now.printed, recorded.printed, "{}: {how}", recorded.path);
        }
    }
}

/// Wrong lines of a chapter, and a part of the message for each.
const WRONG: [(&str, &str); 17] = [
    ("{{recorded h100/run reduce_smen time}}", "no record of h100/run has `time` for `reduce_smen`"),
    ("{{recorded h100/run reduce_smem tiem}}", "has no `tiem` in h100/run; it has time, result"),
    ("{{recorded h300/run reduce_smem time}}", "results/h300/run.jsonl"),
    ("{{holds h100/run|reduce_smem|time > h100/run|reduce_shfl|time}}", "is false: 1000 and 2000"),
    ("{{ratio h100/run reduce_smem reduce_shfl result}}", "`right` is not a number"),
    ("{{counter reduce_smem sectors}}", "`ladder why` has no metric named `sectors`"),
    ("{{counter reduce_smen uniform}}", "`ladder why reduce_smen --counters --device sim --json`: error:"),
    ("{{figure 3 shuffle_up --figures=shuffle}}", "the number of figures is 1"),
    ("{{picture none}}", "docs/book/pictures/none.svg"),
    ("{{uses cp.async reduce_smem}}", "the PTX of `reduce_smem` has no `cp.async`"),
    ("{{item reduce.rs Part}}", "there is no file reduce.rs"),
    ("{{lesson reduce_smen}}", "no rung is named `reduce_smen`"),
    ("{{recordet h100/run reduce_smem time}}", "is not a directive of the book"),
    ("{{lesson reduce_smem", "is not closed on its line"),
    ("It takes 12 µs.", "`12 µs`: write a measured number as a directive"),
    ("[there](nowhere.md)", "there is no nowhere.md"),
    ("[there](#nowhere)", "has no heading #nowhere"),
];

#[test]
fn faults_name_their_place() {
    let _lock = locked_folder();
    let folder = tempfile::tempdir().unwrap();
    let src = folder.path().join("docs/book/src");
    fs::create_dir_all(&src).unwrap();
    let record = |rung: &str, ns: u32| {
        format!(
            r#"{{"device":"","toolchain":"","date":"","command":"","ladder":"reduce","problem":"","rung":"{rung}","values":{{"time":{{"value":{ns},"unit":"ns"}},"result":"right"}}}}"#
        ) + "\n"
    };
    let results = folder.path().join("results/h100");
    fs::create_dir_all(&results).unwrap();
    fs::write(results.join("run.jsonl"), record("reduce_smem", 1000) + &record("reduce_shfl", 2000)).unwrap();
    fs::write(src.join("SUMMARY.md"), "[One](one.md)\n").unwrap();
    let lines: Vec<&str> = WRONG.iter().map(|(line, _)| *line).collect();
    let command = "```console\n$ ladder list reduce_smen\n```\n```console\nls\n```\n";
    fs::write(src.join("one.md"), format!("# One\n{}\n{command}", lines.join("\n"))).unwrap();

    let faults = prepare(folder.path(), Destination::Repository).unwrap_err().0;
    for (number, (line, part)) in WRONG.iter().enumerate() {
        let contains_part = |fault: &&String| fault.contains(part);
        let found: Vec<&String> = faults.iter().filter(contains_part).collect();
        assert_eq!(found.len(), 1, "{line}: {faults:#?}");
        let place = format!("docs/book/src/one.md:{}: ", number + 2);
        let is_link = line.starts_with('[');
        assert!(is_link || found[0].starts_with(&place), "{place}{found:?}");
    }
    let commands: Vec<&String> =
        faults.iter().filter(|fault| fault.contains("ladder list") || fault.contains("`ls`")).collect();
    assert_eq!((commands.len(), faults.len()), (2, WRONG.len() + 2), "{faults:#?}");

    fs::write(src.join("two.md"), "# Two\n").unwrap();
    let faults = prepare(folder.path(), Destination::Repository).unwrap_err().0;
    assert_eq!(faults, ["docs/book/src/SUMMARY.md: two.md is not in the list"]);
}
