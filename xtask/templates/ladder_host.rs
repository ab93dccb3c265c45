//! In a line: what the ladder `{{name}}` computes.
//!
//! Each kernel takes `(input: *const u32, output: *mut u32, n: u32)`: its buffers, and the sides of its shape.
//!
//! Effective bandwidth is reckoned as one read and one write of every element, by the time.

use std::sync::OnceLock;

use engine::Error;
use engine::launch::Launch;
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Problem, Role, Verdict, round_down, with_power};
use engine::registry::{Effort, Ladder, Rung, ShownColumns};

use crate::data::MAX_ELEMENTS;

/// The ladder.
pub(super) const LADDER: Ladder = Ladder {
    name: "{{name}}",
    summary: "in a line: what it computes",
    rungs: kernels_gpu::{{name}}::RUNGS,
    options: &[Opt::size("n", "N", "2^24", "How many elements")],
    blocks: &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
    block_rule: "64, 128, 256, 512 or 1024",
    sweep,
    problem,
    shown: ShownColumns::MEMORY,
};

/// The sizes of `ladder check`: those where a kernel goes wrong first.
fn sweep(effort: Effort) -> Vec<Options> {
    effort.sizes("n")
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let n = options.size_within("n", 0..=MAX_ELEMENTS)?;
    let input = OnceLock::new();
    Ok(Box::new({{Name}} { n, input }))
}

/// What the kernels compute, on the CPU: the reference. Here each element plus one; what the ladder is about comes
/// in its place.
fn reference(input: &[u32]) -> Vec<u32> {
    input.iter().map(|value| value.wrapping_add(1)).collect()
}

/// Numbers to compute with.
struct {{Name}} {
    n: u64,
    input: OnceLock<Vec<u32>>,
}

impl {{Name}} {
    fn input(&self) -> &[u32] {
        // A product with an odd number takes no two indices to the same value.
        let value = |index: u32| index.wrapping_mul(0x9e37_79b1);
        self.input
            .get_or_init(|| (0..self.n as u32).map(value).collect())
    }
}

impl Problem for {{Name}} {
    fn size(&self) -> String {
        format!("n = {}", self.n)
    }

    fn title(&self) -> String {
        with_power(self.n)
    }

    fn smaller(&self, share: f64) -> Option<String> {
        Some(format!("--n {}", round_down(self.n, share)))
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.n]
    }

    fn buffers(&self) -> Vec<Buffer> {
        let bytes = self.n * size_of::<u32>() as u64;
        [Role::Input, Role::Output]
            .map(|role| Buffer::new(role, bytes))
            .to_vec()
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(self.input()),
            _ => &[],
        }
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        Verdict::of_elements(outputs, &reference(self.input()), |index| {
            format!("element {index} of the output")
        })
    }
}
