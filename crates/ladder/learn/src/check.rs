//! Checking an answer: its launches on the SIMT machine, with all of its checks and its counters.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use simt::counters::Value;
use simt::sanitize::{Check, Checks, Finding, Sanitized};
use simt::{Arg, Buffer, Config, Function, Launch, LaunchError, Machine, Module, Schedule};

use crate::Error;
use crate::exercise::{Argument, BufferState, Case, Exercise, Goal};
use crate::values::Values;

/// A goal with what an answer has reached.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct GoalResult {
    /// The goal.
    #[serde(flatten)]
    pub goal: Goal,
    /// The counter after the launch.
    pub value: f64,
}

impl GoalResult {
    /// Whether it is enough.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.value <= self.goal.at_most
    }
}

impl fmt::Display for GoalResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { goal: Goal { counter, at_most, what }, value } = self;
        let value = (value * 100.0).round() / 100.0;
        write!(f, "{what}: {value}, at most {at_most} ({counter})")
    }
}

/// What is to be said of an answer.
#[derive(Debug)]
pub struct AnswerVerdict {
    /// The sizes at which it is right; none for an exercise of one size.
    pub right: Vec<usize>,
    /// What counters have reached, if it came to that.
    pub reached: Vec<GoalResult>,
    /// The first thing that is wrong with it; nothing, if it is solved.
    pub trouble: Option<AnswerError>,
}

impl AnswerVerdict {
    /// That of an answer which cannot be launched.
    #[must_use]
    pub fn of(trouble: AnswerError) -> Self {
        Self { right: Vec::new(), reached: Vec::new(), trouble: Some(trouble) }
    }
}

/// What is wrong with an answer.
#[derive(Debug)]
pub enum AnswerError {
    /// It does not compile: the compiler's messages.
    Compiler(String),
    /// Its kernel is not the one that the exercise launches.
    Signature(String),
    /// A launch is wrong.
    Launch(Box<Launched>),
    /// Everything is right, and a counter has not reached its goal.
    Goal,
}

/// A launch that has ended.
#[derive(Debug)]
pub struct Launched {
    /// The problem size, if the exercise has several.
    pub size: Option<usize>,
    /// Blocks, and threads of a block.
    pub geometry: String,
    /// What the checks have found.
    pub findings: Vec<Finding>,
    /// The fault that ended it, if none of the findings says it.
    pub fault: Option<LaunchError>,
    /// The result that differs from what is right.
    pub wrong: Option<WrongResult>,
    /// The counters, if no fault ended it.
    pub counters: Option<simt::Counters>,
}

/// A result that differs from what is right.
#[derive(Debug)]
pub struct WrongResult {
    /// The name of the parameter.
    pub name: &'static str,
    /// The index of the first element that differs.
    pub index: usize,
    /// That element; nothing if nobody has written it.
    pub found: Option<String>,
    /// What it is to be.
    pub expected: String,
    /// How many differ.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// Whether these elements were to stay as they were.
    pub is_input: bool,
}

impl fmt::Display for WrongResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, index, found, expected, count, of, is_input } = self;
        match (found, is_input) {
            (Some(found), false) => write!(f, "`{name}[{index}]` is {found}, expected {expected}")?,
            (Some(found), true) => {
                write!(f, "`{name}[{index}]` is {found}, expected {expected}: the kernel may only read `{name}`")?;
            }
            (None, _) => write!(f, "`{name}[{index}]` was not written, expected {expected}")?,
        }
        write!(f, "; {count} of {of} elements are wrong")
    }
}

impl Launched {
    /// Whether the result is right and nothing was found.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.problems().is_empty()
    }

    /// What is wrong: first the result, and then what explains it.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let wrong = self.wrong.iter().map(ToString::to_string);
        let findings = self.findings.iter().map(ToString::to_string);
        wrong.chain(findings).chain(self.fault.iter().map(ToString::to_string)).collect()
    }

    /// What usually is the reason, in a sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        // Memory that no thread has written is often so because of what the other checks find.
        let order = [Check::Memory, Check::Race, Check::Sync, Check::Init];
        let first = order.into_iter().find(|check| self.findings.iter().any(|finding| finding.check == *check));
        match (first, &self.fault, &self.wrong) {
            (Some(Check::Memory), ..) => {
                "An access leaves the memory that it was meant for. Is there a guard for each index, and is the guard right at \
                 the last element?"
            }
            (Some(Check::Init), ..) => {
                "A value is read before it is written. Is each element that is read written first, for all threads and at the \
                 edges too?"
            }
            (Some(Check::Race), ..) => {
                "Two threads use the same element, one of them writes it, and nothing says who comes first. What orders \
                 them: a barrier, an atomic, or an element for each of them?"
            }
            (Some(Check::Sync), ..) => {
                "Threads wait for others that do not come. Who gets to this line, and who has been sent elsewhere by a branch?"
            }
            (None, Some(_), _) => {
                "The launch was ended there. Which index or condition does a panic speak of? Does each loop end, for every \
                 thread?"
            }
            (None, None, Some(WrongResult { found: None, .. })) => {
                "Some elements are left out. Which thread is to write the first of them, and what does it do instead?"
            }
            (None, None, _) => {
                "Take the first wrong element, and work out by hand which thread computes it, and from what."
            }
        }
    }
}

/// Instructions of warps after which a launch is taken for one that does not end.
const INSTRUCTIONS: u64 = 20_000_000;

/// The orders of threads and blocks in which an answer has to be right. Counters are those of the fixed one.
const SCHEDULES: [Schedule; 3] = [Schedule::Fixed, Schedule::Random(1), Schedule::Random(2)];

/// Checks an answer: runs its launches for each size up to the first that is wrong, and compares counters with their
/// goals.
///
/// `name` is that of the kernel, without what a case adds; in an answer it is the exercise's.
///
/// # Errors
/// When the SIMT machine cannot be started.
pub fn check(exercise: &Exercise, module: &Module, name: &str) -> Result<AnswerVerdict, Error> {
    let mut verdict = AnswerVerdict { right: Vec::new(), reached: Vec::new(), trouble: None };
    for case in exercise.cases() {
        let kernel = format!("{name}{}", case.kernel.unwrap_or_default());
        let function = match module.function(&kernel) {
            Ok(function) if function.name() == kernel => function,
            Ok(_) | Err(simt::LoadError::NoSuchKernel { .. }) => {
                let trouble = format!("there is no kernel `{kernel}`: give it this name and `#[kernel]`");
                return Ok(AnswerVerdict::of(AnswerError::Signature(trouble)));
            }
            Err(error) => return Ok(AnswerVerdict::of(AnswerError::Signature(error.to_string()))),
        };
        for schedule in SCHEDULES {
            let mut launched = match launch(&function, &case, schedule)? {
                Ok(launched) => launched,
                Err(problem) => return Ok(AnswerVerdict::of(AnswerError::Signature(problem))),
            };
            let is_fixed = schedule == Schedule::Fixed;
            if !launched.is_right() {
                if !is_fixed {
                    launched.geometry += ", when they run in another order";
                }
                let trouble = Some(AnswerError::Launch(Box::new(launched)));
                return Ok(AnswerVerdict { reached: Vec::new(), trouble, ..verdict });
            }
            if let (Some(counters), true) = (&launched.counters, is_fixed) {
                verdict.reached = exercise.goals().iter().map(|goal| reached(goal, counters)).collect();
            }
        }
        verdict.right.extend(case.size);
    }
    if !verdict.reached.iter().all(GoalResult::is_met) {
        verdict.trouble = Some(AnswerError::Goal);
    }
    Ok(verdict)
}

fn reached(goal: &Goal, counters: &simt::Counters) -> GoalResult {
    let value = counters.get(goal.counter).and_then(Value::number).unwrap_or(0.0);
    GoalResult { goal: *goal, value }
}

/// A buffer of a launch, and what is to be in it.
struct Checked<'c> {
    name: &'static str,
    buffer: Buffer<u8>,
    after: &'c Values,
    /// Whether the elements were there before and are to stay.
    is_input: bool,
}

/// Runs a launch with all checks and compares its buffers with the right result. The inner error is a problem with the
/// kernel's parameters.
pub(crate) fn launch(function: &Function, case: &Case, schedule: Schedule) -> Result<Result<Launched, String>, Error> {
    let failed = |why: &dyn fmt::Display| Error::Machine(why.to_string());
    let config = Config { threads: 1, max_instructions: INSTRUCTIONS, schedule, ..Config::default() };
    let config = Config { time_limit: Some(Duration::from_secs(20)), ..config };
    let mut machine = Machine::new(config).map_err(|why| failed(&why))?;
    let (mut args, mut names) = (Vec::new(), Vec::new());
    let (mut buffers, mut freed) = (Vec::new(), Vec::new());
    for argument in &case.arguments {
        match argument {
            Argument::Value(value) => args.push(value.clone()),
            Argument::Buffer { name, before, state, after, slice } => {
                let buffer = machine.upload(before.bytes()).map_err(|why| failed(&why))?;
                match state {
                    BufferState::Written => {}
                    BufferState::Unwritten => machine.memory_mut().set_unwritten(buffer.address()),
                    BufferState::Freed => freed.push(buffer),
                }
                names.push((args.len(), *name));
                args.push(buffer.into());
                if *slice {
                    args.push(Arg::U64(before.len() as u64));
                }
                if let Some(after) = after {
                    buffers.push(Checked { name, buffer, after, is_input: before == after });
                }
            }
        }
    }
    // After the others are allocated, so that none of them gets this memory.
    for buffer in freed {
        machine.free(buffer).map_err(|why| failed(&why))?;
    }
    if let Err(problem) = signature(function, &args) {
        return Ok(Err(problem));
    }
    let launch = Launch::new(function, case.grid, case.block, &args).with_shared_bytes(case.shared_bytes);
    let Sanitized { result, mut findings, .. } = machine.launch_sanitized(&launch, Checks::ALL);
    findings.iter_mut().for_each(|finding| with_names(finding, &names));
    let (counters, fault) = match result {
        Ok(counters) => (Some(counters), None),
        Err(fault) => (None, Some(fault)),
    };
    let mut wrong = None;
    if fault.is_none() {
        for own in &buffers {
            let bytes = machine.read(own.buffer).map_err(|why| failed(&why))?;
            wrong = wrong.or_else(|| compare(own, own.after.like(&bytes), case));
        }
    }
    let fault = fault.filter(|_| findings.is_empty());
    Ok(Ok(Launched { size: case.size, geometry: geometry(case), findings, fault, wrong, counters }))
}

/// Has a finding call buffers as the kernel does.
fn with_names(finding: &mut Finding, buffers: &[(usize, &str)]) {
    if let Some(place) = &mut finding.place {
        for (index, name) in buffers {
            *place = place.replace(&format!("argument {index}'s buffer"), &format!("`{name}`, a buffer"));
        }
    }
}

fn compare(own: &Checked<'_>, mut found: Values, case: &Case) -> Option<WrongResult> {
    let mut after = own.after.clone();
    if case.any_order && !own.is_input {
        found.sort();
        after.sort();
    }
    let (index, [value, expected], count) = found.difference(&after, case.tolerance)?;
    let poison = after.poison();
    let is_poison = found.element(index) == poison.element(index);
    let found = (!is_poison || own.is_input).then_some(value);
    Some(WrongResult { name: own.name, index, found, expected, count, of: after.len(), is_input: own.is_input })
}

/// Checks that a kernel has these parameters.
fn signature(function: &Function, args: &[Arg]) -> Result<(), String> {
    let (name, params) = (function.name(), &function.program().params);
    let bytes = |arg: &Arg| match arg {
        Arg::U8(_) => 1,
        Arg::U16(_) => 2,
        Arg::U32(_) | Arg::F32(_) => 4,
        _ => 8,
    };
    let is_same = params.len() == args.len() && params.iter().zip(args).all(|(own, arg)| own.bytes == bytes(arg));
    if is_same {
        return Ok(());
    }
    Err(format!("`{name}` has other parameters than the exercise gives it: leave its first lines as they were"))
}

/// `2 blocks of 64 threads`.
fn geometry(case: &Case) -> String {
    let sides = |sides: [u32; 3]| match sides {
        [x, 1, 1] => x.to_string(),
        [x, y, _] => format!("{x} x {y}"),
    };
    let (blocks, threads) = (sides(case.grid), sides(case.block));
    format!("{blocks} block{} of {threads} threads", if blocks == "1" { "" } else { "s" })
}
