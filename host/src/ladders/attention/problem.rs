//! The attention problem: its buffers, arguments and sizes.

use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch, TensorElement, TensorMap};
use engine::options::Options;
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down};
use engine::registry::{DeviceProperties, Rung};

use super::data::{DATA, Data, Format, Tensor, tensor};
use super::reference::Reference;
use super::{HEAD_SIZES, LADDER, TYPES};
use crate::data::MAX_ELEMENTS;

/// The maximum number of scores in memory, which take 4 GiB. Rungs that store a matrix of scores refuse larger
/// problems.
const MOST_SCORES: u64 = 1 << 30;

/// The index of the output among the buffers, after the three tensors.
const OUTPUT: usize = 3;

/// The box of a tensor map: 64 rows of 64 elements (128 bytes).
const BOX: [u32; 2] = [64, 64];

/// The lengths of the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) batch: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) d: usize,
    pub(super) is_causal: bool,
}

impl Lengths {
    /// Returns the number of heads of Q in all sequences.
    pub(super) fn all_heads(&self) -> usize {
        self.batch * self.heads
    }

    /// Returns the number of keys that a query sees, counted from the first key.
    pub(super) fn seen(&self, query: usize) -> usize {
        match self.is_causal {
            true => (query + 1 + self.keys).saturating_sub(self.queries).min(self.keys),
            false => self.keys,
        }
    }

    /// Returns the total number of keys that all queries of a head see.
    pub(super) fn seen_by_all(&self) -> u64 {
        let (queries, keys) = (self.queries as u64, self.keys as u64);
        // The last query sees all keys, and each earlier query sees one key less than the next.
        let corner = queries.min(keys);
        match self.is_causal {
            true => keys * corner - corner * corner.saturating_sub(1) / 2,
            false => queries * keys,
        }
    }

    /// Returns the number of matrices in a tensor, and the number of rows in each.
    fn rows(&self, tensor: Tensor) -> [usize; 2] {
        match tensor {
            Tensor::Q => [self.all_heads(), self.queries],
            Tensor::K | Tensor::V => [self.batch * self.kv_heads, self.keys],
        }
    }

    fn elements(&self, tensor: Tensor) -> u64 {
        let [matrices, rows] = self.rows(tensor);
        (matrices * rows * self.d) as u64
    }

    /// Returns the number of scores in all heads.
    fn scores(&self) -> u64 {
        (self.all_heads() * self.queries) as u64 * self.keys as u64
    }
}

pub(super) struct Attention {
    pub(super) lengths: Lengths,
    pub(super) format: Format,
    pub(super) data: Data,
    inputs: OnceLock<[Vec<u16>; 3]>,
    reference: OnceLock<Reference>,
}

impl Attention {
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let positive = |name| options.size_within(name, 1..=MAX_ELEMENTS);
        let (batch, heads) = (positive("batch")?, positive("heads")?);
        let queries = options.size_within("queries", 0..=MAX_ELEMENTS)?;
        let kv_heads = options.maybe_size("kv-heads").unwrap_or(heads);
        let keys = options.maybe_size("keys").unwrap_or(queries);
        if kv_heads == 0 || heads % kv_heads != 0 {
            let takes = format!("a divisor of --heads {heads}");
            return Err(Error::out_of_bounds(LADDER.name, "kv-heads", kv_heads, &takes));
        }
        if keys > MAX_ELEMENTS {
            return Err(Error::out_of_bounds(LADDER.name, "keys", keys, &format!("0 to {MAX_ELEMENTS}")));
        }
        let d = if options.text("d") == HEAD_SIZES[0] { 128 } else { 64 };
        for (name, heads, rows) in [("Q", heads, queries), ("K", kv_heads, keys)] {
            let elements = [batch, heads, rows, d].into_iter().try_fold(1, u64::checked_mul);
            if elements.is_none_or(|elements| elements > MAX_ELEMENTS) {
                let what = format!("{name} of {batch} × {heads} × {rows} × {d}");
                return Err(Error::too_large(LADDER.name, &what, MAX_ELEMENTS));
            }
        }
        let size = |size: u64| size as usize;
        let lengths = Lengths {
            batch: size(batch),
            heads: size(heads),
            kv_heads: size(kv_heads),
            queries: size(queries),
            keys: size(keys),
            d: size(d),
            is_causal: options.text("causal") == "yes",
        };
        Ok(Self {
            lengths,
            format: if options.text("type") == TYPES[0] { Format::Bf16 } else { Format::F16 },
            data: Data::named(options.text("data")),
            inputs: OnceLock::new(),
            reference: OnceLock::new(),
        })
    }

    /// Returns the elements of Q, K and V.
    pub(super) fn inputs(&self) -> &[Vec<u16>; 3] {
        self.inputs.get_or_init(|| {
            [Tensor::Q, Tensor::K, Tensor::V].map(|of| tensor(of, self.format, self.data, self.lengths.elements(of)))
        })
    }

    pub(super) fn reference(&self) -> &Reference {
        self.reference.get_or_init(|| Reference::new(self))
    }

    /// Returns a word for each option that differs from its default.
    fn words(&self) -> Vec<&'static str> {
        let f16 = (self.format == Format::F16).then_some("f16");
        let d64 = (self.lengths.d == 64).then_some("d64");
        let causal = self.lengths.is_causal.then_some("causal");
        [f16, d64, causal].into_iter().flatten().collect()
    }

    /// Returns the map of a tensor. A tensor without rows cannot have a map. In its place, kernels get a map of one row
    /// of the guard after the output; the kernels do not use this map.
    fn map(&self, tensor: Tensor) -> TensorMap {
        let [matrices, rows] = self.lengths.rows(tensor).map(|length| length as u64);
        let element = match self.format {
            Format::Bf16 => TensorElement::Bf16,
            Format::F16 => TensorElement::F16,
        };
        let (buffer, matrices, rows) = if rows == 0 { (OUTPUT, 1, 1) } else { (tensor as usize, matrices, rows) };
        let columns = self.lengths.d as u64;
        TensorMap { buffer, begin: 0, element, columns, rows, matrices: Some(matrices), tile: BOX }
    }

    /// Describes the position of an element of the output.
    fn place(&self, at: usize) -> String {
        let Lengths { heads, queries, d, .. } = self.lengths;
        let (row, column) = (at / d, at % d);
        let (head, query) = (row / queries, row % queries);
        format!("sequence {}, head {}, query {query}, element {column}", head / heads, head % heads)
    }
}

// SAFETY: every argument is a buffer, a tensor map of a buffer, or a count, and never an address.
unsafe impl Problem for Attention {
    fn facts(&self) -> Facts {
        let Lengths { queries, keys, d, .. } = self.lengths;
        let shape = [queries, self.lengths.all_heads(), keys, d].map(|length| length as u64).to_vec();
        let elements: u64 =
            [Tensor::Q, Tensor::Q, Tensor::K, Tensor::V].map(|of| self.lengths.elements(of)).iter().sum();
        let pairs = self.lengths.all_heads() as u64 * self.lengths.seen_by_all();
        let flops = pairs.saturating_mul(4 * d as u64);
        Facts { variant: self.words().join("_"), flops: Some(flops), ..Facts::new(shape, elements * 2) }
    }

    fn labels(&self) -> Labels {
        let Lengths { batch, heads, kv_heads, queries, keys, d, .. } = self.lengths;
        let mut size = match queries == keys {
            true => format!("{queries} queries and keys"),
            false => format!("{queries} queries, {keys} keys"),
        };
        if batch > 1 {
            size += &format!(", batch of {batch}");
        }
        size += &format!(", {heads} heads");
        if kv_heads != heads {
            size += &format!(" on {kv_heads}");
        }
        if self.data != Data::Normal {
            size += &format!(", {} data", DATA[self.data as usize]);
        }
        let words = self.words();
        let causal = if self.lengths.is_causal { ", causal" } else { "" };
        let name = if self.format == Format::Bf16 { "bf16" } else { "f16" };
        Labels {
            title: format!("{size}, d = {d}, {name}{causal}"),
            column: if words.is_empty() { "bf16".to_owned() } else { words.join(", ") },
            size,
        }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        let Lengths { queries, keys, .. } = self.lengths;
        let less = |length: usize| round_down(length as u64, share);
        Some(Options::default().with("queries", less(queries)).with("keys", less(keys)))
    }

    fn refuses(&self, rung: &Rung) -> Option<String> {
        let scores = self.lengths.scores();
        if !rung.parameters.contains(&"scores") || scores <= MOST_SCORES {
            return None;
        }
        let variant = self.facts().variant;
        let needs_no_scores = |other: &&Rung| !other.parameters.contains(&"scores") && other.computes(&variant);
        let instead = LADDER.rungs.iter().find(needs_no_scores);
        let instead =
            instead.map_or(String::new(), |other| format!("; use {}, which needs no such matrix", other.name));
        Some(format!(
            "its matrix of scores would have {scores} floats, {} GB, and the limit is {MOST_SCORES} floats{instead}",
            scores.saturating_mul(4) / 1_000_000_000
        ))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let bytes = |of| self.lengths.elements(of) * 2;
        let scores = self.lengths.scores();
        vec![
            Buffer::new("q", Role::Input, bytes(Tensor::Q)),
            Buffer::new("k", Role::Input, bytes(Tensor::K)),
            Buffer::new("v", Role::Input, bytes(Tensor::V)),
            Buffer::new("output", Role::Output, bytes(Tensor::Q)),
            Buffer::new("scores", Role::Scratch, if scores <= MOST_SCORES { scores * 4 } else { 0 }),
            Buffer::new("barrier", Role::Workspace, 4),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        self.inputs().get(index).map_or(&[], |tensor| bytemuck::cast_slice(tensor))
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        let Lengths { batch, heads, kv_heads, queries, keys, .. } = self.lengths;
        let count = |length: usize| Arg::U32(length as u32);
        Some(match name {
            "batch" => count(batch),
            "heads" => count(heads),
            "kv_heads" => count(kv_heads),
            "queries" => count(queries),
            "keys" => count(keys),
            "q_map" => Arg::TensorMap(self.map(Tensor::Q)),
            "k_map" => Arg::TensorMap(self.map(Tensor::K)),
            "v_map" => Arg::TensorMap(self.map(Tensor::V)),
            _ => return None,
        })
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let elements = self.lengths.elements(Tensor::Q) as usize;
        Verdict::of_output(outputs, elements, |found: &[u16]| {
            let (at, right) = self.reference().first_wrong(self, found)?;
            let shown = format_args!("{:e}", self.format.decode(found[at]) as f32);
            Some(Verdict::wrong_element(self.place(at), &found[at], shown, right))
        })
    }
}
