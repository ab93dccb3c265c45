//! Ladders, rungs and families of rungs by name.
use host::CATALOG;
use host::selection::{Selection, select};

fn found(names: &[&str]) -> Vec<(&'static str, bool, usize)> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let all = select(&CATALOG, &names).unwrap();
    let one = |own: &Selection| (own.ladder.name, own.whole, own.rungs().len());
    all.iter().map(one).collect()
}

#[test]
fn names_of_ladders_rungs_and_families() {
    assert_eq!(found(&[]).len(), CATALOG.ladders.len());
    assert!(found(&[]).iter().all(|(_, whole, _)| *whole));
    assert_eq!(found(&["reduce_gmem"]), [("reduce", false, 1)]);
    assert_eq!(found(&["matmul_coarsened"]), [("matmul", false, 4)]);
    // In the ladders' order, and a ladder takes its rungs in.
    let all = found(&["transpose_naive", "reduce_gmem", "reduce"]);
    assert_eq!(all[0].0, "reduce");
    assert!(all[0].1 && all[0].2 > 1);
    assert_eq!(all[1], ("transpose", false, 1));
}

#[test]
fn a_name_of_nothing() {
    // What else is no name is in refused.rs; an empty one cannot stand there.
    let error = select(&CATALOG, &[String::new()]).unwrap_err();
    assert!(error.to_string().contains("`ladder list` names them"));
    assert!(!error.is_failure());
}
