//! One reduction to compute, and the check of its partial results.

use std::sync::OnceLock;

use kernels_gpu::reduce::one_launch::words;
use kernels_gpu::reduce::operation::ITEMS_PER_THREAD;
use rayon::prelude::*;

use super::number::{Number, Op};
use super::{GRAIN, GUARD};
use engine::launch::{Arg, Launch};
use engine::peer::{Call, Peer};
use engine::problem::{Buffer, POISON, Problem, Role, Verdict, Wanted, round_down, with_power};
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
    /// `max_f32`, and empty for the ladder's usual sum.
    pub(super) variant: String,
    pub(super) data: OnceLock<Data<T>>,
}

pub(super) struct Data<T: Number> {
    input: Vec<T>,
    /// What each `GRAIN` elements give, so that a launch's blocks need not go through all of them again.
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

    /// What these give together.
    fn together(&self, before: T::Wide, grains: &[T::Wide]) -> T::Wide {
        let combine = |all, &grain| T::combine(self.op, all, grain);
        grains.iter().fold(before, combine)
    }

    /// What is right for each block: the parts of the input go to the blocks in turn.
    fn expected(&self, rung: &Rung, launch: &Launch) -> Vec<T::Wide> {
        let mut blocks = vec![T::identity(self.op); launch.blocks() as usize];
        let part = rung.geometry.elements(launch.block) / GRAIN;
        for (index, part) in self.data().grains.chunks(part as usize).enumerate() {
            let block = index % blocks.len();
            blocks[block] = self.together(blocks[block], part);
        }
        blocks
    }

    /// What is right for all elements together.
    pub(super) fn expected_whole(&self) -> T::Wide {
        self.together(T::identity(self.op), &self.data().grains)
    }

    /// How far the result of so many elements, taken in any order, may be from the right one, as the
    /// ladder's documentation has it.
    pub(super) fn error(&self, elements: u64, right: T::Wide) -> f64 {
        match self.op {
            Op::Product => {
                (gamma(elements, T::ROUNDOFF) + gamma(elements, f64::EPSILON / 2.0))
                    * T::magnitude(right)
            }
            Op::Sum | Op::Min | Op::Max => 0.0,
        }
    }

    /// The bytes of a whole result and of the guard behind it.
    pub(super) const WHOLE_BYTES: usize = ((1 + GUARD) * Self::SIZE) as usize;

    /// The bytes of the workspace of so many blocks, and of a guard.
    fn workspace_bytes(blocks: u64) -> u64 {
        (blocks * words::<T>() as u64 + GUARD) * size_of::<u64>() as u64
    }

    /// Checks one result of all elements, which is the first of an output's
    /// [`WHOLE_BYTES`](Self::WHOLE_BYTES), all of them `before` at first. The elements may have been taken in
    /// any order.
    pub(super) fn check_whole(&self, output: &[u8], before: u8) -> Verdict {
        let right = self.expected_whole();
        self.check_words(output, before, &[right], self.n, |_| {
            format!("the {}", self.op.name())
        })
    }

    /// Checks results one behind the other, of so many elements each, and that the bytes behind them are what
    /// they were `before`. `which` names a result.
    fn check_words(
        &self,
        output: &[u8],
        before: u8,
        expected: &[T::Wide],
        elements: u64,
        which: impl Fn(usize) -> String,
    ) -> Verdict {
        let mut words = output.chunks_exact(Self::SIZE as usize);
        let poison = vec![before; Self::SIZE as usize];
        for (index, right) in expected.iter().enumerate() {
            let word = words.next().unwrap_or(&poison);
            let found: T = bytemuck::pod_read_unaligned(word);
            if !found.is(*right, self.error(elements, *right)) {
                let unwritten = if word == poison {
                    ", which is what was there before"
                } else {
                    ""
                };
                return Verdict::Wrong(format!(
                    "{} is {found}{unwritten}; {right} is right",
                    which(index)
                ));
            }
        }
        match words.position(|word| word != poison) {
            None => Verdict::Right,
            Some(extra) => Verdict::Wrong(format!(
                "word {} was written, behind {}",
                expected.len() + extra,
                match expected.len() {
                    1 => format!("the {}", self.op.name()),
                    blocks => format!("the {}s of {blocks} blocks", self.op.name()),
                }
            )),
        }
    }
}

/// Checks that a launch left its workspace to the next one as it found it.
fn check_zeros(workspace: &[u8]) -> Verdict {
    let mut words = workspace.chunks_exact(size_of::<u64>());
    match words.position(|word| word != [0; size_of::<u64>()]) {
        None if workspace.is_empty() => Verdict::Wrong("there is no workspace".to_owned()),
        None => Verdict::Right,
        Some(word) => Verdict::Wrong(format!(
            "word {word} of the workspace is not 0 after the launch, and the next one counts on that"
        )),
    }
}

/// What the relative errors of so many multiplications add up to at most: Higham's γ, or where that is less,
/// a bound for errors that are nearly as often up as down, as the ladder's documentation has it.
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
            Buffer {
                role: Role::Input,
                bytes: self.n * Self::SIZE,
            },
            Buffer {
                role: Role::Output,
                bytes: (most_blocks + GUARD) * Self::SIZE,
            },
            Buffer {
                role: Role::Sum,
                bytes: Self::WHOLE_BYTES as u64,
            },
            Buffer {
                role: Role::Workspace,
                bytes: Self::workspace_bytes(
                    self.n.div_ceil(GRAIN * ITEMS_PER_THREAD as u64).max(1),
                ),
            },
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

    fn wanted(&self, launch: &Launch) -> Vec<Wanted> {
        let takes = |buffer| launch.args.contains(&Arg::Buffer(buffer));
        let of = |buffer, bytes| Wanted { buffer, bytes };
        if takes(ADDED) {
            vec![of(ADDED, Self::WHOLE_BYTES)]
        } else if takes(WORKSPACE) {
            let workspace = Self::workspace_bytes(launch.blocks()) as usize;
            vec![of(OUTPUT, Self::WHOLE_BYTES), of(WORKSPACE, workspace)]
        } else {
            let bytes = (launch.blocks() + GUARD) * Self::SIZE;
            vec![of(OUTPUT, bytes as usize)]
        }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let output = outputs.first().map_or(&[][..], Vec::as_slice);
        match rung.form {
            Form::ZeroedOutput => return self.check_whole(output, 0),
            Form::Workspace => {
                return match self.check_whole(output, POISON) {
                    Verdict::Right => check_zeros(outputs.get(1).map_or(&[], Vec::as_slice)),
                    wrong @ Verdict::Wrong(_) => wrong,
                };
            }
            _ => {}
        }
        let expected = self.expected(rung, launch);
        let of_all_blocks = launch.blocks() * rung.geometry.elements(launch.block);
        let turns = self.n.div_ceil(of_all_blocks.max(1));
        let elements = turns * rung.geometry.elements(launch.block);
        let (blocks, op) = (expected.len(), self.op.name());
        self.check_words(output, POISON, &expected, elements, |block| {
            format!("block {block} of {blocks}: its {op}")
        })
    }

    fn peers(&self) -> Vec<Peer> {
        vec![Peer {
            name: "CUB DeviceReduce",
            call: Call::Reduce {
                op: self.op.name(),
                element: T::NAME,
                input: INPUT,
                output: OUTPUT,
                n: self.n,
            },
            is_bound: false,
        }]
    }

    fn wanted_of_peer(&self, _: &Peer) -> Vec<Wanted> {
        vec![Wanted {
            buffer: OUTPUT,
            bytes: Self::WHOLE_BYTES,
        }]
    }

    fn check_peer(&self, _: &Peer, outputs: &[Vec<u8>]) -> Verdict {
        self.check_whole(outputs.first().map_or(&[][..], Vec::as_slice), POISON)
    }
}
