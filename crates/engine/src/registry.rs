//! The ladders and their rungs, as data: every tool walks these, and none matches on a name.

use crate::error::Error;
use crate::launch::{Code, Launch};
use crate::options::{Opt, Options};
use crate::problem::Problem;
use crate::size::dims;
pub use rung::{ChooseBlock, Entries, Form, PublishedSpeedup, Rung, SharedMemory};
use rung::{NotCompiled, variant_in_words};

/// Bytes of shared memory that a block can have on every device without asking (CUDA C++ Programming Guide,
/// "Compute Capabilities").
const MAX_SHARED: u32 = 48 << 10;

/// Bytes of shared memory that a block can have on any device, if the launch asks for it (the same source): a
/// device that has less refuses the launch.
const MAX_DYNAMIC: u32 = 227 << 10;

/// Kernels that compute the same thing, from the naive one to the fastest.
#[derive(Debug)]
pub struct Ladder {
    /// The name that `ladder run` takes.
    pub name: &'static str,
    /// What its kernels compute, in one line.
    pub summary: &'static str,
    /// The rungs, from the first to the last.
    pub rungs: &'static [Rung],
    /// What it can be asked for, with the defaults.
    pub options: &'static [Opt],
    /// The blocks that its kernels are right for.
    pub blocks: &'static [[u32; 3]],
    /// Those blocks in words.
    pub block_rule: &'static str,
    /// What `ladder check` sweeps: edges, primes, and what is a multiple of nothing.
    pub sweep: fn(Effort) -> Vec<Options>,
    /// Makes the problem that complete options ask for.
    pub problem: fn(&Options) -> Result<Box<dyn Problem>, Error>,
    /// What is shown of a run.
    pub shown: ShownColumns,
}

/// How much a sweep may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// What a GPU checks in seconds.
    Full,
    /// What the SIMT machine checks in a minute or two.
    Quick,
    /// What a test checks in a second or two.
    Least,
}

impl Effort {
    /// The one of three choices that this effort stands for.
    pub fn pick<T>(self, full: T, quick: T, least: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Least => least,
        }
    }

    /// Problems for a ladder with one size: nothing, one element, a warp less one, sizes that are a multiple of nothing,
    /// and one that fills a device.
    pub fn sizes(self, option: &'static str) -> Vec<Options> {
        let sizes: &[u64] = self.pick(
            &[0, 1, 31, 1000, (1 << 20) + 3, (1 << 24) + 1],
            &[0, 1, 31, 1000, 100_003, (1 << 20) + 3],
            &[0, 1, 31, 1000, 20_011],
        );
        let with = |size| Options::default().with(option, size);
        sizes.iter().map(with).collect()
    }
}

/// What a ladder shows of a run.
#[derive(Clone, Copy, Debug)]
pub struct ShownColumns {
    /// The columns where the rungs were timed.
    pub timed: &'static [Column],
    /// The columns where they were counted.
    pub counted: &'static [Column],
    /// Whether the launches' [pictures](crate::problem::Picture) are shown instead of numbers: then nothing is timed.
    pub pictures: bool,
}

impl ShownColumns {
    /// What shows a ladder that is limited by memory: times, bandwidth, sectors and bank conflicts.
    pub const MEMORY: Self = Self {
        timed: &[
            Column::Time,
            Column::OverFirst,
            Column::OverBefore,
            Column::Bandwidth,
            Column::OfPeak,
        ],
        counted: &[
            Column::Instructions,
            Column::Sectors,
            Column::Used,
            Column::Conflicts,
        ],
        pictures: false,
    };
}

/// A column of a report. A ladder lists those that tell its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The median time of a launch.
    Time,
    /// How many times faster than the ladder's first rung.
    OverFirst,
    /// The speed in percent of the first rung's, where that is a copy: the ladder's upper bound.
    OfCopy,
    /// How many times faster than the rung before.
    OverBefore,
    /// Effective bandwidth.
    Bandwidth,
    /// Effective bandwidth in percent of what the device's memory can move.
    OfPeak,
    /// Floating-point operations a second.
    Flops,
    /// The speedup that the text behind the ladder gives.
    Published,
    /// What that text counted.
    PublishedCount,
    /// PTX instructions of a warp.
    Instructions,
    /// Sectors of a request to global memory, for loads and stores.
    Sectors,
    /// Bytes that loads move from global memory and its caches.
    Read,
    /// Sectors of a load.
    SectorsLoaded,
    /// The share of those sectors' bytes that is used.
    Used,
    /// Wavefronts of shared memory that bank conflicts cost.
    Conflicts,
    /// Wavefronts of an access to shared memory.
    Wavefronts,
    /// The share of branches that do not split a warp.
    Uniform,
    /// Atomics on global memory.
    GlobalAtomics,
    /// Sectors that an atomic changes, counted once for every thread on its most wanted word.
    AtomicSectors,
    /// Wavefronts of the atomics on shared memory.
    SharedAtomics,
}

impl Ladder {
    /// The rung of this name.
    ///
    /// # Errors
    /// [`Error::UnknownRung`] with the nearest name.
    pub fn rung(&self, name: &str) -> Result<&'static Rung, Error> {
        self.rungs
            .iter()
            .find(|rung| rung.name == name)
            .ok_or_else(|| {
                let known: Vec<_> = self.rungs.iter().map(|rung| rung.name).collect();
                Error::UnknownRung {
                    ladder: self.name,
                    name: name.to_owned(),
                    known,
                }
            })
    }

    /// The rungs of these names in the ladder's order, or all of them where none is named. A name without the
    /// number at its end stands for all rungs that differ in that number only.
    ///
    /// # Errors
    /// [`Error::UnknownRung`] for the first name that is none.
    pub fn named(&self, names: &[String]) -> Result<Vec<&'static Rung>, Error> {
        let is = |rung: &Rung, name: &str| rung.name == name || rung.family() == name;
        for name in names {
            if !self.rungs.iter().any(|rung| is(rung, name)) {
                self.rung(name)?;
            }
        }
        let named = |rung: &&Rung| names.is_empty() || names.iter().any(|name| is(rung, name));
        Ok(self.rungs.iter().filter(named).collect())
    }

    /// The rungs of these names that compute `problem`, in the ladder's order, or all that do where none is
    /// named.
    ///
    /// # Errors
    /// As [`Ladder::named`]; [`Error::NotOffered`] for the first named rung that does not compute it.
    pub fn select(
        &self,
        names: &[String],
        problem: &dyn Problem,
    ) -> Result<Vec<&'static Rung>, Error> {
        let computes = |rung: &&Rung| rung.computes(&problem.variant());
        let named = self.named(names)?;
        if !names.is_empty()
            && let Some(rung) = named.iter().find(|rung| !rung.computes(&problem.variant()))
        {
            let others = self.rungs.iter().filter(computes);
            return Err(Error::NotOffered {
                rung: rung.name,
                variant: variant_in_words(&problem.variant()),
                others: others.map(|rung| rung.name).collect(),
            });
        }
        Ok(named.into_iter().filter(computes).collect())
    }

    /// The problem that the options ask for, with the ladder's defaults where they ask for nothing.
    ///
    /// # Errors
    /// Where the ladder does not have these options or does not take their values.
    pub fn problem(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.problem)(&self.complete(options)?)
    }

    /// The options with the ladder's defaults for those that are missing.
    ///
    /// # Errors
    /// For an option that the ladder does not have, and for a value that is not of the option's kind.
    pub fn complete(&self, options: &Options) -> Result<Options, Error> {
        options.complete(self.name, self.options)
    }

    /// How `rung` is launched on `problem`, with `block` or the one that the rung has for such a problem.
    ///
    /// # Errors
    /// [`Error::BlockOutOfBounds`] for a block that no rung of the ladder takes, [`Error::NotCompiled`]
    /// for one that a const-generic rung has no entry for and for a rung that does not compute the problem,
    /// [`Error::TooMuchShared`] for one with which a tile and what belongs to it do not fit.
    pub fn launch(
        &self,
        rung: &Rung,
        problem: &dyn Problem,
        block: Option<[u32; 3]>,
    ) -> Result<Launch, Error> {
        let fixed = rung.geometry.block(&problem.shape());
        let block = block
            .or(fixed)
            .unwrap_or_else(|| rung.block_for(&problem.shape()));
        if !self.blocks.contains(&block) || fixed.is_some_and(|fixed| fixed != block) {
            return Err(Error::BlockOutOfBounds {
                ladder: self.name,
                block: dims(block),
                rule: self.block_rule,
            });
        }
        // Before the shared memory: that of a tile is only defined for the blocks that the rung was compiled for.
        let entry = rung.entry(&problem.variant(), block)?;
        let needed = rung.shared.bytes(block);
        let most = match rung.shared {
            SharedMemory::Dynamic(_) => MAX_DYNAMIC,
            SharedMemory::None | SharedMemory::Static(_) => MAX_SHARED,
        };
        if needed > most {
            return Err(Error::TooMuchShared {
                rung: rung.name,
                block: dims(block),
                needed,
                most,
                rule: self.block_rule,
            });
        }
        Ok(Launch {
            code: Code::Kernels,
            entry,
            grid: rung.geometry.grid(&problem.shape(), block),
            block,
            shared_bytes: rung.shared.dynamic_bytes(block),
            args: problem.args(rung),
        })
    }

    /// The blocks that `rung` can be launched with on `problem`.
    pub fn blocks_of(&self, rung: &Rung, problem: &dyn Problem) -> Vec<[u32; 3]> {
        if let Some(fixed) = rung.geometry.block(&problem.shape()) {
            return vec![fixed];
        }
        match rung.entries.of(&problem.variant()) {
            Some(Entries::PerBlock(blocks)) => blocks.to_vec(),
            _ => self.blocks.to_vec(),
        }
    }
}

impl From<NotCompiled> for Error {
    fn from(missing: NotCompiled) -> Self {
        let NotCompiled {
            rung,
            what,
            compiled,
        } = missing;
        Self::NotCompiled {
            rung,
            what,
            compiled,
        }
    }
}
