//! The active function calls of each warp's lanes. Findings in functions that were not inlined report these calls.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use simt::observe::{FrameChange, Site, WarpId};

/// The active calls of one warp, innermost first, each with its lanes.
#[derive(Debug, Default)]
pub(super) struct WarpCalls {
    warp_id: WarpId,
    calls: Vec<(Site, u32)>,
    /// A hash of the list of calls; 0 if the list is empty.
    pub(super) number: u64,
}

impl WarpCalls {
    /// Returns the active calls of a thread of a block. The result is empty unless the thread is in the current warp.
    pub(super) fn of(&self, block: u64, thread: u32) -> impl Iterator<Item = Site> {
        let is_same_warp = (self.warp_id.block, self.warp_id.warp) == (block, thread / 32);
        let calls = self.calls.iter().filter(move |(_, lanes)| is_same_warp && lanes >> (thread % 32) & 1 != 0);
        calls.map(|(site, _)| *site)
    }
}

/// The active calls of all running warps.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The active calls, outermost first, by block and warp. A warp without active calls has no entry.
    warps: HashMap<(u64, u32), Vec<(Site, u32)>>,
    current: Arc<WarpCalls>,
}

impl Calls {
    /// Makes a warp the current one. Returns its calls if they differ from those of the previous warp.
    pub(super) fn begin_turn(&mut self, warp_id: WarpId) -> Option<Arc<WarpCalls>> {
        let warp = self.warps.get(&(warp_id.block, warp_id.warp));
        if warp.is_none() && self.current.calls.is_empty() {
            return None;
        }
        let calls: Vec<(Site, u32)> = warp.map_or(Vec::new(), |calls| calls.iter().rev().copied().collect());
        let mut hasher = DefaultHasher::new();
        calls.iter().for_each(|(site, _)| site.hash(&mut hasher));
        let number = if calls.is_empty() { 0 } else { hasher.finish() | 1 };
        self.current = Arc::new(WarpCalls { warp_id, calls, number });
        Some(self.current.clone())
    }

    /// Records that lanes call a function or return from one.
    pub(super) fn change(&mut self, warp_id: WarpId, lanes: u32, change: &FrameChange) -> Option<Arc<WarpCalls>> {
        let warp = (warp_id.block, warp_id.warp);
        match (change.returns, change.callee) {
            (false, _) => self.warps.entry(warp).or_default().push((change.call, lanes)),
            (true, Some(_)) => self.leave(warp, lanes, |site| site == change.call),
            // A function of CUDA's runtime, which has already returned.
            (true, None) => {}
        }
        self.begin_turn(warp_id)
    }

    /// Records that threads of a warp end.
    pub(super) fn exit(&mut self, warp_id: WarpId, lanes: u32) -> Option<Arc<WarpCalls>> {
        let warp = (warp_id.block, warp_id.warp);
        while self.warps.get(&warp).is_some_and(|calls| calls.iter().any(|(_, call_lanes)| call_lanes & lanes != 0)) {
            self.leave(warp, lanes, |_| true);
        }
        self.begin_turn(warp_id)
    }

    /// Removes each of `lanes` from the innermost of its calls for which `is_left` holds.
    fn leave(&mut self, warp: (u64, u32), mut lanes: u32, is_left: impl Fn(Site) -> bool) {
        let Some(calls) = self.warps.get_mut(&warp) else { return };
        for (_, call_lanes) in calls.iter_mut().rev().filter(|(site, _)| is_left(*site)) {
            let leaving_lanes = *call_lanes & lanes;
            *call_lanes &= !leaving_lanes;
            lanes &= !leaving_lanes;
        }
        calls.retain(|(_, call_lanes)| *call_lanes != 0);
        if calls.is_empty() {
            self.warps.remove(&warp);
        }
    }
}
