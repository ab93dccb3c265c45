//! The time of a unit that works on what warps ask it for.

/// Cycles of a slot.
const SLOT: u64 = 64;
/// Less room than this is none.
const LEAST: f32 = 0.01;

/// A unit's time, of which work takes the first that is free. Warps do not ask in the order of their clocks: one that the
/// machine runs later may have asked earlier, and finds the time that nobody took.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitSchedule {
    /// Free cycles of each slot.
    room: Vec<f32>,
    /// The next slot that may have room, for each slot that has none.
    next: Vec<u32>,
}

impl UnitSchedule {
    /// Takes so many cycles from a time on; returns when they are over.
    pub(crate) fn take(&mut self, from: u64, cycles: f64) -> u64 {
        let mut left = cycles as f32;
        let mut slot = (from / SLOT) as usize;
        let mut end = from;
        while left > LEAST {
            slot = self.with_room(slot);
            let begin = from.max(slot as u64 * SLOT);
            let taken = left.min(self.room[slot]).min(((slot as u64 + 1) * SLOT - begin) as f32);
            self.room[slot] -= taken;
            left -= taken;
            // What others have taken of the slot may have been at its begin.
            let used = SLOT as f32 - self.room[slot];
            end = (begin + taken.ceil() as u64)
                .max(slot as u64 * SLOT + used.ceil() as u64)
                .min((slot as u64 + 1) * SLOT);
            slot += 1;
        }
        end
    }

    /// The first slot with room, this one or behind it.
    fn with_room(&mut self, slot: usize) -> usize {
        let mut at = slot;
        loop {
            if at >= self.room.len() {
                let len = (at + 1).next_power_of_two().max(1024);
                self.room.resize(len, SLOT as f32);
                self.next.resize(len, 0);
            }
            if self.room[at] > LEAST {
                break;
            }
            at = (self.next[at] as usize).max(at + 1);
        }
        // The slots on the way lead there at once the next time.
        let mut full = slot;
        while full < at {
            let next = (self.next[full] as usize).max(full + 1);
            self.next[full] = at as u32;
            full = next;
        }
        at
    }
}
