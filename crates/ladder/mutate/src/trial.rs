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

/// The maximum cost of a problem that runs with the sanitizers, and the number of such problems.
const MOST_SANITIZED: (u64, usize) = (1 << 12, 24);

/// The limits of [`MOST_SANITIZED`] for mutants that only change a fence, a scope or a memory order and that are not
/// caught on small problems. Such a change matters when blocks wait for each other or tiles are full.
const MOST_ORDERED: (u64, usize) = (1 << 21, 48);

/// The maximum cost of a problem on which all uncaught mutants run and have their accesses compared, and the minimum
/// number of such problems.
const MOST_TRACED: (u64, usize) = (1 << 14, 64);

/// The number of the check's remaining problems on which mutants with other memory accesses run.
const MOST_OTHERS: usize = 16;

/// A kernel with its problems, and its expected behavior, which its mutants are compared with.
pub(crate) struct Trial<'a> {
    kernel: &'a Kernel,
    /// The problems of the ladder's check.
    checked: Vec<TrialProblem>,
    /// Problems with other sizes.
    further: Vec<TrialProblem>,
    /// The kernel's instructions and their lines in the kernel's text, once the kernel has been launched.
    instructions: OnceCell<Vec<(Site, u32)>>,
}

/// A problem, and the kernel's behavior on it.
struct TrialProblem {
    case: Case,
    /// The problem, created when it is first needed.
    problem: Option<Box<dyn Problem>>,
    /// The expected behavior of each launch; `None` until it is first needed.
    expected: Vec<Option<Expected>>,
    /// Whether the sanitizers reported no findings for the kernel itself.
    is_clean: bool,
    /// Whether the problem belongs to the check.
    is_checked: bool,
}

impl TrialProblem {
    /// Returns whether the kernel's behavior is known and none of its launches executes an instruction that these
    /// mutants change.
    fn is_unreached_by<'a>(&self, mut mutants: impl Iterator<Item = &'a PendingMutant<'a>>) -> bool {
        let expected: Option<Vec<&Expected>> = self.expected.iter().map(Option::as_ref).collect();
        expected.is_some_and(|all| {
            mutants
                .all(|pending| pending.launches > 0 && all.iter().all(|expected| expected.is_unreached(pending.mutant)))
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

/// A mutant that no test has caught so far.
struct PendingMutant<'a> {
    /// The index among the mutants of the call.
    index: usize,
    mutant: &'a Mutant,
    code: Code,
    /// The number of launches after which memory had the same contents as after the kernel.
    launches: usize,
    /// Whether a launch has executed the change, without and with the sanitizers.
    is_reached: bool,
    is_sanitized: bool,
    /// The first problem on which the mutant accessed other memory, or accessed memory in another order.
    other_access: Option<String>,
    /// A wrong behavior that the check should detect.
    missed: Option<String>,
    verdict: Option<MutantVerdict>,
}

/// The tests of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Compare the mutant's results and accesses with the kernel's, on problems of the check. If both are equal, the
    /// sanitizers have nothing to find.
    Checked,
    /// Compare the mutant's results and accesses with the kernel's, on further problems.
    Further,
    /// Test, on some of the check's other problems, whether a mutant with other memory accesses still computes right
    /// results.
    Others,
    /// Test mutants whose result is wrong on a problem outside the check, on all of the check's other problems. Also
    /// test mutants whose change no smaller problem executes.
    Rest,
    /// Test whether the sanitizers report a finding.
    Findings,
    /// Test whether the sanitizers report a finding on the check's larger problems. This stage covers changes of memory
    /// order, and changes that no smaller problem executes.
    LargerFindings,
    /// If there is still no finding, run the sanitizers on the check's other problems that execute the change.
    OtherFindings,
    /// Test whether the sanitizers report a finding on further problems.
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

    /// Runs mutants of the kernel until the check detects them or all tests have run. The verdicts are in the order of
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
                other_access: None,
                missed: None,
                verdict: None,
            });
        }
        let (kernel, instructions) = (self.kernel, &self.instructions);
        let mut batch = Batch { kernel, instructions, sim, original, living, done: Vec::new() };
        let costs = |known: &[TrialProblem]| known.iter().map(|problem| problem.case.cost).collect::<Vec<_>>();
        let (checked, further) = (costs(&self.checked), costs(&self.further));
        let traced = problems::few(&checked, MOST_TRACED);
        let rest: Vec<usize> = (0..checked.len()).filter(|index| !traced.contains(index)).collect();
        batch.run_stage(&mut self.checked, &problems::middle_first(traced), Stage::Checked)?;
        batch.run_stage(&mut self.further, &(0..further.len()).collect::<Vec<_>>(), Stage::Further)?;
        let step = rest.len().div_ceil(MOST_OTHERS).max(1);
        batch.run_stage(
            &mut self.checked,
            &rest.iter().rev().step_by(step).copied().collect::<Vec<_>>(),
            Stage::Others,
        )?;
        batch.run_stage(&mut self.checked, &rest, Stage::Rest)?;
        batch.run_stage(&mut self.checked, &problems::few(&checked, MOST_SANITIZED), Stage::Findings)?;
        batch.run_stage(&mut self.checked, &problems::few(&checked, MOST_ORDERED), Stage::LargerFindings)?;
        batch.run_stage(&mut self.checked, &(0..checked.len()).rev().collect::<Vec<_>>(), Stage::OtherFindings)?;
        batch.run_stage(&mut self.further, &problems::few(&further, MOST_SANITIZED), Stage::FurtherFindings)?;
        let Batch { living, mut done, .. } = batch;
        done.extend(living.into_iter().map(|pending| (pending.index, pending.final_verdict())));
        done.sort_unstable_by_key(|entry| entry.0);
        Ok(done.into_iter().map(|entry| entry.1).collect())
    }
}

impl Batch<'_> {
    /// Runs all remaining mutants on these problems, one problem after another, and removes the mutants that receive a
    /// verdict.
    fn run_stage(&mut self, all: &mut [TrialProblem], chosen: &[usize], stage: Stage) -> Result<(), Error> {
        for &index in chosen {
            if !self.living.iter().any(|pending| pending.runs_in(stage)) {
                return Ok(());
            }
            self.run_on(&mut all[index], stage)?;
        }
        Ok(())
    }

    /// Runs all remaining mutants on one problem.
    fn run_on(&mut self, known: &mut TrialProblem, stage: Stage) -> Result<(), Error> {
        let Self { kernel, instructions, sim, original, living, done } = self;
        if known.is_unreached_by(living.iter().filter(|pending| pending.runs_in(stage))) {
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
        // Whether no launch has changed the memory since it was initialized.
        let mut is_fresh = false;
        for pending in living.iter_mut().filter(|pending| pending.runs_in(stage)) {
            // The first launch shows that the mutant can be loaded.
            let is_loaded = pending.launches > 0;
            let is_skipped = |expected: &Expected| is_loaded && expected.is_unreached(pending.mutant);
            let reached = runs.iter().filter(|run| !is_skipped(run.1));
            // When memory is kept between launches, the behavior of a launch depends on the earlier launches.
            let scheduled: Vec<_> = if *keeps_memory && reached.clone().next().is_some() {
                runs.iter().collect()
            } else {
                reached.collect()
            };
            pending.launches += runs.len() - scheduled.len();
            if *keeps_memory && !scheduled.is_empty() && !is_fresh {
                drop(session);
                session = Session::new(&mut *sim, problem, true)?;
                is_fresh = true;
            }
            for (run, expected) in scheduled {
                let missed = pending.missed.clone();
                let is_unnoticed = run.is_unnoticed(pending, &mut session, expected);
                if !is_unnoticed && !is_fresh && !keeps_memory {
                    // An earlier mutant may have written anywhere, so this mutant runs again in fresh memory.
                    (pending.verdict, pending.missed) = (None, missed);
                    drop(session);
                    session = Session::new(&mut *sim, problem, true)?;
                    run.is_unnoticed(pending, &mut session, expected);
                }
                is_fresh = false;
                if pending.verdict.is_some() || *keeps_memory && !is_unnoticed {
                    break;
                }
            }
        }
        for pending in living.extract_if(.., |pending| pending.verdict.is_some()) {
            done.extend(pending.verdict.map(|verdict| (pending.index, verdict)));
        }
        Ok(())
    }
}

impl PendingMutant<'_> {
    /// Returns whether the mutant runs in this stage.
    fn runs_in(&self, stage: Stage) -> bool {
        let is_order = self.mutant.mutation.proof == Proof::Nothing;
        match stage {
            Stage::Checked => true,
            Stage::Further => !is_order && self.missed.is_none(),
            Stage::Others => !is_order && (self.other_access.is_some() || self.missed.is_some()),
            Stage::Rest => self.missed.is_some() || !self.is_reached,
            Stage::Findings => is_order || self.other_access.is_some() || self.missed.is_some(),
            Stage::LargerFindings => is_order || self.other_access.is_some() && !self.is_sanitized,
            Stage::OtherFindings => {
                (is_order || self.other_access.is_some())
                    && self.missed.is_none()
                    && self.is_reached
                    && !self.is_sanitized
            }
            Stage::FurtherFindings => (is_order || self.other_access.is_some()) && self.missed.is_none(),
        }
    }

    /// Returns the verdict on a mutant that no test has caught.
    fn final_verdict(self) -> MutantVerdict {
        let launches = self.launches;
        let survived = |what: &str| MutantVerdict::Survived { what: what.to_owned() };
        match (self.missed, self.mutant.mutation.proof, self.other_access) {
            (Some(missed), _, _) => survived(&missed),
            _ if !self.is_reached => MutantVerdict::Unreached { launches },
            (None, Proof::Nothing, _) => survived("the same results, in the order in which the simulator executes it"),
            (None, Proof::Memory, Some(at)) => MutantVerdict::SameMemory { launches, at },
            (None, Proof::Memory, None) => MutantVerdict::Unchanged { launches },
        }
    }
}
