//! Checks how the threads of a block reach its 16 barriers.

use std::collections::HashMap;

use super::party;
use crate::facts::LaunchFacts;
use crate::faults::format_lanes;
use crate::finding::{Findings, RawFinding, ThreadAtSite};
use simt::Function;
use simt::code::{Barrier, Op};
use simt::observe::{BarrierArrival, Site};
use simt::run::frames;

/// The barriers that some threads have reached and that are not complete.
#[derive(Default)]
pub(super) struct Barriers {
    /// The arrivals by block and barrier number, in the order in which lanes arrived.
    arrived: HashMap<(u64, u32), Vec<Arrived>>,
    texts: Texts,
    /// Whether to also report what CUDA allows: threads that end before a barrier, and copies of one source barrier
    /// that warps reach at different instructions.
    is_strict: bool,
    /// For each block, the first thread that ended and the number of threads that ended.
    ended: HashMap<u64, (ThreadAtSite, u32)>,
}

/// Caches which instructions come from one place in the source, because a compiler may copy a barrier.
#[derive(Default)]
struct Texts(HashMap<(Site, Site), bool>);

impl Texts {
    /// Returns whether two instructions come from one place, according to the PTX.
    fn are_one(&mut self, function: &Function, one: Site, other: Site) -> bool {
        *self.0.entry((one, other)).or_insert_with(|| {
            let [one, other] = [one, other].map(|site| frames(function.ptx(), function.program(), [site].into_iter()));
            one == other && one.iter().any(|frame| frame.place.is_some())
        })
    }
}

/// Lanes of a warp that have arrived.
#[derive(Clone, Copy)]
struct Arrived {
    site: Site,
    warp: u32,
    lanes: u32,
    /// The number of threads that the lanes wait for.
    count: u32,
    aligned: bool,
    reduces: bool,
    /// Whether the lanes arrive as at `__syncthreads()`: they wait for the whole block, and each warp arrives as a
    /// unit.
    is_for_block: bool,
    party: ThreadAtSite,
}

impl Barriers {
    pub(super) fn new(is_strict: bool) -> Self {
        Self { is_strict, ..Self::default() }
    }

    /// Records an arrival of lanes, and reports a conflict with earlier arrivals.
    pub(super) fn arrive(&mut self, facts: &LaunchFacts, arrival: &BarrierArrival, findings: &mut Findings) {
        let BarrierArrival { site, warp_id, id, count, lanes, .. } = *arrival;
        let Some(Barrier { aligned, reduce, waits, count: counts, .. }) = barrier(&facts.function, site) else {
            return;
        };
        // A barrier counts whole warps.
        let all = facts.block.iter().product::<u32>().next_multiple_of(32);
        let now = Arrived {
            site,
            warp: warp_id.warp,
            lanes,
            count: count.unwrap_or(all),
            aligned: *aligned,
            reduces: reduce.is_some(),
            is_for_block: *aligned && *waits && counts.is_none(),
            party: party(site, warp_id, lanes.trailing_zeros()),
        };
        let before = self.arrived.entry((warp_id.block, id)).or_default();
        if let Some(first) = before.first() {
            if first.count != now.count {
                findings.add("counts", site, Some(first.site), 1, || {
                    let what = format!(
                        "barrier {id} is used with a count of {} threads and, at the same time, with a count of {}",
                        now.count, first.count
                    );
                    let help = "use the same thread count in all instructions of one barrier";
                    now.finding(first, format!("waits for {} threads", first.count), what, help)
                });
            }
            if first.reduces != now.reduces {
                findings.add("reductions", site, Some(first.site), 1, || {
                    let what = format!(
                        "barrier {id} is reached with a reduction (barrier.red) by some threads but not by others, \
                         which is undefined"
                    );
                    now.finding(
                        first,
                        "arrives with the other kind of instruction".into(),
                        what,
                        "let all threads execute the same kind of instruction",
                    )
                });
            }
        }
        // Different instructions within one warp are reported below.
        let is_divided =
            |warp: u32, site: Site| before.iter().any(|arrived| arrived.warp == warp && arrived.site != site);
        let is_apart = |earlier: &&Arrived| {
            let is_comparable = earlier.is_for_block && now.is_for_block && earlier.reduces == now.reduces;
            let is_whole = !is_divided(earlier.warp, earlier.site) && !is_divided(now.warp, site);
            earlier.warp != now.warp && earlier.site != site && is_comparable && is_whole
        };
        if let Some(earlier) = before.iter().find(is_apart)
            && (self.is_strict || !self.texts.are_one(&facts.function, earlier.site, site))
        {
            // Report the pair in program order, because the order of arrival depends on the order of warps.
            let (one, other) = if earlier.site.pc < site.pc { (earlier, &now) } else { (&now, earlier) };
            findings.add("texts", other.site, Some(one.site), 1, || {
                let what = format!(
                    "warp {} waits at barrier {id} here and warp {} at another instruction: CUDA C++ leaves undefined \
                     whether they synchronize",
                    other.warp, one.warp
                );
                let help =
                    "move {sync_threads} out of the branches, so that all warps of the block reach one instruction";
                other.finding(one, format!("also waits at barrier {id}"), what, help)
            });
        }
        let same_warp = before.iter().filter(|earlier| earlier.warp == now.warp);
        for earlier in same_warp {
            if earlier.lanes & lanes != 0 {
                findings.add("twice", site, Some(earlier.site), 1, || {
                    let what = format!(
                        "{} of a warp arrive at barrier {id} for the second time before it is complete, and are counted \
                         twice",
                        format_lanes(earlier.lanes & lanes)
                    );
                    let help = "let these lanes wait for the other threads (`barrier.sync`) before they arrive again";
                    now.finding(earlier, format!("arrives at barrier {id} first"), what, help)
                });
            } else if earlier.site != site && (earlier.aligned || now.aligned) {
                findings.add("divergent", site, Some(earlier.site), 1, || {
                    let what = format!(
                        "barrier in divergent code: {} of a warp wait at barrier {id} here and {} at another instruction",
                        format_lanes(lanes),
                        format_lanes(earlier.lanes)
                    );
                    let help = "move {sync_threads} out of the branches: all threads of a warp reach it at the same \
                                instruction";
                    now.finding(earlier, format!("waits at barrier {id}, as do {}", format_lanes(earlier.lanes)), what, help)
                });
            }
        }
        before.push(now);
    }

    /// Records that a barrier is complete. The barrier does not wait for threads that have ended without reaching it.
    pub(super) fn released(&mut self, facts: &LaunchFacts, block: u64, id: u32, findings: &mut Findings) {
        let arrived = self.arrived.remove(&(block, id)).unwrap_or_default();
        let Some((ended, threads)) = self.ended.get(&block) else { return };
        let for_block = |arrived: &&Arrived| arrived.waits_for_block(facts);
        let Some(first) =
            arrived.iter().filter(for_block).min_by_key(|arrived| (arrived.site.pc, arrived.party.thread))
        else {
            return;
        };
        findings.add("ended", first.site, Some(ended.site), 1, || {
            let others = if *threads == 1 { "1 thread" } else { &format!("{threads} threads") };
            let what = format!(
                "{others} of the block ended without reaching barrier {id}, which the other threads of the block wait at"
            );
            let help = "let every thread of the block reach {sync_threads}: put the work in the branch, and not the barrier, \
                        and return only after the last barrier";
            let other = Some((format!("ends without reaching barrier {id}"), *ended));
            RawFinding { other, ..first.finding(first, String::new(), what, help) }
        });
    }

    /// Records that threads of a block end.
    pub(super) fn exited(&mut self, party: ThreadAtSite, threads: u32) {
        if self.is_strict {
            self.ended.entry(party.block).or_insert((party, 0)).1 += threads;
        }
    }

    pub(super) fn block_ended(&mut self, block: u64) {
        self.ended.remove(&block);
        self.arrived.retain(|(owner, _), _| *owner != block);
    }
}

impl Arrived {
    /// Returns whether the lanes wait for all threads of their block, with or without a count.
    fn waits_for_block(&self, facts: &LaunchFacts) -> bool {
        self.count == facts.block.iter().product::<u32>().next_multiple_of(32)
    }

    fn finding(&self, other: &Arrived, does: String, what: String, help: &'static str) -> RawFinding {
        let (party, other) = (self.party, Some((does, other.party)));
        RawFinding { what, action: None, help: help.into(), party, address: None, place: None, other }
    }
}

/// Returns the barrier at a site.
fn barrier(function: &Function, site: Site) -> Option<&Barrier> {
    match &function.program().functions[site.function as usize].code[site.pc as usize].op {
        Op::Barrier(barrier) => Some(barrier),
        _ => None,
    }
}
