//! The additions of a reduction, round by round.
//!
//! The tree belongs to one result: the value with the most elements among all values that the block stores to a buffer.
//! A round is a step of the longest chain of operations between two barriers. All operations of a round could run at
//! once.

mod grids;

use std::collections::{BTreeMap, HashMap, HashSet};

use simt::observe::Site;

use super::figure::{Drawing, Figure};
use super::flow::{Graph, Id, Kind, MemoryAddress};
use super::record::Recording;

pub(super) const TREE: Drawing =
    Drawing { name: "tree", about: "which elements are added in each round, and which lanes and warps work", draw };

/// The operations that compute a result.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The address where the result is stored.
    pub place: MemoryAddress,
    /// The thread that stores the result.
    pub thread: u32,
    /// The number of elements in the result.
    pub elements: u64,
    /// The number of results in the block that combine this number of elements.
    pub results: usize,
    /// The index of the result's first element in each buffer.
    pub begins: BTreeMap<usize, u64>,
    /// The rounds, in order.
    pub rounds: Vec<Round>,
}

/// Operations that could run at once.
#[derive(Clone, Debug)]
pub struct Round {
    /// The number of barriers that the block had passed before the round.
    pub phase: u32,
    /// The operations that contribute to the result, ordered by the first input element that each operation uses.
    pub additions: Vec<Addition>,
    /// The lanes of each warp that execute an operation of the round, including operations whose results are not
    /// needed.
    pub lanes: Vec<u32>,
}

/// An operation on several values.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The number of the operation's result.
    pub(super) value: Id,
    /// The thread that executes the operation, by its number in the block.
    pub thread: u32,
    /// The instruction.
    pub site: Site,
    /// The name of the operation in the PTX, without types: `add`, `fma`.
    pub operation: String,
    /// The operands, ordered by the first input element that each operand contains.
    pub terms: Vec<Term>,
}

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The number of the operand's value.
    pub(super) value: Id,
    /// The first element in the operand: the buffer, and the element's index there.
    pub head: (usize, u64),
    /// The number of elements in the operand.
    pub elements: u64,
    /// The thread that computed or loaded the operand.
    pub thread: u32,
}

impl Tree {
    /// Returns an element's name: its index, counted from the first element of the result. If there are several
    /// buffers, a letter names the buffer.
    pub fn name(&self, (buffer, index): (usize, u64)) -> String {
        let index = index - self.begins.get(&buffer).copied().unwrap_or(0).min(index);
        match self.begins.len() {
            1 => index.to_string(),
            _ => format!("{}[{index}]", letter(buffer)),
        }
    }

    /// Formats an operation by the first elements of its operands: `0+16`, `max(0, 16)`.
    pub fn sum(&self, addition: &Addition) -> String {
        let names: Vec<String> = addition.terms.iter().map(|term| self.name(term.head)).collect();
        let (is_sum, count) = (addition.operation == "add", names.len());
        let between = if is_sum { "+" } else { ", " };
        let names = match count {
            0..=5 => names.join(between),
            _ => format!("{}{between}…{between}{}", names[..3].join(between), names[count - 1]),
        };
        if is_sum { names } else { format!("{}({names})", addition.operation) }
    }

    /// Formats the operations of a round: all of them, or the first few and the last.
    pub fn sums(&self, round: &Round) -> String {
        let sum = |addition| self.sum(addition);
        match &round.additions[..] {
            all if all.len() <= 8 => all.iter().map(sum).collect::<Vec<_>>().join(", "),
            all => format!(
                "{} … {}",
                all[..3].iter().map(sum).collect::<Vec<_>>().join(", "),
                all.last().map_or(String::new(), sum)
            ),
        }
    }
}

/// Returns the letter for a buffer: `a` for the first.
fn letter(buffer: usize) -> char {
    char::from(b'a' + (buffer % 26) as u8)
}

/// Returns the tree of the watched block; `None` if the block does not store a combined value.
pub fn tree(recording: &Recording) -> Option<Tree> {
    let graph = &recording.flow;
    if graph.left_out > 0 {
        return None;
    }
    let watched = |thread: u32| u64::from(thread / 32) == recording.watch.warp;
    let is_computed = |id: Id| matches!(graph.value(id).kind, Kind::Combined(_));
    let stored = graph.results.iter().flat_map(|(place, id, thread)| {
        let parts = match graph.value(*id).kind {
            Kind::Joined(_) => graph.parts(*id),
            _ => vec![*id],
        };
        parts.into_iter().filter(|part| is_computed(*part)).map(move |part| (*place, part, *thread))
    });
    let stored: Vec<(MemoryAddress, Id, u32)> = stored.collect();
    let most_elements = stored.iter().map(|(_, id, _)| graph.value(*id).elements).max()?;
    let results = stored.iter().filter(|(_, id, _)| graph.value(*id).elements == most_elements);
    let different: HashSet<Id> = results.clone().map(|(_, id, _)| *id).collect();
    // For kernels that work in place, the last buffer is the output.
    let (place, result, thread) = *results.max_by_key(|(place, _, thread)| {
        let MemoryAddress::Buffer(buffer, at) = place else { return (false, 0, 0, 0) };
        (watched(*thread), *buffer, u64::from(u32::MAX - thread), u64::MAX - at)
    })?;
    let text = recording.ptx();
    let operation = |site| operation(text.line_text(recording.position(site).ptx_line));
    let rounds = rounds(graph, result, operation);
    let mut begins = BTreeMap::new();
    for (buffer, index) in
        rounds.iter().flat_map(|round| &round.additions).flat_map(|addition| &addition.terms).map(|term| term.head)
    {
        let begin = begins.entry(buffer).or_insert(index);
        *begin = index.min(*begin);
    }
    Some(Tree { place, thread, elements: most_elements, results: different.len(), begins, rounds })
}

/// Returns the first word of an instruction's opcode.
pub(super) fn operation(line: &str) -> String {
    let line = line.trim();
    let guarded = line.strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace)).map(|(_, rest)| rest);
    guarded.unwrap_or(line).trim().split(['.', ' ', '\t', ';']).next().unwrap_or_default().to_owned()
}

fn rounds(graph: &Graph, result: Id, operation: impl Fn(Site) -> String) -> Vec<Round> {
    let mut operations: HashMap<Site, String> = HashMap::new();
    // Operands have smaller numbers than their results.
    let (mut needed, mut left) = (HashSet::from([result]), vec![result]);
    let mut heads: HashMap<Id, (usize, u64)> = HashMap::new();
    let mut order = Vec::new();
    while let Some(id) = left.pop() {
        order.push(id);
        left.extend(graph.parts(id).into_iter().filter(|part| needed.insert(*part)));
    }
    order.sort_unstable();
    let mut by_round: BTreeMap<(u32, u32), Vec<Addition>> = BTreeMap::new();
    for id in order {
        let value = graph.value(id);
        if let Kind::Loaded(number) = value.kind {
            let element = &graph.loaded[number as usize];
            heads.insert(id, (element.buffer, element.at / u64::from(element.bytes.max(1))));
            continue;
        }
        let term = |part: Id| {
            let operand = graph.value(part);
            let head = heads.get(&part).copied().unwrap_or_default();
            Term { value: part, head, elements: operand.elements, thread: operand.thread }
        };
        let mut terms: Vec<Term> = graph.parts(id).into_iter().map(term).collect();
        terms.sort_by_key(|term| term.head);
        heads.insert(id, terms.first().map_or((0, 0), |term| term.head));
        let operation = operations.entry(value.site).or_insert_with(|| operation(value.site)).clone();
        let addition = Addition { value: id, thread: value.thread, site: value.site, operation, terms };
        by_round.entry((value.phase, value.depth)).or_default().push(addition);
    }
    // Include all operations of these rounds, even operations that the result does not need.
    let mut lanes: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for (_, value) in graph.values().filter(|(_, value)| matches!(value.kind, Kind::Combined(_))) {
        if by_round.contains_key(&(value.phase, value.depth)) {
            let warps = lanes.entry((value.phase, value.depth)).or_default();
            let warp = value.thread as usize / 32;
            warps.resize(warps.len().max(warp + 1), 0);
            warps[warp] |= 1 << (value.thread % 32);
        }
    }
    let round = |((phase, depth), mut additions): ((u32, u32), Vec<Addition>)| {
        additions.sort_by_key(|addition| (addition.terms.first().map(|term| term.head), addition.thread));
        Round { phase, additions, lanes: lanes.remove(&(phase, depth)).unwrap_or_default() }
    };
    by_round.into_iter().map(round).collect()
}

fn draw(recording: &Recording) -> Vec<Figure> {
    tree(recording).map(|tree| figure(recording, &tree)).into_iter().collect()
}

fn figure(recording: &Recording, tree: &Tree) -> Figure {
    let warps = recording.residence.warps as usize;
    let mut grids: Vec<_> = grids::tree(&recording.flow, tree).into_iter().collect();
    grids.extend(grids::lanes(tree, recording.watch.warp as usize));
    grids.extend(grids::warps(tree, warps));
    let additions: usize = tree.rounds.iter().map(|round| round.additions.len()).sum();
    let operations: u64 =
        tree.rounds.iter().flat_map(|round| &round.lanes).map(|lanes| u64::from(lanes.count_ones())).sum();
    let mut notes = grids::words(tree, warps);
    let begins = tree.begins.iter();
    let names = begins.map(|(buffer, first)| match tree.begins.len() {
        1 => format!("elements are counted from element {first} of buffer {buffer}"),
        _ => format!("{}[i] is element {first} + i of buffer {buffer}", letter(*buffer)),
    });
    notes.push(names.collect::<Vec<_>>().join("; "));
    if tree.results > 1 {
        notes.push(format!("this is one of {} results of the block, stored by thread {}", tree.results, tree.thread));
    }
    if !recording.lost.is_empty() {
        notes.push(format!("values are not tracked {}", recording.lost.join(" and ")));
    }
    let last =
        tree.rounds.last().and_then(|round| round.additions.first()).map(|addition| recording.position(addition.site));
    let place = match tree.place {
        MemoryAddress::Buffer(buffer, at) => format!("buffer {buffer} + {at}"),
        MemoryAddress::Shared(at) => format!("shared memory + {at}"),
    };
    Figure {
        what: TREE.name,
        title: format!("{} elements combined into one, stored to {place}", tree.elements),
        source: last.as_ref().and_then(|position| position.source.clone()),
        ptx_line: last.map_or(0, |position| position.ptx_line),
        grids,
        counts: vec![
            ("elements", tree.elements),
            ("rounds", tree.rounds.len() as u64),
            ("operations", additions as u64),
            ("lanes that work in these rounds", operations),
        ],
        notes,
        ..Figure::default()
    }
}
