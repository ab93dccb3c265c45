//! Sorts n keys, or keys with values, in ascending order.
//!
//! Each kernel has the parameters `(keys: *const K, values: *const V, sorted_keys: *mut K, sorted_values: *mut V, …, n:
//! u32)`. In the first rung, each block sorts one section, and the check compares each section separately.
//!
//! # How it is checked
//! The reference is Rust's stable sort, by `Ord` for integers and by `f32::total_cmp` for floats. Keys are compared
//! exactly. The value of key `i` is `i`. A stable sort has one correct order of the values, so they are compared
//! exactly. The rungs without a second buffer exchange keys in place and are not stable. In those rungs, each value
//! must be the index of a key in the same section that equals the key at the value's position. No value may occur
//! twice.
//!
//! Effective bandwidth counts one read and one write of every key and value, regardless of the number of passes.

mod data;

use std::cmp::Ordering;
use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down, with_power};
use engine::registry::{DeviceProperties, Effort, Ladder, Rung, ShownColumns};
use kernels_gpu::sort::sweep::TOTALS;
use kernels_gpu::sort::{MAX_KEYS, MOST_DIGITS, MOST_RESIDENT, SMALLEST_TILE};
use rayon::prelude::*;

pub use data::SortKey;

/// The types of keys. The first one is the default.
const TYPES: &[&str] = &["u32", "i32", "f32", "u64"];

pub(super) const LADDER: Ladder = Ladder {
    name: "sort",
    summary: "n keys in ascending order, with or without values",
    rungs: kernels_gpu::sort::RUNGS,
    options: &[
        Opt::size("n", "N", "2^24", "Number of keys, up to 2^30"),
        Opt::word("type", "TYPE", TYPES, "The type of the keys; floats are sorted by f32::total_cmp"),
        Opt::word("values", "VALUES", &["no", "yes"], "Whether each key has a 32-bit value that moves with it"),
        Opt::word("data", "DATA", data::NAMES, "The keys"),
    ],
    blocks: &[[256, 1, 1], [512, 1, 1]],
    block_rule: "256 or 512",
    sweep,
    problem,
    shown: ShownColumns::MEMORY,
};

/// Sizes that expose a wrong comparison or offset: around warps, blocks and tiles, and primes.
const EDGES: &[u64] = &[
    0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1009, 1023, 1024,
    1025, 1279, 1280, 1281, 1791, 1792, 1793, 2047, 2048, 2049, 2559, 2560, 2561, 3583, 3584, 3585, 4095, 4096, 4097,
    5119, 5121, 7168, 7169, 8191, 8192, 8193, 10_007, 12_289, 16_383, 16_385, 20_481,
];

fn sweep(effort: Effort) -> Vec<Options> {
    let (larger, others): (&[u64], &[u64]) = effort.pick(
        (
            &[32_768, 65_537, 99_991, 131_073, 262_143, 999_983, (1 << 20) + 3, (1 << 24) + 1],
            &[0, 1, 257, 4099, 99_991],
        ),
        (&[32_768, 65_537, 99_991, 131_073], &[0, 33, 5003]),
        (&[33_333], &[3001]),
    );
    let size = |n: &u64| Options::default().with("n", n);
    let mut all: Vec<Options> = EDGES.iter().chain(larger).map(size).collect();
    for n in others {
        for (key, values) in TYPES.iter().flat_map(|key| ["no", "yes"].map(|values| (key, values))) {
            all.push(size(n).with("type", key).with("values", values));
        }
        let rest = data::NAMES.iter().filter(|name| **name != data::NAMES[0]);
        all.extend(rest.map(|name| size(n).with("type", "f32").with("values", "yes").with("data", name)));
    }
    all
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let n = options.size("n");
    if n > MAX_KEYS.into() {
        let takes = format!("0 to {MAX_KEYS}, because its kernels store counts up to twice this number in 32 bits");
        return Err(Error::out_of_bounds(LADDER.name, "n", n, &takes));
    }
    let (has_values, data) = (options.text("values") == "yes", options.text("data").to_owned());
    Ok(match options.text("type") {
        "u32" => Box::new(Sort::<u32>::new(n, has_values, data)),
        "i32" => Box::new(Sort::<i32>::new(n, has_values, data)),
        "f32" => Box::new(Sort::<f32>::new(n, has_values, data)),
        _ => Box::new(Sort::<u64>::new(n, has_values, data)),
    })
}

/// Returns the keys in ascending order, each with its index in `keys`. Equal keys keep their order. This is the
/// reference.
pub fn sorted<K: SortKey>(keys: &[K]) -> (Vec<K>, Vec<u32>) {
    let mut pairs: Vec<(K, u32)> = keys.par_iter().enumerate().map(|(index, key)| (*key, index as u32)).collect();
    pairs.par_sort_by(|(a, _), (b, _)| a.order(*b));
    pairs.into_par_iter().unzip()
}

struct Sort<K: SortKey> {
    n: u64,
    has_values: bool,
    /// The name of the data set, one of [`data::NAMES`].
    kind: String,
    data: OnceLock<Data<K>>,
}

struct Data<K: SortKey> {
    keys: Vec<K>,
    /// The index of each key. Empty if keys have no values.
    values: Vec<u32>,
    /// The sorted keys and their values.
    sorted: OnceLock<(Vec<K>, Vec<u32>)>,
}

impl<K: SortKey> Sort<K> {
    fn new(n: u64, has_values: bool, kind: String) -> Self {
        Self { n, has_values, kind, data: OnceLock::new() }
    }

    fn data(&self) -> &Data<K> {
        self.data.get_or_init(|| {
            let values = if self.has_values { (0..self.n as u32).collect() } else { Vec::new() };
            Data { keys: data::generate_keys(self.n, &self.kind), values, sorted: OnceLock::new() }
        })
    }

    fn value_bytes(&self) -> u64 {
        if self.has_values { size_of::<u32>() as u64 } else { 0 }
    }

    /// Describes the type of the keys and whether they have values.
    fn elements_in_words(&self) -> String {
        format!("{}{}", K::NAME, if self.has_values { " with values" } else { "" })
    }

    /// Finds the first wrong value if equal keys can be in any order. `sorted` holds the correct keys.
    fn wrong_value(&self, sorted: &[K], found: &[u32], section: usize) -> Option<Verdict> {
        let (keys, mut is_found) = (&self.data().keys, vec![false; found.len()]);
        found.iter().enumerate().find_map(|(place, &value)| {
            let index = value as usize;
            let is_of_key = keys.get(index).is_some_and(|key| key.order(sorted[place]) == Ordering::Equal);
            let is_right = is_of_key && index / section == place / section && !is_found[index];
            if is_right {
                is_found[index] = true;
                return None;
            }
            let right = format!("an unused index of a key that equals {}", sorted[place].shown());
            Some(Verdict::wrong_element(format!("value {place}"), &value, value, right))
        })
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl<K: SortKey> Problem for Sort<K> {
    fn facts(&self) -> Facts {
        let variant = match (self.has_values, K::NAME) {
            (false, name) if name == TYPES[0] => String::new(),
            (false, name) => name.to_owned(),
            (true, name) => format!("pairs_{name}"),
        };
        let bytes = 2 * self.n * (size_of::<K>() as u64 + self.value_bytes());
        Facts { variant, ..Facts::new(vec![self.n], bytes) }
    }

    fn labels(&self) -> Labels {
        let what = format!("{}, {}", self.elements_in_words(), self.kind);
        let column = format!("n = {}", self.n);
        Labels { size: format!("{column}, {what}"), title: format!("{}, {what}", with_power(self.n)), column }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn buffers(&self, device: DeviceProperties) -> Vec<Buffer> {
        let (key_bytes, value_bytes) = (self.n * size_of::<K>() as u64, self.n * self.value_bytes());
        let word = size_of::<u32>() as u64;
        let table = self.n.div_ceil(SMALLEST_TILE.into()).max(1) * u64::from(MOST_DIGITS) * word;
        vec![
            Buffer::new("keys", Role::Input, key_bytes),
            Buffer::new("values", Role::Input, value_bytes),
            Buffer::new("sorted_keys", Role::Output, key_bytes),
            Buffer::new("sorted_values", Role::Output, value_bytes),
            Buffer::new("other_keys", Role::Scratch, key_bytes),
            Buffer::new("other_values", Role::Scratch, value_bytes),
            Buffer::new("counts", Role::Scratch, table),
            Buffer::new("sums", Role::Scratch, u64::from(MOST_RESIDENT * device.multiprocessors) * word),
            Buffer::new("totals", Role::Workspace, u64::from(TOTALS) * word),
            Buffer::new("status", Role::Kept, table),
            Buffer::new("barrier", Role::Workspace, word),
        ]
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        match name {
            "n" => Some(Arg::U32(self.n as u32)),
            "bits" => Some(Arg::U32(K::KEY_BITS)),
            _ => None,
        }
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(&self.data().keys),
            1 => bytemuck::cast_slice(&self.data().values),
            _ => &[],
        }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let data = self.data();
        let sections;
        let ((keys, values), section, of) = match rung.single_pass {
            true => (data.sorted.get_or_init(|| sorted(&data.keys)), self.n as usize, "the output"),
            false => {
                let section = (launch.threads() * u64::from(rung.items_per_thread)) as usize;
                sections = data.keys.chunks(section).map(|keys| sorted(keys).0).collect::<Vec<_>>().concat();
                (&(sections, Vec::new()), section, "its section")
            }
        };
        let right_keys = Verdict::of_output(outputs, keys.len(), |found: &[K]| {
            let place = (0..keys.len()).find(|&place| found[place].order(keys[place]) != Ordering::Equal)?;
            let which = format!("key {place} of {of}");
            Some(Verdict::wrong_element(which, &found[place], found[place].shown(), keys[place].shown()))
        });
        if !self.has_values || !right_keys.is_right() {
            return right_keys;
        }
        match rung.parameters.contains(&"other_keys") {
            true => Verdict::of_elements(&outputs[1..], values, |place| format!("value {place} of {of}")),
            false => Verdict::of_output(&outputs[1..], keys.len(), |found| self.wrong_value(keys, found, section)),
        }
    }
}

#[cfg(test)]
mod tests;
