//! Runs mutants of one kernel on the problems of its check.

use engine::device::{Checks, Device as _, Sim};
use engine::launch::{Code, Launch};
use engine::problem::{Problem, Role, Verdict as Checked};
use engine::{Catalog, Session};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::mutations::Proof;
use crate::problems::{Case, checked, further};
use crate::trace::{Instructions, Trace, digest_of};
use crate::verdict::{Caught, Verdict};

/// A mutant may execute so many times as many instructions as the kernel, and so many more.
const PATIENCE: (u64, u64) = (5, 50_000);

/// The largest cost of a problem that is run with the sanitizers, and how many of them are.
const MOST_SANITIZED: (u64, usize) = (1 << 12, 12);

/// The largest cost of a problem whose accesses are compared.
const MOST_TRACED: u64 = 1 << 14;

/// A mutant that nothing has caught yet.
struct Living<'a> {
    /// Its place among the mutants that were asked about.
    index: usize,
    mutant: &'a Mutant,
    code: Code,
    /// The launches that left the same in memory as the kernel does.
    launches: usize,
    /// The first problem on which it accessed other memory, or in another order.
    other: Option<String>,
    /// What it does on a problem that the check does not have, and the check should notice.
    missed: Option<String>,
    verdict: Option<Verdict>,
}

/// Runs mutants of a kernel until the check notices them or has nothing more to ask. The verdicts are in the order of the
/// mutants.
pub(crate) fn verdicts(catalog: &Catalog, kernel: &Kernel, mutants: &[&Mutant]) -> Result<Vec<Verdict>, Error> {
    let mut sim = Sim::open(catalog.kernels, 1)?;
    let original = sim.load(kernel.text.clone())?;
    let mut living = Vec::new();
    for (index, &mutant) in mutants.iter().enumerate() {
        let code = sim.load(mutant.edit.apply(&kernel.text))?;
        living.push(Living { index, mutant, code, launches: 0, other: None, missed: None, verdict: None });
    }
    let mut trial = Trial { kernel, sim, original };
    let mut done: Vec<(usize, Verdict)> = Vec::new();
    let checked = checked(kernel);
    trial.each(&checked, &mut living, &mut done, Stage::Results)?;
    let further = further(kernel);
    trial.each(&few(&checked, MOST_TRACED, usize::MAX), &mut living, &mut done, Stage::Traces)?;
    trial.each(&further, &mut living, &mut done, Stage::Traces)?;
    let (most, count) = MOST_SANITIZED;
    trial.each(&few(&checked, most, count), &mut living, &mut done, Stage::Findings)?;
    trial.each(&few(&further, most, count), &mut living, &mut done, Stage::FurtherFindings)?;
    done.extend(living.into_iter().map(|own| (own.index, own.end())));
    done.sort_unstable_by_key(|own| own.0);
    Ok(done.into_iter().map(|own| own.1).collect())
}

/// So many of the problems with at most this cost, from the smallest to the largest; one in any case.
fn few(cases: &[Case], most: u64, count: usize) -> Vec<Case> {
    let small = cases.iter().take_while(|case| case.cost <= most).count();
    let small = &cases[..small.max(1).min(cases.len())];
    let step = small.len().div_ceil(count).max(1);
    let mut few: Vec<Case> = small.iter().rev().step_by(step).cloned().collect();
    few.reverse();
    few
}

/// What is asked of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Whether its results are right.
    Results,
    /// Whether it does what the kernel does. If it does, there is nothing for the sanitizers to find.
    Traces,
    /// Whether the sanitizers find something.
    Findings,
    /// Whether the sanitizers find something on problems that the check does not have.
    FurtherFindings,
}

struct Trial<'a> {
    kernel: &'a Kernel,
    sim: Sim,
    original: Code,
}

/// What the kernel itself does in a launch.
struct Expected {
    instructions: u64,
    trace: u64,
    memory: u64,
}

impl Trial<'_> {
    /// Asks all living mutants on these problems, one problem after the other, and takes away those that have a verdict.
    fn each(
        &mut self,
        cases: &[Case],
        living: &mut Vec<Living<'_>>,
        done: &mut Vec<(usize, Verdict)>,
        stage: Stage,
    ) -> Result<(), Error> {
        for case in cases {
            if !living.iter().any(|own| own.is_asked(stage)) {
                return Ok(());
            }
            let problem = self.kernel.ladder.problem(&case.options)?;
            self.case(case, &*problem, living, done, stage)?;
        }
        Ok(())
    }

    /// Asks all living mutants on one problem.
    fn case(
        &mut self,
        case: &Case,
        problem: &dyn Problem,
        living: &mut Vec<Living<'_>>,
        done: &mut Vec<(usize, Verdict)>,
        stage: Stage,
    ) -> Result<(), Error> {
        let (kernel, sim) = (self.kernel, &mut self.sim);
        let mut session = Session::new(&mut *sim, problem, true)?;
        for launch in &case.launches {
            let run = Run { kernel, problem, launch: launch.clone(), stage };
            let expected = run.expected(&mut session, self.original)?;
            for own in living.iter_mut().filter(|own| own.is_asked(stage)) {
                let (times, more) = PATIENCE;
                session.limit_instructions(expected.instructions.saturating_mul(times).saturating_add(more));
                let is_clean = run.ask(own, &mut session, &expected).unwrap_or_else(|error| {
                    run.ended(&error, own);
                    false
                });
                if !is_clean {
                    // It may have written anywhere.
                    drop(session);
                    session = Session::new(&mut *sim, problem, true)?;
                }
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
}

impl Run<'_> {
    /// Runs the kernel itself, which has to be right.
    fn expected(&self, session: &mut Session<'_, Sim>, original: Code) -> Result<Expected, Error> {
        let launch = Launch { code: original, ..self.launch.clone() };
        session.limit_instructions(u64::MAX);
        let rung = self.kernel.rung;
        let (instructions, trace, findings) = match self.stage {
            Stage::Traces => {
                let seen = session.observe(rung, &launch, None, |_| (Instructions::default(), Trace::default()))?;
                (seen.0.0, seen.1.digest(), Vec::new())
            }
            Stage::Results | Stage::Findings | Stage::FurtherFindings => {
                let findings = match self.stage {
                    Stage::Results => Vec::new(),
                    _ => session.sanitize(rung, &launch, Checks::ALL)?,
                };
                (session.observe(rung, &launch, None, |_| Instructions::default())?.0, 0, findings)
            }
        };
        let why = match (session.verdict(rung, &launch)?, findings.first()) {
            (Checked::Wrong(why), _) => why,
            (_, Some(finding)) => finding.to_string(),
            _ => return Ok(Expected { instructions, trace, memory: self.memory(session)? }),
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

    /// Runs a mutant once, and says whether it has left in memory what the kernel leaves there.
    fn ask(
        &self,
        own: &mut Living<'_>,
        session: &mut Session<'_, Sim>,
        expected: &Expected,
    ) -> Result<bool, engine::Error> {
        let launch = Launch { code: own.code, ..self.launch.clone() };
        let rung = self.kernel.rung;
        let mut trace = expected.trace;
        match self.stage {
            Stage::Results => session.observe(rung, &launch, None, |_| ())?,
            Stage::Traces => trace = session.observe(rung, &launch, None, |_| Trace::default())?.digest(),
            Stage::Findings | Stage::FurtherFindings => {
                if let Some(finding) = session.sanitize(rung, &launch, Checks::ALL)?.first() {
                    let (by, what, at) = (Caught::by(finding.check), finding.to_string(), self.at());
                    match self.stage {
                        Stage::Findings => own.verdict = Some(Verdict::Caught { by, at, what }),
                        _ => own.missed = Some(format!("at {at}, which the check does not have: {what}")),
                    }
                    return Ok(false);
                }
            }
        }
        let checked = session.verdict(rung, &launch)?;
        let is_clean = self.memory(session)? == expected.memory;
        own.launches += 1;
        match (checked, self.stage) {
            (Checked::Wrong(what), Stage::Results | Stage::Findings) => {
                own.verdict = Some(Verdict::Caught { by: Caught::Result, at: self.at(), what });
            }
            (Checked::Wrong(what), _) => {
                own.missed = Some(format!("wrong at {}, which the check does not have: {what}", self.at()));
            }
            (Checked::Right, Stage::Traces) if !is_clean => {
                own.missed = Some(format!("other memory than the outputs at {}", self.at()));
            }
            (Checked::Right, Stage::Traces) if trace != expected.trace => {
                own.other.get_or_insert_with(|| self.at());
            }
            _ => {}
        }
        Ok(is_clean)
    }

    /// Judges a mutant whose launch has ended early.
    fn ended(&self, error: &engine::Error, own: &mut Living<'_>) {
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
        match self.stage {
            Stage::Results | Stage::Findings => own.verdict = Some(Verdict::Caught { by, at: self.at(), what }),
            _ => own.missed = Some(format!("a fault at {}, which the check does not have: {what}", self.at())),
        }
    }
}

impl Living<'_> {
    /// Whether it is asked in this stage.
    fn is_asked(&self, stage: Stage) -> bool {
        let is_order = self.mutant.mutation.proof == Proof::Nothing;
        match stage {
            Stage::Results => true,
            Stage::Traces => !is_order && self.missed.is_none(),
            Stage::Findings => is_order || self.other.is_some() || self.missed.is_some(),
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
            (None, Proof::Accesses, Some(at)) => survived(&format!("other accesses and the same memory at {at}")),
            (None, Proof::Memory, Some(at)) => Verdict::SameMemory { launches, at },
            (None, _, None) => Verdict::Unchanged { launches },
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
