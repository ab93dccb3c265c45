//! Runs the mutants of many kernels on several threads.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use engine::Catalog;
use engine::selection::Selection;
use simt::run::is_interrupted;

use crate::Error;
use crate::finished::{Finished, kernel_key, mutant_key};
use crate::kernel::{Kernel, Mutant};
use crate::reasons::Reason;
use crate::trial::Trial;
use crate::verdict::MutantVerdict;

/// The limits for mutants that are loaded together: the total bytes of their texts, and their number.
const BATCH: (usize, usize) = (16 << 20, 60);

/// Kernels, and those of their mutants that will run.
#[derive(Debug)]
pub struct Plan {
    kernels: Vec<(Kernel, Vec<Mutant>)>,
}

/// The result of a mutant.
#[derive(Clone, Debug)]
pub struct MutantResult<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The mutant.
    pub mutant: &'a Mutant,
    /// The verdict on the mutant.
    pub verdict: MutantVerdict,
    /// The known reason why the mutant survives, if it survives.
    pub reason: Option<&'a Reason>,
}

impl MutantResult<'_> {
    /// Returns whether the mutant survives without a known reason.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        matches!(self.verdict, MutantVerdict::Survived { .. }) && self.reason.is_none()
    }
}

impl Plan {
    /// Creates a plan with all mutants of the kernels that the selected rungs launch by default.
    ///
    /// # Errors
    /// Returns the errors of [`Kernel::of_default_launch`] and [`Kernel::mutants`] when a rung cannot be launched or
    /// has no PTX.
    pub fn new(catalog: &Catalog, selected: &[Selection]) -> Result<Self, Error> {
        let rungs =
            selected.iter().flat_map(|selection| selection.rungs().into_iter().map(|rung| (selection.ladder, rung)));
        let kernels = rungs.map(|(ladder, rung)| {
            let kernel = Kernel::of_default_launch(catalog, ladder, rung)?;
            let mutants = kernel.mutants()?;
            Ok((kernel, mutants))
        });
        Ok(Self { kernels: kernels.collect::<Result<_, Error>>()? })
    }

    /// Keeps a sample of `count` mutants, spread evenly over the kernels. The same seed yields the same sample.
    #[must_use]
    pub fn sample(mut self, count: usize, seed: u64) -> Self {
        let kernels = self.kernels.len().max(1);
        for (place, (kernel, mutants)) in self.kernels.iter_mut().enumerate() {
            let kernel_count = count / kernels + usize::from(place < count % kernels);
            mutants.sort_by_cached_key(|mutant| {
                let mut hasher = DefaultHasher::new();
                (seed, &kernel.entry, mutant.mutation.name, mutant.edit.range.start, &mutant.edit.with)
                    .hash(&mut hasher);
                hasher.finish()
            });
            mutants.truncate(kernel_count);
        }
        self
    }

    /// Returns the number of mutants.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kernels.iter().map(|(_, mutants)| mutants.len()).sum()
    }

    /// Runs the mutants on `threads` threads. The file `kept` supplies verdicts of earlier runs of the same mutants on
    /// the same problems, and receives new verdicts. `progress` is called with the number of mutants that received a
    /// verdict. If the user interrupts the run, mutants without a verdict are left out.
    ///
    /// # Errors
    /// Returns an error when a kernel itself is wrong, when the simulator cannot be opened, and when the file cannot be
    /// read or written.
    pub fn run<'a>(
        &'a self,
        catalog: &Catalog,
        threads: usize,
        kept: Option<&Path>,
        reasons: &'a [Reason],
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<MutantResult<'a>>, Error> {
        let mut finished = Finished::open(kept)?;
        let keys: Vec<u64> = self.kernels.iter().map(|(kernel, _)| kernel_key(kernel)).collect();
        let mut verdicts: Vec<Vec<Option<MutantVerdict>>> = Vec::new();
        let mut batches = Vec::new();
        for (number, (kernel, mutants)) in self.kernels.iter().enumerate() {
            let known = mutants.iter().map(|mutant| finished.get(mutant_key(keys[number], mutant)).cloned());
            let known: Vec<Option<MutantVerdict>> = known.collect();
            progress(known.iter().flatten().count());
            let open = (0..mutants.len()).filter(|&index| known[index].is_none());
            let (bytes, most) = BATCH;
            let size = (bytes / kernel.text.len().max(1)).clamp(1, most);
            batches.extend(open.collect::<Vec<_>>().chunks(size).map(|chunk| (number, chunk.to_vec())));
            verdicts.push(known);
        }
        keep_freed_memory();
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                let (sender, batches, next, is_over) = (sender.clone(), &batches, &next, &is_over);
                scope.spawn(move || {
                    // The trial of the last kernel.
                    let mut trial: Option<(usize, Trial<'_>)> = None;
                    while let Some((number, indices)) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let (kernel, mutants) = &self.kernels[*number];
                        let batch: Vec<&Mutant> = indices.iter().map(|&index| &mutants[index]).collect();
                        if trial.as_ref().is_none_or(|current| current.0 != *number) {
                            trial = Some((*number, Trial::new(kernel)));
                        }
                        let Some((_, trial)) = &mut trial else { return };
                        let found = trial.verdicts(catalog, &batch);
                        // If the user interrupted the launches, their results are meaningless.
                        if is_over.load(Ordering::Relaxed)
                            || is_interrupted()
                            || sender.send((*number, indices, found)).is_err()
                        {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut keep = || -> Result<(), Error> {
                for (number, indices, found) in &receiver {
                    for (&index, verdict) in indices.iter().zip(found?) {
                        finished.keep(mutant_key(keys[number], &self.kernels[number].1[index]), &verdict)?;
                        verdicts[number][index] = Some(verdict);
                    }
                    progress(indices.len());
                }
                Ok(())
            };
            let kept = keep();
            // Running threads stop after their current batch.
            is_over.store(true, Ordering::Relaxed);
            kept
        })?;
        let outcomes = self.kernels.iter().zip(verdicts).flat_map(|((kernel, mutants), verdicts)| {
            mutants.iter().zip(verdicts).filter_map(move |(mutant, verdict)| {
                let verdict = verdict?;
                let is_about = |reason: &&Reason| reason.is_about(kernel, mutant);
                let survived = matches!(verdict, MutantVerdict::Survived { .. });
                let reason = reasons.iter().find(is_about).filter(|_| survived);
                Some(MutantResult { kernel, mutant, verdict, reason })
            })
        });
        Ok(outcomes.collect())
    }
}

/// Makes the GNU C library keep freed memory. A launch allocates megabytes for registers and frees them. The library
/// would return this memory to the system each time, which costs more than a small launch. The library keeps such
/// memory once the program has freed a block of the largest size to which the library adapts its limit.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity((32 << 20) - (1 << 16))));
}
