//! What `ladder agree` refuses, and what keeps it from its work: one line each.

use std::fs;

use crate::common::program::{all_refused, alone, assert_has};
use crate::common::replay::{Replay, agree, nothing, with};

#[test]
fn what_is_missing_is_said_in_one_line() {
    let start = "error: sim and GPU cannot be compared here: there is no GPU: no CUDA driver";
    let err = with(&nothing(), "shuffle --ncu no/such/ncu").failed_with(2);
    let more = format!("{start} on this machine; cannot start no/such/ncu: ");
    assert_has(&err, &[&more, "; no ptxas was found\n"]);
    let err = alone("agree shuffle").failed_with(2);
    assert!(err.starts_with(start), "{err}");
}

#[test]
fn what_ncu_says_is_shown() {
    for (says, parts) in [
        ((1, "==ERROR== ERR_NVGPUCTRPERM - no permission"), &["NVreg_RestrictProfilingToAdminUsers=0"][..]),
        (
            (0, "Kernel; Metric; Value\nreduce; 1; 2\n"),
            &["cannot read what ncu 2025.3.1.0 (build 0) wrote", "Kernel; Metric; Value"],
        ),
    ] {
        let replay = Replay { says: Some(says), ..Replay::default() };
        let err = agree(&replay, &[], "reduce --n=4k").failed_with(2);
        assert_has(&err, parts);
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
    let table = include_str!("data/refused_agree.txt").replace("{old}", &old).replace("{unmarked}", &unmarked);
    all_refused(|args| with(&nothing(), args), &table);
}
