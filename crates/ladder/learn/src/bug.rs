//! Common bugs as exercises: the learner finds the bug of a faulty kernel and fixes it.

use std::borrow::Cow;
use std::path::Path;

use rung::Pitfall;
use rung::pitfall::{Argument, Check, FAULT, OTHER};
use simt::Module;
use simt_check::Finding;

use crate::Error;
use crate::check::{Launched, launch};
use crate::exercise::{BufferState, Case, Exercise, Launches, head};
use crate::values::Values;

/// The topic of the common bugs.
pub(crate) const TOPIC: &str = "bugs";

impl Exercise {
    /// Creates an exercise from a common bug: the learner's text contains the faulty kernel, and the solution contains
    /// the fixed version.
    #[must_use]
    pub(crate) fn for_bug(bug: &'static Pitfall) -> Self {
        let code = without(bug.text, "pitfall! {", "\n} }\n\n");
        let code: String = code
            .lines()
            .filter(|line| !line.starts_with("//!") && !line.starts_with("#!["))
            .fold(String::new(), |code, line| {
                code + line.trim_end_matches(FAULT).trim_end_matches(OTHER).trim_end() + "\n"
            });
        let (faulty, fixed) = ("/// The faulty kernel.\n", "/// The fixed version.\n");
        let text = format!(
            "{}\n//!\n//! This kernel has a bug. Find the bug and fix it with a small change.\n//!\n//! On a GPU: {}.\n{}",
            bug.text.lines().next().unwrap_or_default(),
            bug.on_gpu,
            without(&code, &format!("\n{fixed}"), "\n}\n").replace(faulty, "")
        );
        let lines = [FAULT, OTHER].into_iter().filter_map(|mark| bug.marked_text(mark));
        let hints = format!(
            "Hints:\n\n1. The {} sanitizer finds the bug: {}.\n2. Look at {}.\n3. The lesson: {}.\n\n{}",
            bug.check.name(),
            bug.check.about(),
            lines.map(|line| format!("`{line}`")).collect::<Vec<_>>().join(" and at "),
            bug.lesson,
            head(bug.text)
        );
        let hints: String = hints.lines().map(|line| format!("//! {line}").trim_end().to_owned() + "\n").collect();
        let answer = without(&code, &format!("\n{faulty}"), "\n}\n").replace(fixed, "").replace(bug.fixed, bug.name);
        let solution = hints + &answer;
        Self {
            name: bug.name,
            topic: TOPIC,
            text: text.into(),
            solution: solution.into(),
            launches: Launches::Bug(bug),
        }
    }
}

/// Returns a text without the first part that starts with `start` and ends with `end`.
fn without(text: &str, start: &str, end: &str) -> String {
    let parts = text.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    parts.map_or(text.to_owned(), |(before, after)| before.to_owned() + after)
}

/// Returns element `index` of the input of every bug: a hash of the index, so the numbers have both signs.
fn element(index: u32) -> u32 {
    (index + 1).wrapping_mul(0x9e37_79b1).rotate_left(13)
}

impl Case {
    /// Returns the launch of a bug's faulty kernel. If `kernel` is not the faulty kernel's name, returns the launch of
    /// the fixed version.
    #[must_use]
    pub fn for_bug(bug: &'static Pitfall, kernel: &str) -> Self {
        let is_faulty = kernel == bug.name;
        let (blocks, threads) = bug.launch;
        let shared = if is_faulty { bug.shared.0 } else { bug.shared.1 };
        let data = |elements: u32| (0..elements).map(element).collect::<Vec<u32>>();
        let has_data =
            |argument: &&Argument| matches!(argument, Argument::Input(_) | Argument::InPlace(_) | Argument::Freed(_));
        let input = bug.arguments.iter().find(has_data).map_or(Vec::new(), |argument| data(argument.elements()));
        let mut case = Self::line(blocks as usize, threads).shared(shared as usize);
        let names = bug.text.split_once(&format!("fn {}(", bug.name)).map_or("", |(_, rest)| rest).split(',');
        let names = names.map(|parameter| parameter.split(':').next().unwrap_or_default().trim());
        for (argument, name) in bug.arguments.iter().zip(names) {
            let elements = argument.elements();
            let zeros = || Values::U32(vec![0; elements as usize]);
            let right: Vec<u32> = match argument.is_result() {
                true => (0..elements as usize).map(|at| (bug.right)(&input, at)).collect(),
                false => Vec::new(),
            };
            case = match argument {
                Argument::Input(_) => case.input(name, data(elements)),
                Argument::InPlace(_) => case.in_place(name, data(elements), right),
                Argument::Output(_) => case.output(name, right),
                Argument::Sums(_) => case.in_place(name, zeros(), right),
                Argument::Zeros(_) => case.scratch(name, zeros()),
                Argument::Forgotten(_) if !is_faulty => case.scratch(name, zeros()),
                Argument::Unset(_) | Argument::Forgotten(_) => {
                    case.buffer(name, BufferState::Unwritten, zeros().poison(), None)
                }
                Argument::Freed(_) if is_faulty => case.buffer(name, BufferState::Freed, data(elements).into(), None),
                Argument::Freed(_) => case.input(name, data(elements)),
                Argument::Null => case.value(0_u64),
            };
        }
        case
    }
}

/// The sanitizers' findings in a bug's two kernels.
#[derive(Debug)]
pub struct CheckedBug {
    /// The bug.
    pub bug: &'static Pitfall,
    /// The launch of the faulty kernel.
    pub faulty: Launched,
    /// The launch of the fixed version.
    pub fixed: Launched,
}

impl CheckedBug {
    /// Launches both kernels. `ptx` returns the PTX of a kernel.
    ///
    /// # Errors
    /// Returns [`Error::Simulator`] when the simulator cannot be started or a kernel is missing in its PTX.
    pub fn new(bug: &'static Pitfall, ptx: impl Fn(&str) -> Cow<'static, str>) -> Result<Self, Error> {
        let launched = |name: &str| {
            let module = Module::from_ptx(ptx(name)).map_err(|why| Error::Simulator(why.to_string()))?;
            let function = module.function(name).map_err(|why| Error::Simulator(why.to_string()))?;
            launch(&function, &Case::for_bug(bug, name), simt::Schedule::Fixed)?.map_err(Error::Simulator)
        };
        Ok(Self { bug, faulty: launched(bug.name)?, fixed: launched(bug.fixed)? })
    }

    /// Returns whether the faulty kernel has a finding from the expected sanitizer at the marked lines.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.faulty.findings.iter().any(|finding| is_fault(self.bug, finding))
    }
}

/// Returns whether a finding reports the bug: its sanitizer and lines must match the bug's sanitizer and marked lines.
/// The two accesses of a race have no order. If only one line is marked, both accesses are on that line.
fn is_fault(bug: &Pitfall, finding: &Finding) -> bool {
    let line = |source: &Option<(String, u32)>| {
        let (file, line) = source.as_ref()?;
        Path::new(file).ends_with(bug.source).then_some(*line)
    };
    let access = line(&finding.source);
    let other = finding.other.as_ref().map(|other| line(&other.source));
    let (fault, marked) = (bug.marked(FAULT), bug.marked(OTHER));
    finding.check.name() == bug.check.name()
        && match (bug.check, other) {
            (Check::Race, other) => {
                let (other, marked) = (other.flatten(), marked.or(fault));
                (access, other) == (fault, marked) || (access, other) == (marked, fault)
            }
            (_, other) if marked.is_some() => access == fault && other == Some(marked),
            _ => access == fault,
        }
}
