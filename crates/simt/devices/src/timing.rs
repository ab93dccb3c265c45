//! The latencies of operations, and the throughput of a multiprocessor's units per clock.

/// Cycles until the result of an instruction is available, if the instruction does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Arithmetic.
    pub alu: u32,
    /// Double precision, conversions, special functions.
    pub special: u32,
    /// Shuffles and votes.
    pub shuffle: u32,
    /// A load from shared memory.
    pub shared: u32,
    /// Each additional pass of an atomic on shared memory.
    pub atomic: u32,
    /// A load that hits the L1.
    pub l1: u32,
    /// A load that hits the L2.
    pub l2: u32,
    /// A load from memory.
    pub memory: u32,
    /// From the last warp's arrival at a barrier to the first instruction after it.
    pub barrier: u32,
    /// The results of a 16 x 8 x 16 `mma` on halves.
    #[serde(default = "ampere_mma")]
    pub mma: u32,
    /// From the end of a `wgmma` group until the warps that wait for it continue, and until the next group can add to
    /// its sums.
    #[serde(default)]
    pub wgmma: u32,
    /// From the last arrival at an mbarrier until the threads that wait for it continue.
    #[serde(default)]
    pub mbarrier: u32,
    /// The tensor-core time of a `wgmma` group in addition to the time of its products.
    #[serde(default)]
    pub wgmma_group: u32,
    /// The additional latency of a bulk copy from memory, compared with a load from memory.
    #[serde(default)]
    pub bulk_memory: u32,
    /// The additional latency of the loads of a block's tile from memory, compared with a single load from memory.
    #[serde(default)]
    pub tile_memory: u32,
    /// The additional latency of a bulk copy from the L2, compared with a load from the L2.
    #[serde(default)]
    pub bulk: u32,
    /// The time of a bulk copy from shared memory in addition to its transfer time, until the bytes have been read.
    #[serde(default)]
    pub bulk_store: u32,
    /// From the last arrival at a cluster's barrier to the first instruction after it.
    #[serde(default)]
    pub cluster: u32,
}

/// Returns the latency of a 16 x 8 x 16 `mma` on halves on an A100 (Sun and others, arXiv:2206.02874).
fn ampere_mma() -> u32 {
    33
}

/// The rates per clock of a multiprocessor's units that work independently of its warps. A unit without a known rate
/// takes no time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Multiply-add operations on halves by the tensor cores.
    pub matrix: f64,
    /// The share of `matrix` that `mma` and `wmma` reach.
    pub mma_share: f64,
    /// Bytes that shared memory delivers to the tensor cores.
    pub shared_bytes: f64,
    /// Bytes that bulk copies write to shared memory.
    pub bulk_in: f64,
    /// Bytes that bulk copies read from shared memory.
    pub bulk_out: f64,
    /// Bytes that loads read from the L2.
    pub loads: f64,
    /// Bytes of whole sectors that stores write to the L2. A partial sector takes as long as two sectors.
    pub stores: f64,
}

impl Default for Rates {
    fn default() -> Self {
        let unlimited = f64::INFINITY;
        Self {
            matrix: unlimited,
            mma_share: 1.0,
            shared_bytes: unlimited,
            bulk_in: unlimited,
            bulk_out: unlimited,
            loads: unlimited,
            stores: unlimited,
        }
    }
}
