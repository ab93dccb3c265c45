//! The state of a simulator before a launch, which is needed to undo the launch.

use std::sync::atomic::Ordering;

use super::available::available_memory;
use super::heap::Heap;
use super::printf::Printed;
use super::simulator::Simulator;
use crate::memory::Allocation;
use crate::memory::global::Unwritten;

/// The state that a launch changes.
pub struct SavedState {
    /// The address and the words of each allocation.
    memory: Vec<(u64, Vec<u64>)>,
    unwritten: Unwritten,
    heap: Heap,
    printed: Printed,
    clock: u64,
}

impl Simulator {
    /// Saves the state that a launch changes. Returns `None` if the host has too little memory for a copy of the
    /// device's memory.
    pub fn save(&mut self) -> Option<SavedState> {
        let available = available_memory().unwrap_or(u64::MAX);
        if self.global.used() > available / 2 {
            return None;
        }
        let words =
            |allocation: &Allocation| allocation.words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        Some(SavedState {
            memory: self.global.all().iter().map(|allocation| (allocation.base, words(allocation))).collect(),
            unwritten: self.global.unwritten().clone(),
            heap: self.heap.get_mut().expect("the heap does not panic").clone(),
            printed: std::mem::take(self.printed.get_mut().expect("printing does not panic")),
            clock: self.clock,
        })
    }

    /// Undoes all launches since the state was saved.
    pub fn restore(&mut self, state: &SavedState) {
        let heap = self.heap.get_mut().expect("the heap does not panic");
        if let Some(base) = heap.base.filter(|_| state.heap.base.is_none()) {
            self.global.free(base);
        }
        *heap = state.heap.clone();
        for (base, words) in &state.memory {
            let Some(allocation) = self.global.at(*base) else { continue };
            allocation.words.iter().zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
        }
        *self.global.unwritten() = state.unwritten.clone();
        self.clock = state.clock;
        *self.printed.get_mut().expect("printing does not panic") = Printed::default();
    }

    /// Restores the `printf` messages that the saved state has taken from the simulator.
    pub fn resume(&mut self, state: SavedState) {
        *self.printed.get_mut().expect("printing does not panic") = state.printed;
    }
}
