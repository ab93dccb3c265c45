//! A ladder whose rungs read 64 words and write them in another order. Its kernels are those of the pitfalls, and half
//! of them fail.

use host::launch::Launch;
use host::options::{Opt, Options};
use host::problem::{Buffer, Facts, Labels, Problem, Role, Verdict};
use host::{Catalog, DeviceProperties, Error, KERNELS, Ladder, Rung, ShownColumns};

pub(super) static CATALOG: Catalog = Catalog { ladders: &[WORDS], pitfalls: &[], kernels: &KERNELS };

const LINE: Rung = Rung {
    source: "pitfalls",
    lesson: "a rung may fail",
    parameters: &["input", "output"],
    default_block: [64, 1, 1],
    ..Rung::USUAL
};

const WORDS: Ladder = Ladder {
    name: "words",
    summary: "words in another order, for tests",
    rungs: &[
        Rung { name: "barrier_count_too_high_fixed", ..LINE },
        // Threads read 4 words at once from misaligned addresses.
        Rung { name: "misaligned_vector", ..LINE },
        Rung { name: "shared_bytes_as_elements_fixed", dynamic_shared: |[x, _, _], _| 4 * x, ..LINE },
        // The block waits forever.
        Rung { name: "barrier_count_too_high", ..LINE },
        // The kernel stores 64 words in 64 bytes.
        Rung { name: "shared_bytes_as_elements", dynamic_shared: |[x, _, _], _| x, ..LINE },
        Rung { name: "missing_barrier_fixed", ..LINE },
    ],
    options: &[Opt::size("n", "N", "64", "Number of words")],
    blocks: &[[64, 1, 1]],
    block_rule: "64",
    sweep: |_| vec![Options::default()],
    problem: words,
    shown: ShownColumns { timed: &[], counted: &[], pictures: false },
};

fn words(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let n = CATALOG.ladders[0].complete(options)?.size_within("n", 64..=64)?;
    Ok(Box::new(Words { n, input: (0..65).collect() }))
}

struct Words {
    n: u64,
    input: Vec<u32>,
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl Problem for Words {
    fn facts(&self) -> Facts {
        Facts::new(vec![self.n], 8 * self.n + 4)
    }

    fn labels(&self) -> Labels {
        Labels::new(format!("n = {}", self.n))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        vec![Buffer::new("input", Role::Input, 4 * self.n + 4), Buffer::new("output", Role::Output, 4 * self.n)]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 { bytemuck::cast_slice(&self.input) } else { &[] }
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let expected: Vec<u32> = (0..64).rev().collect();
        Verdict::of_elements(outputs, &expected, |at| format!("word {at}"))
    }
}
