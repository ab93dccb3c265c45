//! The plan of a run: kernels with their operands, and how their answers are recorded.

use std::borrow::Cow;

use crate::generate::{IN_KERNEL, Instance, LANES, instances, module, operands};
use crate::tiles;

/// The compared instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// Instructions that compute a value from values.
    Values,
    /// Instructions on matrices.
    Matrices,
}

impl Set {
    /// Returns the first words of a record.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Set::Values => "difftest 2",
            Set::Matrices => "matrices 1",
        }
    }
}

/// A launch of a kernel. The index of the launch is the number in the kernel's name: `k0`, `k1`, ….
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The operands. The kernel's first argument is the buffer of operands, and the second is the buffer for results.
    pub input: Input,
    /// The number of blocks.
    pub blocks: u32,
    /// The number of threads per block.
    pub threads: u32,
    /// The number of results per thread.
    pub outputs: usize,
}

/// The operands of a kernel.
#[derive(Debug, Clone)]
pub enum Input {
    /// The operands themselves. All answers are recorded.
    Words(Vec<u64>),
    /// Random tiles: the index of their form in [`tiles::all`], and the seed. There are too many answers to record, so
    /// each block's answers are recorded as a hash.
    Tiles(usize, u64),
}

impl Kernel {
    /// Returns the operands.
    pub fn input(&self) -> Cow<'_, [u64]> {
        match &self.input {
            Input::Words(words) => words.into(),
            Input::Tiles(form, seed) => tiles::input(*form, *seed, self.blocks as usize).into(),
        }
    }

    /// Returns the part of the results that is recorded.
    pub fn kept(&self, results: Vec<u64>) -> Vec<u64> {
        let tiles = results.chunks(self.threads as usize * self.outputs);
        let step = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        match &self.input {
            Input::Words(_) => results,
            Input::Tiles(..) => tiles.map(|tile| tile.iter().fold(1, step)).collect(),
        }
    }

    /// Returns the number of results.
    pub fn results(&self) -> usize {
        self.blocks as usize * self.threads as usize * self.outputs
    }
}

/// Consecutive answers of the same width.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The name of the instance or form.
    pub name: String,
    /// The number of bits per answer.
    pub bits: u32,
    /// The number of answers.
    pub count: usize,
}

/// A module and the launches of its kernels.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The PTX of the module.
    pub ptx: String,
    /// The launches of the module's kernels.
    pub kernels: Vec<Kernel>,
    /// The answers, in order.
    pub answers: Vec<Answers>,
    /// The instances of [`Set::Values`].
    pub instances: Vec<Instance>,
}

impl Plan {
    /// Creates the plan of a seed with `rounds` rounds of each form.
    pub fn new(set: Set, seed: u64, rounds: usize) -> Self {
        if set == Set::Matrices {
            return plan_of_tiles(seed, rounds);
        }
        let instances = instances(seed, rounds);
        let kernel = |group: &[Instance]| Kernel {
            input: Input::Words(operands(group)),
            blocks: 1,
            threads: LANES as u32,
            outputs: group.len(),
        };
        let answers = |instance: &Instance| Answers { name: instance.text(), bits: instance.form.bits(), count: LANES };
        Self {
            ptx: module(&instances),
            kernels: instances.chunks(IN_KERNEL).map(kernel).collect(),
            answers: instances.iter().map(answers).collect(),
            instances,
        }
    }

    /// Creates the plan for a single tile of [`Set::Matrices`], with all of its answers. `name` names the form, and
    /// `tile` is the number of the tile. Returns `None` when no form has this name.
    pub fn of_tile(name: &str, seed: u64, tile: usize) -> Option<Self> {
        let number = tiles::all().iter().position(|form| form.name == name)?;
        let form = &tiles::all()[number];
        let mut plan = Self { ptx: TILES_HEADER.to_owned(), ..Self::default() };
        tiles::write_kernel(&mut plan.ptx, 0, form);
        let words = tiles::input(number, seed, tile + 1).split_off(tile * form.threads * form.inputs.len());
        let outputs = form.outputs.len();
        plan.kernels.push(Kernel { input: Input::Words(words), blocks: 1, threads: form.threads as u32, outputs });
        plan.answers.push(Answers { name: form.name.clone(), bits: 64, count: form.threads * outputs });
        Some(plan)
    }

    /// Returns the number of answers.
    pub fn results(&self) -> usize {
        self.answers.iter().map(|answers| answers.count).sum()
    }
}

/// The first lines of a module of tiles.
const TILES_HEADER: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

/// Creates the plan for `tiles` tiles of each form. The module has a kernel for each form, and the kernel's launch has
/// a block for each tile. A tile of a four-warp form counts as sixteen tiles.
fn plan_of_tiles(seed: u64, tiles: usize) -> Plan {
    let mut plan = Plan { ptx: TILES_HEADER.to_owned(), ..Plan::default() };
    for (number, form) in tiles::all().iter().enumerate() {
        let blocks = if form.threads > 32 { tiles.div_ceil(16) } else { tiles };
        tiles::write_kernel(&mut plan.ptx, number, form);
        plan.kernels.push(Kernel {
            input: Input::Tiles(number, seed),
            blocks: blocks as u32,
            threads: form.threads as u32,
            outputs: form.outputs.len(),
        });
        plan.answers.push(Answers { name: form.name.clone(), bits: 64, count: blocks });
    }
    plan
}
