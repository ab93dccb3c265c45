//! Pairs of instructions that race, and their findings.

use std::collections::HashMap;
use std::fmt::Write;

use super::actor::{Hit, Reason};
use super::grid::Nearness;
use super::locations::Flags;
use super::sites::{COPY, Info, PRODUCT, SiteNumber, Sites};
use crate::finding::{Findings, RawFinding, ThreadAtSite};
use simt::observe::{AccessKind, Order, Scope, Semantics};

/// A kind of race between two instructions.
#[derive(Debug)]
struct Pair {
    hit: Hit,
    /// Whether both accesses wrote the same value.
    same_value: bool,
    later: ThreadAtSite,
    earlier: ThreadAtSite,
    address: u64,
    /// The name of the memory in [`Flags`].
    flag: u64,
    place: Option<String>,
    times: u64,
}

impl Pair {
    /// Returns whether the accesses of a pair are to a flag on which threads spin, which is a proper use of `volatile`.
    fn is_of_flag(reason: Reason, flag: u64, flags: &Flags) -> bool {
        matches!(reason, Reason::Volatile | Reason::InStep) && flags.contains(&flag)
    }
}

/// The maximum number of pairs that are recorded. Further pairs are not counted.
const MAX_PAIRS: usize = 4096;

/// The key of a pair: the reason for the race, whether both accesses write the same value, and the instructions.
pub(super) type PairKey = (Reason, bool, SiteNumber, SiteNumber);

/// The racing pairs of a launch.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    known: HashMap<PairKey, usize>,
}

impl Pairs {
    /// Returns how often each pair was seen.
    pub(super) fn counts(&self) -> HashMap<PairKey, u64> {
        self.known.iter().map(|(key, index)| (*key, self.all[*index].times)).collect()
    }

    /// Returns whether the maximum number of pairs is reached.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() == MAX_PAIRS
    }

    /// Adds a conflict of an access that `later` makes with the instruction `site`.
    pub(super) fn add(
        &mut self,
        hit: &Hit,
        same_value: bool,
        (site, later, earlier): (SiteNumber, ThreadAtSite, ThreadAtSite),
        (address, flag): (u64, u64),
        flags: &Flags,
        place: impl FnOnce() -> Option<String>,
    ) {
        if Pair::is_of_flag(hit.reason, flag, flags) {
            return;
        }
        // The order of the two accesses is arbitrary.
        let key = (hit.reason, same_value, site.min(hit.earlier.site), site.max(hit.earlier.site));
        let index = self.known.get(&key).copied();
        let times = index.map_or(0, |index| self.all[index].times) + 1;
        if let Some(index) = index
            && self.all[index].hit.nearness >= hit.nearness
            && !Pair::is_of_flag(hit.reason, self.all[index].flag, flags)
        {
            self.all[index].times = times;
            return;
        }
        if index.is_none() && self.all.len() == MAX_PAIRS {
            return;
        }
        let pair = Pair { hit: *hit, same_value, later, earlier, address, flag, place: place(), times };
        match index {
            // Report the threads that are farther apart.
            Some(index) => self.all[index] = pair,
            None => {
                self.known.insert(key, self.all.len());
                self.all.push(pair);
            }
        }
    }

    /// Converts all pairs to findings.
    pub(super) fn report(&mut self, sites: &Sites, flags: &Flags, findings: &mut Findings) {
        self.all.retain(|pair| !Pair::is_of_flag(pair.hit.reason, pair.flag, flags));
        for Pair { hit, same_value, later, earlier, address, place, times, .. } in self.all.drain(..) {
            let (one, other) = (sites.number(later.site), sites.number(earlier.site));
            let (one, other) = (sites.info(one), sites.info(other));
            let kind = match (hit.reason, same_value) {
                (_, true) => "same value",
                (Reason::Unordered, _) => "unordered",
                (Reason::Atomic, _) => "atomic",
                (Reason::Scope, _) => "scope",
                (Reason::Size, _) => "size",
                (Reason::InStep, _) => "in step",
                (Reason::Volatile, _) => "volatile",
                (Reason::Lock, _) => "lock",
                (Reason::Proxy, _) => "proxy",
            };
            let (what, help) = describe_race(&hit, same_value, (one, &later), (other, &earlier));
            // Whichever lane writes last, the memory contains the constant.
            let is_note =
                same_value && hit.nearness == Nearness::Warp && later.site == earlier.site && one.stores_constant;
            let make = || RawFinding {
                what,
                action: Some(describe_access(one, hit.writes)),
                help: help.into(),
                party: later,
                address: Some(address),
                place,
                other: Some((describe_access(other, hit.wrote), earlier)),
            };
            findings.add_as(is_note, kind, (later.site, Some(earlier.site)), times, make);
        }
        self.known.clear();
    }
}

/// Describes an access.
fn describe_access(info: &Info, wrote: bool) -> String {
    let what = if wrote { "write" } else { "read" };
    if let Some(name) = info.name {
        return match info.kind {
            AccessKind::AsyncCopy | AccessKind::Reduction => format!("{what} of {} {name}", article(name)),
            _ => name.to_owned(),
        };
    }
    let name = match (info.kind, info.order.semantics) {
        (AccessKind::Atomic | AccessKind::Reduction, _) => return format!("atomic operation on {} bytes", info.bytes),
        (_, Semantics::Volatile) => "volatile ",
        (_, Semantics::Weak) => "",
        _ => "strong ",
    };
    match info.bytes {
        0 => format!("{name}{what}"),
        bytes => format!("{name}{what} of {bytes} bytes"),
    }
}

/// Describes the race and the usual fix.
fn describe_race(
    hit: &Hit,
    same_value: bool,
    (one, later): (&Info, &ThreadAtSite),
    (other, earlier): (&Info, &ThreadAtSite),
) -> (String, String) {
    let writes = hit.writes;
    let same_access = later.site == earlier.site && hit.wrote == writes;
    // A thread can race with a copy that it has issued.
    let is_same_thread = (later.block, later.thread) == (earlier.block, earlier.thread);
    let party = match hit.nearness {
        _ if is_same_thread => "the same thread",
        Nearness::Warp => "another lane of the warp",
        Nearness::Block => "another warp of the block",
        Nearness::Cluster => "another block of the cluster",
        Nearness::Grid => "another block",
    };
    let mut what = format!("{} races with ", describe_access(one, writes));
    let _ = match same_access {
        true => write!(what, "the same instruction in {party}"),
        false => {
            let other = describe_access(other, hit.wrote);
            write!(what, "{} {other} by {party}", article(&other))
        }
    };
    if same_value {
        what.push_str("; both write the same value");
    }
    let scope = |order: Order| match order.scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    };
    if hit.reason == Reason::Scope {
        let narrow = if hit.nearness.is_in(one.order.scope) { other.order } else { one.order };
        let _ = write!(what, ": the scope .{} does not include both threads", scope(narrow));
    }
    if hit.reason == Reason::InStep {
        what.push_str(": the lanes of a warp do not run in lockstep since compute capability 7.0");
    }
    if hit.reason == Reason::Volatile {
        what.push_str(": `volatile` neither orders nor protects an access");
    }
    if hit.reason == Reason::Lock {
        what.push_str(": both are in critical sections of one lock, and one thread does not acquire it");
    }
    let wait = match other.name {
        Some(PRODUCT) => "wgmma.wait_group",
        Some(COPY) => "cp.async.wait_group",
        _ => "cp.async.bulk.wait_group or its mbarrier",
    };
    let one_writer = "let one thread write, give each thread an element, or use an atomic operation";
    let help = match (hit.reason, hit.nearness) {
        (Reason::Scope, Nearness::Grid) => "use the scope .gpu for both operations".to_owned(),
        (Reason::Scope, _) => "use the scope .cluster or .gpu for both operations".to_owned(),
        (Reason::Lock, nearness) => {
                    let fence = if nearness <= Nearness::Block { "{block_fence}" } else { "{device_fence}" };
                    format!("put {fence} between taking the lock and the first access, in each critical section")
                }
                (Reason::Proxy, _) => "put `fence.proxy.async` after the write and before the asynchronous operation".to_owned(),
        (Reason::Size, _) => "access the same number of bytes in both instructions, which makes them atomic".to_owned(),
        (Reason::Unordered, _) if is_asynchronous(other) && is_same_thread => format!("wait for it first (`{wait}`)"),
        (Reason::Unordered, _) if is_asynchronous(other) => {
            format!("wait for it in the thread that issued it (`{wait}`), and put {{sync_threads}} after the wait")
        }
        (Reason::Unordered, Nearness::Warp) if same_access && writes => {
            format!("the final value is undefined: {one_writer}")
        }
        (Reason::Unordered, Nearness::Block) if same_access && writes => {
            format!("{one_writer}; for writes in different iterations, put {{sync_threads}} between the iterations")
        }
        (Reason::Unordered | Reason::InStep, Nearness::Warp) => {
            "put {sync_threads} between the two accesses, where all threads of the block reach it; {sync_warp} is cheaper, \
             and is enough if only lanes of one warp share the data"
                .to_owned()
        }
        (Reason::Volatile, _) if same_access && writes => one_writer.to_owned(),
        (Reason::Volatile | Reason::Atomic, Nearness::Warp | Nearness::Block) => {
            "make both accesses atomic, or put {sync_threads} between them".to_owned()
        }
        (Reason::Volatile, _) => "make both accesses atomic, or order them: a lock or an atomic flag, with {device_fence} after \
             its acquisition and before its release"
            .to_owned(),
        (_, Nearness::Block) => "put {sync_threads} between the two accesses".to_owned(),
        (_, Nearness::Cluster | Nearness::Grid) if same_access && writes => one_writer.to_owned(),
        (_, Nearness::Cluster) => "put {sync_cluster} between the two accesses".to_owned(),
        (_, Nearness::Grid) => "blocks run in any order: use atomic operations, or a launch for each of the two steps, or \
             an atomic flag with {device_fence} before its store and after its load"
            .to_owned(),
    };
    let is_half_atomic = hit.reason == Reason::Unordered && one.order.is_strong() != other.order.is_strong();
    let both = if is_half_atomic { "; or make both accesses atomic" } else { "" };
    (what, help + both)
}

fn is_asynchronous(info: &Info) -> bool {
    info.name.is_some() && matches!(info.kind, AccessKind::AsyncCopy | AccessKind::Reduction)
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'i', 'o']) { "an" } else { "a" }
}
