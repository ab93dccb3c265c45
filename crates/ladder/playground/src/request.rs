//! What the page asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trace::Target;

/// What a page asks for: `{"ask": "view", "step": 7, "warp": 0}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// Which ladders and rungs there are.
    Catalog,
    /// Which kernels a text of PTX has.
    Kernels {
        /// The text.
        ptx: String,
    },
    /// Runs a rung, and records one of its blocks.
    Rung(RungRun),
    /// Runs a kernel of pasted PTX, and records one of its blocks.
    Pasted(Pasted),
    /// Runs the last kernel again, with all checks of the sanitizers.
    Check,
    /// The state after a step, of one warp.
    View {
        /// The step, from 0, in the order in which the block's warps executed them.
        step: u32,
        /// The warp.
        warp: u32,
    },
    /// A step before or behind another one.
    Go {
        /// From here.
        step: u32,
        /// Of this warp.
        warp: u32,
        /// Whether to go back.
        #[serde(default)]
        back: bool,
        /// To the next one of these.
        to: Target,
    },
}

/// A rung to run.
#[derive(Clone, Debug, Deserialize)]
pub struct RungRun {
    /// The rung's name.
    pub rung: String,
    /// The problem's options, as on the command line.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The threads of a block, as on the command line; empty for the rung's own.
    #[serde(default)]
    pub block: String,
    /// The number of the block that is recorded.
    #[serde(default)]
    pub record: u64,
}

/// A kernel of pasted PTX to run.
#[derive(Clone, Debug, Deserialize)]
pub struct Pasted {
    /// The text.
    pub ptx: String,
    /// The kernel; the first one if it is empty.
    #[serde(default)]
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub shared: u32,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
    /// The number of the block that is recorded.
    #[serde(default)]
    pub record: u64,
}

/// An argument.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Argument {
    /// The type: `f32`, `u64`; of a buffer's elements, if it is one.
    #[serde(rename = "type")]
    pub kind: String,
    /// For a buffer, how many elements it has.
    pub buffer: Option<u64>,
    /// A number; or what a buffer is filled with: `zeros`, `ones`, `index`, `random`, or numbers with commas or blanks
    /// between them, from the first element on.
    pub value: String,
}
