//! How long operations take, and what the units of a multiprocessor do in a clock.

/// Cycles until the result of an instruction is available, if it waits for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Arithmetic.
    pub alu: u32,
    /// Double precision, conversions, special functions.
    pub special: u32,
    /// Shuffles and votes.
    pub shuffle: u32,
    /// A load of shared memory.
    pub shared: u32,
    /// Each further pass of an atomic on shared memory.
    pub atomic: u32,
    /// A load that hits the L1.
    pub l1: u32,
    /// A load that hits the L2.
    pub l2: u32,
    /// A load from memory.
    pub memory: u32,
    /// From the last warp's arrival at a barrier to the first instruction after it.
    pub barrier: u32,
    /// The sums of `mma` of 16 x 8 x 16 halves.
    #[serde(default = "ampere_mma")]
    pub mma: u32,
    /// From the end of a group of `wgmma` to those that wait for it, and to the next group that adds to its sums.
    #[serde(default)]
    pub wgmma: u32,
    /// From the last arrival at an mbarrier to those that wait for it.
    #[serde(default)]
    pub mbarrier: u32,
    /// What a group of `wgmma` takes of the tensor cores besides its products.
    #[serde(default)]
    pub wgmma_group: u32,
    /// What a bulk copy from memory takes longer than a load from there.
    #[serde(default)]
    pub bulk_memory: u32,
    /// What the loads of a block's tile take longer from memory than one load from there.
    #[serde(default)]
    pub tile_memory: u32,
    /// What a bulk copy from the L2 takes longer than a load from there.
    #[serde(default)]
    pub bulk: u32,
    /// What a bulk copy from shared memory takes longer than its bytes, until they have been read.
    #[serde(default)]
    pub bulk_store: u32,
    /// From the last arrival at a cluster's barrier to the first instruction after it.
    #[serde(default)]
    pub cluster: u32,
}

/// `mma` of 16 x 8 x 16 halves on an A100 (Sun and others, arXiv:2206.02874).
fn ampere_mma() -> u32 {
    33
}

/// The rates of the units of a multiprocessor that work independently of its warps, for each clock cycle. A unit without a known
/// rate takes no time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Additions of products of two halves by the tensor cores.
    pub matrix: f64,
    /// The share of that which `mma` and `wmma` reach.
    pub mma_share: f64,
    /// Bytes that shared memory gives to the tensor cores.
    pub shared_bytes: f64,
    /// Bytes that bulk copies bring.
    pub bulk_in: f64,
    /// Bytes that bulk copies take away.
    pub bulk_out: f64,
    /// Bytes that come from the L2 for loads.
    pub loads: f64,
    /// Bytes of whole sectors that go to the L2 for stores. A part of a sector takes as long as two.
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
