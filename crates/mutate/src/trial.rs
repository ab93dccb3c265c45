//! Runs mutants of one kernel on the problems of its check.

use engine::device::{Device as _, Sim};
use engine::launch::{Code, Launch};
use engine::problem::{Problem, Verdict as Checked};
use engine::{Catalog, Session};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::problems::{Case, checked, further};
use crate::trace::{Instructions, Trace, digest_of};
use crate::verdict::{Caught, Verdict};

/// A mutant may execute so many times as many instructions as the kernel, and so many more.
const PATIENCE: (u64, u64) = (5, 50_000);

/// A mutant that nothing has caught yet.
struct Living<'a> {
    /// Its place among the mutants that were asked about.
    index: usize,
    mutant: &'a Mutant,
    code: Code,
    /// The launches that were compared with those of the kernel.
    launches: usize,
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
        living.push(Living { index, mutant, code, launches: 0, verdict: None });
    }
    let mut trial = Trial { kernel, sim, original };
    let mut done: Vec<(usize, Verdict)> = Vec::new();
    let checked = checked(kernel);
    trial.each(&checked, &mut living, &mut done, Stage::Results)?;
    trial.each(&checked, &mut living, &mut done, Stage::Traces)?;
    trial.each(&further(kernel), &mut living, &mut done, Stage::Traces)?;
    done.extend(living.into_iter().map(|own| (own.index, own.end())));
    done.sort_unstable_by_key(|own| own.0);
    Ok(done.into_iter().map(|own| own.1).collect())
}

/// What is asked of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Whether its results are right.
    Results,
    /// Whether it does what the kernel does.
    Traces,
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
            // What changes only an order shows in no trace.
            let is_asked = |own: &Living<'_>| stage == Stage::Results || !own.mutant.mutation.is_ordering;
            if !living.iter().any(is_asked) {
                return Ok(());
            }
            let problem = self.kernel.ladder.problem(&case.options)?;
            for launch in &case.launches {
                self.launch(&*problem, launch, living.iter_mut().filter(|own| is_asked(own)), stage)?;
                living.retain_mut(|own| match own.verdict.take() {
                    Some(verdict) => {
                        done.push((own.index, verdict));
                        false
                    }
                    None => true,
                });
            }
        }
        Ok(())
    }

    /// Runs one launch of the kernel, and of mutants.
    fn launch<'l, 'm: 'l>(
        &mut self,
        problem: &dyn Problem,
        launch: &Launch,
        mutants: impl Iterator<Item = &'l mut Living<'m>>,
        stage: Stage,
    ) -> Result<(), Error> {
        let (kernel, sim) = (self.kernel, &mut self.sim);
        let mut session = Session::new(&mut *sim, problem, true)?;
        let expected = expected(kernel, &mut session, launch, self.original, problem)?;
        for own in mutants {
            let (times, more) = PATIENCE;
            let launch = Launch { code: own.code, ..launch.clone() };
            session.limit_instructions(expected.instructions.saturating_mul(times).saturating_add(more));
            let is_clean = match own.ask(kernel, &mut session, &launch, problem, &expected, stage) {
                Ok(is_clean) => is_clean,
                Err(error) => {
                    own.verdict = Some(ended(&error, kernel, own.mutant, problem));
                    false
                }
            };
            if !is_clean {
                // It may have written anywhere.
                drop(session);
                session = Session::new(&mut *sim, problem, true)?;
            }
        }
        Ok(())
    }
}

/// Runs the kernel itself, which has to be right.
fn expected(
    kernel: &Kernel,
    session: &mut Session<'_, Sim>,
    launch: &Launch,
    original: Code,
    problem: &dyn Problem,
) -> Result<Expected, Error> {
    let launch = Launch { code: original, ..launch.clone() };
    session.limit_instructions(u64::MAX);
    let seen = session.observe(kernel.rung, &launch, None, |_| (Instructions::default(), Trace::default()))?;
    if let Checked::Wrong(why) = session.verdict(kernel.rung, &launch)? {
        let (launch, size) = (launch.to_string(), problem.size());
        return Err(Error::WrongAlready { rung: kernel.rung.name, launch, size, why });
    }
    Ok(Expected { instructions: seen.0.0, trace: seen.1.digest(), memory: digest_of(&session.memory()?) })
}

impl Living<'_> {
    /// Runs it once, and says whether it has left in memory what the kernel leaves there.
    fn ask(
        &mut self,
        kernel: &Kernel,
        session: &mut Session<'_, Sim>,
        launch: &Launch,
        problem: &dyn Problem,
        expected: &Expected,
        stage: Stage,
    ) -> Result<bool, engine::Error> {
        let trace = match stage {
            Stage::Results => {
                session.observe(kernel.rung, launch, None, |_| ())?;
                None
            }
            Stage::Traces => Some(session.observe(kernel.rung, launch, None, |_| Trace::default())?.digest()),
        };
        let verdict = session.verdict(kernel.rung, launch)?;
        let is_clean = digest_of(&session.memory()?) == expected.memory;
        self.launches += 1;
        let at = || format!("{}, {}", problem.size(), engine::dims(launch.block));
        self.verdict = match verdict {
            Checked::Wrong(what) if trace.is_none() => Some(Verdict::Caught { by: Caught::Result, at: at(), what }),
            Checked::Wrong(what) => {
                Some(Verdict::Survived { what: format!("wrong at {}, which the check does not have: {what}", at()) })
            }
            Checked::Right if trace.is_some_and(|own| own != expected.trace) => Some(Verdict::Survived {
                what: match is_clean {
                    true => format!("other accesses and the same memory at {}", at()),
                    false => format!("other accesses and other memory than the outputs at {}", at()),
                },
            }),
            Checked::Right if trace.is_some() && !is_clean => {
                Some(Verdict::Survived { what: format!("the same accesses and other memory at {}", at()) })
            }
            Checked::Right => None,
        };
        Ok(is_clean)
    }

    /// The verdict on one that nothing has noticed.
    fn end(&self) -> Verdict {
        match self.mutant.mutation.is_ordering {
            true => Verdict::Survived { what: "the same results, in the orders in which the machine executes it".to_owned() },
            false => Verdict::Unchanged { launches: self.launches },
        }
    }
}

/// The verdict on a mutant whose launch has ended early.
fn ended(error: &engine::Error, kernel: &Kernel, mutant: &Mutant, problem: &dyn Problem) -> Verdict {
    let loaded = simt::Module::from_ptx(mutant.edit.apply(&kernel.text));
    if let Err(why) = loaded.and_then(|module| module.function(&kernel.entry)) {
        return Verdict::Refused { why: first_line(&why.to_string()) };
    }
    let what = match error {
        engine::Error::Launch { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    let by = if what.contains(" instructions executed") { Caught::TimeOut } else { Caught::Fault };
    Verdict::Caught { by, at: problem.size(), what }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
