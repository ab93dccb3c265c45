use std::cell::Cell;
use std::fs;
use std::path::Path;

use super::{INPUT, Store, in_parallel};
use crate::error::CudaBuilderError;

#[test]
fn a_result_is_taken_only_for_the_very_same_input_and_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().join("parts")).expect("a store");
    let runs = Cell::new(0);
    let part = |tools: &str, ir: &str| {
        let part = store.part(tools, ir, |from, to| {
            runs.set(runs.get() + 1);
            let text = fs::read_to_string(from).expect("the input");
            fs::write(to, text.to_uppercase()).map_err(crate::compile::io(to))
        });
        part.expect("a part")
    };
    let first = part("opt 1", "define a\n");
    assert_eq!(first.optimized, "; OPT 1\nDEFINE A\n");
    part("opt 1", "define a\n");
    assert_eq!(runs.get(), 1);
    part("opt 1", "define b\n");
    assert_eq!(part("opt 2", "define a\n").optimized, "; OPT 2\nDEFINE A\n");
    assert_eq!(runs.get(), 3);

    let made = |from: &'static str| {
        let made = first.made("78.ptx", |to| {
            fs::write(to, from).map_err(crate::compile::io(to))
        });
        made.expect("PTX")
    };
    assert_eq!(
        (made("one"), made("two")),
        ("one".to_owned(), "one".to_owned())
    );
    // Another input with the same hash, and so the same folder.
    fs::write(first.folder.join(INPUT), "; opt 1\ndefine c\n").expect("written");
    part("opt 1", "define a\n");
    assert_eq!((runs.get(), made("three")), (4, "three".to_owned()));
    // What fails is not kept.
    let fail = |_: &Path, to: &Path| Err(crate::compile::io(to)(std::io::Error::other("no")));
    for _ in 0..2 {
        assert!(store.part("opt 1", "define d\n", fail).is_err());
    }
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().to_owned()).expect("a store");
    let part = |ir: &str| store.part("", ir, crate::compile::copy);
    for ir in ["a", "b", "c", "a", "d"] {
        part(ir).expect("a part");
        // Times of files can be coarse.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    store.forget(1);
    let mut kept: Vec<_> = (fs::read_dir(folder.path()).expect("the store"))
        .map(|entry| {
            fs::read_to_string(entry.expect("an entry").path().join(INPUT)).expect("its input")
        })
        .collect();
    kept.sort();
    assert_eq!(kept, ["; \na", "; \nd"]);
}

#[test]
fn results_come_in_order_and_the_first_error_counts() {
    let items: Vec<usize> = (0..100).collect();
    assert_eq!(
        in_parallel(&items, |it| Ok(it * 2)).expect("no errors")[99],
        198
    );
    let error = in_parallel(&items, |it| match it {
        40.. => Err::<(), _>(CudaBuilderError::CratePathDoesntExist(
            it.to_string().into(),
        )),
        _ => Ok(()),
    });
    assert!(
        error
            .expect_err("from 40 on")
            .to_string()
            .starts_with("40 ")
    );
    assert!(
        in_parallel(&[0; 0], |_| Ok(()))
            .expect("nothing to do")
            .is_empty()
    );
}
