//! A reduction, and the check of its partial results.

use std::ops::Range;
use std::sync::OnceLock;

use kernels_gpu::operation::ITEMS;
use rayon::prelude::*;

use super::GRAIN;
use crate::data::{self, generate, least_pieces, too_many};
use crate::ladders::number::{Number, Op, Wide as _, gamma};
use engine::launch::{Arg, Launch};
use engine::options::Options;
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, elements, round_down, with_power};
use engine::registry::{DeviceProperties, Rung};
use ranks::{Combination, Divide, Piece, RankProblem, Share, Side};

/// The indices of the buffers.
const INPUT: usize = 0;
const WORKSPACE: usize = 3;

/// The problem of reducing `n` elements of a type with an operation.
pub(super) struct Reduction<T: Number> {
    n: u64,
    /// For a part of a reduction, the index of its first element, and the total number of elements in the whole
    /// reduction.
    first: u64,
    whole_n: u64,
    op: Op,
    /// The name of the variant, such as `max_f32`. Empty for the ladder's default sum.
    variant: String,
    data: OnceLock<Data<T>>,
}

struct Data<T: Number> {
    input: Vec<T>,
    /// The result of each group of `GRAIN` elements, so that checking a launch's blocks does not read all elements
    /// again.
    grains: Vec<T::Wide>,
}

impl<T: Number> Data<T> {
    fn new(n: u64, first: u64, op: Op) -> Self {
        let input = generate(n, |index| T::element(index.wrapping_add(first as u32), op));
        let all = |elements: &[T]| {
            let wide = elements.iter().map(|&element| T::Wide::from(element));
            wide.fold(T::Wide::identity(op), |all, one| T::Wide::combine(op, all, one))
        };
        let grains = input.par_chunks(GRAIN as usize).map(all).collect();
        Self { input, grains }
    }
}

impl<T: Number> Reduction<T> {
    const SIZE: u64 = size_of::<T>() as u64;

    pub(super) fn new(n: u64, op: Op, variant: String) -> Self {
        let data = OnceLock::new();
        Self { n, first: 0, whole_n: n, op, variant, data }
    }

    /// Returns the reduction of `n` elements starting at `first`, out of `whole_n` elements.
    fn range(&self, first: u64, n: u64, whole_n: u64) -> Self {
        Self { n, first, whole_n, op: self.op, variant: self.variant.clone(), data: OnceLock::new() }
    }

    fn data(&self) -> &Data<T> {
        self.data.get_or_init(|| Data::new(self.n, self.first, self.op))
    }

    /// Combines partial results with the result `before`.
    fn combine_results(&self, before: T::Wide, grains: &[T::Wide]) -> T::Wide {
        let combine = |all, &grain| T::Wide::combine(self.op, all, grain);
        grains.iter().fold(before, combine)
    }

    /// Returns the correct result of each block. The parts of the input are assigned to the blocks round-robin.
    fn expected(&self, rung: &Rung, launch: &Launch) -> Vec<T::Wide> {
        let mut blocks = vec![T::Wide::identity(self.op); launch.blocks() as usize];
        let part = launch.threads() * u64::from(rung.items_per_thread) / GRAIN;
        for (index, part) in self.data().grains.chunks(part as usize).enumerate() {
            let block = index % blocks.len();
            blocks[block] = self.combine_results(blocks[block], part);
        }
        blocks
    }

    pub(super) fn expected_whole(&self) -> T::Wide {
        self.combine_results(T::Wide::identity(self.op), &self.data().grains)
    }

    /// Returns the maximum allowed error when `elements` elements are reduced in any order. The ladder's documentation
    /// derives this maximum.
    pub(super) fn error(&self, elements: u64, right: T::Wide) -> f64 {
        if self.op != Op::Product || T::ROUNDOFF == 0.0 {
            return 0.0;
        }
        let magnitude = right.distance(T::Wide::identity(Op::Sum));
        (gamma(elements, T::ROUNDOFF) + gamma(elements, f64::EPSILON / 2.0)) * magnitude
    }

    /// Returns the text after the size: `, max of f32`, or nothing for the ladder's default sum.
    fn variant_in_words(&self) -> String {
        match &*self.variant {
            "" => String::new(),
            variant => format!(", {}", variant.replace('_', " of ")),
        }
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl<T: Number> Problem for Reduction<T> {
    fn facts(&self) -> Facts {
        Facts { variant: self.variant.clone(), ..Facts::new(vec![self.n], self.n * Self::SIZE) }
    }

    fn labels(&self) -> Labels {
        let (column, variant) = (format!("n = {}", self.n), self.variant_in_words());
        Labels { size: format!("{column}{variant}"), title: with_power(self.n) + &variant, column }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn refuses(&self, _: &Rung) -> Option<String> {
        too_many(self.n)
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let blocks = |elements| self.n.div_ceil(elements).max(1);
        let words = blocks(GRAIN * ITEMS as u64);
        vec![
            Buffer::new("input", Role::Input, self.n * Self::SIZE),
            Buffer::new("output", Role::Output, blocks(GRAIN) * Self::SIZE),
            Buffer::new("sum", Role::Sum, Self::SIZE),
            Buffer::new("workspace", Role::Workspace, words * size_of::<u64>() as u64),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            INPUT => bytemuck::cast_slice(&self.data().input),
            _ => &[],
        }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        (name == "n").then_some(Arg::U32(self.n as u32))
    }

    fn written_bytes(&self, launch: &Launch, buffer: &Buffer) -> u64 {
        let is_whole = buffer.name == "sum" || launch.args.contains(&Arg::Buffer(WORKSPACE));
        Self::SIZE * if is_whole { 1 } else { launch.blocks() }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let (expected, items) = match rung.single_pass {
            // The launch can combine all elements in any order.
            true => (vec![self.expected_whole()], self.n),
            false => {
                let items_per_block = launch.threads() * u64::from(rung.items_per_thread);
                let turns = self.n.div_ceil((launch.blocks() * items_per_block).max(1));
                (self.expected(rung, launch), turns * items_per_block)
            }
        };
        let (blocks, op) = (expected.len(), self.op.name());
        Verdict::of_output(outputs, blocks, |found: &[T]| {
            let is_right =
                |(&found, &right): (&T, &T::Wide)| T::Wide::from(found).distance(right) <= self.error(items, right);
            let at = (found.iter().zip(&expected)).position(|pair| !is_right(pair))?;
            let which = match rung.single_pass {
                true => format!("the {op}"),
                false => format!("block {at} of {blocks}: its {op}"),
            };
            Some(Verdict::wrong_element(which, &found[at], found[at], expected[at]))
        })
    }
}

impl<T: Number> Divide for Reduction<T> {
    fn share(&self, share: Share, _: Side) -> Result<RankProblem, String> {
        let Range { start, end } = share.of(self.n);
        Ok(RankProblem {
            problem: Box::new(self.range(start, end - start, self.n)),
            broadcast: Vec::new(),
            scattered: None,
        })
    }

    fn combination(&self, rung: &Rung) -> Combination {
        match rung.single_pass {
            true => Combination::Reduce { element: T::ELEMENT, operation: self.op.device_operation() },
            false => Combination::Gather,
        }
    }

    fn least_pieces(&self) -> usize {
        least_pieces(self.n)
    }

    fn piece(&self, rung: &Rung, piece: Share) -> Result<Piece, String> {
        if !rung.parameters.contains(&"sum") {
            return Err("it overwrites the output, but each piece must add to the output; use reduce_atomic".to_owned());
        }
        let Range { start, end } = data::piece(piece, self.n);
        let problem = self.range(self.first + start, end - start, self.whole_n);
        Ok(Piece { problem: Box::new(problem), offsets: vec![(INPUT, start * Self::SIZE)] })
    }

    fn reference(&self) -> Vec<u8> {
        bytemuck::bytes_of(&self.expected_whole()).to_vec()
    }

    fn check_combined(&self, references: &[Vec<u8>], output: &[u8]) -> Verdict {
        let parts: Vec<T::Wide> = references.iter().flat_map(|part| elements(part).into_owned()).collect();
        let right = self.combine_results(T::Wide::identity(self.op), &parts);
        Verdict::of_output(&[output.to_vec()], 1, |found: &[T]| {
            let is_right = T::Wide::from(found[0]).distance(right) <= self.error(self.whole_n, right);
            let which = format!("the {} of all parts", self.op.name());
            (!is_right).then(|| Verdict::wrong_element(which, &found[0], found[0], right))
        })
    }
}
