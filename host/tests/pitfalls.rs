//! The common bugs on the simulator. The expected sanitizer finds each fault in its marked line, and no sanitizer finds
//! anything in the fixed version.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use host::{CATALOG, KERNELS};
use learn::CheckedBug;
use rung::pitfall::{Check, FAULT, OTHER};

use crate::common::program::without_device;

#[test]
fn every_fault_is_found_on_its_line_and_every_fixed_version_is_clean() {
    let kernels = KERNELS.newest_for(None).unwrap().unwrap();
    let mut wrong = Vec::new();
    for pitfall in CATALOG.pitfalls {
        let checked = CheckedBug::new(pitfall, |kernel| kernels.part_with_lines(kernel)).unwrap();
        if !checked.is_found() {
            let (name, check, fault) = (pitfall.name, pitfall.check.name(), pitfall.marked(FAULT));
            wrong.push(format!("{name}: {check} does not find line {fault:?}: {:?}", checked.faulty));
        }
        if !checked.fixed.is_right() {
            wrong.push(format!("{}: {:?}", pitfall.fixed, checked.fixed));
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
        assert_eq!(fs::read_to_string(root.join(pitfall.source)).unwrap(), pitfall.text);
        let count = |mark| pitfall.text.lines().filter(|line| line.ends_with(mark)).count();
        assert_eq!(count(FAULT), 1, "{name} has one fault");
        assert!(count(OTHER) <= 1, "{name}");
        assert!(pitfall.lesson.len() > 20 && pitfall.on_gpu.len() > 20, "{name}");
        assert_eq!(
            pitfall.arguments.iter().filter(|argument| argument.is_result()).count(),
            1,
            "{name} has one result"
        );
    }
    for check in Check::ALL {
        assert!(CATALOG.pitfalls.iter().any(|pitfall| pitfall.check == check), "{}", check.name());
    }
    assert!(CATALOG.pitfalls.is_sorted_by_key(|pitfall| pitfall.check), "the list is in the order of the checks");
}

#[test]
fn pitfalls_are_refused_with_the_nearest_name() {
    without_device("learn missing_barier").refused("did you mean `missing_barrier`?");
    without_device("lab pitfalls missing_barier").refused("did you mean `missing_barrier`?");
    without_device("learn use_after_free").refused("is in host code");
    without_device("lab record --root no/such/folder -- pitfalls").refused("no/such/folder");
}
