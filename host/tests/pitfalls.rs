//! The pitfalls on the SIMT machine: each fault is found by the check that is to find it, on the line that is marked in
//! its file, and in each cure no check finds anything.

use std::collections::BTreeSet;
use std::path::Path;

use analysis::pitfalls::Record;
use host::device::Sim;
use host::pitfall::{Check, FAULT, OTHER, Outcome, check};
use host::{CATALOG, KERNELS};
use simt::sanitize::Finding;

use crate::common::program::{alone, assert_has, on_none};

#[test]
fn every_fault_is_found_on_its_line_and_every_cure_is_clean() {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let mut wrong = Vec::new();
    for pitfall in CATALOG.pitfalls {
        let shown = |findings: &[Finding]| findings.iter().map(|own| format!("\n    {own}")).collect::<String>();
        let checked = check(&mut sim, pitfall).unwrap();
        if !checked.is_found() {
            let (name, check, fault) = (pitfall.name, pitfall.check.name(), pitfall.marked(FAULT));
            wrong.push(format!("{name}: {check} does not find line {fault:?}, but{}", shown(&checked.findings)));
        }
        if !checked.is_clean() {
            wrong.push(format!("{}: {:?}{}", pitfall.cure, checked.cure, shown(&checked.in_cure)));
        }
    }
    let (count, all) = (wrong.len(), CATALOG.pitfalls.len());
    assert!(wrong.is_empty(), "{count} of {all} pitfalls:\n{}", wrong.join("\n"));
}

#[test]
fn descriptions_are_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for pitfall in CATALOG.pitfalls {
        let name = pitfall.name;
        assert!(names.insert(name), "two pitfalls are named {name}");
        assert_eq!(std::fs::read_to_string(root.join(pitfall.source)).unwrap(), pitfall.text);
        let count = |mark| pitfall.text.lines().filter(|line| line.ends_with(mark)).count();
        assert_eq!(count(FAULT), 1, "{name} has one fault");
        assert!(count(OTHER) <= 1, "{name}");
        assert!(pitfall.lesson.len() > 20 && pitfall.on_gpu.len() > 20, "{name}");
        assert_eq!(pitfall.arguments.iter().filter(|own| own.is_result()).count(), 1, "{name} has one result");
    }
    for check in Check::ALL {
        assert!(CATALOG.pitfalls.iter().any(|pitfall| pitfall.check == check), "{}", check.name());
    }
    assert!(CATALOG.pitfalls.is_sorted_by_key(|pitfall| pitfall.check), "the list is in the order of the checks");
}

/// Stands for compute-sanitizer: runs the program behind its own arguments, and finds an error with memcheck.
const SANITIZER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.1"; exit; }
tool=$2; shift 4; "$@"
[ "$tool" = memcheck ] && echo "========= Invalid __global__ read" && echo "========= ERROR SUMMARY: 1 error" && exit
echo "========= ERROR SUMMARY: 0 errors"
"#;

#[test]
fn what_becomes_of_kernels_is_recorded_by_processes() {
    let folder = tempfile::tempdir().unwrap();
    let [path, sanitizer] = ["record.json", "sanitizer"].map(|name| folder.path().join(name));
    std::fs::write(&sanitizer, SANITIZER).unwrap();
    std::fs::set_permissions(&sanitizer, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let update = |name: &str, more: &str| {
        let path = path.display();
        alone(&format!("pitfalls {name} --device sim --update-record {path}{more}")).printed()
    };
    update("one_element_too_far", &format!(" --compute-sanitizer {}", sanitizer.display()));
    let shown = update("divergent_barrier", "");
    assert_has(&shown, &["measured", "error: barrier reached by some threads", "the cure: right", "SIMT machine"]);

    let record = Record::read(&path).unwrap();
    assert_eq!(record.pitfalls.len(), 2);
    let of = |name: &str| &record.pitfalls[name];
    let too_far = of("one_element_too_far");
    assert!(matches!(&too_far.faulty, Outcome::Error { says } if says.contains("out of bounds")));
    assert_eq!(too_far.cure, Outcome::Right);
    let found: Vec<&str> = too_far.tools.iter().filter(|(_, said)| said.finds).map(|(tool, _)| &**tool).collect();
    assert_eq!((found, too_far.tools.len()), (vec!["memcheck"], 4));
    assert!(of("divergent_barrier").tools.is_empty());

    let shown = alone(&format!("pitfalls one_element_too_far --from {}", path.display())).printed();
    assert_has(&shown, &["memcheck            Invalid __global__ read", "initcheck           nothing"]);
}

#[test]
fn pitfalls_are_refused_with_the_nearest_name() {
    on_none("pitfalls missing_barier").refused("did you mean `missing_barrier`?");
    on_none("pitfalls --alone faulty").refused("name it");
    on_none("pitfalls --update-doc no/such/file").refused("no/such/file");
}
