//! Runs mutants of one kernel on the problems of its check.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use engine::device::{Checks, Device as _, Sim};
use engine::launch::{Code, Launch};
use engine::problem::{Problem, Role, Verdict as Checked};
use engine::{Catalog, Session};
use simt::Function;
use simt::observe::Site;
use simt::run::Position;

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::mutations::Proof;
use crate::problems::{self, Case};
use crate::trace::{Coverage, Trace, digest_of};
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
    /// The kernel's instructions, and the lines of its text that they stand in, once it was launched.
    instructions: OnceCell<Vec<(Site, u32)>>,
}

/// A problem, and what the kernel does on it.
struct TrialProblem {
    case: Case,
    /// Made when it is first needed.
    problem: Option<Box<dyn Problem>>,
    /// By the launch; `None` before it is first needed.
    expected: Vec<Option<Expected>>,
    /// Whether the sanitizers have found nothing in the launches of the kernel itself.
    is_clean: bool,
    /// Whether the check has it.
    is_checked: bool,
}

/// What the kernel itself does in a launch.
#[derive(Clone)]
struct Expected {
    instructions: u64,
    trace: u64,
    memory: u64,
    /// The lines of the kernel's text with instructions that are not executed.
    unreached: Arc<HashSet<u32>>,
}

impl Expected {
    /// Whether a mutant does the same, because nothing of what was changed is executed.
    fn is_unreached(&self, mutant: &Mutant) -> bool {
        !mutant.is_control && mutant.lines.clone().all(|line| self.unreached.contains(&line))
    }
}

/// Mutants that are loaded together.
struct Batch<'a> {
    kernel: &'a Kernel,
    instructions: &'a OnceCell<Vec<(Site, u32)>>,
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
    /// Whether a launch has executed what was changed, and one with the sanitizers.
    is_reached: bool,
    is_sanitized: bool,
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
    /// On all of the check's other problems: whether its results are wrong on one, as on one that the check does not have; and
    /// what is different where no smaller problem executes what was changed.
    Rest,
    /// Whether the sanitizers find something.
    Findings,
    /// Whether the sanitizers find something on the check's larger problems, for a change of order, and where no smaller problem
    /// executes what was changed.
    LargerFindings,
    /// Whether the sanitizers find something on further problems.
    FurtherFindings,
}

impl Stage {
    fn is_sanitized(self) -> bool {
        matches!(self, Self::Findings | Self::LargerFindings | Self::FurtherFindings)
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> Self {
        let known = |case: Case, is_checked| {
            let expected = vec![None; case.launches.len()];
            TrialProblem { problem: None, expected, is_clean: false, is_checked, case }
        };
        let checked = problems::checked(kernel);
        let complete = |case: &Case| kernel.ladder.complete(&case.options).ok();
        let options: Vec<_> = checked.iter().map(complete).collect();
        let further = problems::further(kernel).into_iter().map(|case| {
            let is_checked = options.contains(&complete(&case));
            known(case, is_checked)
        });
        let further = further.collect();
        let checked = checked.into_iter().map(|case| known(case, true)).collect();
        Self { kernel, checked, further, instructions: OnceCell::new() }
    }

    /// Runs mutants of the kernel until the check notices them or has nothing more to ask. The verdicts are in the order of
    /// the mutants.
    pub(crate) fn verdicts(&mut self, catalog: &Catalog, mutants: &[&'a Mutant]) -> Result<Vec<Verdict>, Error> {
        let mut sim = Sim::open(catalog.kernels, 1)?;
        let original = sim.load(self.kernel.text.clone())?;
        let mut living = Vec::new();
        for (index, &mutant) in mutants.iter().enumerate() {
            let code = sim.load(mutant.edit.apply(&self.kernel.text))?;
            living.push(PendingMutant {
                index,
                mutant,
                code,
                launches: 0,
                is_reached: false,
                is_sanitized: false,
                other: None,
                missed: None,
                verdict: None,
            });
        }
        let (kernel, instructions) = (self.kernel, &self.instructions);
        let mut batch = Batch { kernel, instructions, sim, original, living, done: Vec::new() };
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
        let Self { kernel, instructions, sim, original, living, done } = self;
        let problem = match &mut known.problem {
            Some(problem) => problem,
            none => none.insert(kernel.ladder.problem(&known.case.options)?),
        };
        let problem = &**problem;
        let Case { launches, keeps_memory, .. } = &known.case;
        let is_checked = known.is_checked;
        let run = |launch| Run { kernel, instructions, problem, launch, stage, is_checked };
        let runs: Vec<Run<'_>> = launches.iter().map(run).collect();
        let mut session = Session::new(&mut *sim, problem, true)?;
        if known.expected.iter().any(Option::is_none) {
            for (run, expected) in runs.iter().zip(&mut known.expected) {
                *expected = Some(run.expected(&mut session, *original)?);
            }
        }
        if stage.is_sanitized() && !known.is_clean {
            drop(session);
            session = Session::new(&mut *sim, problem, true)?;
            for run in &runs {
                run.expect_no_finding(&mut session, *original)?;
            }
            known.is_clean = true;
        }
        let runs: Vec<(Run<'_>, &Expected)> = runs.into_iter().zip(known.expected.iter().flatten()).collect();
        // Whether the memory is as no launch before has left it.
        let mut is_fresh = false;
        for own in living.iter_mut().filter(|own| own.is_asked(stage)) {
            // The first launch shows that it can be loaded.
            let is_loaded = own.launches > 0;
            let is_skipped = |expected: &Expected| is_loaded && expected.is_unreached(own.mutant);
            let reached = runs.iter().filter(|own| !is_skipped(own.1));
            // What a launch does where memory is kept depends on the launches before.
            let asked: Vec<_> = if *keeps_memory && reached.clone().next().is_some() {
                runs.iter().collect()
            } else {
                reached.collect()
            };
            own.launches += runs.len() - asked.len();
            if *keeps_memory && !asked.is_empty() && !is_fresh {
                drop(session);
                session = Session::new(&mut *sim, problem, true)?;
                is_fresh = true;
            }
            for (run, expected) in asked {
                let missed = own.missed.clone();
                let is_unnoticed = run.is_unnoticed(own, &mut session, expected);
                if !is_unnoticed && !is_fresh && !keeps_memory {
                    // A mutant before it may have written anywhere, so it is asked again in new memory.
                    (own.verdict, own.missed) = (None, missed);
                    drop(session);
                    session = Session::new(&mut *sim, problem, true)?;
                    run.is_unnoticed(own, &mut session, expected);
                }
                is_fresh = false;
                if own.verdict.is_some() || *keeps_memory && !is_unnoticed {
                    break;
                }
            }
        }
        for own in living.extract_if(.., |own| own.verdict.is_some()) {
            done.extend(own.verdict.map(|verdict| (own.index, verdict)));
        }
        Ok(())
    }
}

/// A launch of a kernel and of its mutants.
struct Run<'a> {
    kernel: &'a Kernel,
    instructions: &'a OnceCell<Vec<(Site, u32)>>,
    problem: &'a dyn Problem,
    launch: &'a Launch,
    stage: Stage,
    /// Whether it is one of the check.
    is_checked: bool,
}

/// All instructions of a kernel, and the lines of the PTX that they stand in.
fn instructions_of(function: &Function) -> Vec<(Site, u32)> {
    let sites = (0..).zip(&function.program().functions).flat_map(|(number, own)| {
        let count = own.code.len() as u32;
        (0..count).map(move |pc| Site { function: number, pc })
    });
    let sites: Vec<Site> = sites.collect();
    let lines = Position::of_all(function, &sites).into_iter().map(|own| own.ptx_line);
    sites.iter().copied().zip(lines).collect()
}

impl Run<'_> {
    /// Runs the kernel itself, which has to be right.
    fn expected(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<Expected, Error> {
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
            unreached: coverage.unreached_lines(all).into(),
        })
    }

    /// Runs the kernel itself with the sanitizers, which have to find nothing.
    fn expect_no_finding(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<(), Error> {
        let launch = Launch { code: original, ..self.launch.clone() };
        session.limit_instructions(u64::MAX);
        match session.sanitize(self.kernel.rung, &launch, Checks::ALL)?.first() {
            Some(finding) => Err(self.wrong_already(finding.to_string())),
            None => Ok(()),
        }
    }

    fn wrong_already(&self, why: String) -> Error {
        let (rung, launch) = (self.kernel.rung.name, self.launch.to_string());
        Error::WrongAlready { rung, launch, size: self.problem.size(), why }
    }

    /// The digest of all memory that a launch has to leave as it shall be: all but the inputs of a rung that destroys them,
    /// what launches leave for the next, and what they leave for nobody.
    fn memory(&self, session: &mut Session<'_, Sim>) -> Result<u64, engine::Error> {
        let mut memory = session.memory()?;
        let mut roles = self.problem.buffers().into_iter().map(|buffer| buffer.role);
        memory.retain(|_| match roles.next() {
            Some(Role::Input) => !self.kernel.rung.in_place,
            Some(Role::Kept | Role::Scratch) => false,
            _ => true,
        });
        Ok(digest_of(&memory))
    }

    /// The problem, and the block.
    fn at(&self) -> String {
        format!("{}, {}", self.problem.size(), engine::dims(self.launch.block))
    }

    /// Runs a mutant once, and says whether everything is as it shall be.
    fn is_unnoticed(&self, own: &mut PendingMutant<'_>, session: &mut Session<'_, Sim>, expected: &Expected) -> bool {
        let (times, more) = PATIENCE;
        session.limit_instructions(expected.instructions.saturating_mul(times).saturating_add(more));
        let is_reached = !expected.is_unreached(own.mutant);
        own.is_reached |= is_reached;
        own.is_sanitized |= is_reached && self.stage.is_sanitized();
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
        } else {
            let ranges = session.ranges()?;
            let trace = session.observe(rung, &launch, None, |_| Trace::new(&ranges))?;
            is_other = trace.digest() != expected.trace;
        }
        if let Checked::Wrong(what) = session.verdict(rung, &launch)? {
            let at = self.at();
            match self.is_checked {
                true => own.verdict = Some(Verdict::Caught { by: Caught::Result, at, what }),
                false => own.missed = Some(format!("wrong at {at}, which the check does not have: {what}")),
            }
            return Ok(false);
        }
        let is_compared = !self.stage.is_sanitized() && own.missed.is_none();
        if is_compared && self.memory(session)? != expected.memory {
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
            Stage::Rest => self.missed.is_some() || !self.is_reached,
            Stage::Findings => is_order || self.other.is_some() || self.missed.is_some(),
            Stage::LargerFindings => is_order || self.other.is_some() && !self.is_sanitized,
            Stage::FurtherFindings => (is_order || self.other.is_some()) && self.missed.is_none(),
        }
    }

    /// The verdict on one that nothing has noticed.
    fn end(self) -> Verdict {
        let launches = self.launches;
        let survived = |what: &str| Verdict::Survived { what: what.to_owned() };
        match (self.missed, self.mutant.mutation.proof, self.other) {
            (Some(missed), _, _) => survived(&missed),
            _ if !self.is_reached => Verdict::Unreached { launches },
            (None, Proof::Nothing, _) => survived("the same results, in the order in which the machine executes it"),
            (None, Proof::Memory, Some(at)) => Verdict::SameMemory { launches, at },
            (None, Proof::Memory, None) => Verdict::Unchanged { launches },
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
