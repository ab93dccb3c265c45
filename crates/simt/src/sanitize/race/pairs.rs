//! Pairs of instructions that race, and what is said of them.

use std::collections::HashMap;
use std::fmt::Write;

use super::actor::{Hit, Reason};
use super::grid::Nearness;
use super::sites::{COPY, Info, PRODUCT, SiteNumber, Sites};
use crate::observe::{AccessKind, Order, Scope, Semantics};
use crate::sanitize::finding::{Findings, RawFinding, ThreadAtSite};

/// A kind of race between two instructions.
#[derive(Debug)]
struct Pair {
    hit: Hit,
    /// Whether both wrote the same value.
    same_value: bool,
    later: ThreadAtSite,
    earlier: ThreadAtSite,
    address: u64,
    place: Option<String>,
    times: u64,
}

/// The most pairs that are kept; those beyond are not counted.
const MOST: usize = 4096;

/// All of a launch.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    known: HashMap<(Reason, bool, SiteNumber, SiteNumber), usize>,
}

impl Pairs {
    /// Adds a collision of an access by the instruction `site` of `later`.
    pub(super) fn add(
        &mut self,
        hit: &Hit,
        same_value: bool,
        (site, later, earlier): (SiteNumber, ThreadAtSite, ThreadAtSite),
        address: u64,
        place: impl FnOnce() -> Option<String>,
    ) {
        // Which of the two comes first is chance.
        let key = (hit.reason, same_value, site.min(hit.earlier.site), site.max(hit.earlier.site));
        let index = self.known.get(&key).copied();
        let times = index.map_or(0, |index| self.all[index].times) + 1;
        if let Some(index) = index
            && self.all[index].hit.nearness >= hit.nearness
        {
            self.all[index].times = times;
            return;
        }
        if index.is_none() && self.all.len() == MOST {
            return;
        }
        let pair = Pair { hit: *hit, same_value, later, earlier, address, place: place(), times };
        match index {
            // Of threads that are farther from each other more is said.
            Some(index) => self.all[index] = pair,
            None => {
                self.known.insert(key, self.all.len());
                self.all.push(pair);
            }
        }
    }

    /// Tells all.
    pub(super) fn tell(&mut self, sites: &Sites, findings: &mut Findings) {
        for Pair { hit, same_value, later, earlier, address, place, times } in self.all.drain(..) {
            let (one, other) = (sites.number(later.site), sites.number(earlier.site));
            let (one, other) = (sites.info(one), sites.info(other));
            let kind = match (hit.reason, same_value) {
                (_, true) => "same value",
                (Reason::Unordered, _) => "unordered",
                (Reason::Scope, _) => "scope",
                (Reason::Size, _) => "size",
                (Reason::InStep, _) => "in step",
                (Reason::Proxy, _) => "proxy",
            };
            let make = || RawFinding {
                what: what(&hit, same_value, (one, &later), (other, &earlier)),
                party: later,
                address: Some(address),
                place,
                other: Some((words(other, hit.wrote), earlier)),
            };
            findings.add(kind, later.site, Some(earlier.site), times, make);
        }
        self.known.clear();
    }
}

/// An access in words.
fn words(info: &Info, wrote: bool) -> String {
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

/// The whole finding in words.
fn what(
    hit: &Hit,
    same_value: bool,
    (one, later): (&Info, &ThreadAtSite),
    (other, earlier): (&Info, &ThreadAtSite),
) -> String {
    let writes = hit.writes;
    let same_site = later.site == earlier.site;
    // Of a copy that it has issued.
    let is_own = (later.block, later.thread) == (earlier.block, earlier.thread);
    let of = match hit.nearness {
        _ if is_own => "the same thread",
        Nearness::Warp => "another lane of the warp",
        Nearness::Block => "another thread of the block",
        Nearness::Cluster => "a thread of another block of the cluster",
        Nearness::Grid => "a thread of another block",
    };
    let mut what = format!("{} races with ", words(one, writes));
    let _ = match same_site && hit.wrote == writes {
        true => write!(what, "that of {of} by the same instruction"),
        false => write!(what, "{} {} by {of}", article(&words(other, hit.wrote)), words(other, hit.wrote)),
    };
    if same_value {
        what.push_str("; both write the same value");
    }
    let is_strong = |info: &Info| info.order.is_strong();
    let scope = |order: Order| match order.scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    };
    match (hit.reason, hit.nearness) {
        (Reason::Scope, _) => {
            let narrow = if hit.nearness.is_in(one.order.scope) { other.order } else { one.order };
            let _ = write!(what, ": the scope .{} does not reach from one to the other", scope(narrow));
        }
        (Reason::Proxy, _) => what
            .push_str(": it is done through the asynchronous proxy, and no fence.proxy.async stands behind the write"),
        (Reason::Unordered, _) if is_asynchronous(other) => {
            let wait = match other.name {
                Some(PRODUCT) => "wgmma.wait_group",
                Some(COPY) => "cp.async.wait_group",
                _ => "cp.async.bulk.wait_group or its mbarrier",
            };
            let _ = match is_own {
                true => write!(what, ": it has not waited for that one ({wait})"),
                false => {
                    write!(what, ": nobody has waited for that one ({wait}), or no barrier stands behind the wait")
                }
            };
        }
        (Reason::Size, _) => what.push_str(": they are atomic for each other with the same size only"),
        (Reason::InStep, _) => what.push_str(
            ": nothing makes the lanes of a warp run in step since compute capability 7.0; no __syncwarp() \
             (bar.warp.sync) between them",
        ),
        (Reason::Unordered, Nearness::Warp) if same_site && hit.wrote && writes => {
            what.push_str(": which value stays is not defined");
        }
        (Reason::Unordered, Nearness::Warp) => what.push_str(": no __syncwarp() (bar.warp.sync) between them"),
        (Reason::Unordered, Nearness::Block) => what.push_str(": no __syncthreads() (bar.sync) between them"),
        (Reason::Unordered, Nearness::Cluster) => {
            what.push_str(": no barrier of the cluster (barrier.cluster) between them");
        }
        (Reason::Unordered, Nearness::Grid) => what.push_str(
            ": nothing orders them; it takes an atomic flag that is written behind and read before a fence \
             (__threadfence())",
        ),
    }
    if hit.reason == Reason::Unordered && is_strong(one) != is_strong(other) {
        what.push_str("; or both have to be atomic");
    }
    what
}

fn is_asynchronous(info: &Info) -> bool {
    info.name.is_some() && matches!(info.kind, AccessKind::AsyncCopy | AccessKind::Reduction)
}

fn article(words: &str) -> &'static str {
    if words.starts_with(['a', 'i', 'o']) { "an" } else { "a" }
}
