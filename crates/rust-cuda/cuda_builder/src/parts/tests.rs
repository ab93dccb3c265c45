use std::cell::Cell;
use std::fs;

use super::{INPUT, Store, in_parallel};
use crate::compile::{io, read, write};
use crate::error::CudaBuilderError;

#[test]
fn a_result_is_reused_only_for_the_same_input_and_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().join("parts")).expect("a store");
    let runs = Cell::new(0);
    let keys = Cell::new(0);
    let part = |tools: &str, ir: &str| {
        // Every key is new, so that the texts are compared.
        keys.set(keys.get() + 1);
        let part = store.part(
            tools,
            &keys.get().to_string(),
            || ir.to_owned(),
            |ir, to| {
                runs.set(runs.get() + 1);
                write(to, &ir.to_uppercase())
            },
        );
        part.expect("a part")
    };
    let first = part("opt 1", "define a\n");
    assert_eq!(read(&first.optimized).expect("IR"), "DEFINE A\n");
    for (tools, ir, expected) in [("opt 1", "define a\n", 1), ("opt 1", "define b\n", 2), ("opt 2", "define a\n", 3)] {
        part(tools, ir);
        assert_eq!(runs.get(), expected);
    }
    let made = |from| first.cached("78.ptx", |to| write(to, from)).expect("PTX");
    assert_eq!((made("one"), made("two")), ("one".into(), "one".into()));
    // Simulates another input with the same hash, and so the same folder.
    fs::write(first.folder.join(INPUT), "; opt 1\ndefine c\n").expect("written");
    part("opt 1", "define a\n");
    assert_eq!((runs.get(), made("three")), (4, "three".into()));
    // A failure is not cached.
    for _ in 0..2 {
        let failed = store.part("", "d", || "d".to_owned(), |_, to| Err(io(to)(std::io::Error::other("no"))));
        assert!(failed.is_err());
    }
}

#[test]
fn a_part_with_a_known_key_is_not_generated() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().to_owned()).expect("a store");
    let part = |tools: &str, key: &str, ir: Option<&str>| {
        let ir = || ir.expect("the cached text is used").to_owned();
        let part = store.part(tools, key, ir, |ir, to| write(to, ir)).expect("a part");
        read(&part.optimized).expect("IR")
    };
    assert_eq!(part("opt 1", "key 1", Some("a")), "a");
    assert_eq!(part("opt 1", "key 1", None), "a");
    assert_eq!(part("opt 1", "key 2", Some("b")), "b");
    assert_eq!(part("opt 2", "key 1", Some("c")), "c");
    // The optimized IR is gone.
    let entry = folder.path().join(super::hash("; opt 1\na"));
    fs::remove_dir_all(entry).expect("removed");
    assert_eq!(part("opt 1", "key 1", Some("a")), "a");
}

#[test]
fn least_recently_used_entries_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().to_owned()).expect("a store");
    let part = |ir: &str| store.part("", ir, || ir.to_owned(), |ir, to| write(to, ir)).expect("a part");
    for ir in ["a", "b", "c", "a", "d"] {
        part(ir);
        // File times can be coarse.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    store.forget(1);
    let kept = ["a", "b", "c", "d"].map(|ir| folder.path().join(super::hash(format!("; \n{ir}"))));
    assert_eq!(kept.map(|path| path.exists()), [true, false, false, true]);
    assert_eq!(fs::read_dir(folder.path().join(super::NAMES)).expect("a folder").count(), 2);
}

#[test]
fn nothing_is_removed_while_another_build_uses_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = [(); 2].map(|()| Store::open(folder.path().to_owned()).expect("a store"));
    let part = other.part("", "a", || "a".to_owned(), |_, to| write(to, "A")).expect("a part");
    one.forget(0);
    assert!(part.optimized.is_file());
    other.forget(0);
    assert!(!part.optimized.exists());
}

/// After one thread moves a folder, another thread can take the folder's name before the first thread drops the folder.
#[test]
fn concurrent_threads_keep_all_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().to_owned()).expect("a store");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..200 {
                    let ir = format!("{thread} {number}");
                    let part = store.part(
                        "",
                        &ir,
                        || ir.clone(),
                        |ir, to| {
                            std::thread::yield_now();
                            write(to, ir)
                        },
                    );
                    assert_eq!(read(&part.expect("a part").optimized).expect("IR"), ir);
                }
            });
        }
    });
}

#[test]
fn results_are_in_order() {
    let items: Vec<usize> = (0..100).collect();
    let doubled = in_parallel(&items, |item| Ok::<_, CudaBuilderError>(item * 2)).expect("no errors");
    assert!(doubled.into_iter().eq((0..200).step_by(2)));
}
