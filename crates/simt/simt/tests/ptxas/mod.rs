//! Tests that simt accepts what ptxas accepts and refuses what ptxas refuses, except for the [known](DIFFERENCES)
//! differences.
//!
//! The rows of `forms.txt` expand to thousands of valid and invalid instructions, with every choice of modifiers and
//! types. For instructions that simt accepts, variants exchange, omit and repeat modifiers and operands. `modules.txt`
//! has whole modules. simt and ptxas both read all of these. `SWEEP=full` in the environment tests all 190,000 cases,
//! which takes minutes; otherwise, a fixed sample is tested.

mod assembler;
mod cases;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use simt::{Config, Launch, Module, Simulator};

/// Rows: the program that alone accepts a case, the opcodes or `*`, words, and the reason. The words, separated by `&`,
/// occur in the case or in the other program's refusal; `doubled` means that a modifier occurs twice.
const DIFFERENCES: &str = include_str!("differences.txt");

/// Unknown disagreements, and the rows of [`DIFFERENCES`] that explain the known ones.
#[derive(Default)]
struct Disagreements {
    unknown: BTreeMap<String, Vec<String>>,
    explained: BTreeSet<&'static str>,
}

impl Disagreements {
    /// Compares the verdicts on a case; a verdict is the reason of a refusal.
    fn compare(&mut self, case: &str, simt: Option<String>, ptxas: Option<String>) {
        let (accepting, why) = match (simt, ptxas) {
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
            of == accepting
                && (opcode == "*" || opcode.split(',').any(|opcode| opcode == name))
                && match words {
                    "doubled" => cases::is_doubled(case),
                    words => words.split(" & ").all(|words| case.contains(words) || why.contains(words)),
                }
        });
        match known {
            Some(row) => drop(self.explained.insert(row)),
            None => {
                let group = format!("only {accepting} accepts {name}: {why}");
                self.unknown.entry(group).or_default().push(case.to_owned());
            }
        }
    }

    /// Fails if there is an unknown disagreement.
    fn assert_known(&self) {
        let groups = self.unknown.iter().map(|(group, cases)| {
            let some = cases.iter().take(4).map(|case| format!("    {case}\n"));
            format!("{} {group}\n{}", cases.len(), some.collect::<String>())
        });
        let text: String = groups.collect();
        assert!(self.unknown.is_empty(), "{text}");
    }
}

/// Returns whether to compare all cases, not a sample.
fn is_full_sweep() -> bool {
    std::env::var("SWEEP").is_ok_and(|how| how == "full")
}

#[test]
fn instructions() {
    let Some(ptxas) = assembler::find() else {
        return;
    };
    let [of_forms, of_variants] = if is_full_sweep() { [1, 1] } else { [8, 24] };
    let forms = cases::forms(include_str!("forms.txt"));
    let mut all = cases::sample(forms, of_forms);
    let accepted = all.iter().filter(|case| cases::simt_refusal(case).is_none());
    let variants = cases::few_of_each(accepted.cloned().collect()).into_iter();
    let variants = variants.flat_map(|case| cases::variants(&case)).collect();
    all.extend(cases::sample(variants, of_variants));
    all.sort();
    all.dedup();
    let mut found = Disagreements::default();
    let verdicts = assembler::verdicts(&ptxas, "sm_90", &all);
    for (case, verdict) in all.iter().zip(verdicts) {
        found.compare(case, cases::simt_refusal(case), verdict);
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
    let all = cases::sample(rows.map(str::to_owned).collect(), if is_full_sweep() { 1 } else { 2 });
    let texts: Vec<String> = all.iter().map(|row| cases::module(row)).collect();
    let mut found = Disagreements::default();
    for ((row, text), verdict) in all.iter().zip(&texts).zip(assembler::modules(&ptxas, &texts)) {
        found.compare(row, cases::refusal(text), verdict);
    }
    found.assert_known();
}

/// A kernel has exactly the registers that it declares; an instruction must not use other registers.
#[test]
fn instructions_need_the_registers_that_they_name() {
    let config = Config { threads: 1, max_instructions: 1000, ..Config::default() };
    let mut simulator = Simulator::new(config).unwrap();
    let forms = cases::sample(cases::forms(include_str!("forms.txt")), if is_full_sweep() { 1 } else { 4 });
    for case in forms.iter().filter(|case| cases::simt_refusal(case).is_none()) {
        let module = Module::from_ptx(cases::minimal_kernel(case)).unwrap();
        // An instruction that reads a parameter is refused, because the kernel has no parameters.
        let Ok(function) = module.function("k") else {
            continue;
        };
        let launch = Launch::new(&function, [1, 1, 1], [32, 1, 1], &[]);
        let run = std::panic::AssertUnwindSafe(|| drop(simulator.launch(&launch)));
        assert!(std::panic::catch_unwind(run).is_ok(), "{case}");
    }
}
