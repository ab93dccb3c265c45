//! The ladders and their rungs, as data. Every tool iterates over this data, and no tool depends on a name.

use crate::error::Error;
use crate::launch::{Arg, Code, Launch, TensorMap};
use crate::options::{Opt, Options};
use crate::problem::{Facts, Problem};
use crate::size::dims;
pub use rung::{ChooseBlock, DeviceProperties, Entries, PublishedSpeedup, Rung};
use rung::{LaunchRequest, variant_in_words};
use serde::Deserialize;

/// The maximum number of bytes of shared memory per block, with an opt-in, on any device (CUDA C++ Programming Guide,
/// "Compute Capabilities"). A device with less shared memory rejects the launch.
const MAX_DYNAMIC: u32 = 227 << 10;

/// Kernels that compute the same result, from the naive kernel to the fastest.
#[derive(Debug)]
pub struct Ladder {
    /// The name of the ladder, as given to `ladder run`.
    pub name: &'static str,
    /// A one-line summary of the computation.
    pub summary: &'static str,
    /// The rungs, from the first to the last.
    pub rungs: &'static [Rung],
    /// The options of the ladder, with their defaults.
    pub options: &'static [Opt],
    /// The block sizes that the ladder's kernels support.
    pub blocks: &'static [[u32; 3]],
    /// The rule for block sizes, in words.
    pub block_rule: &'static str,
    /// The problems that `ladder check` sweeps: edge cases, primes, and sizes that are not multiples of any tile.
    pub sweep: fn(Effort) -> Vec<Options>,
    /// Creates the problem that a complete set of options describes.
    pub problem: fn(&Options) -> Result<Box<dyn Problem>, Error>,
    /// The columns in the report of a run.
    pub shown: ShownColumns,
}

/// Rungs, each with a launch.
pub type Launches = Vec<(&'static Rung, Launch)>;

/// The effort of a sweep, which limits its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Takes seconds on a GPU.
    Full,
    /// Takes a minute or two on the simulator.
    Quick,
    /// Takes a second or two in a test.
    Least,
}

impl Effort {
    /// Returns the argument for this effort.
    pub fn pick<T>(self, full: T, quick: T, least: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Least => least,
        }
    }

    /// Returns the problems to check for a ladder whose only size is `option`: zero elements, one element, one less
    /// than a warp, sizes that are not multiples of any tile, and a size that fills a device.
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

/// The columns that a ladder's report shows.
#[derive(Clone, Copy, Debug)]
pub struct ShownColumns {
    /// The columns for timed rungs.
    pub timed: &'static [Column],
    /// The columns for counted rungs.
    pub counted: &'static [Column],
    /// Whether to show the launches' [pictures](crate::problem::Picture) instead of numbers. Such a ladder is not
    /// timed.
    pub pictures: bool,
}

impl ShownColumns {
    /// The columns of a memory-bound ladder: times, bandwidth, sectors and bank conflicts.
    pub const MEMORY: Self = Self {
        timed: &[Column::Time, Column::OverFirst, Column::OverBefore, Column::Bandwidth, Column::OfPeak],
        counted: &[Column::Instructions, Column::Sectors, Column::Used, Column::Conflicts],
        pictures: false,
    };
}

/// A column of a report. Each ladder lists the columns that illustrate its lessons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Column {
    /// The median time of a launch.
    Time,
    /// The speedup over the ladder's first rung.
    OverFirst,
    /// The speed as a percentage of the speed of the first rung, which copies the same bytes.
    OfCopy,
    /// The speedup over the previous rung.
    OverBefore,
    /// Effective bandwidth.
    Bandwidth,
    /// Effective bandwidth as a percentage of the memory's peak bandwidth.
    OfPeak,
    /// Floating-point operations per second.
    Flops,
    /// The speedup that the source of the ladder publishes.
    Published,
    /// The count that the source of the ladder publishes.
    PublishedCount,
    /// PTX instructions per warp.
    Instructions,
    /// Sectors per request to global memory, for loads and stores.
    Sectors,
    /// Bytes that loads read from global memory, including cache hits.
    Read,
    /// Sectors per load.
    SectorsLoaded,
    /// The percentage of the loaded sectors' bytes that is used.
    Used,
    /// Shared-memory wavefronts caused by bank conflicts.
    Conflicts,
    /// Wavefronts per shared-memory access.
    Wavefronts,
    /// The percentage of branches that do not diverge.
    Uniform,
    /// Atomic operations on global memory.
    GlobalAtomics,
    /// Sectors that atomics change. Each sector is counted once for each thread that updates its most contended word.
    AtomicSectors,
    /// Wavefronts of atomic operations on shared memory.
    SharedAtomics,
}

impl Ladder {
    /// Returns the rung named `name`.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] with the nearest name when the ladder has no rung with this name.
    pub fn rung(&self, name: &str) -> Result<&'static Rung, Error> {
        let found = self.rungs.iter().find(|rung| rung.name == name);
        found.ok_or_else(|| {
            let known: Vec<_> = self.rungs.iter().map(|rung| rung.name).collect();
            let problem = format!("the ladder {} has no rung `{name}`", self.name);
            Error::unknown(&problem, name, "rungs", &known)
        })
    }

    /// Returns whether a name selects rungs of this ladder, as in [`Ladder::named`].
    pub fn has(&self, name: &str) -> bool {
        self.rungs.iter().any(|rung| is_named(rung, name))
    }

    /// Returns the named rungs in the ladder's order, or all rungs if `names` is empty. A rung's name without its final
    /// number selects all rungs that differ only in that number.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] for the first name that is not a rung.
    pub fn named(&self, names: &[String]) -> Result<Vec<&'static Rung>, Error> {
        if let Some(unknown) = names.iter().find(|name| !self.has(name)) {
            self.rung(unknown)?;
        }
        let named = |rung: &&Rung| names.is_empty() || names.iter().any(|name| is_named(rung, name));
        Ok(self.rungs.iter().filter(named).collect())
    }

    /// Returns the named rungs in the ladder's order. If `names` is empty, returns all rungs that compute `problem`.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] for the first name that is not a rung, [`Error::NotOffered`] for the first named
    /// rung that does not compute the problem.
    pub fn select(&self, names: &[String], problem: &dyn Problem) -> Result<Vec<&'static Rung>, Error> {
        let variant = problem.facts().variant;
        let computes = |rung: &&Rung| rung.computes(&variant);
        let named = self.named(names)?;
        match named.iter().find(|rung| !computes(rung)) {
            Some(rung) if !names.is_empty() => {
                let others = self.rungs.iter().filter(computes).map(|rung| rung.name);
                Err(Error::NotOffered(format!(
                    "{} was not compiled for {}; the rungs that support it are {}",
                    rung.name,
                    variant_in_words(&variant),
                    others.collect::<Vec<_>>().join(", ")
                )))
            }
            _ => Ok(named.into_iter().filter(computes).collect()),
        }
    }

    /// Creates the problem that the options describe, with the ladder's defaults for missing options.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] when the ladder does not have one of the options. Returns [`Error::BadValue`] or
    /// another error of the ladder when the ladder does not accept a value.
    pub fn problem(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.problem)(&self.complete(options)?)
    }

    /// Adds the ladder's defaults for missing options.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] when the ladder does not have one of the options or words, [`Error::BadValue`]
    /// when a text is not a size.
    pub fn complete(&self, options: &Options) -> Result<Options, Error> {
        options.complete(self.name, self.options)
    }

    /// Returns the launch of `rung` for `problem` and a device, with `block`. If `block` is `None`, the launch has the
    /// rung's default block for this problem.
    ///
    /// # Errors
    /// Returns [`Error::Refused`] when the problem [rejects](Problem::refuses) the rung. Returns [`Error::BadValue`]
    /// when the ladder does not support the block, or when the rung needs another block for this problem. Returns
    /// [`Error::NotCompiled`] when a const-generic rung has no entry for the block or does not compute the problem.
    /// Returns [`Error::TooMuchShared`] when the block's tile does not fit into shared memory.
    pub fn launch(
        &self,
        rung: &Rung,
        problem: &dyn Problem,
        block: Option<[u32; 3]>,
        device: DeviceProperties,
    ) -> Result<Launch, Error> {
        let Facts { shape, variant, .. } = problem.facts();
        let only = rung.only_block(&shape);
        let block = block.or(only).unwrap_or_else(|| rung.block_for_shape(&shape));
        if let Some(only) = only.filter(|&only| only != block) {
            return Err(Error::BadValue(format!(
                "{} cannot run this problem with a block of {}: its block must be {}",
                rung.name,
                dims(block),
                dims(only)
            )));
        }
        if !self.blocks.contains(&block) {
            return Err(Error::BadValue(format!(
                "the ladder {} does not support a block of {}: it must be {}",
                self.name,
                dims(block),
                self.block_rule
            )));
        }
        // Look up the entry before computing the shared memory, because the size of a tile is only defined for blocks
        // that the rung was compiled for.
        let entry = rung.entry(&variant, block)?;
        if let Some(reason) = problem.refuses(rung) {
            return Err(Error::Refused { rung: rung.name, reason });
        }
        let needed = (rung.dynamic_shared)(block, &variant);
        if needed > MAX_DYNAMIC {
            return Err(Error::TooMuchShared(format!(
                "{} with a block of {} needs {needed} bytes of shared memory and a block has {MAX_DYNAMIC}; the block must be \
                 {}",
                rung.name,
                dims(block),
                self.block_rule
            )));
        }
        Ok(Launch {
            code: Code::Kernels,
            entry,
            grid: grid(rung, &shape, block, device),
            block,
            shared_bytes: needed,
            args: arguments(rung, problem, device)?,
        })
    }

    /// Returns the launches of these rungs for `problem` and a device, with each of `blocks`, or with the default block
    /// if `blocks` is empty. Also returns the errors of the rungs that are left out because they are not compiled for a
    /// block or because the problem rejects them. Without `may_leave_out`, such an error is returned like any other.
    ///
    /// # Errors
    /// Returns the first error of [`Ladder::launch`].
    pub fn launches(
        &self,
        rungs: Vec<&'static Rung>,
        problem: &dyn Problem,
        device: DeviceProperties,
        blocks: impl Fn(&Rung) -> Vec<[u32; 3]>,
        may_leave_out: bool,
    ) -> Result<(Launches, Vec<Error>), Error> {
        let (mut launches, mut left_out) = (Vec::new(), Vec::new());
        for rung in rungs {
            let blocks = blocks(rung).into_iter().map(Some);
            let default = (blocks.len() == 0).then_some(None);
            for block in blocks.chain(default) {
                match self.launch(rung, problem, block, device) {
                    Ok(launch) => launches.push((rung, launch)),
                    Err(error @ Error::Refused { .. }) if may_leave_out => {
                        // The problem rejects the rung with every block.
                        left_out.push(error);
                        break;
                    }
                    Err(error @ Error::NotCompiled(_)) if may_leave_out => left_out.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok((launches, left_out))
    }

    /// Returns the blocks with which `rung` can be launched for `problem`.
    pub fn blocks_of(&self, rung: &Rung, problem: &dyn Problem) -> Vec<[u32; 3]> {
        let Facts { shape, variant, .. } = problem.facts();
        if let Some(only) = rung.only_block(&shape) {
            return vec![only];
        }
        match rung.entries.of(&variant) {
            Some(Entries::PerBlock(blocks)) => blocks.to_vec(),
            _ => self.blocks.to_vec(),
        }
    }
}

/// Returns the grid of a rung's launch on a device.
pub fn grid(rung: &Rung, shape: &[u64], block: [u32; 3], device: DeviceProperties) -> [u32; 3] {
    (rung.grid)(&LaunchRequest { shape, block, items_per_thread: rung.items_per_thread, device })
}

/// Returns the arguments of a rung's kernel. A parameter receives the address of the problem's buffer of the same name,
/// or otherwise the number or tensor map from [`Problem::argument`]. The rung determines the number of rows of a tensor
/// map's tiles.
///
/// # Errors
/// Returns [`Error::NotOffered`] when the problem has neither a buffer nor an argument for a parameter.
pub(crate) fn arguments(rung: &Rung, problem: &dyn Problem, device: DeviceProperties) -> Result<Vec<Arg>, Error> {
    let (buffers, variant) = (problem.buffers(device), problem.facts().variant);
    let with_rows = |parameter: &str, argument: Arg| match (argument, (rung.box_rows)(&variant, parameter)) {
        (Arg::TensorMap(map), Some(rows)) => Arg::TensorMap(TensorMap { tile: [map.tile[0], rows], ..map }),
        (argument, _) => argument,
    };
    let argument = |parameter: &&str| {
        let buffer = buffers.iter().position(|buffer| buffer.name == *parameter).map(Arg::Buffer);
        let other = || problem.argument(parameter).map(|argument| with_rows(parameter, argument));
        buffer.or_else(other).ok_or_else(|| {
            let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name).collect();
            Error::NotOffered(format!(
                "the kernel of {} has a parameter `{parameter}`, but its ladder has no buffer, number or tensor map of \
                 that name; the ladder's buffers are {}",
                rung.name,
                names.join(", ")
            ))
        })
    };
    rung.parameters.iter().map(argument).collect()
}

fn is_named(rung: &Rung, name: &str) -> bool {
    rung.name == name || rung.family() == name
}
