//! Hints about excess synchronization: fences, scopes and barriers that could be weaker ([`Extra::Weaker`]).
//!
//! The launch first runs twice with only the check `race`. Then it runs once for each fence, scope and barrier. In such
//! a run, the clocks of `race` treat this one instruction as weaker, but the simulator executes it unchanged. If no
//! accesses lose their order, the instruction becomes a hint and stays weaker in the following runs. Therefore, if one
//! of two barriers suffices, only one barrier is reported as unnecessary. The changes of each run are undone.
//! [`trial`](super::race::trial) describes a run.
//!
//! ScopeAdvice finds excess synchronization on GPUs (Nayak and Basu, "Over-synchronization in GPU Programs", MICRO
//! 2024). ScopeAdvice instruments machine code, and infers from the accesses which scope each operation needs. simt
//! instead recomputes the happens-before relation of the launch without the instruction. This method also covers
//! barriers, and combinations of several weaker instructions.
//!
//! # What it can miss
//!
//! - With other data, in another launch or in another order of the threads, the program may need an instruction that a
//!   hint calls unnecessary. `LADDER_SCHEDULES` tries more orders. A race that the check `race` misses is also missed
//!   here.
//! - Accesses by the host, another GPU or another kernel during the launch are unknown. A smaller scope than `.sys` is
//!   always considered enough.
//! - A full fence has effects beyond happens-before. A fence between a store and a load of another location is therefore
//!   not judged. Other patterns, such as independent reads of independent writes, are not recognized.
//! - Barriers have effects beyond the order of accesses: convergence of lanes, running blocks of a cluster, the order of
//!   printed messages, and time. Barriers are not judged in kernels that read a clock. Warp barriers are not judged in
//!   kernels with `activemask` or matrix instructions. Cluster barriers are not judged if blocks access each other's
//!   shared memory.
//! - Mbarriers, asynchronous copies and proxy fences are not judged. The hints never suggest a warp barrier in place of
//!   a barrier.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;

use super::checks::{Checks, Extra};
use super::facts::LaunchFacts;
use super::observer::{Sanitizer, end};
use super::race::trial::{Outcome, Trial, Weaker};
use crate::language::Language;
use simt::code::{Barrier, Inst, Op, Program};
use simt::memory::Memory;
use simt::memory::load_store::{Load, Store};
use simt::observe::{FenceKind, Order, Scope, Semantics, Site};
use simt::run::{Launch, Position, SavedState, Schedule, Simulator};
use simt::warp::Warp;

/// The maximum number of source places whose instructions are tried in a weaker form.
const MAX_PLACES: usize = 64;
/// The minimum number of random orders in which the launch is tried.
const MIN_ORDERS: u32 = 2;

/// The kinds of synchronization that could be weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Fence(Scope),
    /// A load, a store or an atomic operation.
    Access(Scope),
    Barrier,
    WarpBarrier,
    ClusterBarrier,
}

impl Kind {
    fn of(op: &Op) -> Option<Self> {
        match op {
            Op::Memory(Memory::Fence(scope, FenceKind::Sc | FenceKind::AcqRel)) => Some(Self::Fence(*scope)),
            Op::Memory(Memory::Load(Load { order, .. }) | Memory::Store(Store { order, .. })) => Self::of_order(*order),
            Op::Memory(Memory::Atomic(atomic)) => Self::of_order(atomic.order),
            Op::Barrier(Barrier { waits: true, reduce: None, .. }) => Some(Self::Barrier),
            Op::Warp(Warp::Sync { .. }) => Some(Self::WarpBarrier),
            Op::ClusterBarrier { relaxed: false, .. } => Some(Self::ClusterBarrier),
            _ => None,
        }
    }

    fn of_order(order: Order) -> Option<Self> {
        let has_scope = !matches!(order.semantics, Semantics::Weak | Semantics::Volatile);
        has_scope.then_some(Self::Access(order.scope))
    }

    /// Returns the next weaker form, or `None` if there is no weaker form. `Some(Some(scope))` is a smaller scope that
    /// excludes some threads of the launch. `Some(None)` means that the instruction orders nothing.
    fn next(self, now: Option<Scope>, launch: &LaunchFacts) -> Option<Option<Scope>> {
        let count = |sides: [u32; 3]| sides.iter().map(|side| u64::from(*side)).product::<u64>();
        let (blocks, cluster) = (count(launch.grid), count(launch.cluster));
        let (Self::Fence(scope) | Self::Access(scope)) = self else { return now.is_none().then_some(None) };
        match now.unwrap_or(scope) {
            Scope::Sys => Some(Some(Scope::Gpu)),
            Scope::Gpu if blocks > cluster && cluster > 1 => Some(Some(Scope::Cluster)),
            Scope::Gpu if blocks > cluster => Some(Some(Scope::Cta)),
            Scope::Cluster if cluster > 1 => Some(Some(Scope::Cta)),
            Scope::Cta if matches!(self, Self::Fence(_)) => Some(None),
            _ => None,
        }
    }
}

/// Instructions that the compiler generated from one place in the source.
struct Candidate {
    kind: Kind,
    sites: Vec<Site>,
    position: Position,
}

/// Returns a sentence for each instruction of a launch that could be weaker, if the checks include [`Extra::Weaker`].
/// Tries the usual order, a round-robin order, and `orders` random orders (at least [`MIN_ORDERS`]).
pub(super) fn hints(simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks, orders: u32) -> Vec<String> {
    if !checks.has_extra(Extra::Weaker) {
        return Vec::new();
    }
    let Some(state) = simulator.save() else {
        return vec![not_tried("the host has too little memory to undo a launch")];
    };
    // Other orders are needed, because in the usual order one block may do the work of all blocks.
    let usual = simulator.config().schedule;
    let random = (1..=u64::from(orders.max(MIN_ORDERS))).map(Schedule::Random);
    let schedules: Vec<Schedule> = [usual, Schedule::RoundRobin].into_iter().chain(random).collect();
    let hints = hints_in(simulator, launch, &state, &schedules).unwrap_or_else(|why| vec![not_tried(why)]);
    simulator.config_mut().schedule = usual;
    simulator.resume(state);
    hints
}

fn hints_in(
    simulator: &mut Simulator,
    launch: &Launch<'_>,
    state: &SavedState,
    schedules: &[Schedule],
) -> Result<Vec<String>, &'static str> {
    let program = launch.function.program();
    unsupported(program, launch).map_or(Ok(()), Err)?;
    let mut usual = Vec::new();
    for schedule in [&schedules[..1], schedules].concat() {
        let outcome = trial(simulator, launch, state, schedule, &Weaker::new());
        let outcome = outcome.ok_or("the launch faults, in the usual order or in another one")?;
        outcome.is_whole.then_some(()).ok_or("`race` cannot check all of the launch")?;
        usual.push(outcome);
    }
    let first = usual.remove(0);
    first.is_same(&usual[0]).then_some(()).ok_or("two runs of the launch differ")?;
    let (facts, candidates) = (LaunchFacts::of(launch, Checks::NONE), candidates(launch, program, &usual));
    let (mut weaker, mut hints) = (Weaker::new(), Vec::new());
    for Candidate { kind, sites, position } in candidates.iter().take(MAX_PLACES) {
        let mut found = None;
        while found != Some(None)
            && let Some(next) = kind.next(found.flatten(), &facts)
        {
            let mut more = weaker.clone();
            more.extend(sites.iter().map(|site| (*site, next)));
            let is_enough = schedules.iter().zip(&usual).all(|(schedule, usual)| {
                let outcome = trial(simulator, launch, state, *schedule, &more);
                outcome.is_some_and(|outcome| outcome.is_of_same_run(usual) && !outcome.orders_less_than(usual))
            });
            if !is_enough {
                break;
            }
            (weaker, found) = (more, Some(next));
        }
        hints.extend(found.map(|scope| hint(launch, *kind, sites[0], position, scope)));
    }
    if candidates.len() > MAX_PLACES {
        hints.push(format!("weaker: only the first {MAX_PLACES} of {} places were tried", candidates.len()));
    }
    Ok(hints)
}

/// Runs a launch while `race` treats the instructions in `weaker` as weaker, and then restores the saved state. Returns
/// `None` if the launch faults.
fn trial(
    simulator: &mut Simulator,
    launch: &Launch<'_>,
    state: &SavedState,
    schedule: Schedule,
    weaker: &Weaker,
) -> Option<Outcome> {
    simulator.config_mut().schedule = schedule;
    let (trial, outcome) = Trial::new(weaker.clone());
    let sanitizer = Sanitizer::of_trial(launch, trial);
    let checks = sanitizer.state();
    let error = simulator.launch_observed(launch, sanitizer).err();
    let skipped = simulator.take_skipped();
    let (faults, _) = end(&checks, launch, Checks::NONE, skipped, error.as_ref());
    simulator.restore(state);
    let outcome = std::mem::take(&mut *outcome.lock().unwrap_or_else(PoisonError::into_inner));
    (error.is_none() && faults.is_empty()).then_some(outcome)
}

fn not_tried(why: &str) -> String {
    format!("weaker: nothing was tried: {why}")
}

/// Returns the reason why a launch cannot be judged: it does something that `race` does not check. Returns `None` if
/// the launch can be judged.
fn unsupported(program: &Program, launch: &Launch<'_>) -> Option<&'static str> {
    let is_texture = |inst: &Inst| matches!(inst.op, Op::Memory(Memory::Texture(_)));
    if launch.blocks.is_some() {
        Some("only some blocks of the grid run")
    } else if program.uses_heap() {
        Some("the kernel uses `malloc` or `free`, which `race` does not check")
    } else if program.any(|func| func.code.iter().any(is_texture)) {
        Some("the kernel uses textures or surfaces, which `race` does not check")
    } else {
        None
    }
}

/// Returns the instructions to try, grouped by source place: the executed instructions that can be judged.
fn candidates(launch: &Launch<'_>, program: &Program, usual: &[Outcome]) -> Vec<Candidate> {
    let any = |is: fn(&Op) -> bool| program.any(|func| func.code.iter().any(|inst| is(&inst.op)));
    let reads_clock = any(|op| matches!(op, Op::Clock { .. }));
    let needs_warp = any(|op| matches!(op, Op::Matrix(_) | Op::Warp(Warp::ActiveMask { .. })));
    let needs_cluster = usual.iter().any(|outcome| outcome.is_distributed)
        || any(|op| matches!(op, Op::ClusterBarrier { relaxed: true, .. }))
        || any(|op| matches!(op, Op::Memory(Memory::Mbarrier(_) | Memory::Bulk(_) | Memory::Tensor(_))));
    let is_judged = |kind: Kind| match kind {
        Kind::Fence(_) | Kind::Access(_) => true,
        Kind::Barrier => !reads_clock,
        Kind::WarpBarrier => !reads_clock && !needs_warp,
        Kind::ClusterBarrier => !reads_clock && !needs_cluster,
    };
    let code = |site: Site| &program.functions[site.function as usize].code;
    let executed: BTreeSet<Site> = usual.iter().flat_map(|outcome| outcome.executed.iter().copied()).collect();
    let of_kind = |site: Site| Some((Kind::of(&code(site)[site.pc as usize].op)?, site));
    let all: Vec<(Kind, Site)> =
        executed.into_iter().filter_map(of_kind).filter(|(kind, _)| is_judged(*kind)).collect();
    // An arrival at a cluster barrier belongs to the wait that follows it.
    let named = |(kind, site): &(Kind, Site)| match kind {
        Kind::ClusterBarrier => {
            let wait = |inst: &Inst| matches!(inst.op, Op::ClusterBarrier { waits: true, .. });
            let after = code(*site).iter().skip(site.pc as usize).position(wait).unwrap_or(0);
            Site { pc: site.pc + after as u32, ..*site }
        }
        _ => *site,
    };
    let names: Vec<Site> = all.iter().map(named).collect();
    let (mut candidates, mut known) = (Vec::<Candidate>::new(), HashMap::new());
    for (((kind, site), name), position) in all.iter().zip(&names).zip(Position::of_all(launch.function, &names)) {
        let library: Vec<String> = position.library.iter().map(ToString::to_string).collect();
        let site_without_source = position.source.is_none().then_some(*name);
        let key = (*kind, position.source.clone(), position.column, library, site_without_source);
        let index = *known.entry(key).or_insert(candidates.len());
        match candidates.get_mut(index) {
            Some(candidate) => candidate.sites.push(*site),
            None => candidates.push(Candidate { kind: *kind, sites: vec![*site], position }),
        }
    }
    let is_unjudged = |site: &Site| usual.iter().any(|outcome| outcome.unjudged.contains(site));
    // The PTX ISA allows no other scope for `.mmio`.
    candidates.retain(|candidate| {
        !candidate.sites.iter().any(is_unjudged) && !opcode(launch, candidate.sites[0]).contains(".mmio")
    });
    candidates
}

/// Returns the opcode of an instruction as written in the PTX.
fn opcode<'l>(launch: &Launch<'l>, site: Site) -> &'l str {
    let origin = &launch.function.program().functions[site.function as usize].origins[site.pc as usize];
    let text = &launch.function.ptx()[origin.at as usize..];
    text.split([' ', '\t', '\n', '\r', ';']).next().unwrap_or_default()
}

/// Describes a weaker form in a sentence. `scope` is the scope that suffices, or `None` if the instruction orders
/// nothing.
fn hint(launch: &Launch<'_>, kind: Kind, site: Site, position: &Position, scope: Option<Scope>) -> String {
    let opcode = opcode(launch, site);
    let place = match &position.source {
        Some((file, line)) => format!("{file}:{line}"),
        None => format!("line {} of the PTX", position.ptx_line),
    };
    let what = match kind {
        Kind::Fence(_) | Kind::Access(_) => format!("`{opcode}`"),
        Kind::Barrier => "the barrier".to_owned(),
        Kind::WarpBarrier => "the warp barrier".to_owned(),
        Kind::ClusterBarrier => "the cluster barrier".to_owned(),
    };
    // The scope `.sys` also includes threads outside the launch.
    let unless = match kind {
        Kind::Fence(Scope::Sys) | Kind::Access(Scope::Sys) => {
            ", unless the host or another GPU accesses the memory during the launch"
        }
        _ => "",
    };
    let Some(scope) = scope else { return format!("hint: {what} at {place} orders no accesses in this run{unless}") };
    let (name, function) = match scope {
        Scope::Cta => ("cta", "__threadfence_block()"),
        Scope::Cluster => ("cluster", ""),
        Scope::Gpu | Scope::Sys => ("gpu", "__threadfence()"),
    };
    let is_scope = |word: &&str| matches!(*word, "sys" | "gpu" | "gl" | "cluster");
    let mut words: Vec<&str> = opcode.split('.').collect();
    let mut better = match words.iter().position(is_scope) {
        Some(index) if words[0] != "membar" || scope != Scope::Cluster => {
            words[index] = if (words[0], scope) == ("membar", Scope::Gpu) { "gl" } else { name };
            format!("could be `{}`", words.join("."))
        }
        _ => format!("could have the scope .{name}"),
    };
    let is_cuda = Language::of(position.source.as_ref()) == Language::Cuda;
    if matches!(kind, Kind::Fence(_)) && is_cuda && !function.is_empty() {
        better += &format!(" (`{function}`)");
    }
    match (kind, scope) {
        (_, Scope::Gpu | Scope::Sys) => {}
        (Kind::Fence(_), Scope::Cta) => better += ": it orders only threads of one block in this run",
        (Kind::Fence(_), Scope::Cluster) => better += ": it orders only threads of one cluster in this run",
        (_, Scope::Cta) => better += ": only threads of one block depend on it in this run",
        (_, Scope::Cluster) => better += ": only threads of one cluster depend on it in this run",
    }
    format!("hint: {what} at {place} {better}{unless}")
}
