//! Detects whether the warps of a cluster make progress, or repeat themselves until another warp changes memory that
//! they read.

use std::sync::atomic::Ordering;

use super::{BlockFault, RunningCluster};
use crate::memory::Stored;
use crate::observe::Observer;
use crate::run::warp::{Status, Varying};

/// The largest number of instructions in one round of a warp that repeats itself.
const PERIOD: usize = 512;

impl<O: Observer> RunningCluster<'_, '_, O> {
    /// Checks whether a warp repeats itself: whether it returns to the same instruction, with the same values in its
    /// registers, and has not changed memory. Registers whose values have no effect on the warp's actions may differ.
    pub(super) fn check_repetition(&mut self, index: usize) -> Result<Status, BlockFault> {
        let rounds = match self.warps[index].note(self.launch, &mut self.snapshot) {
            true => PERIOD,
            false => 0,
        };
        // The values that vary from round to round, and the values that vary at the current instruction of the round
        // being followed.
        let mut varying = Varying::default();
        let mut followed = None;
        let mut follows = true;
        // The stores that changed memory and returned its old contents to registers, with these old contents.
        let mut changed: Vec<(Stored, Vec<u8>)> = Vec::new();
        let mut tries = false;
        for _ in 0..rounds {
            let Some(stored) = self.warps[index].stores_next(self.launch) else {
                break;
            };
            if followed.as_mut().is_some_and(|followed| !self.warps[index].follow(self.launch, followed)) {
                (followed, follows) = (None, false);
            }
            self.memory.rank = self.warps[index].rank;
            tries |= stored.is_shared();
            let before = stored.content(&self.memory, self.launch.global);
            let changes = self.memory.in_flight.changes;
            let (status, _) = self.execute(index, 1)?;
            if status != Status::Yielded {
                return Ok(status);
            }
            // A store of the value that memory already holds is not progress.
            if self.memory.in_flight.changes != changes {
                break;
            }
            if stored.content(&self.memory, self.launch.global) != before {
                if !stored.returns_old {
                    break;
                }
                (followed, follows) = (None, false);
                if !changed.iter().any(|(earlier, _)| *earlier == stored) {
                    changed.push((stored, before));
                }
            }
            if !self.warps[index].is_back_at(&self.snapshot) {
                continue;
            }
            let mut more = self.warps[index].differences(self.launch, &self.snapshot);
            let repeats = match &followed {
                _ if more.is_empty() => {
                    let is_restored = |(stored, before): &(Stored, Vec<u8>)| {
                        stored.content(&self.memory, self.launch.global) == *before
                    };
                    changed.iter().all(is_restored)
                }
                _ if !follows || !self.warps[index].all_are_back_at(&self.snapshot) => continue,
                Some(followed) => {
                    more.add(followed);
                    !varying.add(&more) && followed.reads
                }
                None => {
                    varying = more;
                    false
                }
            };
            if repeats {
                let progress = &self.launch.progress;
                self.warps[index].record_repetition(tries, progress.separates.load(Ordering::Relaxed));
                progress.repeats.store(true, Ordering::Relaxed);
                return Ok(status);
            }
            followed = Some(varying.clone());
        }
        self.warps[index].pace.clear_repetition();
        Ok(Status::Yielded)
    }

    /// Checks whether all groups of lanes of a warp still repeat themselves.
    pub(super) fn recheck_repetition(&mut self, index: usize) -> Result<Status, BlockFault> {
        self.warps[index].pace.spins = false;
        loop {
            let status = self.check_repetition(index)?;
            let pace = &self.warps[index].pace;
            if pace.spins || !pace.is_repeating() {
                return Ok(status);
            }
        }
    }
}
