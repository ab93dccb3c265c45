//! Checks answers: runs their launches on the simulator, with all sanitizers and counters.

use std::fmt;
use std::time::Duration;

use devices::Limits;
use devices::occupancy::{self, Block, Usage};
use serde::Serialize;
use simt::counters::Value;
use simt::{Arg, Buffer, Config, Function, Launch, LaunchError, Module, Schedule, Simulator};
use simt_check::{Check, Checks, Finding, Sanitized};

use crate::Error;
use crate::exercise::{Argument, BufferState, Case, Exercise, Goal, WARPS_PER_SM};
use crate::values::Values;

/// A goal, and the value that an answer achieves.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct GoalResult {
    /// The goal.
    #[serde(flatten)]
    pub goal: Goal,
    /// The counter after the launch.
    pub value: f64,
}

impl GoalResult {
    /// Returns whether the value is within the limit.
    #[must_use]
    pub fn is_met(&self) -> bool {
        match self.goal.is_least {
            true => self.value >= self.goal.limit,
            false => self.value <= self.goal.limit,
        }
    }
}

impl fmt::Display for GoalResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { goal, value } = self;
        let value = (value * 100.0).round() / 100.0;
        write!(f, "{}: {value}, goal: {} ({})", goal.what, goal.limit(), goal.counter)
    }
}

/// The result of checking an answer.
#[derive(Debug)]
pub struct AnswerVerdict {
    /// The sizes at which the answer is correct. The list is empty for an exercise with a single size.
    pub right: Vec<usize>,
    /// The goals with their values, if the answer is correct at all sizes.
    pub reached: Vec<GoalResult>,
    /// The first error, or `None` if the exercise is solved.
    pub trouble: Option<AnswerError>,
}

impl AnswerVerdict {
    /// Returns the verdict of an answer that cannot be launched.
    #[must_use]
    pub fn of(trouble: AnswerError) -> Self {
        Self { right: Vec::new(), reached: Vec::new(), trouble: Some(trouble) }
    }
}

/// An error in an answer.
#[derive(Debug)]
pub enum AnswerError {
    /// The answer does not compile: the compiler's messages.
    Compiler(String),
    /// The kernel of the exercise is missing or has different parameters.
    Signature(String),
    /// A launch has a wrong result, a finding or a fault.
    Launch(Box<Launched>),
    /// All launches are correct, but a goal is not reached.
    Goal,
}

/// A finished launch.
#[derive(Debug)]
pub struct Launched {
    /// The problem size, if the exercise has several.
    pub size: Option<usize>,
    /// The number of blocks and the number of threads per block, in words.
    pub geometry: String,
    /// The sanitizers' findings.
    pub findings: Vec<Finding>,
    /// The fault that ended the launch, if no finding reports it.
    pub fault: Option<LaunchError>,
    /// The first wrong result.
    pub wrong: Option<WrongResult>,
    /// The counters, unless a fault ended the launch.
    pub counters: Option<simt::Counters>,
}

/// A wrong result.
#[derive(Debug)]
pub struct WrongResult {
    /// The name of the parameter.
    pub name: &'static str,
    /// The index of the first element that differs.
    pub index: usize,
    /// The value of that element, or `None` if no thread has written it.
    pub found: Option<String>,
    /// The correct value.
    pub expected: String,
    /// The number of wrong elements.
    pub count: usize,
    /// The number of elements.
    pub of: usize,
    /// Whether the elements are read-only for the kernel.
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
    /// Returns whether the result is correct and there are no findings.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.problems().is_empty()
    }

    /// Returns the errors: first the wrong result, then the findings and the fault, which explain the wrong result.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let wrong = self.wrong.iter().map(ToString::to_string);
        let findings = self.findings.iter().map(ToString::to_string);
        wrong.chain(findings).chain(self.fault.iter().map(ToString::to_string)).collect()
    }

    /// Returns advice about the usual cause of these errors.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        // A finding of another sanitizer often explains why memory was not written, so `Init` is checked last.
        let checks = self.findings.iter().map(|finding| finding.check);
        let first = checks.min_by_key(|check| (*check == Check::Init, *check));
        match (first, &self.fault, &self.wrong) {
            (Some(Check::Memory), ..) => {
                "An access is outside its buffer. Does each index have a bounds check, and is the check correct for the last \
                 element?"
            }
            (Some(Check::Init), ..) => {
                "A value is read before any thread writes it. Does a thread write each element before it is read, at the edges \
                 too?"
            }
            (Some(Check::Race), ..) => {
                "Two threads access the same element, at least one of them writes it, and nothing orders the two accesses. \
                 Which fix fits here: a barrier, an atomic, or a separate element for each thread?"
            }
            (Some(Check::Sync), ..) => {
                "Threads wait for threads that do not arrive. Which threads reach this line, and which threads take another \
                 branch?"
            }
            (Some(_), ..) => "Read the first finding. Which thread executes this line, and with which values?",
            (None, Some(_), _) => {
                "The launch stopped there. If the message is a panic, which index or condition does it name? Does each loop \
                 end for every thread?"
            }
            (None, None, Some(WrongResult { found: None, .. })) => {
                "No thread writes some of the elements. Which thread must write the first of them, and what does that thread do \
                 instead?"
            }
            (None, None, _) => {
                "Look at the first wrong element. Work out by hand which thread computes the element, and from which values."
            }
        }
    }
}

/// The limit on warp instructions. A launch that executes more instructions is considered endless.
const INSTRUCTIONS: u64 = 20_000_000;

/// The orders in which threads and blocks run. An answer must be correct in each order. Counters come from the fixed
/// order.
const SCHEDULES: [Schedule; 3] = [Schedule::Fixed, Schedule::Random(1), Schedule::Random(2)];

/// Checks an answer: runs its launches until one of them fails, and compares counters with their goals.
///
/// `name` is the kernel's name without the suffix of a case. In a learner's answer, it is the exercise's name.
///
/// # Errors
/// Returns [`Error::Simulator`] when the simulator cannot be started.
pub fn check(exercise: &Exercise, module: &Module, name: &str) -> Result<AnswerVerdict, Error> {
    let mut verdict = AnswerVerdict { right: Vec::new(), reached: Vec::new(), trouble: None };
    for mut case in exercise.cases() {
        let found = kernel(module, &format!("{name}{}", case.kernel.unwrap_or_default()));
        let function = match found.and_then(|function| case.choose(module, name).map(|()| function)) {
            Ok(function) => function,
            Err(problem) => return Ok(AnswerVerdict::of(AnswerError::Signature(problem))),
        };
        for schedule in SCHEDULES {
            let mut launched = match launch(&function, &case, schedule)? {
                Ok(launched) => launched,
                Err(problem) => return Ok(AnswerVerdict::of(AnswerError::Signature(problem))),
            };
            let is_fixed = schedule == Schedule::Fixed;
            if !launched.is_right() {
                if !is_fixed {
                    launched.geometry += ", run in another order";
                }
                let trouble = Some(AnswerError::Launch(Box::new(launched)));
                return Ok(AnswerVerdict { reached: Vec::new(), trouble, ..verdict });
            }
            if let (Some(counters), true) = (&launched.counters, is_fixed) {
                let reached = |goal: &Goal| GoalResult { goal: *goal, value: value(goal, counters, &function, &case) };
                verdict.reached = exercise.goals().iter().map(reached).collect();
            }
        }
        verdict.right.extend(case.size);
    }
    if !verdict.reached.iter().all(GoalResult::is_met) {
        verdict.trouble = Some(AnswerError::Goal);
    }
    Ok(verdict)
}

/// Returns the kernel with this name, or a message that the kernel is missing.
fn kernel(module: &Module, name: &str) -> Result<Function, String> {
    match module.function(name) {
        Ok(function) if function.name() == name => Ok(function),
        Ok(_) | Err(simt::LoadError::NoSuchKernel { .. }) => {
            Err(format!("there is no kernel `{name}`: restore its name and `#[kernel]`"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the value of a goal's counter after a launch.
fn value(goal: &Goal, counters: &simt::Counters, function: &Function, case: &Case) -> f64 {
    if goal.counter != WARPS_PER_SM {
        return counters.get(goal.counter).and_then(Value::number).unwrap_or(0.0);
    }
    // PTX does not specify the number of registers that the assembler will use, so registers do not limit the result.
    let usage = Usage { shared_bytes: function.program().shared_bytes, ..Usage::default() };
    let block = Block { threads: case.block.iter().product(), dynamic_shared: case.shared_bytes };
    let hopper = Limits::named("sm_90").expect("the tables have sm_90");
    f64::from(occupancy::of(hopper, usage, block).warps)
}

impl Case {
    /// Sets the grid, the block and the shared memory to the result of the answer's function `launch`, if the exercise
    /// requires that function. One thread of the kernel `NAME_launch` calls the function.
    fn choose(&mut self, module: &Module, name: &str) -> Result<(), String> {
        let Some(n) = self.chosen_for else { return Ok(()) };
        let function = kernel(module, &format!("{name}_launch"))?;
        let mut simulator = Simulator::new(Config::default()).map_err(|why| why.to_string())?;
        let buffer = simulator.upload(&[0_u32; 3]).map_err(|why| why.to_string())?;
        let args = [Arg::U32(n), buffer.into()];
        signature(&function, &args)?;
        simulator.launch(&Launch::new(&function, [1; 3], [1; 3], &args)).map_err(|why| why.to_string())?;
        let words = simulator.read(buffer).map_err(|why| why.to_string())?;
        (self.grid, self.block, self.shared_bytes) = ([words[0], 1, 1], [words[1], 1, 1], words[2]);
        Ok(())
    }
}

/// A buffer of a launch, and its correct elements.
struct Expectation<'c> {
    name: &'static str,
    buffer: Buffer<u8>,
    after: &'c Values,
    /// Whether the elements are read-only for the kernel.
    is_input: bool,
}

/// Runs a launch with all sanitizers and compares its buffers with the correct results. The inner error describes a
/// problem with the kernel's parameters.
pub(crate) fn launch(function: &Function, case: &Case, schedule: Schedule) -> Result<Result<Launched, String>, Error> {
    let failed = |why: &dyn fmt::Display| Error::Simulator(why.to_string());
    let config = Config { threads: 1, max_instructions: INSTRUCTIONS, schedule, ..Config::default() };
    let config = Config { time_limit: Some(Duration::from_secs(20)), ..config };
    let mut simulator = Simulator::new(config).map_err(|why| failed(&why))?;
    let (mut args, mut names) = (Vec::new(), Vec::new());
    let (mut buffers, mut freed) = (Vec::new(), Vec::new());
    for argument in &case.arguments {
        match argument {
            Argument::Value(value) => args.push(value.clone()),
            Argument::Buffer { name, before, state, after, slice } => {
                let buffer = simulator.upload(before.bytes()).map_err(|why| failed(&why))?;
                match state {
                    BufferState::Written => {}
                    BufferState::Unwritten => simulator.memory_mut().set_unwritten(buffer.address()),
                    BufferState::Freed => freed.push(buffer),
                }
                names.push((args.len(), *name));
                args.push(buffer.into());
                if *slice {
                    args.push(Arg::U64(before.len() as u64));
                }
                if let Some(after) = after {
                    buffers.push(Expectation { name, buffer, after, is_input: before == after });
                }
            }
        }
    }
    // These buffers are freed only after all buffers are allocated, so that no other buffer gets their memory.
    for buffer in freed {
        simulator.free(buffer).map_err(|why| failed(&why))?;
    }
    if let Err(problem) = signature(function, &args) {
        return Ok(Err(problem));
    }
    let launch = Launch::new(function, case.grid, case.block, &args).with_shared_bytes(case.shared_bytes);
    let Sanitized { result, mut findings, .. } = Checks::ALL.launch(&mut simulator, &launch);
    findings.iter_mut().for_each(|finding| with_names(finding, &names));
    let (counters, fault) = match result {
        Ok(counters) => (Some(counters), None),
        Err(fault) => (None, Some(fault)),
    };
    let mut wrong = None;
    if fault.is_none() {
        for expectation in &buffers {
            let bytes = simulator.read(expectation.buffer).map_err(|why| failed(&why))?;
            wrong = wrong.or_else(|| compare(expectation, expectation.after.like(&bytes), case));
        }
    }
    let fault = fault.filter(|_| findings.is_empty());
    Ok(Ok(Launched { size: case.size, geometry: geometry(case), findings, fault, wrong, counters }))
}

/// Renames the buffers in a finding to the names of the kernel's parameters.
fn with_names(finding: &mut Finding, buffers: &[(usize, &str)]) {
    if let Some(place) = &mut finding.place {
        for (index, name) in buffers {
            *place = place.replace(&format!("argument {index}'s buffer"), &format!("`{name}`, a buffer"));
        }
    }
}

fn compare(expectation: &Expectation<'_>, mut found: Values, case: &Case) -> Option<WrongResult> {
    let mut after = expectation.after.clone();
    if case.any_order && !expectation.is_input {
        found.sort();
        after.sort();
    }
    let (index, [value, expected], count) = found.difference(&after, case.tolerance)?;
    let poison = after.poison();
    let is_poison = found.element(index) == poison.element(index);
    let found = (!is_poison || expectation.is_input).then_some(value);
    Some(WrongResult {
        name: expectation.name,
        index,
        found,
        expected,
        count,
        of: after.len(),
        is_input: expectation.is_input,
    })
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
    let is_same = params.len() == args.len() && params.iter().zip(args).all(|(param, arg)| param.bytes == bytes(arg));
    if is_same {
        return Ok(());
    }
    Err(format!("the parameters of `{name}` differ from the exercise's: restore the kernel's first lines"))
}

/// Returns the geometry of a launch in words: `2 blocks of 64 threads`.
fn geometry(case: &Case) -> String {
    let sides = |sides: [u32; 3]| match sides {
        [x, 1, 1] => x.to_string(),
        [x, y, _] => format!("{x} x {y}"),
    };
    let (blocks, threads) = (sides(case.grid), sides(case.block));
    let (blocks_end, threads_end) = (if blocks == "1" { "" } else { "s" }, if threads == "1" { "" } else { "s" });
    format!("{blocks} block{blocks_end} of {threads} thread{threads_end}")
}
