//! The words that each wavefront of an access to shared memory transfers, by the rules of [`shared`](super::shared) and
//! [`shared_atomic`](super::shared_atomic).

use super::{BANKS, groups, lanes_of_a_wavefront, with_neighbors};
use crate::observe::{Access, AccessKind};
use crate::regs::lanes;

/// A word of shared memory that a wavefront transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankWord {
    /// The word's address divided by 4. The bank is this number modulo 32.
    pub word: u64,
    /// The lanes that access the word.
    pub lanes: u32,
}

/// Returns the words of each wavefront in order. `only_counts` states whether the access is an atomic that only counts.
/// The hardware's order within a bank is not known; here, each bank serves its words in lane order.
pub(crate) fn wavefronts(access: &Access<'_>, only_counts: bool) -> Vec<Vec<BankWord>> {
    let (bytes, mask, addresses) = (access.bytes, access.mask, access.addresses);
    let is_atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
    let group = match is_atomic {
        true => lanes_of_a_wavefront(bytes),
        false => with_neighbors(access.kind != AccessKind::Load, lanes_of_a_wavefront(bytes), mask, addresses),
    };
    let words_of_a_lane = if is_atomic { 1 } else { u64::from(bytes.div_ceil(4)) };
    let mut all = Vec::new();
    for part in groups(group, mask) {
        let mut banks: [Vec<BankWord>; BANKS] = std::array::from_fn(|_| Vec::new());
        for lane in lanes(part) {
            let first = addresses[lane] / 4;
            for word in first..first + words_of_a_lane {
                let bank = &mut banks[word as usize % BANKS];
                let known = bank.iter_mut().find(|entry| entry.word == word && (!is_atomic || only_counts));
                match known {
                    Some(known) => known.lanes |= 1 << lane,
                    None => bank.push(BankWord { word, lanes: 1 << lane }),
                }
            }
        }
        let most = banks.iter().map(Vec::len).max().unwrap_or(0);
        all.extend((0..most).map(|turn| banks.iter().filter_map(|bank| bank.get(turn).copied()).collect()));
    }
    all
}
