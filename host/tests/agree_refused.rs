//! What `ladder agree` refuses, and what keeps it from its work: one line each.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/replay.rs"]
mod replay;

use std::fs;

use common::program::{Ended, alone};
use replay::{Replay, agree, nothing, with};

#[test]
fn what_is_missing_is_said_in_one_line() {
    let Ended { code, out, err } = with(&nothing(), &["shuffle", "--ncu", "no/such/ncu"]);
    assert_eq!((code, out.as_str()), (2, ""));
    for part in [
        "error: sim and GPU cannot be compared here: there is no GPU: no CUDA driver on this machine; cannot start \
         no/such/ncu: ",
        "; no ptxas was found\n",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert_eq!(err.trim_end().lines().count(), 1, "{err}");
}

#[test]
fn the_program_itself_without_a_gpu() {
    let Ended { code, out, err } = alone(&["agree", "shuffle"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(
        err.starts_with(
            "error: sim and GPU cannot be compared here: there is no GPU: no CUDA driver"
        ),
        "{err}"
    );
}

#[test]
fn what_ncu_says_is_shown() {
    for (says, parts) in [
        (
            (1, "==ERROR== ERR_NVGPUCTRPERM - no permission"),
            &["NVreg_RestrictProfilingToAdminUsers=0"][..],
        ),
        (
            (0, "Kernel; Metric; Value\nreduce; 1; 2\n"),
            &[
                "cannot read what ncu 2025.3.1.0 (build 0) wrote",
                "Kernel; Metric; Value",
            ],
        ),
    ] {
        let replay = Replay {
            says: Some(says),
            ..Replay::default()
        };
        let Ended { code, out, err } = agree(&replay, &[], &["reduce", "--n=4k"]);
        assert_eq!((code, out.as_str()), (2, ""));
        for part in parts {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    }
}

#[test]
fn what_cannot_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = path("old.json", "{\"runs\": [{\"ladder\": 7}]}");
    let unmarked = path("unmarked.md", "nothing\n");
    for (args, part) in [
        (
            &["redcue"][..],
            "no ladder is named `redcue`; did you mean `reduce`?",
        ),
        (&["quicksort"], "the ladders are reduce, transpose, "),
        (
            &["reduce_neighbored"],
            "no ladder is named `reduce_neighbored`",
        ),
        (&["reduce", "--rows=3"], "--rows is an option of transpose"),
        (&["reduce", "--n=x"], "`x` is not a size"),
        (&["transpose", "--rows=0"], "rows = 0 is out of bounds"),
        (&["reduce", "--block=100"], "a block of 100 is not possible"),
        (
            &["reduce", "--metrics=x"],
            "unexpected argument '--metrics'",
        ),
        (&["--from", "no/such.json"], "cannot use no/such.json: "),
        (&["--from", &old], "is no record of `cargo xtask agree`"),
        (&["--from", &old, "reduce"], "cannot be used with"),
        (&["--from", &old, "--n=3"], "cannot be used with"),
        (
            &["--update-fixture", &old],
            "is no record of `cargo xtask agree`",
        ),
        (
            &["--update-fixture", "no/such/a.json"],
            "there is no folder no/such",
        ),
        (
            &["--update-doc", &unmarked],
            "required arguments were not provided",
        ),
        (
            &["--update-fixture", "a.json", "--update-doc", &unmarked],
            "it has no line `<!-- ladder:agreement:begin -->`",
        ),
    ] {
        let Ended { code, out, err } = with(&nothing(), args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(
            err.starts_with("error: ") && err.contains(part),
            "{part}: {err}"
        );
        assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    }
}
