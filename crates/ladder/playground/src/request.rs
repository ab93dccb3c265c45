//! The requests of the page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trace::Target;

/// A request of the page: `{"ask": "view", "step": 7, "warp": 0}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// Lists the ladders and rungs.
    Catalog,
    /// Lists the kernels of a PTX text.
    Kernels {
        /// The PTX text.
        ptx: String,
    },
    /// Runs a rung and records one of its blocks.
    Rung(RungRun),
    /// Runs a kernel of pasted PTX and records one of its blocks.
    Pasted(Pasted),
    /// Runs the last kernel again, with all sanitizers.
    Check,
    /// Returns the state of one warp after a step.
    View {
        /// The index of the step, starting at 0, in the order in which the block's warps executed the steps.
        step: u32,
        /// The warp.
        warp: u32,
    },
    /// Finds a step before or after the given step.
    Go {
        /// The step where the search starts.
        step: u32,
        /// The warp whose steps are searched.
        warp: u32,
        /// Whether to search backward.
        #[serde(default)]
        back: bool,
        /// The kind of step to find.
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
    /// The block size, as on the command line. Empty for the rung's default.
    #[serde(default)]
    pub block: String,
    /// The index of the block to record.
    #[serde(default)]
    pub record: u64,
}

/// A kernel of pasted PTX to run.
#[derive(Clone, Debug, Deserialize)]
pub struct Pasted {
    /// The PTX text.
    pub ptx: String,
    /// The name of the kernel. Empty for the first kernel.
    #[serde(default)]
    pub kernel: String,
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block in x, y and z.
    pub block: [u32; 3],
    /// The number of bytes of dynamic shared memory per block.
    #[serde(default)]
    pub shared: u32,
    /// One argument for each parameter.
    pub arguments: Vec<Argument>,
    /// The index of the block to record.
    #[serde(default)]
    pub record: u64,
}

/// An argument.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Argument {
    /// The type, such as `f32` or `u64`. For a buffer, the type of its elements.
    #[serde(rename = "type")]
    pub kind: String,
    /// For a buffer, the number of elements.
    pub buffer: Option<u64>,
    /// A number, or the initial values of a buffer: `zeros`, `ones`, `index`, `random`, or numbers for the first
    /// elements, separated by commas or spaces.
    pub value: String,
}
