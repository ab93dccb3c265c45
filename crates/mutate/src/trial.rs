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

/// The largest cost of a problem that is run with the sanitizers.
const MOST_SANITIZED: u64 = 1 << 13;

/// The same of further problems.
const MOST_SANITIZED_FURTHER: u64 = 1 << 11;

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
        living.push(Living { index, mutant, code, launches: 0, other: None, verdict: None });
    }
    let mut trial = Trial { kernel, sim, original };
    let mut done: Vec<(usize, Verdict)> = Vec::new();
    let checked = checked(kernel);
    trial.each(&checked, &mut living, &mut done, Stage::Results)?;
    trial.each(&few(&checked, MOST_SANITIZED), &mut living, &mut done, Stage::Findings)?;
    trial.each(&few(&checked, MOST_TRACED), &mut living, &mut done, Stage::Traces)?;
    let further = further(kernel);
    trial.each(&further, &mut living, &mut done, Stage::Traces)?;
    trial.each(&few(&further, MOST_SANITIZED_FURTHER), &mut living, &mut done, Stage::FindingsOfOthers)?;
    done.extend(living.into_iter().map(|own| (own.index, own.end())));
    done.sort_unstable_by_key(|own| own.0);
    Ok(done.into_iter().map(|own| own.1).collect())
}

/// The problems with at most this cost, and the smallest in any case.
fn few(cases: &[Case], most: u64) -> Vec<Case> {
    let small = cases.iter().take_while(|case| case.cost <= most).count();
    cases[..small.max(1).min(cases.len())].to_vec()
}

/// What is asked of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Whether its results are right.
    Results,
    /// Whether the sanitizers find something.
    Findings,
    /// Whether it does what the kernel does.
    Traces,
    /// Whether the sanitizers find something where the accesses are not the kernel's.
    FindingsOfOthers,
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
                    own.verdict = Some(run.ended(&error, own.mutant));
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
            Stage::Results | Stage::Findings | Stage::FindingsOfOthers => {
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
            Stage::Findings | Stage::FindingsOfOthers => {
                if let Some(finding) = session.sanitize(rung, &launch, Checks::ALL)?.first() {
                    let (by, what, at) = (Caught::by(finding.check), finding.to_string(), self.at());
                    own.verdict = Some(match self.stage {
                        Stage::Findings => Verdict::Caught { by, at, what },
                        _ => Verdict::Survived { what: format!("at {at}, which the check does not have: {what}") },
                    });
                    return Ok(false);
                }
            }
        }
        let checked = session.verdict(rung, &launch)?;
        let is_clean = self.memory(session)? == expected.memory;
        own.launches += 1;
        let is_of_check = self.stage != Stage::Traces;
        own.verdict = match checked {
            Checked::Wrong(what) if is_of_check => Some(Verdict::Caught { by: Caught::Result, at: self.at(), what }),
            Checked::Wrong(what) => {
                Some(Verdict::Survived { what: format!("wrong at {}, which the check does not have: {what}", self.at()) })
            }
            Checked::Right if is_of_check => None,
            Checked::Right if !is_clean => {
                Some(Verdict::Survived { what: format!("other memory than the outputs at {}", self.at()) })
            }
            Checked::Right if trace == expected.trace => None,
            Checked::Right if own.mutant.mutation.proof == Proof::Memory => {
                own.other.get_or_insert_with(|| self.at());
                None
            }
            Checked::Right => {
                Some(Verdict::Survived { what: format!("other accesses and the same memory at {}", self.at()) })
            }
        };
        Ok(is_clean)
    }

    /// The verdict on a mutant whose launch has ended early.
    fn ended(&self, error: &engine::Error, mutant: &Mutant) -> Verdict {
        let loaded = simt::Module::from_ptx(mutant.edit.apply(&self.kernel.text));
        if let Err(why) = loaded.and_then(|module| module.function(&self.kernel.entry)) {
            return Verdict::Refused { why: first_line(&why.to_string()) };
        }
        let what = match error {
            engine::Error::Launch { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        if matches!(self.stage, Stage::Traces | Stage::FindingsOfOthers) {
            return Verdict::Survived { what: format!("a fault at {}, which the check does not have: {what}", self.at()) };
        }
        let by = if what.contains(" instructions executed") { Caught::TimeOut } else { Caught::Fault };
        Verdict::Caught { by, at: self.at(), what }
    }
}

impl Living<'_> {
    /// Whether it is asked in this stage.
    fn is_asked(&self, stage: Stage) -> bool {
        match stage {
            Stage::Results | Stage::Findings => true,
            Stage::Traces => self.mutant.mutation.proof != Proof::Nothing,
            Stage::FindingsOfOthers => self.other.is_some(),
        }
    }

    /// The verdict on one that nothing has noticed.
    fn end(self) -> Verdict {
        let launches = self.launches;
        match (self.mutant.mutation.proof, self.other) {
            (Proof::Nothing, _) => {
                let what = "the same results, in the order in which the machine executes it";
                Verdict::Survived { what: what.to_owned() }
            }
            (_, None) => Verdict::Unchanged { launches },
            (_, Some(at)) => Verdict::SameMemory { launches, at },
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
