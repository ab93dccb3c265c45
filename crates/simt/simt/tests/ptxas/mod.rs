//! simt takes what ptxas takes, and refuses what ptxas refuses, but for the [known](DIFFERENCES) differences.
//!
//! Thousands of instructions, right and wrong, are made from the rows of `forms.txt`: every choice of their modifiers
//! and types, and of those that simt takes, variants with modifiers and operands exchanged, left out, and doubled.
//! `modules.txt` has whole modules. All go to both. With `SWEEP=full` in the environment these are 190,000 and it
//! takes minutes; without, a fixed sample of them.

mod assembler;
mod cases;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use simt::{Config, Launch, Module, Simulator};

/// Rows: who alone takes something, the opcodes' names or `*`, words in the text or in the other's refusal, with `&`
/// between them (`doubled`: a modifier stands twice), and the reason.
const DIFFERENCES: &str = include_str!("differences.txt");

/// Disagreements, with the rows of [`DIFFERENCES`] that explained others.
#[derive(Default)]
struct Disagreements {
    unknown: BTreeMap<String, Vec<String>>,
    explained: BTreeSet<&'static str>,
}

impl Disagreements {
    /// Compares the verdicts on a case: the reasons of refusals.
    fn compare(&mut self, case: &str, simt: Option<String>, ptxas: Option<String>) {
        let (taker, why) = match (simt, ptxas) {
            (None, Some(why)) => ("simt", why),
            (Some(why), None) => ("ptxas", why),
            _ => return,
        };
        let name = case.split([' ', '.', ';']).next().unwrap();
        let known = DIFFERENCES.lines().find(|row| {
            let fields: Vec<&str> = row.split(" | ").collect();
            let [of, opcode, words, _reason] = fields[..] else {
                return false;
            };
            of == taker
                && (opcode == "*" || opcode.split(',').any(|opcode| opcode == name))
                && match words {
                    "doubled" => cases::is_doubled(case),
                    words => words.split(" & ").all(|words| case.contains(words) || why.contains(words)),
                }
        });
        match known {
            Some(row) => drop(self.explained.insert(row)),
            None => {
                let group = format!("only {taker} takes {name}: {why}");
                self.unknown.entry(group).or_default().push(case.to_owned());
            }
        }
    }

    /// Fails if there is a disagreement that is not known.
    fn assert_known(&self) {
        let groups = self.unknown.iter().map(|(group, cases)| {
            let some = cases.iter().take(4).map(|case| format!("    {case}\n"));
            format!("{} {group}\n{}", cases.len(), some.collect::<String>())
        });
        let text: String = groups.collect();
        assert!(self.unknown.is_empty(), "{text}");
    }
}

/// Whether everything is compared, not a sample.
fn full() -> bool {
    std::env::var("SWEEP").is_ok_and(|how| how == "full")
}

#[test]
fn instructions() {
    let Some(ptxas) = assembler::find() else {
        return;
    };
    let [of_forms, of_variants] = if full() { [1, 1] } else { [8, 24] };
    let forms = cases::forms(include_str!("forms.txt"));
    let mut all = cases::sample(forms, of_forms);
    let taken = all.iter().filter(|case| cases::simt(case).is_none());
    let variants = cases::few_of_each(taken.cloned().collect()).into_iter();
    let variants = variants.flat_map(|case| cases::variants(&case)).collect();
    all.extend(cases::sample(variants, of_variants));
    all.sort();
    all.dedup();
    let mut found = Disagreements::default();
    let verdicts = assembler::verdicts(&ptxas, "sm_90", &all);
    for (case, verdict) in all.iter().zip(verdicts) {
        found.compare(case, cases::simt(case), verdict);
    }
    eprintln!("{} instructions, {} known differences", all.len(), found.explained.len());
    found.assert_known();
}

#[test]
fn modules() {
    let Some(ptxas) = assembler::find() else {
        return;
    };
    let rows = include_str!("modules.txt").lines().filter(|row| !row.starts_with('#'));
    let all = cases::sample(rows.map(str::to_owned).collect(), if full() { 1 } else { 2 });
    let texts: Vec<String> = all.iter().map(|row| cases::module(row)).collect();
    let mut found = Disagreements::default();
    for ((row, text), verdict) in all.iter().zip(&texts).zip(assembler::modules(&ptxas, &texts)) {
        found.compare(row, cases::refusal(text), verdict);
    }
    found.assert_known();
}

/// A kernel has the registers that it declares, and no others that an instruction could take by accident.
#[test]
fn instructions_need_the_registers_that_they_name() {
    let config = Config { threads: 1, max_instructions: 1000, ..Config::default() };
    let mut simulator = Simulator::new(config).unwrap();
    let forms = cases::sample(cases::forms(include_str!("forms.txt")), if full() { 1 } else { 4 });
    for case in forms.iter().filter(|case| cases::simt(case).is_none()) {
        let module = Module::from_ptx(cases::alone(case)).unwrap();
        // Those that read a parameter have none.
        let Ok(function) = module.function("k") else {
            continue;
        };
        let launch = Launch::new(&function, [1, 1, 1], [32, 1, 1], &[]);
        let run = std::panic::AssertUnwindSafe(|| drop(simulator.launch(&launch)));
        assert!(std::panic::catch_unwind(run).is_ok(), "{case}");
    }
}
