//! Demonstrations of warp shuffles: the values of each lane before and after.
//!
//! This ladder does not compare speeds but shows the four modes, with the argument and the width as options. Each
//! kernel takes `(input: *const T, output: *mut T, argument: u32, width: u32)` and runs on 16 lanes, or on the whole
//! warp if the width is 32.

mod model;

use std::sync::OnceLock;

pub use kernels_gpu::shuffle::Mode;
use kernels_gpu::shuffle::{DEMONSTRATIONS, Demonstration, RUNGS};
pub use model::source;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Picture, Problem, Role, Verdict, elements};
use engine::registry::{Effort, Ladder, Rung, ShownColumns};

/// The number of lanes, unless the width is larger.
const LANES: u32 = 16;

const WIDTHS: [u64; 5] = [2, 4, 8, 16, 32];
const TYPES: &[&str] = &["i32", "f32"];

/// The ladder.
pub(super) const LADDER: Ladder = Ladder {
    name: "shuffle",
    summary: "what a warp shuffle moves: a row of values before and after, for each mode",
    rungs: RUNGS,
    options: &[
        Opt::word("type", "TYPE", TYPES, "What the lanes hold"),
        Opt::size(
            "src",
            "LANE",
            "2",
            "The lane that a broadcast reads, 0 to 31",
        ),
        Opt::size("delta", "LANES", "2", "How far values move, 0 to 31"),
        Opt::size(
            "mask",
            "BITS",
            "1",
            "The bits of its number in which a lane's partner differs, 0 to 31",
        ),
        Opt::size(
            "width",
            "LANES",
            "16",
            "Lanes of a segment: 2, 4, 8, 16 or 32",
        ),
    ],
    blocks: &[[4, 1, 1], [8, 1, 1], [16, 1, 1], [32, 1, 1]],
    block_rule: "a lane for each value (or for four, in the array): 16 values, 32 with --width 32",
    sweep,
    problem,
    shown: ShownColumns {
        timed: &[],
        counted: &[],
        pictures: true,
    },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let arguments: Vec<u32> = match effort {
        Effort::Full | Effort::Quick => (0..32).collect(),
        Effort::Least => vec![0, 1, 2, 7, 16, 31],
    };
    let mut all = Vec::new();
    for width in WIDTHS {
        for word in TYPES {
            for argument in &arguments {
                let options = Options::default()
                    .with("type", word)
                    .with("width", width)
                    .with("src", argument)
                    .with("delta", argument)
                    .with("mask", argument);
                all.push(options);
            }
        }
    }
    all
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let refused = |option, value, takes: &str| Error::OutOfBounds {
        ladder: LADDER.name,
        option,
        value,
        takes: takes.to_owned(),
    };
    for option in ["src", "delta", "mask"] {
        let value = options.size(option);
        if value > 31 {
            return Err(refused(option, value, "0 to 31"));
        }
    }
    let width = options.size("width");
    if !WIDTHS.contains(&width) {
        return Err(refused("width", width, "2, 4, 8, 16 or 32"));
    }
    Ok(Box::new(Shuffle {
        options: options.clone(),
        width: width as u32,
        is_float: options.text("type") == "f32",
        input: OnceLock::new(),
    }))
}

/// The demonstration of a rung.
fn demonstration(rung: &Rung) -> &'static Demonstration {
    let shown = DEMONSTRATIONS.iter().find(|own| own.rung.name == rung.name);
    shown.expect("a rung of this ladder")
}

/// The values to shuffle.
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

    /// The bits of a value: the index of its lane, plus a half for floats.
    fn value(&self, place: u32) -> u32 {
        if self.is_float {
            (place as f32 + 0.5).to_bits()
        } else {
            place
        }
    }

    fn text(&self, bits: u32) -> String {
        if self.is_float {
            f32::from_bits(bits).to_string()
        } else {
            bits.cast_signed().to_string()
        }
    }

    fn input(&self) -> &[u32] {
        self.input
            .get_or_init(|| (0..self.values()).map(|place| self.value(place)).collect())
    }

    fn argument(&self, rung: &Rung) -> u32 {
        self.options.size(demonstration(rung).option) as u32
    }

    /// The width for a rung's lanes: no more than the number of lanes.
    fn width(&self, rung: &Rung) -> u32 {
        self.width
            .min(self.values() / demonstration(rung).registers)
    }

    /// The value of each lane after a rung.
    fn expected(&self, rung: &Rung) -> Vec<u32> {
        let shown = demonstration(rung);
        let (value, width) = (self.argument(rung), self.width(rung));
        (0..self.values())
            .map(|place| {
                let (lane, register) = (place / shown.registers, place % shown.registers);
                let argument = (shown.argument)(lane, value);
                let from = source(shown.mode, lane, argument, width);
                self.value(from * shown.registers + register)
            })
            .collect()
    }
}

impl Problem for Shuffle {
    fn size(&self) -> String {
        let [src, delta, mask] = ["src", "delta", "mask"].map(|name| self.options.size(name));
        format!(
            "{} of {}, source {src}, delta {delta}, mask {mask}, width {}",
            self.values(),
            self.variant(),
            self.width
        )
    }

    fn column(&self) -> String {
        format!("width {}", self.width)
    }

    fn variant(&self) -> String {
        if self.is_float { "f32" } else { "i32" }.to_owned()
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.values().into()]
    }

    fn buffers(&self) -> Vec<Buffer> {
        let bytes = u64::from(self.values()) * 4;
        vec![
            Buffer::new(Role::Input, bytes),
            Buffer::new(Role::Output, bytes),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 {
            bytemuck::cast_slice(self.input())
        } else {
            &[]
        }
    }

    fn args(&self, rung: &Rung) -> Vec<Arg> {
        vec![
            Arg::Buffer(0),
            Arg::Buffer(1),
            Arg::U32(self.argument(rung)),
            Arg::U32(self.width(rung)),
        ]
    }

    fn check(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let found = elements::<u32>(outputs.first().map_or(&[], Vec::as_slice));
        let expected = self.expected(rung);
        if found.len() != expected.len() {
            return Verdict::Wrong(format!("the output has {} values", found.len()));
        }
        let mut places = found.iter().zip(&expected).enumerate();
        match places.find(|(_, (found, right))| found != right) {
            None => Verdict::Right,
            Some((place, (found, &right))) => Verdict::wrong_element(
                format_args!("value {place}"),
                found,
                self.text(*found),
                self.text(right),
            ),
        }
    }

    fn picture(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Option<Picture> {
        let shown = demonstration(rung);
        let texts = |bits: &[u32]| bits.iter().map(|&bits| self.text(bits)).collect();
        let after = elements::<u32>(outputs.first().map_or(&[], Vec::as_slice));
        let each = match shown.registers {
            1 => "value".to_owned(),
            registers => format!("each of {registers} values"),
        };
        Some(Picture {
            what: format!(
                "{}({each}, {}{}) in segments of {}",
                shown.function,
                shown.written_before,
                self.argument(rung),
                self.width(rung)
            ),
            before: texts(self.input()),
            after: texts(&after[..after.len().min(self.input().len())]),
        })
    }
}

#[cfg(test)]
mod tests;
