//! Synchronization between the blocks of a launch: the words of global memory that one block writes and another reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ptx::ast::Space;
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{Access, AccessKind, Observer, Requests, Site, WarpId};
use simt::{Function, Launch, LaunchError, Schedule, Simulator};

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::Recording;

pub(super) const EXCHANGE: Drawing =
    Drawing { name: "exchange", about: "when blocks write and read the words that synchronize them", draw };

/// The maximum numbers of drawn columns, drawn rows and recorded accesses.
const COLUMNS: usize = 64;
const ROWS: usize = 32;
const MOST: usize = 1 << 16;

/// An access by a warp to words that blocks exchange.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// The block.
    pub block: u64,
    /// Whether the access writes the words.
    pub writes: bool,
    /// The addresses, each with the number of writes to its word so far, including this access.
    pub words: BTreeMap<u64, u32>,
}

/// Runs a launch in which the warps of eight blocks alternate after each instruction. Returns the accesses to words
/// that one block writes and another reads. The result is empty if no load of the kernel is ordered with other blocks'
/// stores.
///
/// # Errors
/// Returns an error when the simulator rejects the launch or its kernel fails.
pub fn exchange(simulator: &mut Simulator, launch: &Launch<'_>) -> Result<Vec<Exchanged>, LaunchError> {
    let mut code = launch.function.program().functions.iter().flat_map(|function| &function.code);
    let waits = code.any(|inst| matches!(&inst.op, Op::Memory(Memory::Load(load)) if load.order.is_strong()));
    if !waits || launch.grid == [1, 1, 1] {
        return Ok(Vec::new());
    }
    let usual = std::mem::replace(&mut simulator.config_mut().schedule, Schedule::RoundRobin);
    let launched =
        simulator.launch_observed(launch, ExchangeObserver { function: launch.function.clone(), log: Arc::default() });
    simulator.config_mut().schedule = usual;
    let mut accesses = std::mem::take(&mut launched?.log.lock().unwrap_or_else(PoisonError::into_inner).accesses);
    let (mut writers, mut shared) = (HashMap::<u64, BTreeSet<u64>>::new(), BTreeSet::new());
    for access in accesses.iter().filter(|access| access.writes) {
        for word in access.words.keys() {
            writers.entry(*word).or_default().insert(access.block);
        }
    }
    for access in accesses.iter().filter(|access| !access.writes) {
        let sees_other = |(word, count): &(&u64, &u32)| {
            **count > 0 && writers.get(word).is_some_and(|blocks| blocks.iter().any(|block| *block != access.block))
        };
        shared.extend(access.words.iter().filter(sees_other).map(|(word, _)| *word));
    }
    accesses.iter_mut().for_each(|access| access.words.retain(|word, _| shared.contains(word)));
    accesses.retain(|access| !access.words.is_empty());
    // A polling block sees the same value repeatedly.
    let mut last = HashMap::new();
    let mut distinct: Vec<Exchanged> = Vec::new();
    for access in accesses {
        if last.get(&access.block).is_none_or(|number: &usize| distinct[*number] != access) {
            last.insert(access.block, distinct.len());
            distinct.push(access);
        }
    }
    Ok(distinct)
}

/// Records the strong accesses of a launch. The observers of all blocks write to one log, so the log preserves the
/// order of the accesses.
struct ExchangeObserver {
    function: Function,
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    /// The number of writes to each word.
    written: HashMap<u64, u32>,
    accesses: Vec<Exchanged>,
}

impl Observer for ExchangeObserver {
    const REQUESTS: Requests = Requests::CALLS.and(Requests::ONE_THREAD);

    fn fork(&self) -> Self {
        Self { function: self.function.clone(), log: self.log.clone() }
    }

    fn merge(&mut self, _: Self) {}

    fn access(&mut self, site: Site, warp: WarpId, access: &Access<'_>) {
        let is_strong = match &self.function.program().functions[site.function as usize].code[site.pc as usize].op {
            Op::Memory(Memory::Load(load)) => load.order.is_strong(),
            Op::Memory(Memory::Store(store)) => store.order.is_strong(),
            Op::Memory(Memory::Atomic(_)) => true,
            _ => false,
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if access.space != Space::Global || !is_strong || log.accesses.len() >= MOST {
            return;
        }
        let writes = access.kind != AccessKind::Load;
        let mut words = BTreeMap::new();
        for lane in simt::regs::lanes(access.mask) {
            let address = access.addresses[lane];
            let count = log.written.entry(address).or_default();
            *count += u32::from(writes);
            words.insert(address, *count);
        }
        log.accesses.push(Exchanged { block: warp.block, writes, words });
    }
}

fn draw(recording: &Recording) -> Vec<Figure> {
    figure(recording).into_iter().collect()
}

fn figure(recording: &Recording) -> Option<Figure> {
    let accesses = &recording.exchange;
    let words: BTreeSet<u64> = accesses.iter().flat_map(|access| access.words.keys().copied()).collect();
    let number_of: HashMap<u64, usize> = words.iter().copied().zip(0..).collect();
    let blocks: BTreeSet<u64> = accesses.iter().map(|access| access.block).collect();
    // A column is a step. In a step, each block makes at most one access, and reads values written in an earlier step.
    let mut columns: Vec<BTreeMap<u64, &Exchanged>> = Vec::new();
    let mut written = BTreeSet::new();
    for access in accesses {
        let is_new = columns.last().is_none_or(|column| {
            column.contains_key(&access.block) || access.words.keys().any(|word| written.contains(word))
        });
        if is_new {
            columns.push(BTreeMap::new());
            written.clear();
        }
        if access.writes {
            written.extend(access.words.keys().copied());
        }
        columns.last_mut()?.insert(access.block, access);
    }
    let cell = |access: &&Exchanged| {
        let numbers: Vec<usize> = access.words.keys().map(|word| number_of[word]).collect();
        let count = access.words.values().copied().min().unwrap_or(0);
        let text = match &numbers[..] {
            [number] if count > 3 => format!("{number}:{count}"),
            [number] => format!("{number}{}", "'".repeat(count.saturating_sub(1) as usize)),
            all => format!("{}-{}", all.first().unwrap_or(&0), all.last().unwrap_or(&0)),
        };
        match (access.writes, count) {
            (true, _) => Cell::new(text, Shade::Used),
            (false, 0) => Cell::new(text, Shade::Turn(1)),
            (false, _) => Cell::new(text, Shade::Turn(3)),
        }
    };
    let row = |block: &u64| FigureRow {
        label: format!("block {block}"),
        cells: columns.iter().take(COLUMNS).map(|column| column.get(block).map(cell).unwrap_or_default()).collect(),
    };
    let more = match (columns.len().saturating_sub(COLUMNS), blocks.len().saturating_sub(ROWS)) {
        (0, 0) => String::new(),
        (steps, blocks) => format!("; {steps} more steps and {blocks} more blocks are left out"),
    };
    let grid = Grid {
        caption: format!(
            "blocks (rows) by step (columns): the word that a block accesses; 3' is word 3 after its second write, 3:8 after its \
             eighth; green: writes it; blue: reads it; yellow: reads it before its first write{more}"
        ),
        columns: vec![String::new(); columns.len().min(COLUMNS)],
        together: 8,
        rows: blocks.iter().take(ROWS).map(row).collect(),
        arrows: Vec::new(),
    };
    let first = *words.first()?;
    let count = |is: fn(&&Exchanged) -> bool| accesses.iter().filter(is).count() as u64;
    Some(Figure {
        what: EXCHANGE.name,
        title: format!("{} blocks, words that one block writes and another reads", blocks.len()),
        grids: vec![grid],
        counts: vec![
            ("blocks", blocks.len() as u64),
            ("words", words.len() as u64),
            ("writes", count(|access| access.writes)),
            ("reads", count(|access| !access.writes)),
            ("steps", columns.len() as u64),
        ],
        notes: vec![
            format!("words are counted from {}", recording.place(first)),
            "eight blocks run at a time, and their warps alternate after each instruction; repeated polls of an unchanged word \
             are drawn once"
                .to_owned(),
        ],
        ..Figure::default()
    })
}
