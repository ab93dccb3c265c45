//! The values of a block and what they were made of.

use simt::observe::Site;

/// The number of a value. The first two stand for none.
pub type Id = u32;

/// Memory that nobody has read or written yet.
pub(super) const UNTOUCHED: Id = 0;
/// A value that no element of a buffer is in.
pub(super) const PLAIN: Id = 1;

/// The most values that are kept. Each takes 40 bytes.
const MOST: usize = 1 << 22;

/// A value that elements of the problem's buffers went into.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// How it came about.
    pub kind: Kind,
    /// How many times the block's threads had met at a barrier by then.
    pub phase: u32,
    /// Of the operations since that meeting that it depends on, the longest chain.
    pub depth: u32,
    /// The thread that made or loaded it first.
    pub thread: u32,
    /// The instruction.
    pub site: Site,
    /// How many elements went into it, those that did several times as often.
    pub elements: u64,
    /// Where it was stored first.
    pub stored: Option<MemoryAddress>,
    /// Where its operands begin.
    first: u32,
}

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was loaded from a buffer; the number of a [`Loaded`].
    Loaded(u32),
    /// It was computed from so many others.
    Combined(u32),
    /// So many others were put beside each other in a register.
    Joined(u32),
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryAddress {
    /// In shared memory, by the first byte.
    Shared(u64),
    /// In a buffer, by its number and the first byte.
    Buffer(usize, u64),
}

/// An element that a block has loaded from a buffer between two barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The buffer's number.
    pub buffer: usize,
    /// Its first byte there.
    pub at: u64,
    /// Its size.
    pub bytes: u32,
    /// How many times the block's threads had met at a barrier by then.
    pub phase: u32,
    /// The warps that loaded it, as bits.
    pub warps: u32,
    /// How many threads loaded it from the buffer.
    pub loads: u32,
    /// How many threads read it from shared memory.
    pub shared_reads: u32,
    /// How many operations of threads had it as an operand.
    pub uses: u32,
}

/// The values of a block, each after those that it was made of.
#[derive(Debug, Default)]
pub struct Graph {
    values: Vec<Value>,
    operands: Vec<Id>,
    /// The elements that were loaded, in that order.
    pub loaded: Vec<Loaded>,
    /// What was stored to buffers: the place, the value and the thread.
    pub results: Vec<(MemoryAddress, Id, u32)>,
    /// How many values there were besides those that are kept.
    pub left_out: u64,
}

/// Where and by whom a value is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Producer {
    pub(super) site: Site,
    pub(super) thread: u32,
    pub(super) phase: u32,
}

impl Graph {
    /// The share of the values that is kept.
    pub fn kept(&self) -> f64 {
        let kept = self.values.len().max(1) as f64;
        kept / (kept + self.left_out as f64)
    }

    /// A value.
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize - 2]
    }

    /// All values, with their numbers.
    pub fn values(&self) -> impl Iterator<Item = (Id, &Value)> {
        (2..).zip(&self.values)
    }

    /// The values that one was made of.
    pub fn operands(&self, id: Id) -> &[Id] {
        let value = self.value(id);
        match value.kind {
            Kind::Loaded(_) => &[],
            Kind::Combined(count) | Kind::Joined(count) => &self.operands[value.first as usize..][..count as usize],
        }
    }

    /// The values that one was computed of: in the place of one that was joined, its parts.
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

    /// An element that is loaded for the first time since the last barrier.
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

    /// The element that a value is, if it is one.
    pub(super) fn element(&mut self, id: Id) -> Option<&mut Loaded> {
        match id {
            UNTOUCHED | PLAIN => None,
            _ => match self.value(id).kind {
                Kind::Loaded(number) => self.loaded.get_mut(number as usize),
                _ => None,
            },
        }
    }

    /// Changes what is counted of the elements that a value is or that are joined in it.
    pub(super) fn each_element(&mut self, id: Id, change: &impl Fn(&mut Loaded)) {
        if let Some(element) = self.element(id) {
            change(element);
        } else if id > PLAIN && matches!(self.value(id).kind, Kind::Joined(_)) {
            self.parts(id).into_iter().filter_map(|part| self.element(part).map(&change)).count();
        }
    }

    /// What an instruction makes of these values: of one alone the same value, of several a new one.
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
        let all = || distinct[..count].iter().chain(&many).copied();
        let made_of = |id: Id| *self.value(id);
        let depth = all().map(made_of).filter(|own| own.phase == maker.phase).map(|own| own.depth).max().unwrap_or(0);
        let elements = all().map(|id| made_of(id).elements).fold(0, u64::saturating_add);
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

    /// A value is stored.
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
