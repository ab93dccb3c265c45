//! What is to be run: kernels with their operands, and how their answers are kept.

use std::borrow::Cow;

use crate::generate::{IN_KERNEL, Instance, LANES, instances, module, operands};
use crate::tiles;

/// The instructions that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// Those that compute a value from values.
    Values,
    /// Those that work on matrices.
    Matrices,
}

impl Set {
    /// The first words of a record.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Set::Values => "difftest 2",
            Set::Matrices => "matrices 1",
        }
    }
}

/// A launch of kernel `k0`, `k1`, … by its place.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The operands, in a buffer that is the first argument; the second is one for the results.
    pub input: Input,
    /// Blocks.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Results of each thread.
    pub outputs: usize,
}

/// The operands of a kernel.
#[derive(Debug, Clone)]
pub enum Input {
    /// As they are. All answers are kept.
    Words(Vec<u64>),
    /// Random tiles of a form, by its number in [`tiles::all`], and the seed. They are too many to be kept: of a
    /// block's answers there is a hash.
    Tiles(usize, u64),
}

impl Kernel {
    /// The operands.
    pub fn input(&self) -> Cow<'_, [u64]> {
        match &self.input {
            Input::Words(words) => words.into(),
            Input::Tiles(form, seed) => tiles::input(*form, *seed, self.blocks as usize).into(),
        }
    }

    /// What is kept of the results.
    pub fn kept(&self, results: Vec<u64>) -> Vec<u64> {
        let tiles = results.chunks(self.threads as usize * self.outputs);
        let step = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        match &self.input {
            Input::Words(_) => results,
            Input::Tiles(..) => tiles.map(|tile| tile.iter().fold(1, step)).collect(),
        }
    }

    /// How many results there are.
    pub fn results(&self) -> usize {
        self.blocks as usize * self.threads as usize * self.outputs
    }
}

/// Answers that follow each other and have as many bits.
#[derive(Debug, Clone)]
pub struct Answers {
    /// What they answer.
    pub name: String,
    /// Bits of each.
    pub bits: u32,
    /// How many.
    pub count: usize,
}

/// A module and the launches of its kernels.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The module.
    pub ptx: String,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// The answers, in their order.
    pub answers: Vec<Answers>,
    /// The instances, of [`Set::Values`].
    pub instances: Vec<Instance>,
}

impl Plan {
    /// The plan of a seed, with so many rounds of each form.
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

    /// One of the tiles that [`Set::Matrices`] has for a seed, with all of its answers: the tile by its number, the form
    /// by its name. `None` when no form has that name.
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

    /// How many answers there are.
    pub fn results(&self) -> usize {
        self.answers.iter().map(|answers| answers.count).sum()
    }
}

/// The first lines of a module of tiles.
const TILES_HEADER: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

/// So many tiles of each form, and the module that computes them: a kernel for each form, a block for each tile, which
/// of four warps together is as much as sixteen.
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
