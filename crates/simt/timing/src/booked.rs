//! The schedule of a unit that works on requests of warps.

/// The number of cycles of a slot.
const SLOT: u64 = 64;
/// A slot with fewer free cycles counts as full.
const MIN_CYCLES: f32 = 0.01;

/// The booked time of a unit. Each request takes the first free time. The simulator does not run warps in the order of
/// their clocks, so a warp that runs later may make an earlier request. Such a request gets the time that is still
/// free.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitSchedule {
    /// The free cycles of each slot.
    free_cycles: Vec<f32>,
    /// For each full slot, the next slot that may have free cycles.
    next: Vec<u32>,
}

impl UnitSchedule {
    /// Books `cycles` cycles at `from` or later, and returns their end.
    pub(crate) fn take(&mut self, from: u64, cycles: f64) -> u64 {
        let mut left = cycles as f32;
        let mut slot = (from / SLOT) as usize;
        let mut end = from;
        while left > MIN_CYCLES {
            slot = self.next_free_slot(slot);
            let begin = from.max(slot as u64 * SLOT);
            let booked = left.min(self.free_cycles[slot]).min(((slot as u64 + 1) * SLOT - begin) as f32);
            self.free_cycles[slot] -= booked;
            left -= booked;
            // Earlier bookings may occupy the start of the slot.
            let used = SLOT as f32 - self.free_cycles[slot];
            end = (begin + booked.ceil() as u64)
                .max(slot as u64 * SLOT + used.ceil() as u64)
                .min((slot as u64 + 1) * SLOT);
            slot += 1;
        }
        end
    }

    /// Returns the first slot with free cycles, starting at `slot`.
    fn next_free_slot(&mut self, slot: usize) -> usize {
        let mut at = slot;
        loop {
            if at >= self.free_cycles.len() {
                let len = (at + 1).next_power_of_two().max(1024);
                self.free_cycles.resize(len, SLOT as f32);
                self.next.resize(len, 0);
            }
            if self.free_cycles[at] > MIN_CYCLES {
                break;
            }
            at = (self.next[at] as usize).max(at + 1);
        }
        // Shorten the path from the full slots for the next search.
        let mut full = slot;
        while full < at {
            let next = (self.next[full] as usize).max(full + 1);
            self.next[full] = at as u32;
            full = next;
        }
        at
    }
}
