//! One launch of a kernel and of its mutants.

use std::cell::OnceCell;
use std::collections::HashSet;

use engine::device::{Checks, Sim};
use engine::launch::{Code, Launch};
use engine::problem::{Problem, Role, Verdict as Checked};
use engine::{DeviceProperties, Session};
use simt::Function;
use simt::observe::Site;
use simt::run::Position;

use super::{PendingMutant, Stage};
use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::trace::{Coverage, Trace, digest_of};
use crate::verdict::{Caught, MutantVerdict};

/// The limit of a mutant's instructions: a multiple of the kernel's instructions, plus a constant.
const PATIENCE: (u64, u64) = (5, 50_000);

/// The behavior of the kernel itself in a launch.
#[derive(Clone)]
pub(super) struct Expected {
    instructions: u64,
    trace: u64,
    memory: u64,
    /// The lines of the kernel's text whose instructions are not executed.
    unreached: HashSet<u32>,
}

impl Expected {
    /// Returns whether the launch executes no changed instruction, so that the mutant behaves like the kernel.
    pub(super) fn is_unreached(&self, mutant: &Mutant) -> bool {
        !mutant.is_control && mutant.lines.clone().all(|line| self.unreached.contains(&line))
    }
}

/// A launch of a kernel and of its mutants.
pub(super) struct Run<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) instructions: &'a OnceCell<Vec<(Site, u32)>>,
    pub(super) problem: &'a dyn Problem,
    pub(super) launch: &'a Launch,
    pub(super) stage: Stage,
    /// Whether the launch belongs to the check.
    pub(super) is_checked: bool,
}

/// Returns all instructions of a kernel and their lines in the PTX.
fn instructions_of(function: &Function) -> Vec<(Site, u32)> {
    let sites = (0..).zip(&function.program().functions).flat_map(|(number, body)| {
        let count = body.code.len() as u32;
        (0..count).map(move |pc| Site { function: number, pc })
    });
    let sites: Vec<Site> = sites.collect();
    let lines = Position::of_all(function, &sites).into_iter().map(|position| position.ptx_line);
    sites.iter().copied().zip(lines).collect()
}

impl Run<'_> {
    /// Runs the kernel itself, whose result must be right.
    pub(super) fn expected(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<Expected, Error> {
        let launch = Launch { code: original, ..self.launch.clone() };
        session.limit_instructions(u64::MAX);
        let ranges = session.ranges()?;
        let mut all: &[(Site, u32)] = &[];
        let (coverage, trace) = session.observe(self.kernel.rung, &launch, None, |function| {
            all = self.instructions.get_or_init(|| instructions_of(function));
            (Coverage::default(), Trace::new(&ranges))
        })?;
        if let Checked::Wrong(why) = session.verdict(self.kernel.rung, &launch)? {
            return Err(self.wrong_already(why));
        }
        Ok(Expected {
            instructions: coverage.instructions,
            trace: trace.digest(),
            memory: self.memory(session)?,
            unreached: coverage.unreached_lines(all),
        })
    }

    /// Runs the kernel itself with the sanitizers, which must report no findings.
    pub(super) fn expect_no_finding(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<(), Error> {
        let launch = Launch { code: original, ..self.launch.clone() };
        session.limit_instructions(u64::MAX);
        match session.sanitize(self.kernel.rung, &launch, Checks::ALL)?.first() {
            Some(finding) => Err(self.wrong_already(finding.to_string())),
            None => Ok(()),
        }
    }

    fn wrong_already(&self, why: String) -> Error {
        let (rung, launch) = (self.kernel.rung.name, self.launch.to_string());
        Error::WrongAlready { rung, launch, size: self.problem.labels().size, why }
    }

    /// Returns the digest of all memory whose final contents are determined. The digest excludes inputs that the rung
    /// overwrites, memory kept for the next launch, and scratch memory.
    fn memory(&self, session: &mut Session<'_, Sim>) -> Result<u64, engine::Error> {
        let mut memory = session.memory()?;
        let mut roles = self.problem.buffers(DeviceProperties::default()).into_iter().map(|buffer| buffer.role);
        let is_destroyed = |role: Role| role.is_input() && self.kernel.rung.in_place;
        memory.retain(|_| roles.next().is_none_or(|role| role.is_determined() && !is_destroyed(role)));
        Ok(digest_of(&memory))
    }

    /// Describes the problem and the block.
    fn at(&self) -> String {
        format!("{}, {}", self.problem.labels().size, engine::dims(self.launch.block))
    }

    /// Runs a mutant once and returns whether its behavior is as expected.
    pub(super) fn is_unnoticed(
        &self,
        pending: &mut PendingMutant<'_>,
        session: &mut Session<'_, Sim>,
        expected: &Expected,
    ) -> bool {
        let (times, more) = PATIENCE;
        session.limit_instructions(expected.instructions.saturating_mul(times).saturating_add(more));
        let is_reached = !expected.is_unreached(pending.mutant);
        pending.is_reached |= is_reached;
        pending.is_sanitized |= is_reached && self.stage.is_sanitized();
        self.compare(pending, session, expected).unwrap_or_else(|error| {
            self.judge_error(&error, pending);
            false
        })
    }

    fn compare(
        &self,
        pending: &mut PendingMutant<'_>,
        session: &mut Session<'_, Sim>,
        expected: &Expected,
    ) -> Result<bool, engine::Error> {
        let launch = Launch { code: pending.code, ..self.launch.clone() };
        let rung = self.kernel.rung;
        let mut is_different = false;
        if self.stage.is_sanitized() {
            if let Some(finding) = session.sanitize(rung, &launch, Checks::ALL)?.first() {
                let (by, what, at) = (Caught::Sanitizer(finding.check), finding.to_string(), self.at());
                match self.is_checked {
                    true => pending.verdict = Some(MutantVerdict::Caught { by, at, what }),
                    false => pending.missed = Some(format!("at {at}, which is not in the check: {what}")),
                }
                return Ok(false);
            }
        } else {
            let ranges = session.ranges()?;
            let trace = session.observe(rung, &launch, None, |_| Trace::new(&ranges))?;
            is_different = trace.digest() != expected.trace;
        }
        if let Checked::Wrong(what) = session.verdict(rung, &launch)? {
            let at = self.at();
            match self.is_checked {
                true => pending.verdict = Some(MutantVerdict::Caught { by: Caught::Result, at, what }),
                false => pending.missed = Some(format!("wrong at {at}, which is not in the check: {what}")),
            }
            return Ok(false);
        }
        let is_compared = !self.stage.is_sanitized() && pending.missed.is_none();
        if is_compared && self.memory(session)? != expected.memory {
            pending.missed = Some(format!("memory other than the outputs differs at {}", self.at()));
            return Ok(false);
        }
        if is_different {
            pending.other_access.get_or_insert_with(|| self.at());
        }
        pending.launches += 1;
        Ok(true)
    }

    /// Sets the verdict of a mutant whose launch ended with an error.
    fn judge_error(&self, error: &engine::Error, pending: &mut PendingMutant<'_>) {
        let loaded = simt::Module::from_ptx(pending.mutant.edit.apply(&self.kernel.text));
        if let Err(why) = loaded.and_then(|module| module.function(&self.kernel.entry)) {
            pending.verdict = Some(MutantVerdict::Refused { why: first_line(&why.to_string()) });
            return;
        }
        let what = match error {
            engine::Error::Launch { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        let by = if what.contains(" instructions executed") { Caught::TimeOut } else { Caught::Fault };
        match self.is_checked {
            true => pending.verdict = Some(MutantVerdict::Caught { by, at: self.at(), what }),
            false => pending.missed = Some(format!("a fault at {}, which is not in the check: {what}", self.at())),
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
