//! The cost of a warp's access: sectors of global and local memory, and wavefronts of shared memory.
//!
//! NVIDIA documents the terms (sector, request, wavefront, bank) but not all of the rules. The rules here were fitted
//! to Nsight Compute's counts on an H100 for 663 patterns of addresses and lanes, and reproduce each count exactly. The
//! patterns and counts are in the crate's fixture `ncu/patterns.txt`.

mod wavefronts;

use crate::regs::{ALL, HALF, LANES, lanes};
use crate::vectors::{Pattern, Steps, Vectors};
pub use wavefronts::BankWord;
pub(crate) use wavefronts::wavefronts;

/// The size in bytes of a sector, the unit in which global memory is transferred.
pub const SECTOR: u64 = 32;
/// The number of banks of shared memory, each 4 bytes wide.
const BANKS: usize = 32;
/// The maximum number of bytes that a wavefront of shared memory transfers.
const WAVEFRONT: u32 = 4 * BANKS as u32;

/// The cost of a warp's load or store of global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Global {
    /// The number of distinct sectors.
    pub(crate) sectors: u64,
    /// The number of distinct bytes.
    pub(crate) bytes: u64,
}

/// The cost of a warp's access to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The number of passes through the banks.
    pub(crate) wavefronts: u64,
    /// The number of passes without bank conflicts.
    pub(crate) ideal: u64,
}

/// Returns whether all lanes are active and access consecutive elements.
#[inline(always)]
fn consecutive(bytes: u32, mask: u32, addresses: &[u64; LANES]) -> bool {
    let mut differs = 0;
    for (lane, address) in addresses.iter().enumerate() {
        differs |= address.wrapping_sub(addresses[0]) ^ (lane as u64 * u64::from(bytes));
    }
    mask == ALL && differs == 0
}

/// Computes the cost of a load or store of `bytes` bytes by each lane of `mask`.
#[inline(always)]
pub(crate) fn global(vectors: impl Vectors, bytes: u32, mask: u32, addresses: &[u64; LANES]) -> Global {
    // Accesses are aligned to their size. Two accesses therefore cover either the same bytes or disjoint bytes, and an
    // access of at most 32 bytes does not cross a sector boundary.
    if mask == ALL
        && let Some((steps, lanes)) = ascent(vectors, addresses, SECTOR.trailing_zeros())
    {
        return Global {
            sectors: u64::from((steps.crosses & lanes).count_ones()) + 1,
            bytes: (u64::from((steps.moves & lanes).count_ones()) + 1) * u64::from(bytes),
        };
    }
    scattered(bytes, mask, addresses)
}

/// The addresses of half a warp that has a known pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    /// The first and the last address.
    ends: [u64; 2],
    elements: u64,
}

impl Span {
    /// Returns the spans of the two halves of a warp, the lower first, or one span if both have the same addresses.
    #[inline(always)]
    fn of(patterns: [Pattern; 2], addresses: &[u64; LANES]) -> (Self, Option<Self>) {
        let span = |half: usize| match patterns[half] {
            Pattern::Row => {
                Self { ends: [addresses[half * HALF], addresses[half * HALF + HALF - 1]], elements: HALF as u64 }
            }
            Pattern::Same => Self { ends: [addresses[half * HALF]; 2], elements: 1 },
        };
        match (span(0), span(1)) {
            (low, high) if low == high => (low, None),
            (low, high) if low.ends[1] > high.ends[0] => (high, Some(low)),
            (low, high) => (low, Some(high)),
        }
    }
}

/// Computes [`global`] for two halves with known patterns; `None` for the more complex cases.
#[inline(always)]
pub(crate) fn global_of(patterns: [Pattern; 2], bytes: u32, addresses: &[u64; LANES]) -> Option<Global> {
    let bytes = u64::from(bytes);
    let sector = |address: u64| address / SECTOR;
    let sectors = |span: Span| sector(span.ends[1]) - sector(span.ends[0]) + 1;
    match Span::of(patterns, addresses) {
        (span, None) => Some(Global { sectors: sectors(span), bytes: span.elements * bytes }),
        (low, Some(high)) if low.ends[1] < high.ends[0] => {
            let shared = u64::from(sector(low.ends[1]) == sector(high.ends[0]));
            let sectors = sectors(low) + sectors(high) - shared;
            Some(Global { sectors, bytes: (low.elements + high.elements) * bytes })
        }
        _ => None,
    }
}

/// Computes [`shared`] for two halves with known patterns; `None` for the more complex cases.
#[inline(always)]
pub(crate) fn shared_of(patterns: [Pattern; 2], bytes: u32, addresses: &[u64; LANES]) -> Option<Shared> {
    const ONE: Shared = Shared { wavefronts: 1, ideal: 1 };
    let word = |address: u64| address / 4;
    match Span::of(patterns, addresses) {
        _ if bytes > 4 => None,
        // Both halves access the same row of at most 16 words.
        (_, None) => Some(ONE),
        (one, Some(other)) => {
            let (least, most) = (one.ends[0].min(other.ends[0]), one.ends[1].max(other.ends[1]));
            (word(most) - word(least) < BANKS as u64).then_some(ONE)
        }
    }
}

/// Returns the steps between the addresses of a full warp, and the lanes that count, if the addresses ascend from lane
/// to lane. If both halves have the same addresses, only the lanes of one half count.
#[inline(always)]
fn ascent(vectors: impl Vectors, addresses: &[u64; LANES], shift: u32) -> Option<(Steps, u32)> {
    const LOWER: u32 = (1 << HALF) - 1;
    let steps = vectors.steps(addresses, shift);
    if steps.descends == 0 {
        Some((steps, ALL))
    } else if steps.descends & LOWER == 0 && vectors.repeats(addresses) {
        Some((steps, LOWER))
    } else {
        None
    }
}

/// Computes [`global`] for arbitrary addresses.
#[inline(never)]
fn scattered(bytes: u32, mask: u32, addresses: &[u64; LANES]) -> Global {
    if let Some((sectors, elements)) = ascending(mask, addresses) {
        return Global { sectors, bytes: elements * u64::from(bytes) };
    }
    // A hash table of sectors, each with a bit for each of its elements.
    const SLOTS: usize = 64;
    const NONE: u64 = u64::MAX;
    let (mut sectors, mut elements) = ([NONE; SLOTS], [0u32; SLOTS]);
    for lane in lanes(mask) {
        let (sector, within) = (addresses[lane] / SECTOR, addresses[lane] % SECTOR);
        let mut slot = (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        while sectors[slot % SLOTS] != sector && sectors[slot % SLOTS] != NONE {
            slot += 1;
        }
        sectors[slot % SLOTS] = sector;
        elements[slot % SLOTS] |= 1 << (within / u64::from(bytes.max(1)));
    }
    let elements: u32 = elements.iter().map(|bits| bits.count_ones()).sum();
    Global {
        sectors: sectors.iter().filter(|sector| **sector != NONE).count() as u64,
        bytes: u64::from(elements) * u64::from(bytes),
    }
}

/// Returns the number of distinct sectors and addresses if the addresses ascend from lane to lane. In ascending
/// addresses, an address is new if it differs from the previous address.
fn ascending(mask: u32, addresses: &[u64; LANES]) -> Option<(u64, u64)> {
    let mut before = *addresses.get(mask.trailing_zeros() as usize)?;
    let mut left = mask & (mask - 1);
    let (mut sectors, mut elements) = (1, 1);
    let mut descends = false;
    while left != 0 {
        let address = addresses[left.trailing_zeros() as usize];
        sectors += u64::from(address / SECTOR != before / SECTOR);
        elements += u64::from(address != before);
        descends |= address < before;
        before = address;
        left &= left - 1;
    }
    (!descends).then_some((sectors, elements))
}

/// Returns the number of sectors of an `atom` or `red` on global memory. Lanes that change the same word each need a
/// separate pass through its sector; lanes that change other words of the sector share these passes.
pub(crate) fn atomic_sectors(mask: u32, addresses: &[u64; LANES]) -> u64 {
    let mut elements = Distinct::new();
    let mut uses = [0u64; LANES];
    for lane in lanes(mask) {
        uses[elements.insert(addresses[lane])] += 1;
    }
    let mut sectors = Distinct::new();
    let mut passes = [0u64; LANES];
    for (element, uses) in elements.values[..elements.count].iter().zip(uses) {
        let sector = sectors.insert(element / SECTOR);
        passes[sector] = passes[sector].max(uses);
    }
    passes.iter().sum()
}

/// Returns the requests and sectors of a load or store of local memory. For each w, the words w of the warp's 32
/// threads occupy 128 consecutive bytes, and each word of a wider access is a separate request.
pub(crate) fn local(bytes: u32, mask: u32, addresses: &[u64; LANES]) -> (u64, u64) {
    let words = u64::from(bytes.div_ceil(4));
    let first = addresses[mask.trailing_zeros() as usize % LANES] / 4;
    let same = lanes(mask).all(|lane| addresses[lane] / 4 == first);
    let sectors = if same {
        // A sector contains the words of eight lanes.
        (0..4).filter(|part| mask >> (part * 8) & 0xff != 0).count()
    } else {
        let mut sectors = Distinct::new();
        for lane in lanes(mask) {
            sectors.insert(addresses[lane] / 4 * 4 + lane as u64 / 8);
        }
        sectors.count
    };
    // The second word of every lane is in the row after the first word's row, and so on.
    (words, sectors as u64 * words)
}

/// Computes the cost of a load (`store` is false) or store of shared memory.
///
/// A wavefront transfers at most 128 bytes, one word from each bank; all lanes that request a word receive it. Lanes
/// are therefore served in groups of 32, in groups of 16 if each lane accesses 8 bytes, or in groups of 8 if each lane
/// accesses 16 bytes. Two adjacent groups of a load are served together if every active lane of the warp is paired: its
/// neighbor across bit 0 of the lane number is inactive or has the same address. Pairs across bit 1 also suffice.
/// Groups of a store are never served together.
#[inline(always)]
pub(crate) fn shared(
    vectors: impl Vectors,
    store: bool,
    bytes: u32,
    mask: u32,
    addresses: &[u64; LANES],
    banks: &mut Banks,
) -> Shared {
    if bytes <= 4
        && mask == ALL
        && let Some((steps, lanes)) = ascent(vectors, addresses, 2)
    {
        let firsts = steps.crosses & lanes | 1;
        let wavefronts = if vectors.banks(addresses).count_ones() == firsts.count_ones() {
            1
        } else {
            most_in_a_bank(firsts, addresses)
        };
        return Shared { wavefronts, ideal: 1 };
    }
    shared_by_words(store, bytes, mask, addresses, banks)
}

/// Returns the largest number of lanes of `mask` whose words are in one bank. Lanes that access the same word are
/// counted separately.
fn most_in_a_bank(mask: u32, addresses: &[u64; LANES]) -> u64 {
    let mut counts = [0u8; BANKS];
    for lane in lanes(mask) {
        counts[(addresses[lane] / 4) as usize % BANKS] += 1;
    }
    counts.iter().max().copied().map_or(0, u64::from)
}

/// Computes [`shared`] for arbitrary addresses.
#[inline(never)]
fn shared_by_words(store: bool, bytes: u32, mask: u32, addresses: &[u64; LANES], banks: &mut Banks) -> Shared {
    let group = lanes_of_a_wavefront(bytes);
    if consecutive(bytes, mask, addresses) && addresses[0].is_multiple_of(4) {
        let wavefronts = (LANES / group) as u64;
        return Shared { wavefronts, ideal: wavefronts };
    }
    if bytes <= 4 && within_a_row(mask, addresses) {
        return Shared { wavefronts: 1, ideal: 1 };
    }
    let group = with_neighbors(store, group, mask, addresses);
    by_groups(group, mask, |part| banks.most_words(bytes, part, addresses))
}

/// Returns the number of lanes that are served at a time if each lane accesses `bytes` bytes.
fn lanes_of_a_wavefront(bytes: u32) -> usize {
    (WAVEFRONT / bytes.max(4)).clamp(1, LANES as u32) as usize
}

/// Returns the number of lanes that are served at a time if two adjacent groups of a load may be served together.
fn with_neighbors(store: bool, group: usize, mask: u32, addresses: &[u64; LANES]) -> usize {
    let together = !store && group < LANES && (paired(1, mask, addresses) || paired(2, mask, addresses));
    if together { group * 2 } else { group }
}

/// Returns the cost of an access whose lanes are served in groups of `group` lanes. `wavefronts` returns the wavefronts
/// of a group.
fn by_groups(group: usize, mask: u32, mut wavefronts: impl FnMut(u32) -> u64) -> Shared {
    let mut all = Shared { wavefronts: 0, ideal: 0 };
    for part in groups(group, mask) {
        all.wavefronts += wavefronts(part);
        all.ideal += 1;
    }
    all
}

/// Returns the lanes of a mask in groups of `group` lanes, without empty groups.
fn groups(group: usize, mask: u32) -> impl Iterator<Item = u32> {
    let starts = (0..LANES).step_by(group);
    let parts = starts.map(move |start| mask & ((1u64 << (start + group)) - (1u64 << start)) as u32);
    parts.filter(|part| *part != 0)
}

/// Returns whether all words are in a window of 32 words, in which no two words share a bank.
fn within_a_row(mask: u32, addresses: &[u64; LANES]) -> bool {
    let (mut least, mut most) = (u64::MAX, 0);
    let mut left = mask;
    while left != 0 {
        let word = addresses[left.trailing_zeros() as usize] / 4;
        least = least.min(word);
        most = most.max(word);
        left &= left - 1;
    }
    most.saturating_sub(least) < BANKS as u64
}

/// Returns whether each active lane's neighbor across `bit` is inactive or has the same address.
fn paired(bit: usize, mask: u32, addresses: &[u64; LANES]) -> bool {
    lanes(mask).all(|lane| {
        let other = lane ^ bit;
        mask >> other & 1 == 0 || addresses[other] == addresses[lane]
    })
}

/// Computes the cost of an `atom` or `red` on shared memory: each bank serves one lane per wavefront, even if several
/// lanes change the same word. If the atomic only `counts`, each bank serves one word per wavefront, for all lanes that
/// add to the word.
pub(crate) fn shared_atomic(
    counts: bool,
    bytes: u32,
    mask: u32,
    addresses: &[u64; LANES],
    banks: &mut Banks,
) -> Shared {
    by_groups(lanes_of_a_wavefront(bytes), mask, |part| match counts {
        true => banks.most_words(1, part, addresses),
        false => most_in_a_bank(part, addresses),
    })
}

/// A buffer for sorting a group's words by bank.
#[derive(Debug, Clone)]
pub struct Banks {
    /// The requested words of each bank. The caller tracks the number of valid words.
    words: Box<[[u64; LANES]; BANKS]>,
}

impl Default for Banks {
    fn default() -> Self {
        Self { words: Box::new([[0; LANES]; BANKS]) }
    }
}

impl Banks {
    /// Returns the largest number of distinct words in one bank.
    fn most_words(&mut self, bytes: u32, mask: u32, addresses: &[u64; LANES]) -> u64 {
        let simple = if bytes <= 4 { most_in_64_rows(mask, addresses) } else { None };
        simple.unwrap_or_else(|| self.most_words_anywhere(bytes, mask, addresses))
    }

    fn most_words_anywhere(&mut self, bytes: u32, mask: u32, addresses: &[u64; LANES]) -> u64 {
        let mut counts = [0usize; BANKS];
        for lane in lanes(mask) {
            let first = addresses[lane] / 4;
            for word in first..first + u64::from(bytes.div_ceil(4)) {
                let bank = word as usize % BANKS;
                let known = &mut self.words[bank];
                let count = counts[bank];
                // A lane has at most one word in a bank, so a bank has at most 32 words.
                if count < LANES && !known[..count].contains(&word) {
                    known[count] = word;
                    counts[bank] = count + 1;
                }
            }
        }
        counts.iter().max().copied().unwrap_or(0) as u64
    }
}

/// Computes [`Banks::most_words`] for words of up to 4 bytes in 64 rows. A row contains one word of every bank.
fn most_in_64_rows(mask: u32, addresses: &[u64; LANES]) -> Option<u64> {
    const ROW: u64 = WAVEFRONT as u64;
    let least = lanes(mask).map(|lane| addresses[lane]).min()? / ROW;
    // For each bank, a bit for each row.
    let (mut rows, mut last) = ([0u64; BANKS], 0);
    for lane in lanes(mask) {
        let row = addresses[lane] / ROW - least;
        last = last.max(row);
        rows[(addresses[lane] / 4) as usize % BANKS] |= 1 << (row % 64);
    }
    let most = rows.iter().map(|rows| rows.count_ones()).max();
    (last < 64).then_some(most.map_or(0, u64::from))
}

/// Up to 32 distinct numbers.
struct Distinct {
    values: [u64; LANES],
    count: usize,
}

impl Distinct {
    fn new() -> Self {
        Self { values: [0; LANES], count: 0 }
    }

    /// Returns the index of a number, and adds the number if it is new.
    #[inline]
    fn insert(&mut self, value: u64) -> usize {
        // Adjacent lanes are the most likely to have the same number.
        let known = self.values[..self.count].iter().rposition(|known| *known == value);
        known.unwrap_or_else(|| {
            self.values[self.count] = value;
            self.count += 1;
            self.count - 1
        })
    }
}
