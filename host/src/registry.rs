//! The ladders and their rungs, as data: every tool walks these, and none matches on a name.

use crate::error::{Error, nearest};
use crate::launch::{Geometry, Launch};
use crate::problem::Problem;
use crate::size::dims;

/// Kernels that compute the same thing, from the naive one to the fastest.
#[derive(Debug)]
pub struct Ladder {
    /// The name that `ladder run` takes.
    pub name: &'static str,
    /// What its kernels compute, in one line.
    pub summary: &'static str,
    /// The rungs, from the first to the last.
    pub rungs: &'static [Rung],
    /// The size where none is asked for.
    pub default_n: u64,
    /// The blocks that its kernels are right for.
    pub blocks: &'static [[u32; 3]],
    /// Those blocks in words.
    pub block_rule: &'static str,
    /// The sizes that `ladder check` sweeps: edges, primes, and a size that is a multiple of nothing.
    pub check_sizes: &'static [u64],
    /// Makes the problem that the options ask for.
    pub problem: fn(&Options) -> Result<Box<dyn Problem>, Error>,
}

/// What a ladder is run with. What is `None` takes the ladder's or the rung's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The size of the problem.
    pub n: Option<u64>,
    /// The threads of a block.
    pub block: Option<[u32; 3]>,
}

/// One step of a ladder: a kernel, how it is launched, and what it teaches.
#[derive(Clone, Debug)]
pub struct Rung {
    /// The name of the rung, its kernel and its chapter.
    pub name: &'static str,
    /// The file with its device code, from the root of the repository.
    pub source: &'static str,
    /// What it teaches, in one line.
    pub lesson: &'static str,
    /// The `.entry` points that it has.
    pub entries: Entries,
    /// How its blocks divide the problem.
    pub geometry: Geometry,
    /// The block where none is asked for.
    pub default_block: [u32; 3],
    /// The shared memory that a block uses.
    pub shared: Shared,
    /// Whether it destroys its input, which is then restored before the next launch.
    pub in_place: bool,
    /// What the text that the ladder comes from measured for it.
    pub seed: Option<Seed>,
}

/// The `.entry` points of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One, of the rung's name, for any block.
    Any,
    /// The block is a constant of the kernel: one entry a block, `<rung>_<block>`.
    PerBlock(&'static [[u32; 3]]),
}

/// The shared memory of a block, by the warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// None.
    None,
    /// Declared by the kernel at its size.
    Static {
        /// Bytes for each warp of the block.
        bytes_per_warp: u32,
    },
    /// Sized by the launch.
    Dynamic {
        /// Bytes for each warp of the block.
        bytes_per_warp: u32,
    },
}

/// A speedup that the text behind a ladder gives for a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seed {
    /// How many times faster.
    pub factor: f64,
    /// Than which rung.
    pub over: &'static str,
}

/// All ladders.
pub fn ladders() -> &'static [Ladder] {
    crate::ladders::ALL
}

/// The ladder of this name.
///
/// # Errors
/// [`Error::UnknownLadder`] with the nearest name.
pub fn ladder(name: &str) -> Result<&'static Ladder, Error> {
    ladders()
        .iter()
        .find(|ladder| ladder.name == name)
        .ok_or_else(|| {
            let known: Vec<_> = ladders().iter().map(|ladder| ladder.name).collect();
            Error::UnknownLadder {
                name: name.to_owned(),
                nearest: nearest(name, &known),
                known,
            }
        })
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
                    nearest: nearest(name, &known),
                    known,
                }
            })
    }

    /// The rungs of these names in the ladder's order, or all of them where none is named.
    ///
    /// # Errors
    /// [`Error::UnknownRung`] for the first name that is none.
    pub fn select(&self, names: &[String]) -> Result<Vec<&'static Rung>, Error> {
        for name in names {
            self.rung(name)?;
        }
        let named = |rung: &&Rung| names.is_empty() || names.iter().any(|name| name == rung.name);
        Ok(self.rungs.iter().filter(named).collect())
    }

    /// The problem that the options ask for, of the ladder's default size where they name none.
    ///
    /// # Errors
    /// Where the ladder does not take that size.
    pub fn problem(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.problem)(options)
    }

    /// How `rung` is launched on `problem`, with `block` or the rung's default block.
    ///
    /// # Errors
    /// [`Error::BlockOutOfBounds`] for a block that no rung of the ladder takes, [`Error::NotCompiled`]
    /// for one that a const-generic rung has no entry for.
    pub fn launch(
        &self,
        rung: &Rung,
        problem: &dyn Problem,
        block: Option<[u32; 3]>,
    ) -> Result<Launch, Error> {
        let block = block.unwrap_or(rung.default_block);
        if !self.blocks.contains(&block) {
            return Err(Error::BlockOutOfBounds {
                ladder: self.name,
                block: dims(block),
                rule: self.block_rule,
            });
        }
        Ok(Launch {
            entry: rung.entry(block)?,
            grid: rung.geometry.grid(&problem.shape(), block),
            block,
            shared_bytes: rung.shared.dynamic_bytes(block),
            args: problem.args(),
        })
    }
}

impl Rung {
    /// The entry that serves a block.
    ///
    /// # Errors
    /// [`Error::NotCompiled`] where the rung is const-generic and has none for it.
    pub fn entry(&self, block: [u32; 3]) -> Result<String, Error> {
        match self.entries {
            Entries::Any => Ok(self.name.to_owned()),
            Entries::PerBlock(blocks) if blocks.contains(&block) => {
                Ok(format!("{}_{}", self.name, dims(block)))
            }
            Entries::PerBlock(blocks) => Err(Error::NotCompiled {
                rung: self.name,
                block: dims(block),
                compiled: blocks.iter().copied().map(dims).collect(),
            }),
        }
    }

    /// All its entries in the PTX.
    pub fn entry_names(&self) -> Vec<String> {
        match self.entries {
            Entries::Any => vec![self.name.to_owned()],
            Entries::PerBlock(blocks) => blocks
                .iter()
                .map(|&block| format!("{}_{}", self.name, dims(block)))
                .collect(),
        }
    }
}

impl Shared {
    /// Bytes that a launch has to ask for.
    pub fn dynamic_bytes(&self, block: [u32; 3]) -> u32 {
        match self {
            Self::Dynamic { bytes_per_warp } => bytes_per_warp * warps(block),
            Self::None | Self::Static { .. } => 0,
        }
    }

    /// Bytes that a block uses, however they are declared.
    pub fn bytes(&self, block: [u32; 3]) -> u32 {
        match self {
            Self::None => 0,
            Self::Static { bytes_per_warp } | Self::Dynamic { bytes_per_warp } => {
                bytes_per_warp * warps(block)
            }
        }
    }
}

fn warps(block: [u32; 3]) -> u32 {
    block.iter().product::<u32>().div_ceil(32)
}
