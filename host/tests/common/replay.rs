//! `lab agree` in tests, with a fake Nsight Compute that runs nothing. It reports the simulator's counts of a launch.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;

use analysis::agree::Explain;
use analysis::profile::ncu::{ProgramOutput, Runner};
use analysis::profile::on_sim;
use cli::Env;
use cli::output::Form;
use host::device::Sim;
use host::selection::Selection;
use host::{Device, DeviceProperties, Error, KERNELS, Ladder, ladders};
use profile::counters::Numbers;
use toolkit::access::Change;

use crate::common::Fake;
use crate::common::program::{Ended, env, run_in};

/// The GPU's compute capability, with which it runs every kernel.
const CAPABILITY: (u32, u32) = (9, 0);

/// An existing file in place of Nsight Compute. The runner replaces its execution.
pub const NCU: &str = "tests/data/ncu.sh";

/// The start of the names of kernels, a metric, and a function from the simulator's count to the reported count.
pub type Difference = (&'static str, &'static str, fn(f64) -> f64);

/// A fake Nsight Compute that reports the simulator's counts, except for the metrics that differ.
#[derive(Default)]
pub struct Replay {
    pub differs: Vec<Difference>,
    /// Metrics that the fake does not support.
    pub unknown: Vec<&'static str>,
    /// The first ladder on which the fake fails.
    pub fails_at: &'static str,
    pub log: RefCell<Vec<Vec<String>>>,
}

impl Runner for Replay {
    fn run(&self, _: &Path, args: &[OsString]) -> std::io::Result<ProgramOutput> {
        let args: Vec<String> = args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        self.log.borrow_mut().push(args.clone());
        let output = |code, out: String| Ok(ProgramOutput { code: Some(code), out, err: String::new() });
        if args == ["--version"] {
            return output(0, "Version 2025.3.1.0 (build 0)\n".to_owned());
        }
        let value_after = |name: &str| &args[args.iter().position(|arg| arg == name).unwrap() + 1];
        if ladder_of(value_after("run")).name == self.fails_at {
            return output(1, "==ERROR== Out of patience\n".to_owned());
        }
        let metrics: Vec<&str> = value_after("--metrics").split(',').collect();
        if let Some(name) = self.unknown.iter().find(|name| metrics.contains(name)) {
            return output(1, format!("==ERROR== Failed to find metric {name}\n"));
        }
        output(0, self.table(&args, &metrics))
    }
}

/// Returns the ladder of a rung.
fn ladder_of(rung: &str) -> &'static Ladder {
    ladders().iter().find(|ladder| ladder.has(rung)).unwrap()
}

impl Replay {
    /// Returns the table of counts for the rungs and options in the arguments.
    fn table(&self, args: &[String], metrics: &[&str]) -> String {
        let run_args = &args[args.iter().position(|arg| arg == "run").unwrap()..];
        let ladder = ladder_of(&run_args[1]);
        let rungs = run_args[1..].iter().take_while(|arg| !arg.starts_with("--"));
        let mut selection = Selection { ladder, whole: false, named: rungs.cloned().collect(), given: Vec::new() };
        let mut block = None;
        for (name, value) in run_args.iter().filter_map(|arg| arg.strip_prefix("--")?.split_once('=')) {
            if name == "block" {
                block = Some(host::parse_block(value).unwrap());
            } else {
                let option = ladder.options.iter().find(|known| known.name == name).unwrap();
                selection.given.push((option.name, value.to_owned()));
            }
        }
        let plan = selection.plan(block, None, DeviceProperties { multiprocessors: 40 }).unwrap();
        let mut sim = Sim::open_as(&KERNELS, 0, Some(CAPABILITY)).unwrap();
        let counted = on_sim(&mut sim, &plan, |_| ()).unwrap();
        let quoted = |cells: Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| format!("\"{cell}\"")).collect();
            cells.join(",") + "\n"
        };
        let names = metrics.iter().map(|&name| name.to_owned());
        let mut text = quoted(["ID".into(), "Kernel Name".into()].into_iter().chain(names).collect());
        text += &quoted(vec![String::new(); metrics.len() + 2]);
        for (id, ((_, launch), numbers)) in plan.launches().iter().zip(&counted).enumerate() {
            let cells = metrics.iter().map(|name| self.value(&launch.entry, name, numbers));
            let head = [id.to_string(), launch.entry.clone()];
            text += &quoted(head.into_iter().chain(cells).collect());
        }
        text
    }

    fn value(&self, entry: &str, name: &str, numbers: &Numbers) -> String {
        let counted = numbers.get(name).copied().unwrap_or(0.0);
        let number = self
            .differs
            .iter()
            .filter(|(kernel, metric, _)| entry.starts_with(kernel) && *metric == name)
            .fold(counted, |number, (.., differ)| differ(number));
        if name.ends_with(".pct") { format!("{number:.2}") } else { format!("{number:.0}") }
    }
}

/// The same changes by ptxas for every kernel.
pub struct KnownChanges(pub Vec<Change>);

impl Explain for KnownChanges {
    fn changes(&self, _: &str) -> Result<Vec<Change>, toolkit::Error> {
        Ok(self.0.clone())
    }

    fn waits(&self, entry: &str) -> bool {
        entry.starts_with("reduce_one_launch")
    }

    fn has_only_system_fences(&self, entry: &str) -> bool {
        entry.starts_with("allreduce")
    }

    fn version(&self) -> Option<String> {
        Some("13.0.88".to_owned())
    }
}

/// Runs `lab agree` with Markdown output.
pub fn agree(replay: &Replay, changes: &[Change], args: &str) -> Ended {
    lab(replay, changes, &format!("lab agree {args} --ncu {NCU}"))
}

/// Runs `lab record` with `lab agree`, in the folder `root`.
pub fn agree_recorded(replay: &Replay, changes: &[Change], root: &Path, args: &str) -> Ended {
    lab(replay, changes, &format!("lab record --root {} -- agree {args} --ncu {NCU}", root.display()))
}

fn lab(replay: &Replay, changes: &[Change], command: &str) -> Ended {
    let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Fake::new(None).with_capability(CAPABILITY))) };
    let explain = |_| Ok(Box::new(KnownChanges(changes.to_vec())) as Box<dyn Explain>);
    run_in(&Env { runner: replay, explain: &explain, form: Form::Markdown, ..env(&open) }, command)
}
