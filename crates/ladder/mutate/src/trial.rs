//! Runs mutants of one kernel on the problems of its check.

mod launch;

use std::cell::OnceCell;

use engine::device::{Device as _, Sim};
use engine::launch::Code;
use engine::problem::Problem;
use engine::{Catalog, Session};
use simt::observe::Site;

use launch::{Expected, Run};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::mutations::Proof;
use crate::problems::{self, Case};
use crate::verdict::MutantVerdict;

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

impl TrialProblem {
    /// Returns whether what the kernel does is known, and none of its launches executes what is changed in these mutants.
    fn is_unreached_by<'a>(&self, mut mutants: impl Iterator<Item = &'a PendingMutant<'a>>) -> bool {
        let expected: Option<Vec<&Expected>> = self.expected.iter().map(Option::as_ref).collect();
        expected.is_some_and(|all| {
            mutants.all(|own| own.launches > 0 && all.iter().all(|expected| expected.is_unreached(own.mutant)))
        })
    }
}

/// Mutants that are loaded together.
struct Batch<'a> {
    kernel: &'a Kernel,
    instructions: &'a OnceCell<Vec<(Site, u32)>>,
    sim: Sim,
    original: Code,
    living: Vec<PendingMutant<'a>>,
    done: Vec<(usize, MutantVerdict)>,
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
    verdict: Option<MutantVerdict>,
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
    /// Whether the sanitizers find something on the other problems of the check that execute what was changed, if none before does.
    OtherFindings,
    /// Whether the sanitizers find something on further problems.
    FurtherFindings,
}

impl Stage {
    fn is_sanitized(self) -> bool {
        matches!(self, Self::Findings | Self::LargerFindings | Self::OtherFindings | Self::FurtherFindings)
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
    pub(crate) fn verdicts(&mut self, catalog: &Catalog, mutants: &[&'a Mutant]) -> Result<Vec<MutantVerdict>, Error> {
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
        batch.each(&mut self.checked, &(0..checked.len()).rev().collect::<Vec<_>>(), Stage::OtherFindings)?;
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
        if known.is_unreached_by(living.iter().filter(|own| own.is_asked(stage))) {
            return Ok(());
        }
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

impl PendingMutant<'_> {
    /// Returns whether it is asked in this stage.
    fn is_asked(&self, stage: Stage) -> bool {
        let is_order = self.mutant.mutation.proof == Proof::Nothing;
        match stage {
            Stage::Checked => true,
            Stage::Further => !is_order && self.missed.is_none(),
            Stage::Others => !is_order && (self.other.is_some() || self.missed.is_some()),
            Stage::Rest => self.missed.is_some() || !self.is_reached,
            Stage::Findings => is_order || self.other.is_some() || self.missed.is_some(),
            Stage::LargerFindings => is_order || self.other.is_some() && !self.is_sanitized,
            Stage::OtherFindings => {
                (is_order || self.other.is_some()) && self.missed.is_none() && self.is_reached && !self.is_sanitized
            }
            Stage::FurtherFindings => (is_order || self.other.is_some()) && self.missed.is_none(),
        }
    }

    /// Returns the verdict on one that nothing has noticed.
    fn end(self) -> MutantVerdict {
        let launches = self.launches;
        let survived = |what: &str| MutantVerdict::Survived { what: what.to_owned() };
        match (self.missed, self.mutant.mutation.proof, self.other) {
            (Some(missed), _, _) => survived(&missed),
            _ if !self.is_reached => MutantVerdict::Unreached { launches },
            (None, Proof::Nothing, _) => survived("the same results, in the order in which the machine executes it"),
            (None, Proof::Memory, Some(at)) => MutantVerdict::SameMemory { launches, at },
            (None, Proof::Memory, None) => MutantVerdict::Unchanged { launches },
        }
    }
}
