//! Demonstrations of warp shuffles: the values of each lane before and after a shuffle.
//!
//! Instead of comparing speeds, this ladder shows the four modes, with the argument and the width as options. Each
//! kernel has the parameters `input`, `output`, the shuffle's argument (`source`, `delta` or `lane_mask`) and `width`.
//! A kernel runs on 16 lanes, or on the whole warp if the width is 32.

mod demonstration;
mod model;

use std::sync::OnceLock;

use demonstration::Demonstration;
use kernels_gpu::shuffle::RUNGS;
use kernels_gpu::shuffle::xor_array::SHUFFLE_XOR_ARRAY;
pub use model::{Mode, source};

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Picture, Problem, Role, Verdict, elements};
use engine::registry::{DeviceProperties, Effort, Ladder, Rung, ShownColumns};

/// The number of lanes, unless the width is larger.
const LANES: u32 = 16;

const WIDTHS: [u64; 5] = [2, 4, 8, 16, 32];
const TYPES: &[&str] = &["i32", "f32"];

pub(super) const LADDER: Ladder = Ladder {
    name: "shuffle",
    summary: "warp shuffles: the values of all lanes before and after, for each mode",
    rungs: RUNGS,
    options: &[
        Opt::word("type", "TYPE", TYPES, "The type of the values"),
        Opt::size("src", "LANE", "2", "The lane that a broadcast reads, 0 to 31"),
        Opt::size("delta", "LANES", "2", "The distance in lanes by which values move, 0 to 31"),
        Opt::size("mask", "BITS", "1", "The bits in which the numbers of a lane and its partner differ, 0 to 31"),
        Opt::size("width", "LANES", "16", "Lanes per segment: 2, 4, 8, 16 or 32"),
    ],
    blocks: &[[4, 1, 1], [8, 1, 1], [16, 1, 1], [32, 1, 1]],
    block_rule: "one lane per value (or per four values, in the array): 16 values, or 32 with --width 32",
    sweep,
    problem,
    shown: ShownColumns { timed: &[], counted: &[], pictures: true },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let all: Vec<u32> = (0..32).collect();
    let arguments = effort.pick(&all[..], &all, &[0, 1, 2, 7, 16, 31]);
    let mut problems = Vec::new();
    for width in WIDTHS {
        for word in TYPES {
            for argument in arguments {
                let options = Options::default()
                    .with("type", word)
                    .with("width", width)
                    .with("src", argument)
                    .with("delta", argument)
                    .with("mask", argument);
                problems.push(options);
            }
        }
    }
    problems
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    for option in ["src", "delta", "mask"] {
        options.size_within(option, 0..=31)?;
    }
    let width = options.size("width");
    if !WIDTHS.contains(&width) {
        return Err(Error::out_of_bounds(LADDER.name, "width", width, "2, 4, 8, 16 or 32"));
    }
    Ok(Box::new(Shuffle {
        options: options.clone(),
        width: width as u32,
        is_float: options.text("type") == "f32",
        input: OnceLock::new(),
    }))
}

struct Shuffle {
    options: Options,
    width: u32,
    is_float: bool,
    input: OnceLock<Vec<u32>>,
}

impl Shuffle {
    fn values(&self) -> u32 {
        LANES.max(self.width)
    }

    /// Returns the bits of the input at index `place`: the index, plus one half for floats.
    fn value(&self, place: u32) -> u32 {
        match self.is_float {
            true => (place as f32 + 0.5).to_bits(),
            false => place,
        }
    }

    fn text(&self, bits: u32) -> String {
        match self.is_float {
            true => f32::from_bits(bits).to_string(),
            false => bits.cast_signed().to_string(),
        }
    }

    fn input(&self) -> &[u32] {
        self.input.get_or_init(|| (0..self.values()).map(|place| self.value(place)).collect())
    }

    /// Returns the value of an option.
    fn option(&self, name: &str) -> u32 {
        self.options.size(name) as u32
    }

    /// Returns the shuffle width for a rung whose lanes hold one or more values each. The width is at most the number
    /// of lanes.
    fn width(&self, rung: &Rung) -> u32 {
        self.width.min(self.values() / rung.items_per_thread)
    }

    /// Returns the value that each lane holds after a rung's shuffle.
    fn expected(&self, rung: &Rung) -> Vec<u32> {
        let shown = Demonstration::of(rung);
        let (value, width, registers) = (self.option(shown.option), self.width(rung), rung.items_per_thread);
        let expected = |place: u32| {
            let (lane, register) = (place / registers, place % registers);
            let from = source(shown.mode, lane, (shown.argument)(lane, value), width);
            self.value(from * registers + register)
        };
        (0..self.values()).map(expected).collect()
    }

    /// Returns the name of the elements' type.
    fn element(&self) -> &'static str {
        if self.is_float { "f32" } else { "i32" }
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl Problem for Shuffle {
    fn facts(&self) -> Facts {
        let values = u64::from(self.values());
        Facts { variant: self.element().to_owned(), ..Facts::new(vec![values], 2 * 4 * values) }
    }

    fn labels(&self) -> Labels {
        let [src, delta, mask] = ["src", "delta", "mask"].map(|name| self.options.size(name));
        let (values, width, element) = (self.values(), self.width, self.element());
        let size = format!("{values} of {element}, source {src}, delta {delta}, mask {mask}, width {width}");
        Labels { column: format!("width {width}"), ..Labels::new(size) }
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let bytes = u64::from(self.values()) * 4;
        vec![Buffer::new("input", Role::Input, bytes), Buffer::new("output", Role::Output, bytes)]
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(self.input()),
            _ => &[],
        }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        Some(match name {
            "source" => Arg::U32(self.option("src")),
            "delta" => Arg::U32(self.option("delta")),
            "lane_mask" => Arg::U32(self.option("mask")),
            "width" => Arg::U32(self.width),
            "clamped_width" => Arg::U32(self.width(&SHUFFLE_XOR_ARRAY)),
            _ => return None,
        })
    }

    fn check(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let expected = self.expected(rung);
        Verdict::of_output(outputs, expected.len(), |found: &[u32]| {
            let at = (0..expected.len()).find(|&at| found[at] != expected[at])?;
            let [shown, right] = [found[at], expected[at]].map(|bits| self.text(bits));
            Some(Verdict::wrong_element(format_args!("value {at}"), &found[at], shown, right))
        })
    }

    fn picture(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Option<Picture> {
        let shown = Demonstration::of(rung);
        let texts = |bits: &[u32]| bits.iter().map(|&bits| self.text(bits)).collect();
        let after = elements::<u32>(outputs.first().map_or(&[], Vec::as_slice));
        let each = match rung.items_per_thread {
            1 => "value".to_owned(),
            registers => format!("each of {registers} values"),
        };
        Some(Picture {
            what: format!(
                "{}({each}, {}{}) in segments of {}",
                shown.function,
                shown.written_before,
                self.option(shown.option),
                self.width(rung)
            ),
            before: texts(self.input()),
            after: texts(&after[..after.len().min(self.input().len())]),
        })
    }
}

#[cfg(test)]
mod tests;
