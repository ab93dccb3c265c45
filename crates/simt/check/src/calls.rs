//! The calls that the lanes of each warp are in, for findings in functions that were not inlined.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use simt::observe::{FrameChange, Site, WarpId};

/// The calls of one warp, the innermost first, each with its lanes.
#[derive(Debug, Default)]
pub(super) struct WarpCalls {
    warp_id: WarpId,
    calls: Vec<(Site, u32)>,
    /// Another number for other calls; 0 in the kernel itself.
    pub(super) number: u64,
}

impl WarpCalls {
    /// The calls that a thread of a block is in. Only those of the warp whose turn it is are known.
    pub(super) fn of(&self, block: u64, thread: u32) -> impl Iterator<Item = Site> {
        let is_own = (self.warp_id.block, self.warp_id.warp) == (block, thread / 32);
        let calls = self.calls.iter().filter(move |(_, lanes)| is_own && lanes >> (thread % 32) & 1 != 0);
        calls.map(|(site, _)| *site)
    }
}

/// The calls of all warps that run.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By block and warp, the outermost call first; nothing for a warp in the kernel itself.
    warps: HashMap<(u64, u32), Vec<(Site, u32)>>,
    current: Arc<WarpCalls>,
}

impl Calls {
    /// A warp begins its turn. Returns its calls where they differ from those of the warp before.
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

    /// Lanes call a function or return from one.
    pub(super) fn change(&mut self, warp_id: WarpId, lanes: u32, change: &FrameChange) -> Option<Arc<WarpCalls>> {
        let of = (warp_id.block, warp_id.warp);
        match (change.returns, change.callee) {
            (false, _) => self.warps.entry(of).or_default().push((change.call, lanes)),
            (true, Some(_)) => self.leave(of, lanes, |site| site == change.call),
            // A function of CUDA's runtime, which has returned already.
            (true, None) => {}
        }
        self.begin_turn(warp_id)
    }

    /// Threads of a warp end.
    pub(super) fn exit(&mut self, warp_id: WarpId, lanes: u32) -> Option<Arc<WarpCalls>> {
        let of = (warp_id.block, warp_id.warp);
        while self.warps.get(&of).is_some_and(|calls| calls.iter().any(|(_, own)| own & lanes != 0)) {
            self.leave(of, lanes, |_| true);
        }
        self.begin_turn(warp_id)
    }

    /// Takes lanes out of the innermost call for which `is_left` holds, each out of one.
    fn leave(&mut self, of: (u64, u32), mut lanes: u32, is_left: impl Fn(Site) -> bool) {
        let Some(calls) = self.warps.get_mut(&of) else { return };
        for (_, own) in calls.iter_mut().rev().filter(|(site, _)| is_left(*site)) {
            let there = *own & lanes;
            *own &= !there;
            lanes &= !there;
        }
        calls.retain(|(_, own)| *own != 0);
        if calls.is_empty() {
            self.warps.remove(&of);
        }
    }
}
