//! simt takes what ptxas takes, and refuses what ptxas refuses.
//!
//! Thousands of instructions, right and wrong, are made from the rows of `forms.txt`: every choice of their modifiers
//! and types, and of those that simt takes, variants with modifiers and operands exchanged, left out, and doubled. Each
//! goes to both.
#![allow(clippy::unwrap_used, reason = "a test")]

mod assembler;
mod cases;

use std::collections::BTreeMap;

#[test]
fn sweep() {
    let Some(ptxas) = assembler::find() else {
        return;
    };
    let full = std::env::var_os("SWEEP").is_some();
    let forms = cases::forms(include_str!("forms.txt"));
    let forms: Vec<String> = cases::sample(forms, if full { 1 } else { 8 });
    let takes = |case: &String| cases::simt(case).is_none();
    let mut taken: Vec<String> = forms.iter().filter(|case| takes(case)).cloned().collect();
    eprintln!("{} forms, {} taken", forms.len(), taken.len());
    taken = cases::few_of_each(taken);
    let mutants: Vec<String> = taken.iter().flat_map(|case| cases::mutants(case)).collect();
    let mutants = cases::sample(mutants, if full { 1 } else { 16 });
    eprintln!("{} mutants of {}", mutants.len(), taken.len());
    let mut all: Vec<String> = forms.into_iter().chain(mutants).collect();
    all.sort();
    all.dedup();
    let started = std::time::Instant::now();
    let ours: Vec<Option<String>> = all.iter().map(|case| cases::simt(case)).collect();
    eprintln!("{} cases by simt in {:?}", all.len(), started.elapsed());
    let theirs = assembler::verdicts(&ptxas, "sm_90", &all);
    eprintln!("and by ptxas {:?}", started.elapsed());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((case, ours), theirs) in all.iter().zip(ours).zip(theirs) {
        let name = case.split([' ', '.', ';']).next().unwrap();
        match (ours, theirs) {
            (None, Some(why)) => groups
                .entry(format!("only simt takes {name}: {why}"))
                .or_default()
                .push(case.clone()),
            (Some(why), None) => groups
                .entry(format!(
                    "only ptxas takes {name}: {}",
                    why.split('`').step_by(2).collect::<String>()
                ))
                .or_default()
                .push(case.clone()),
            _ => {}
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    let mut text = String::new();
    for (name, cases) in &groups {
        text += &format!("{} {name}\n", cases.len());
        for case in cases.iter().step_by(cases.len().div_ceil(6)) {
            text += &format!("        {case}\n");
        }
    }
    std::fs::write("/tmp/px/groups.txt", text).unwrap();
    let mut every = String::new();
    for (name, cases) in &groups {
        for case in cases {
            every += &format!("{name}\t{case}\n");
        }
    }
    std::fs::write("/tmp/px/every.txt", every).unwrap();
    eprintln!(
        "{} groups, {} cases",
        groups.len(),
        groups.iter().map(|g| g.1.len()).sum::<usize>()
    );
}
