//! A reduction, and the check of its partial results.

use std::sync::OnceLock;

use kernels_gpu::reduce::one_launch::words;
use kernels_gpu::reduce::operation::ITEMS_PER_THREAD;
use rayon::prelude::*;

use super::GRAIN;
use super::number::{Number, Op};
use engine::launch::{Arg, Launch};
use engine::problem::{Buffer, Problem, Role, Verdict, elements, round_down, with_power};
use engine::registry::{Form, Rung};

/// The buffers, in their order.
const INPUT: usize = 0;
const OUTPUT: usize = 1;
const ADDED: usize = 2;
const WORKSPACE: usize = 3;

/// The reduction of `n` elements of a type by an operation.
pub(super) struct Reduction<T: Number> {
    pub(super) n: u64,
    pub(super) op: Op,
    /// The name of the variant, as in `max_f32`; empty for the ladder's default sum.
    pub(super) variant: String,
    pub(super) data: OnceLock<Data<T>>,
}

pub(super) struct Data<T: Number> {
    input: Vec<T>,
    /// The results of every `GRAIN` elements, so that the check of a launch's blocks does not have to read all
    /// elements again.
    grains: Vec<T::Wide>,
}

impl<T: Number> Data<T> {
    fn new(n: u64, op: Op) -> Self {
        // The problem's constructor bounds n to 31 bits.
        let elements = (0..n as u32).into_par_iter();
        let input: Vec<T> = elements.map(|index| T::element(index, op)).collect();
        let all = |elements: &[T]| {
            let wide = elements.iter().map(|element| element.widen());
            wide.fold(T::identity(op), |all, one| T::combine(op, all, one))
        };
        let grains = input.par_chunks(GRAIN as usize).map(all).collect();
        Self { input, grains }
    }
}

impl<T: Number> Reduction<T> {
    const SIZE: u64 = size_of::<T>() as u64;

    fn data(&self) -> &Data<T> {
        self.data.get_or_init(|| Data::new(self.n, self.op))
    }

    /// The reduction of these partial results.
    fn together(&self, before: T::Wide, grains: &[T::Wide]) -> T::Wide {
        let combine = |all, &grain| T::combine(self.op, all, grain);
        grains.iter().fold(before, combine)
    }

    /// The right result of each block: the parts of the input are assigned to the blocks in turn.
    fn expected(&self, rung: &Rung, launch: &Launch) -> Vec<T::Wide> {
        let mut blocks = vec![T::identity(self.op); launch.blocks() as usize];
        let part = rung.geometry.elements(launch.block) / GRAIN;
        for (index, part) in self.data().grains.chunks(part as usize).enumerate() {
            let block = index % blocks.len();
            blocks[block] = self.together(blocks[block], part);
        }
        blocks
    }

    /// The right result of all elements.
    pub(super) fn expected_whole(&self) -> T::Wide {
        self.together(T::identity(self.op), &self.data().grains)
    }

    /// The largest error that the result of so many elements, reduced in any order, may have. The ladder's
    /// documentation derives it.
    pub(super) fn error(&self, elements: u64, right: T::Wide) -> f64 {
        match self.op {
            Op::Product => {
                (gamma(elements, T::ROUNDOFF) + gamma(elements, f64::EPSILON / 2.0))
                    * T::magnitude(right)
            }
            Op::Sum | Op::Min | Op::Max => 0.0,
        }
    }

    /// The bytes of the workspace for so many blocks.
    fn workspace_bytes(blocks: u64) -> u64 {
        blocks * (words::<T>() * size_of::<u64>()) as u64
    }
}

/// The bound on the sum of the relative errors of so many multiplications: Higham's γ or, if it is smaller, a bound
/// for errors that are nearly unbiased. The ladder's documentation derives it.
fn gamma(operations: u64, roundoff: f64) -> f64 {
    const LAMBDA: f64 = 8.0;
    const BIAS: f64 = 1.0 / 32.0;
    let operations = operations as f64;
    let worst = operations * roundoff;
    let usual = (LAMBDA * operations.sqrt() + BIAS * operations) * roundoff;
    if worst < 0.5 {
        (worst / (1.0 - worst)).min(usual.exp_m1())
    } else {
        usual.exp_m1()
    }
}

impl<T: Number> Problem for Reduction<T> {
    fn size(&self) -> String {
        match &*self.variant {
            "" => format!("n = {}", self.n),
            variant => format!("n = {}, {}", self.n, variant.replace('_', " of ")),
        }
    }

    fn title(&self) -> String {
        match &*self.variant {
            "" => with_power(self.n),
            variant => format!("{}, {}", with_power(self.n), variant.replace('_', " of ")),
        }
    }

    fn column(&self) -> String {
        format!("n = {}", self.n)
    }

    fn smaller(&self, share: f64) -> Option<String> {
        Some(format!("--n {}", round_down(self.n, share)))
    }

    fn variant(&self) -> String {
        self.variant.clone()
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.n]
    }

    fn buffers(&self) -> Vec<Buffer> {
        let most_blocks = self.n.div_ceil(GRAIN).max(1);
        vec![
            Buffer::new(Role::Input, self.n * Self::SIZE),
            Buffer::new(Role::Output, most_blocks * Self::SIZE),
            Buffer::new(Role::Sum, Self::SIZE),
            Buffer::new(
                Role::Workspace,
                Self::workspace_bytes(self.n.div_ceil(GRAIN * ITEMS_PER_THREAD as u64).max(1)),
            ),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == INPUT {
            bytemuck::cast_slice(&self.data().input)
        } else {
            &[]
        }
    }

    fn args(&self, rung: &Rung) -> Vec<Arg> {
        let mut args = vec![Arg::Buffer(INPUT)];
        match rung.form {
            Form::ZeroedOutput => args.push(Arg::Buffer(ADDED)),
            Form::Workspace => args.extend([Arg::Buffer(OUTPUT), Arg::Buffer(WORKSPACE)]),
            _ => args.push(Arg::Buffer(OUTPUT)),
        }
        args.push(Arg::U32(self.n as u32));
        args
    }

    fn bytes(&self) -> u64 {
        self.n * Self::SIZE
    }

    fn written_bytes(&self, launch: &Launch, buffer: usize) -> u64 {
        let is_whole = buffer == ADDED || launch.args.contains(&Arg::Buffer(WORKSPACE));
        Self::SIZE * if is_whole { 1 } else { launch.blocks() }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let found = elements::<T>(outputs.first().map_or(&[], Vec::as_slice));
        let (expected, items) = match rung.single_pass {
            // The elements may have been taken in any order.
            true => (vec![self.expected_whole()], self.n),
            false => {
                let items_per_block = rung.geometry.elements(launch.block);
                let turns = self.n.div_ceil((launch.blocks() * items_per_block).max(1));
                (self.expected(rung, launch), turns * items_per_block)
            }
        };
        let (blocks, op) = (expected.len(), self.op.name());
        if found.len() != blocks {
            return Verdict::Wrong(format!("the output has {} results", found.len()));
        }
        let mut places = found.iter().zip(&expected).enumerate();
        let wrong =
            places.find(|(_, (found, right))| !found.is(**right, self.error(items, **right)));
        let Some((index, (found, right))) = wrong else {
            return Verdict::Right;
        };
        let which = match rung.single_pass {
            true => format!("the {op}"),
            false => format!("block {index} of {blocks}: its {op}"),
        };
        Verdict::wrong_element(which, found, found, right)
    }
}
