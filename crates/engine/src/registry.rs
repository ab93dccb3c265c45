//! The ladders and their rungs, as data: every tool walks these, and none matches on a name.

mod entries;

use crate::error::Error;
use crate::launch::{Code, Geometry, Launch};
use crate::names::nearest;
use crate::options::{Opt, Options};
use crate::problem::Problem;
use crate::size::dims;
pub use entries::{Entries, Shared};

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
    /// The block where none is asked for, for rungs to which another suits other shapes better, by
    /// [`Problem::shape`]. It is the one of [`Rung::default_block`] for the ladder's default problem.
    pub choose: Option<Choose>,
    /// The shared memory that a block uses.
    pub shared: Shared,
    /// Whether it destroys its input, which is then restored before the next launch.
    pub in_place: bool,
    /// Whether it is an upper bound and no solution: it moves the bytes and leaves out the work.
    pub is_bound: bool,
    /// Whether it gives the problem's whole result where others of its ladder leave the rest to the host.
    pub whole: bool,
    /// Which form of its arguments it takes, where the problem has several; 0 is the usual one.
    pub form: usize,
    /// What the text that the ladder comes from measured for it.
    pub seed: Option<Seed>,
    /// What that text counted for it, in words.
    pub seed_count: &'static str,
}

/// Which block suits a shape.
pub type Choose = fn(&[u64]) -> [u32; 3];

/// A speedup that the text behind a ladder gives for a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seed {
    /// How many times faster; below 1, slower.
    pub factor: f64,
    /// Than which rung.
    pub over: &'static str,
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
                    nearest: nearest(name, &known),
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
        let computes = |rung: &&Rung| rung.computes(problem);
        let named = self.named(names)?;
        if !names.is_empty()
            && let Some(rung) = named.iter().find(|rung| !rung.computes(problem))
        {
            let others = self.rungs.iter().filter(computes);
            return Err(Error::NotOffered {
                rung: rung.name,
                variant: words(&problem.variant()),
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
        let needed = rung.shared.bytes(block);
        let most = match rung.shared {
            Shared::Dynamic(_) => MAX_DYNAMIC,
            Shared::None | Shared::Static(_) => MAX_SHARED,
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
            entry: rung.entry(&problem.variant(), block)?,
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

impl Rung {
    /// What most rungs have; a ladder's own say what differs.
    pub const USUAL: Self = Self {
        name: "",
        source: "",
        lesson: "",
        entries: Entries::Any,
        geometry: Geometry::Line { data_blocks: 1 },
        default_block: [256, 1, 1],
        choose: None,
        shared: Shared::None,
        in_place: false,
        is_bound: false,
        whole: false,
        form: 0,
        seed: None,
        seed_count: "",
    };

    /// The block for a problem of this shape where none is asked for.
    pub fn block_for(&self, shape: &[u64]) -> [u32; 3] {
        self.choose
            .map_or(self.default_block, |choose| choose(shape))
    }

    /// Whether it has entries for what `problem` is.
    pub fn computes(&self, problem: &dyn Problem) -> bool {
        self.entries.of(&problem.variant()).is_some()
    }

    /// The entry that serves a variant and a block.
    ///
    /// # Errors
    /// [`Error::NotCompiled`] where the rung is const-generic and has none for it.
    pub fn entry(&self, variant: &str, block: [u32; 3]) -> Result<String, Error> {
        let not_compiled = |what, compiled| Error::NotCompiled {
            rung: self.name,
            what,
            compiled,
        };
        match self.entries.of(variant) {
            Some(Entries::PerBlock(blocks)) if !blocks.contains(&block) => Err(not_compiled(
                format!("a block of {}", dims(block)),
                blocks.iter().copied().map(dims).collect(),
            )),
            Some(Entries::PerBlock(_)) => Ok(self.joined(&[variant, &dims(block)])),
            Some(_) => Ok(self.joined(&[variant])),
            None => Err(not_compiled(
                words(variant),
                vec!["other rungs of its ladder".to_owned()],
            )),
        }
    }

    /// All its entries in the PTX.
    pub fn entry_names(&self) -> Vec<String> {
        fn names(entries: Entries, prefix: &str, into: &mut Vec<String>) {
            match entries {
                Entries::Any => into.push(prefix.to_owned()),
                Entries::PerBlock(blocks) => {
                    into.extend(blocks.iter().map(|&block| join(prefix, &[&dims(block)])));
                }
                Entries::PerVariant(variants) => {
                    for (variant, entries) in variants {
                        names(*entries, &join(prefix, &[variant]), into);
                    }
                }
            }
        }
        let mut all = Vec::new();
        names(self.entries, self.name, &mut all);
        all
    }

    fn joined(&self, parts: &[&str]) -> String {
        join(self.name, parts)
    }

    /// The name without the number at its end.
    fn family(&self) -> &'static str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

/// A variant in words: `max of f32`.
fn words(variant: &str) -> String {
    if variant.is_empty() {
        "the ladder's usual computation".to_owned()
    } else {
        variant.replace('_', " of ")
    }
}

/// `name_part_part`, without what is empty.
fn join(name: &str, parts: &[&str]) -> String {
    let mut joined = name.to_owned();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        joined += "_";
        joined += part;
    }
    joined
}
