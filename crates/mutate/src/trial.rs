//! Runs mutants of one kernel on the problems of its check.

use engine::device::{Checks, Device as _, Sim};
use engine::launch::{Code, Launch};
use engine::problem::{Problem, Role, Verdict as Checked};
use engine::{Catalog, Rung, Session};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::mutations::Proof;
use crate::problems::{self, Case};
use crate::trace::{Instructions, Trace, digest_of};
use crate::verdict::{Caught, Verdict};

/// A mutant may execute so many times as many instructions as the kernel, and so many more.
const PATIENCE: (u64, u64) = (5, 50_000);

/// The largest cost of a problem that is run with the sanitizers, and how many of them are.
const MOST_SANITIZED: (u64, usize) = (1 << 12, 24);

/// The same for mutants that change only a fence, a scope or an order, and that the small problems do not show: such a change
/// matters where blocks wait for each other or tiles are whole.
const MOST_ORDERED: (u64, usize) = (1 << 21, 48);

/// The largest cost of a problem on which all mutants are run that are not caught before, and how many of them there are at
/// least. Their accesses are compared.
const MOST_TRACED: (u64, usize) = (1 << 14, 64);

/// On how many of the check's other problems mutants are run that access other memory.
const MOST_OTHERS: usize = 16;

/// A kernel on its problems, and what it does there itself: what all its mutants are held against.
pub(crate) struct Trial<'a> {
    kernel: &'a Kernel,
    /// The problems of its ladder's check.
    checked: Vec<TrialProblem>,
    /// Others.
    further: Vec<TrialProblem>,
}

/// A problem, and what the kernel does on it.
struct TrialProblem {
    case: Case,
    /// Made when it is first needed.
    problem: Option<Box<dyn Problem>>,
    /// By the launch; `None` before it is first needed.
    expected: Vec<Option<Expected>>,
    /// Whether the check has it.
    is_checked: bool,
}

/// What the kernel itself does in a launch.
#[derive(Clone, Copy)]
struct Expected {
    instructions: u64,
    trace: u64,
    memory: u64,
    /// Whether the sanitizers have found nothing.
    is_clean: bool,
}

/// Mutants that are loaded together.
struct Batch<'a> {
    kernel: &'a Kernel,
    sim: Sim,
    original: Code,
    living: Vec<PendingMutant<'a>>,
    done: Vec<(usize, Verdict)>,
}

/// A mutant that nothing has caught yet.
struct PendingMutant<'a> {
    /// Its place among the mutants that were asked about.
    index: usize,
    mutant: &'a Mutant,
    code: Code,
    /// The launches that left the same in memory as the kernel does.
    launches: usize,
    /// The first problem on which it accessed other memory, or in another order.
    other: Option<String>,
    /// What it does on a problem, and the check should notice.
    missed: Option<String>,
    verdict: Option<Verdict>,
}

/// What is asked of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// On problems of the check: whether its results are right, and whether it does what the kernel does. If it does, there is
    /// nothing for the sanitizers to find.
    Checked,
    /// The same on further problems.
    Further,
    /// On some of the check's other problems: whether its results are right, although it accesses other memory.
    Others,
    /// On all of the check's other problems: whether its results are wrong on one, as on one that the check does not have.
    Rest,
    /// Whether the sanitizers find something.
    Findings,
    /// Whether the sanitizers find something on the check's larger problems, for a change of order.
    LargerFindings,
    /// Whether the sanitizers find something on further problems.
    FurtherFindings,
}

impl Stage {
    /// Whether accesses and memory are compared.
    fn is_traced(self) -> bool {
        matches!(self, Self::Checked | Self::Further)
    }

    fn is_sanitized(self) -> bool {
        matches!(self, Self::Findings | Self::LargerFindings | Self::FurtherFindings)
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> Self {
        let known = |case: Case, is_checked| {
            let expected = vec![None; case.launches.len()];
            TrialProblem { problem: None, expected, is_checked, case }
        };
        let checked = problems::checked(kernel);
        let complete = |case: &Case| kernel.ladder.complete(&case.options).ok();
        let options: Vec<_> = checked.iter().map(complete).collect();
        let further = problems::further(kernel).into_iter().map(|case| {
            let is_checked = options.contains(&complete(&case));
            known(case, is_checked)
        });
        let further = further.collect();
        Self { kernel, checked: checked.into_iter().map(|case| known(case, true)).collect(), further }
    }

    /// Runs mutants of the kernel until the check notices them or has nothing more to ask. The verdicts are in the order of
    /// the mutants.
    pub(crate) fn verdicts(&mut self, catalog: &Catalog, mutants: &[&'a Mutant]) -> Result<Vec<Verdict>, Error> {
        let mut sim = Sim::open(catalog.kernels, 1)?;
        let original = sim.load(self.kernel.text.clone())?;
        let mut living = Vec::new();
        for (index, &mutant) in mutants.iter().enumerate() {
            let code = sim.load(mutant.edit.apply(&self.kernel.text))?;
            living.push(PendingMutant { index, mutant, code, launches: 0, other: None, missed: None, verdict: None });
        }
        let mut batch = Batch { kernel: self.kernel, sim, original, living, done: Vec::new() };
        let costs = |known: &[TrialProblem]| known.iter().map(|own| own.case.cost).collect::<Vec<_>>();
        let (checked, further) = (costs(&self.checked), costs(&self.further));
        let traced = problems::few(&checked, MOST_TRACED);
        let rest: Vec<usize> = (0..checked.len()).filter(|own| !traced.contains(own)).collect();
        batch.each(&mut self.checked, &problems::middle_first(traced), Stage::Checked)?;
        batch.each(&mut self.further, &(0..further.len()).collect::<Vec<_>>(), Stage::Further)?;
        let step = rest.len().div_ceil(MOST_OTHERS).max(1);
        batch.each(&mut self.checked, &rest.iter().rev().step_by(step).copied().collect::<Vec<_>>(), Stage::Others)?;
        batch.each(&mut self.checked, &rest, Stage::Rest)?;
        batch.each(&mut self.checked, &problems::few(&checked, MOST_SANITIZED), Stage::Findings)?;
        batch.each(&mut self.checked, &problems::few(&checked, MOST_ORDERED), Stage::LargerFindings)?;
        batch.each(&mut self.further, &problems::few(&further, MOST_SANITIZED), Stage::FurtherFindings)?;
        let Batch { living, mut done, .. } = batch;
        done.extend(living.into_iter().map(|own| (own.index, own.end())));
        done.sort_unstable_by_key(|own| own.0);
        Ok(done.into_iter().map(|own| own.1).collect())
    }
}

impl Batch<'_> {
    /// Asks all living mutants on these problems, one problem after the other, and takes away those that have a verdict.
    fn each(&mut self, all: &mut [TrialProblem], chosen: &[usize], stage: Stage) -> Result<(), Error> {
        for &index in chosen {
            if !self.living.iter().any(|own| own.is_asked(stage)) {
                return Ok(());
            }
            self.ask(&mut all[index], stage)?;
        }
        Ok(())
    }

    /// Asks all living mutants on one problem.
    fn ask(&mut self, known: &mut TrialProblem, stage: Stage) -> Result<(), Error> {
        let Self { kernel, sim, original, living, done } = self;
        let problem = match &mut known.problem {
            Some(problem) => problem,
            none => none.insert(kernel.ladder.problem(&known.case.options)?),
        };
        let problem = &**problem;
        let mut session = Session::new(&mut *sim, problem, true)?;
        // Whether no mutant has run in this memory.
        let mut is_fresh = true;
        for (launch, expected) in known.case.launches.iter().zip(&mut known.expected) {
            let run = Run { kernel, problem, launch: launch.clone(), stage, is_checked: known.is_checked };
            let expected = match expected {
                Some(expected) if expected.is_clean || !stage.is_sanitized() => *expected,
                unknown => {
                    if !is_fresh {
                        drop(session);
                        session = Session::new(&mut *sim, problem, true)?;
                        is_fresh = true;
                    }
                    *unknown.insert(run.expected(&mut session, *original)?)
                }
            };
            let (times, more) = PATIENCE;
            let most = expected.instructions.saturating_mul(times).saturating_add(more);
            session.limit_instructions(most);
            for own in living.iter_mut().filter(|own| own.is_asked(stage)) {
                let missed = own.missed.clone();
                if !run.is_unnoticed(own, &mut session, &expected) && !is_fresh {
                    // A mutant before it may have written anywhere, so it is asked again in new memory.
                    (own.verdict, own.missed) = (None, missed);
                    drop(session);
                    session = Session::new(&mut *sim, problem, true)?;
                    session.limit_instructions(most);
                    run.is_unnoticed(own, &mut session, &expected);
                }
                is_fresh = false;
            }
            living.retain_mut(|own| match own.verdict.take() {
                Some(verdict) => {
                    done.push((own.index, verdict));
                    false
                }
                None => true,
            });
        }
        Ok(())
    }
}

/// A launch of a kernel and of its mutants.
struct Run<'a> {
    kernel: &'a Kernel,
    problem: &'a dyn Problem,
    launch: Launch,
    stage: Stage,
    /// Whether it is one of the check.
    is_checked: bool,
}

/// Runs a launch, counts its instructions and follows what it does.
fn observe(
    session: &mut Session<'_, Sim>,
    rung: &Rung,
    launch: &Launch,
) -> Result<(Instructions, Trace), engine::Error> {
    let ranges = session.ranges()?;
    session.observe(rung, launch, None, |_| (Instructions::default(), Trace::new(ranges)))
}

impl Run<'_> {
    /// Runs the kernel itself, which has to be right.
    fn expected(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<Expected, Error> {
        let launch = Launch { code: original, ..self.launch.clone() };
        session.limit_instructions(u64::MAX);
        let (rung, is_clean) = (self.kernel.rung, self.stage.is_sanitized());
        let findings = if is_clean { session.sanitize(rung, &launch, Checks::ALL)? } else { Vec::new() };
        let (instructions, trace) = observe(session, rung, &launch)?;
        let why = match (session.verdict(rung, &launch)?, findings.first()) {
            (Checked::Wrong(why), _) => why,
            (_, Some(finding)) => finding.to_string(),
            _ => {
                let memory = self.memory(session)?;
                return Ok(Expected { instructions: instructions.0, trace: trace.digest(), memory, is_clean });
            }
        };
        Err(Error::WrongAlready { rung: rung.name, launch: launch.to_string(), size: self.problem.size(), why })
    }

    /// The digest of all memory that a launch has to leave as it shall be: of rungs that destroy their inputs, all else.
    fn memory(&self, session: &mut Session<'_, Sim>) -> Result<u64, engine::Error> {
        let mut memory = session.memory()?;
        let mut roles = self.problem.buffers().into_iter().map(|buffer| buffer.role);
        memory.retain(|_| roles.next() != Some(Role::Input) || !self.kernel.rung.in_place);
        Ok(digest_of(&memory))
    }

    /// The problem, and the block.
    fn at(&self) -> String {
        format!("{}, {}", self.problem.size(), engine::dims(self.launch.block))
    }

    /// Runs a mutant once, and says whether everything is as it shall be.
    fn is_unnoticed(&self, own: &mut PendingMutant<'_>, session: &mut Session<'_, Sim>, expected: &Expected) -> bool {
        self.ask(own, session, expected).unwrap_or_else(|error| {
            self.ended(&error, own);
            false
        })
    }

    fn ask(
        &self,
        own: &mut PendingMutant<'_>,
        session: &mut Session<'_, Sim>,
        expected: &Expected,
    ) -> Result<bool, engine::Error> {
        let launch = Launch { code: own.code, ..self.launch.clone() };
        let rung = self.kernel.rung;
        let mut is_other = false;
        if self.stage.is_sanitized() {
            if let Some(finding) = session.sanitize(rung, &launch, Checks::ALL)?.first() {
                let (by, what, at) = (Caught::by(finding.check), finding.to_string(), self.at());
                match self.is_checked {
                    true => own.verdict = Some(Verdict::Caught { by, at, what }),
                    false => own.missed = Some(format!("at {at}, which the check does not have: {what}")),
                }
                return Ok(false);
            }
        } else if self.stage.is_traced() {
            let (_, trace) = observe(session, rung, &launch)?;
            is_other = trace.digest() != expected.trace;
        } else {
            session.launch_with(rung, &launch, |machine, prepared| machine.launch(prepared))?;
        }
        if let Checked::Wrong(what) = session.verdict(rung, &launch)? {
            let at = self.at();
            match self.is_checked {
                true => own.verdict = Some(Verdict::Caught { by: Caught::Result, at, what }),
                false => own.missed = Some(format!("wrong at {at}, which the check does not have: {what}")),
            }
            return Ok(false);
        }
        if self.stage.is_traced() && own.missed.is_none() && self.memory(session)? != expected.memory {
            own.missed = Some(format!("other memory than the outputs at {}", self.at()));
            return Ok(false);
        }
        if is_other {
            own.other.get_or_insert_with(|| self.at());
        }
        own.launches += 1;
        Ok(true)
    }

    /// Judges a mutant whose launch has ended early.
    fn ended(&self, error: &engine::Error, own: &mut PendingMutant<'_>) {
        let loaded = simt::Module::from_ptx(own.mutant.edit.apply(&self.kernel.text));
        if let Err(why) = loaded.and_then(|module| module.function(&self.kernel.entry)) {
            own.verdict = Some(Verdict::Refused { why: first_line(&why.to_string()) });
            return;
        }
        let what = match error {
            engine::Error::Launch { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        let by = if what.contains(" instructions executed") { Caught::TimeOut } else { Caught::Fault };
        match self.is_checked {
            true => own.verdict = Some(Verdict::Caught { by, at: self.at(), what }),
            false => own.missed = Some(format!("a fault at {}, which the check does not have: {what}", self.at())),
        }
    }
}

impl PendingMutant<'_> {
    /// Whether it is asked in this stage.
    fn is_asked(&self, stage: Stage) -> bool {
        let is_order = self.mutant.mutation.proof == Proof::Nothing;
        match stage {
            Stage::Checked => true,
            Stage::Further => !is_order && self.missed.is_none(),
            Stage::Others => !is_order && (self.other.is_some() || self.missed.is_some()),
            Stage::Rest => self.missed.is_some(),
            Stage::Findings => is_order || self.other.is_some() || self.missed.is_some(),
            Stage::LargerFindings => is_order,
            Stage::FurtherFindings => (is_order || self.other.is_some()) && self.missed.is_none(),
        }
    }

    /// The verdict on one that nothing has noticed.
    fn end(self) -> Verdict {
        let launches = self.launches;
        let survived = |what: &str| Verdict::Survived { what: what.to_owned() };
        match (self.missed, self.mutant.mutation.proof, self.other) {
            (Some(missed), _, _) => survived(&missed),
            (None, Proof::Nothing, _) => survived("the same results, in the order in which the machine executes it"),
            (None, Proof::Memory, Some(at)) => Verdict::SameMemory { launches, at },
            (None, Proof::Memory, None) => Verdict::Unchanged { launches },
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
