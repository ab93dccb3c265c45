//! The values of a block and their operands.

use simt::observe::Site;

/// The number of a value. The first two numbers do not denote values.
pub type Id = u32;

/// Memory that no thread has read or written yet.
pub(super) const UNTOUCHED: Id = 0;
/// Data that does not depend on any element of a buffer.
pub(super) const PLAIN: Id = 1;

/// The maximum number of values that are recorded. Each value takes 40 bytes.
const MOST: usize = 1 << 22;

/// A value that depends on elements of the problem's buffers.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The origin of the value.
    pub kind: Kind,
    /// The number of barriers that the block had passed when the value was created.
    pub phase: u32,
    /// The length of the longest chain of operations that the value depends on, counted from the last barrier.
    pub depth: u32,
    /// The first thread that computed or loaded the value.
    pub thread: u32,
    /// The instruction.
    pub site: Site,
    /// The number of elements in the value. An element that occurs several times counts each time.
    pub elements: u64,
    /// The first address where the value was stored.
    pub stored: Option<MemoryAddress>,
    /// The index of the first operand.
    first: u32,
}

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value was loaded from a buffer. The field is the number of a [`Loaded`].
    Loaded(u32),
    /// The value was computed from this number of operands.
    Combined(u32),
    /// The value was packed from this number of operands in a register.
    Joined(u32),
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryAddress {
    /// In shared memory: the address of the first byte.
    Shared(u64),
    /// In a buffer: its number and the offset of the first byte.
    Buffer(usize, u64),
}

/// An element that a block loaded from a buffer between two barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The buffer's number.
    pub buffer: usize,
    /// The offset of the element's first byte in the buffer.
    pub at: u64,
    /// The size in bytes.
    pub bytes: u32,
    /// The number of barriers that the block had passed before the load.
    pub phase: u32,
    /// The warps that loaded the element, as a bit mask.
    pub warps: u32,
    /// The number of threads that loaded the element from the buffer.
    pub loads: u32,
    /// The number of threads that read the element from shared memory.
    pub shared_reads: u32,
    /// The number of thread operations that used the element as an operand.
    pub uses: u32,
}

/// The values of a block. Operands precede their results.
#[derive(Debug, Default)]
pub struct Graph {
    values: Vec<Value>,
    operands: Vec<Id>,
    /// The loaded elements, in load order.
    pub loaded: Vec<Loaded>,
    /// The stores to buffers: the address, the value and the thread.
    pub results: Vec<(MemoryAddress, Id, u32)>,
    /// The number of values that were discarded.
    pub left_out: u64,
}

/// The instruction, thread and phase that produce a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Producer {
    pub(super) site: Site,
    pub(super) thread: u32,
    pub(super) phase: u32,
}

impl Graph {
    /// Returns the share of the values that were recorded.
    pub fn kept(&self) -> f64 {
        let kept = self.values.len().max(1) as f64;
        kept / (kept + self.left_out as f64)
    }

    /// Returns the value with this number.
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize - 2]
    }

    /// Returns all values, with their numbers.
    pub fn values(&self) -> impl Iterator<Item = (Id, &Value)> {
        (2..).zip(&self.values)
    }

    /// Returns the operands of a value.
    pub fn operands(&self, id: Id) -> &[Id] {
        let value = self.value(id);
        match value.kind {
            Kind::Loaded(_) => &[],
            Kind::Combined(count) | Kind::Joined(count) => &self.operands[value.first as usize..][..count as usize],
        }
    }

    /// Returns the operands of a value. A packed operand is replaced by its parts.
    pub fn parts(&self, id: Id) -> Vec<Id> {
        let mut parts = Vec::new();
        for operand in self.operands(id) {
            match self.value(*operand).kind {
                Kind::Joined(_) => parts.extend(self.parts(*operand)),
                _ => parts.push(*operand),
            }
        }
        parts
    }

    fn push(&mut self, value: Value) -> Id {
        if self.values.len() >= MOST {
            self.left_out += 1;
            return PLAIN;
        }
        self.values.push(value);
        self.values.len() as Id + 1
    }

    /// Adds an element that is loaded for the first time since the last barrier.
    pub(super) fn load(&mut self, loaded: Loaded, maker: Producer) -> Id {
        let Producer { site, thread, phase } = maker;
        let kind = Kind::Loaded(self.loaded.len() as u32);
        let stored = Some(MemoryAddress::Buffer(loaded.buffer, loaded.at));
        let id = self.push(Value { kind, phase, depth: 0, thread, site, elements: 1, stored, first: 0 });
        if id != PLAIN {
            self.loaded.push(loaded);
        }
        id
    }

    /// Returns the element, if the value is a loaded element.
    pub(super) fn element(&mut self, id: Id) -> Option<&mut Loaded> {
        match id {
            UNTOUCHED | PLAIN => None,
            _ => match self.value(id).kind {
                Kind::Loaded(number) => self.loaded.get_mut(number as usize),
                _ => None,
            },
        }
    }

    /// Changes the counts of a loaded element, or the counts of all loaded elements in a packed value.
    pub(super) fn each_element(&mut self, id: Id, change: &impl Fn(&mut Loaded)) {
        if let Some(element) = self.element(id) {
            change(element);
        } else if id > PLAIN && matches!(self.value(id).kind, Kind::Joined(_)) {
            self.parts(id).into_iter().filter_map(|part| self.element(part).map(&change)).count();
        }
    }

    /// Combines the operands of an instruction: a single value stays the same, and several values become a new value.
    pub(super) fn combine(&mut self, operands: &[Id], maker: Producer, joins: bool) -> Id {
        let (mut distinct, mut count) = ([PLAIN; 4], 0);
        let mut many = Vec::new();
        for id in operands.iter().copied().filter(|id| *id > PLAIN) {
            if !distinct[..count].contains(&id) && !many.contains(&id) {
                match distinct.get_mut(count) {
                    Some(place) => (*place, count) = (id, count + 1),
                    None => many.push(id),
                }
            }
        }
        if !joins {
            let used = operands.iter().filter(|id| **id > PLAIN);
            used.for_each(|id| self.each_element(*id, &|element| element.uses += 1));
        }
        if count < 2 {
            return distinct[0];
        }
        let operand_ids = || distinct[..count].iter().chain(&many).copied();
        let made_of = |id: Id| *self.value(id);
        let depth = operand_ids()
            .map(made_of)
            .filter(|value| value.phase == maker.phase)
            .map(|value| value.depth)
            .max()
            .unwrap_or(0);
        let elements = operand_ids().map(|id| made_of(id).elements).fold(0, u64::saturating_add);
        let number = (count + many.len()) as u32;
        let (kind, depth) = if joins { (Kind::Joined(number), depth) } else { (Kind::Combined(number), depth + 1) };
        let Producer { site, thread, phase } = maker;
        let first = self.operands.len() as u32;
        let id = self.push(Value { kind, phase, depth, thread, site, elements, stored: None, first });
        if id != PLAIN {
            self.operands.extend_from_slice(&distinct[..count]);
            self.operands.append(&mut many);
        }
        id
    }

    /// Records that a value is stored.
    pub(super) fn store(&mut self, id: Id, place: MemoryAddress, thread: u32) {
        if id <= PLAIN {
            return;
        }
        if let MemoryAddress::Buffer(..) = place {
            self.results.push((place, id, thread));
        }
        let value = &mut self.values[id as usize - 2];
        value.stored.get_or_insert(place);
    }
}
