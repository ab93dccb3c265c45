//! The sanitizer `memory`: accesses outside the object from which their address was computed.
//!
//! # Algorithm
//!
//! The simulator itself faults at addresses outside all allocations. This sanitizer finds addresses that hit the wrong
//! object. It follows pointers as CompCert's memory model does (Leroy and Blazy, "Formal Verification of a C-like
//! Memory Model", JAR 2008): an address belongs to the object from which it was computed. For each instruction, a
//! static analysis finds the parameters and variables from which its address can be computed ([`provenance`]). The
//! arguments of a launch determine the allocation of each parameter. In contrast, compute-sanitizer's memcheck checks
//! an address against all allocations, so it misses an access that hits a neighboring one.
//!
//! # What it can miss
//!
//! - Addresses that are loaded from memory or computed from more than one object. Such addresses may point anywhere, so
//!   only the simulator's general checks apply to them.
//! - Accesses to another part of the same object, such as the next row of a matrix.
//! - Wrong addresses of textures, surfaces, `tensormap.replace` and mbarrier instructions: only the simulator's general
//!   checks apply to them.

mod provenance;

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::Checker;
use super::facts::LaunchFacts;
use super::finding::{Findings, OUT_OF_BOUNDS, RawFinding, ThreadAtSite, owner_name};
use provenance::{Provenance, ROLES, Role, Source, Sources};
use simt::code::Op;
use simt::memory::Region;
use simt::observe::{Access, AccessKind, Issue, Location, Places, Site, Space, StoredValues, WarpId};
use simt::regs::{LANES, lanes};
use simt::run::Simulator;
use simt::variable;

/// An object in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    space: Space,
    base: u64,
    bytes: u64,
    /// A name for messages: `argument 0's buffer`.
    name: String,
}

impl Object {
    /// Returns whether the `bytes` bytes at `address` lie within the object.
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let at = address.wrapping_sub(self.base);
        at <= self.bytes && bytes <= self.bytes - at
    }

    /// Describes the distance between the object and bytes outside it.
    fn describe_distance(&self, address: u64, bytes: u64) -> String {
        let Self { base, bytes: size, name, .. } = self;
        let end = base + size;
        let far = match address {
            _ if address >= end => format!("{} bytes past the end", address - end),
            _ if address >= *base => format!("{} of them past the end", address + bytes - end),
            _ => format!("{} bytes before the start", base - address),
        };
        format!("{far} of {name} of {size} bytes")
    }
}

fn verb(access: &Access<'_>) -> &'static str {
    match access.kind {
        AccessKind::Load => "read",
        AccessKind::AsyncCopy if access.space == Space::Global => "read",
        _ => "write",
    }
}

/// The objects that an instruction may access. Index 0, an empty list, is for instructions whose objects are unknown.
type Allowed = Vec<Object>;

/// The state of the check during one launch.
pub(super) struct Memory {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    provenance: Arc<Provenance>,
    /// The objects of each source, by the source's number.
    objects: Vec<Vec<Object>>,
    /// The address and size of the module's variables, by their numbers.
    variables: HashMap<u64, (u64, u64)>,
    /// Whether the program may allocate memory.
    uses_heap: bool,
    /// The number of the program's variables that have been placed for this launch.
    placed_count: usize,
    /// For each function and instruction, an index into `allowed` for each [`Role`].
    sites: Vec<Vec<[u32; ROLES]>>,
    allowed: Vec<Allowed>,
    /// The lanes of the last access that were outside their object.
    outside: u32,
}

impl Memory {
    pub(super) fn new(simulator: &mut Simulator, facts: Arc<LaunchFacts>) -> Self {
        let program = &facts.function.program();
        let provenance = program.analyses.get(|| Provenance::new(program));
        let mut memory = Self {
            provenance,
            objects: Vec::new(),
            variables: HashMap::new(),
            uses_heap: program.uses_heap(),
            placed_count: 0,
            sites: Vec::new(),
            outside: 0,
            allowed: Vec::new(),
            findings: Findings::default(),
            facts: facts.clone(),
        };
        for (number, address) in facts.function.variable_addresses().iter().enumerate() {
            memory.place(number, *address);
        }
        let sources = memory.provenance.sources.iter();
        memory.objects =
            sources.map(|source| memory.arguments_object(simulator, source).into_iter().collect()).collect();
        memory
    }

    /// Records the address of a variable of the module.
    fn place(&mut self, number: usize, address: u64) {
        if let Some(variable) = self.facts.function.variable(number) {
            self.variables.insert(number as u64, (address, variable.bytes));
        }
    }

    /// Returns the object that an argument points to.
    fn arguments_object(&self, simulator: &Simulator, source: &Source) -> Option<Object> {
        let Source::Argument(offset) = source else { return None };
        let mut params = self.facts.function.program().params.iter().enumerate();
        let (index, param) = params.find(|(_, param)| (param.offset..param.offset + param.bytes).contains(offset))?;
        let within = (offset - param.offset) as usize;
        let bytes = self.facts.args.get(index)?.bytes();
        let address = u64::from_le_bytes(*bytes.get(within..)?.first_chunk()?);
        let found = simulator.memory().object(address)?;
        let name = match param.bytes {
            8 => format!("argument {index}'s buffer"),
            _ => format!("the buffer at byte {within} of argument {index}"),
        };
        Some(Object { space: Space::Global, base: found.start, bytes: found.end - found.start, name })
    }

    /// Returns the objects of a variable: several if its address may be used in more than one space.
    fn variables_objects(&self, source: &Source) -> Vec<Object> {
        let Source::Variable(variable_use) = source else { return Vec::new() };
        let name = variable(&variable_use.name);
        let object = |space, base, bytes| Object { space, base, bytes, name: name.clone() };
        match (variable_use.space, variable_use.bytes) {
            (Space::Global, Some(_)) => {
                let place = self.variables.get(&variable_use.at);
                place.map(|(base, bytes)| object(Space::Global, *base, *bytes)).into_iter().collect()
            }
            (Space::Shared, None) => {
                let base = u64::from(self.facts.function.program().shared_bytes.next_multiple_of(16));
                let name = "dynamic shared memory".to_owned();
                vec![Object { space: Space::Shared, base, bytes: self.facts.shared_bytes.into(), name }]
            }
            (_, Some(bytes)) if variable_use.in_frame => {
                [Space::Local, Space::Param].map(|space| object(space, variable_use.at, bytes)).into()
            }
            (Space::Param, Some(bytes)) => {
                vec![Object {
                    name: format!("parameter `{}`", variable_use.name),
                    ..object(Space::Param, variable_use.at, bytes)
                }]
            }
            (space, Some(bytes)) => vec![object(space, variable_use.at, bytes)],
            (_, None) => Vec::new(),
        }
    }

    /// Finds the objects that each instruction may access.
    fn resolve(&mut self) {
        for number in 0..self.objects.len() {
            let more = self.variables_objects(&self.provenance.sources[number]);
            self.objects[number].extend(more);
        }
        self.allowed.push(Allowed::new());
        let mut known: HashMap<Sources, u32> = HashMap::new();
        for (function, func) in self.facts.function.program().functions.iter().enumerate() {
            let mut site_roles = vec![[0; ROLES]; func.code.len()];
            for (pc, sources) in &self.provenance.addresses[function] {
                for (role, sources) in sources.iter().enumerate() {
                    let Some(sources) = sources else { continue };
                    site_roles[*pc as usize][role] = *known.entry(*sources).or_insert_with(|| {
                        let chosen = self.objects.iter().enumerate().filter(|(number, _)| sources >> number & 1 != 0);
                        if chosen.clone().any(|(number, objects)| {
                            let is_variable = matches!(self.provenance.sources[number], Source::Variable(_));
                            is_variable && objects.is_empty()
                        }) {
                            return 0;
                        }
                        let mut all: Allowed = chosen.flat_map(|(_, objects)| objects.iter().cloned()).collect();
                        all.dedup();
                        if all.is_empty() {
                            return 0;
                        }
                        self.allowed.push(all);
                        self.allowed.len() as u32 - 1
                    });
                }
            }
            self.sites.push(site_roles);
        }
    }

    /// Checks that an access to the heap is within memory that `malloc` returned and that has not been freed.
    fn check_heap(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let bytes = u64::from(access.bytes);
        let describe_distance = |address: u64| match places.find(Space::Global, address) {
            None => Some("in the heap, outside all memory that malloc has returned and that is not freed".to_owned()),
            Some(place) if address + bytes > place.base + place.bytes => {
                let past = address + bytes - place.base - place.bytes;
                Some(format!("{past} of them past the end of an allocation of {} bytes", place.bytes))
            }
            Some(_) => None,
        };
        let outside = || lanes(access.mask).filter_map(|lane| Some((lane, describe_distance(access.addresses[lane])?)));
        let Some((lane, place)) = outside().next() else { return };
        self.findings.add("heap", site, None, outside().count() as u64, || RawFinding {
            what: format!("out of bounds {} of {bytes} bytes", verb(access)),
            action: None,
            help: OUT_OF_BOUNDS.into(),
            party: ThreadAtSite { site, block: warp_id.block, thread: warp_id.warp * LANES as u32 + lane as u32 },
            address: Some(access.addresses[lane]),
            place: Some(place),
            other: None,
        });
    }

    /// Checks an access whose address has this role in its instruction.
    fn check_access(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>, role: Role) {
        let index = self.sites[site.function as usize][site.pc as usize][role as usize];
        if index == 0 {
            if self.uses_heap && access.space == Space::Global {
                self.check_heap(site, warp_id, access, places);
            }
            return;
        }
        let allowed = &self.allowed[index as usize];
        let bytes = u64::from(access.bytes);
        let is_inside = match &allowed[..] {
            [object] if object.space == access.space => {
                lanes(access.mask).all(|lane| object.contains(access.addresses[lane], bytes))
            }
            _ => false,
        };
        if !is_inside {
            let allowed = std::mem::take(&mut self.allowed[index as usize]);
            self.report(site, warp_id, access, places, &allowed);
            self.allowed[index as usize] = allowed;
        }
    }

    /// Checks that an accessed part of a tensor is within the object to which the tensor map points.
    fn check_tensor(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>, base: u64) {
        let Some(place) = places.find(Space::Global, base) else { return };
        let address = access.addresses[access.mask.trailing_zeros() as usize % LANES];
        let mut end = place.base + place.bytes;
        // Memory that is mapped in several pieces counts as one object.
        while end < address + u64::from(access.bytes)
            && let Some(next) = places.find(Space::Global, end)
        {
            end += next.bytes;
        }
        let (space, base, bytes) = (Space::Global, place.base, end - place.base);
        let object = Object { space, base, bytes, name: String::new() };
        if !object.contains(address, access.bytes.into()) {
            let name = format!("{}, to which the tensor map points,", owner_name(&self.facts, space, &place));
            self.report(site, warp_id, access, places, &[Object { name, ..object }]);
        }
    }

    #[cold]
    fn report(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>, allowed: &[Object]) {
        let inst = &self.facts.function.program().functions[site.function as usize].code[site.pc as usize];
        let bytes = match &inst.op {
            // A register contains the number of bytes that the copy reads from its source.
            Op::Memory(simt::memory::Memory::AsyncCopy(copy))
                if copy.read.is_some() && access.space == Space::Global =>
            {
                1
            }
            _ => u64::from(access.bytes),
        };
        let is_allowed = |address: u64| {
            let mut objects = allowed.iter().filter(|object| object.space == access.space);
            objects.any(|object| object.contains(address, bytes))
        };
        let outside = || lanes(access.mask).filter(|lane| !is_allowed(access.addresses[*lane]));
        let Some(lane) = outside().next() else { return };
        self.outside = outside().fold(0, |all, lane| all | 1 << lane);
        let facts = &self.facts;
        self.findings.add("out of bounds", site, None, outside().count() as u64, || {
            let address = access.addresses[lane];
            let distance = |object: &&Object| {
                let (begin, end) = (object.base, object.base + object.bytes);
                if address < begin { begin - address } else { address.saturating_sub(end) }
            };
            let mut place = match allowed.iter().filter(|object| object.space == access.space).min_by_key(distance) {
                Some(object) => object.describe_distance(address, bytes),
                None => format!("in a different address space than {}", allowed[0].name),
            };
            if let Some(found) = places.find(access.space, address) {
                place += &format!(", inside of {}", owner_name(facts, access.space, &found));
            }
            let thread = warp_id.warp * LANES as u32 + lane as u32;
            RawFinding {
                what: format!("out of bounds {} of {} bytes", verb(access), access.bytes),
                action: None,
                help: OUT_OF_BOUNDS.into(),
                party: ThreadAtSite { site, block: warp_id.block, thread },
                address: Some(address),
                place: Some(place),
                other: None,
            }
        });
    }
}

impl Checker for Memory {
    fn allocated(&mut self, address: u64, _bytes: u64) {
        // These events announce the program's variables that live as long as the launch, in the order of the variables'
        // numbers.
        let number = self.facts.function.program().variables.get(self.placed_count);
        if let Some(number) = number.copied() {
            self.place(number as usize, address);
        }
        self.placed_count += 1;
    }

    fn block(&mut self, _block: u64, _warps: u32, _threads: u32) {
        if self.allowed.is_empty() {
            self.resolve();
        }
    }

    fn located(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let is_source = access.kind == AccessKind::AsyncCopy && access.space == Space::Global;
        self.outside = 0;
        self.check_access(site, warp_id, access, places, if is_source { Role::Source } else { Role::Target });
    }

    fn issued(&mut self, site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>) {
        // Events do not contain the addresses that matrix products read.
        let Issue { lane, from, to: Some(to), bytes, mbarrier, tensor } = *issue else { return };
        let mut check = |(space, address): (Space, u64), bytes: u32, kind: AccessKind, role: Role| {
            let access = Access {
                space,
                kind,
                bytes,
                mask: 1 << lane,
                rank: None,
                stored: StoredValues::default(),
                addresses: &[address; LANES],
                patterns: None,
            };
            match tensor {
                Some((_, base)) if space == Space::Global && role != Role::Map => {
                    self.check_tensor(site, warp_id, &access, places, base);
                }
                _ => self.check_access(site, warp_id, &access, places, role),
            }
        };
        let place = |location: Location| match location {
            Location::Shared(_, at) => (Space::Shared, at),
            Location::Global(at) => (Space::Global, at),
        };
        check(place(to), bytes, AccessKind::Store, Role::Target);
        if let Some(from) = from {
            check(place(from), bytes, AccessKind::Load, Role::Source);
        }
        if let Some((_, at)) = mbarrier {
            check((Space::Shared, at), 8, AccessKind::Store, Role::Mbarrier);
        }
        if let Some((map, _)) = tensor {
            let region = Region::of(map);
            let at = (region.space(), map.wrapping_sub(region.window()));
            check(at, 128, AccessKind::Load, Role::Map);
        }
    }

    fn outside(&self) -> u32 {
        self.outside
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
