//! One reduction to compute, and the check of its partial results.

use std::sync::OnceLock;

use super::number::{Number, Op};
use super::{GRAIN, GUARD};
use crate::launch::{Arg, Launch};
use crate::problem::{Buffer, POISON, Problem, Role, Verdict, Wanted, round_down, with_power};
use crate::registry::Rung;

/// The reduction of `n` elements of a type by an operation.
pub(super) struct Reduction<T: Number> {
    pub(super) n: u64,
    pub(super) op: Op,
    /// `max_f32`, and empty for the ladder's usual sum.
    pub(super) variant: String,
    pub(super) data: OnceLock<Data<T>>,
}

pub(super) struct Data<T: Number> {
    input: Vec<T>,
    /// What each `GRAIN` elements give, so that a launch's blocks need not go through all of them again.
    grains: Vec<Reduced<T>>,
}

/// What some elements give.
#[derive(Clone, Copy)]
struct Reduced<T: Number> {
    value: T::Wide,
    /// The sum of the elements' magnitudes.
    magnitude: f64,
}

impl<T: Number> Reduced<T> {
    fn nothing(op: Op) -> Self {
        Self {
            value: T::identity(op),
            magnitude: 0.0,
        }
    }

    fn and(self, op: Op, other: Self) -> Self {
        Self {
            value: T::combine(op, self.value, other.value),
            magnitude: self.magnitude + other.magnitude,
        }
    }
}

impl<T: Number> Data<T> {
    fn new(n: u64, op: Op) -> Self {
        // The problem's constructor bounds n to 31 bits.
        let input: Vec<T> = (0..n as u32).map(|index| T::element(index, op)).collect();
        let grains = input
            .chunks(GRAIN as usize)
            .map(|grain| {
                grain.iter().fold(Reduced::nothing(op), |all, &element| {
                    let one = Reduced {
                        value: element.widen(),
                        magnitude: T::magnitude(element.widen()),
                    };
                    all.and(op, one)
                })
            })
            .collect();
        Self { input, grains }
    }
}

impl<T: Number> Reduction<T> {
    const SIZE: u64 = size_of::<T>() as u64;

    fn data(&self) -> &Data<T> {
        self.data.get_or_init(|| Data::new(self.n, self.op))
    }

    /// What is right for each block: the parts of the input go to the blocks in turn.
    fn expected(&self, rung: &Rung, launch: &Launch) -> Vec<Reduced<T>> {
        let mut blocks = vec![Reduced::nothing(self.op); launch.blocks() as usize];
        let part = rung.geometry.elements(launch.block) / GRAIN;
        for (index, part) in self.data().grains.chunks(part as usize).enumerate() {
            let block = index % blocks.len();
            blocks[block] = part
                .iter()
                .fold(blocks[block], |all, &grain| all.and(self.op, grain));
        }
        blocks
    }

    /// How far a result may be from the right one, as the ladder's documentation has it.
    fn error(&self, rung: &Rung, launch: &Launch, right: &Reduced<T>) -> f64 {
        let all = launch.blocks() * rung.geometry.elements(launch.block);
        let of_a_block = self.n.div_ceil(all.max(1)) * rung.geometry.elements(launch.block);
        let (operations, magnitude) = match self.op {
            // Ten halvings leave one of 1024 threads.
            Op::Sum => (of_a_block / launch.threads() + 10, right.magnitude),
            Op::Product => (of_a_block, T::magnitude(right.value)),
            Op::Min | Op::Max => return 0.0,
        };
        let reference = gamma(of_a_block, f64::EPSILON / 2.0);
        (gamma(operations, T::ROUNDOFF) + reference) * magnitude
    }
}

/// Higham's γ: the relative error that so many operations may add up to.
fn gamma(operations: u64, roundoff: f64) -> f64 {
    let all = operations as f64 * roundoff;
    all / (1.0 - all)
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
            Buffer {
                role: Role::Input,
                bytes: self.n * Self::SIZE,
            },
            Buffer {
                role: Role::Output,
                bytes: (most_blocks + GUARD) * Self::SIZE,
            },
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 {
            bytemuck::cast_slice(&self.data().input)
        } else {
            &[]
        }
    }

    fn args(&self, _: &Rung) -> Vec<Arg> {
        vec![Arg::Buffer(0), Arg::Buffer(1), Arg::U32(self.n as u32)]
    }

    fn bytes(&self) -> u64 {
        self.n * Self::SIZE
    }

    fn wanted(&self, launch: &Launch) -> Vec<Wanted> {
        vec![Wanted {
            buffer: 1,
            bytes: ((launch.blocks() + GUARD) * Self::SIZE) as usize,
        }]
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let bytes = outputs.first().map_or(&[][..], Vec::as_slice);
        let expected = self.expected(rung, launch);
        let blocks = expected.len();
        let mut words = bytes.chunks_exact(Self::SIZE as usize);
        let poison = vec![POISON; Self::SIZE as usize];
        for (block, right) in expected.iter().enumerate() {
            let word = words.next().unwrap_or(&poison);
            let found: T = bytemuck::pod_read_unaligned(word);
            if !found.is(right.value, self.error(rung, launch, right)) {
                let unwritten = if word == poison {
                    ", which is what was there before"
                } else {
                    ""
                };
                return Verdict::Wrong(format!(
                    "block {block} of {blocks}: its {} is {found}{unwritten}; {} is right",
                    self.op.name(),
                    right.value
                ));
            }
        }
        match words.position(|word| word != poison) {
            None => Verdict::Right,
            Some(extra) => Verdict::Wrong(format!(
                "word {} was written, behind the {}s of {blocks} blocks",
                blocks + extra,
                self.op.name()
            )),
        }
    }
}
