//! `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` (PTX ISA §9.7.9.27.1): tiles of tensors with one to five
//! dimensions, described by a [`TensorMap`].

mod edit;
mod map;

use super::Accessed;
use super::address::{Address, Region};
use super::atomic::Atomic;
use super::bulk::Recipients;
use super::cluster::{Place, Reach};
use super::in_flight::{Piece, Source};
use crate::regs::{R32, R64, lanes};
pub use edit::{MapEdit, MapField};
pub use map::{Im2col, Swizzle, TensorElement, TensorMap};

/// A tensor copy or reduction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// The register that holds the address of the map.
    pub map: R64,
    /// The coordinates of the tile's first element, innermost dimension first.
    pub coordinates: Box<[R32]>,
    /// In im2col mode, the offsets of the pixels in each dimension except the first and the last.
    pub im2col: Option<Box<[R32]>>,
    /// The address of the tile in shared memory.
    pub shared: Address,
    /// Whether the tile is copied to shared memory.
    pub loads: bool,
    /// For a reduction, its operation for each supported element type.
    pub reduce: Option<Box<[(TensorElement, Atomic)]>>,
    /// The destination blocks and the mbarrier that signals completion.
    pub recipients: Recipients,
}

impl Tensor {
    pub(super) fn execute(&self, reach: &mut Reach<'_, '_, '_>, mask: u32) -> Accessed {
        lanes(mask).try_for_each(|lane| self.execute_lane(reach, lane))
    }

    fn execute_lane(&self, reach: &mut Reach<'_, '_, '_>, lane: usize) -> Accessed {
        let address = reach.regs.get64(self.map)[lane];
        let map = read_map(reach, address);
        let map = map.map_err(|why| reach.refuse(lane, format!("no valid tensor map at {address:#x}: {why}")));
        let (map, im2col) = map?;
        if im2col.is_some() != self.im2col.is_some() {
            let of = if im2col.is_some() { "im2col" } else { "tiles" };
            return Err(reach.refuse(lane, format!("the mode of the tensor map is {of}, but not that of the copy")));
        }
        let offsets = self.im2col.iter().flatten();
        let offsets: Vec<i64> = offsets.map(|register| i64::from(reach.regs.get32(*register)[lane] & 0xffff)).collect();
        let coordinates = self.coordinates.iter();
        let coordinates: Vec<i32> =
            coordinates.map(|register| reach.regs.get32(*register)[lane].cast_signed()).collect();
        if coordinates.len() != map.sizes.len() {
            let words = format!("{} coordinates for a tensor with {} dimensions", coordinates.len(), map.sizes.len());
            return Err(reach.refuse(lane, words));
        }
        // On an H200, a copy with either of the following coordinates is an illegal instruction.
        if im2col.is_none() && i64::from(coordinates[0]) * i64::from(map.element.bytes()) % 16 != 0 {
            let words = format!(
                "a tile that starts at element {}, whose offset in bytes is not a multiple of 16",
                coordinates[0]
            );
            return Err(reach.refuse(lane, words));
        }
        if let Some(negative) = coordinates.iter().find(|coordinate| !self.loads && **coordinate < 0) {
            return Err(
                reach.refuse(lane, format!("a store of a tile at coordinate {negative}, outside of the tensor"))
            );
        }
        let reduce = self.reduce.as_ref().map(|all| {
            let found = all.iter().find(|(element, _)| *element == map.element);
            let refused = || format!("there is no such reduction for elements of type {:?}", map.element);
            found.map(|entry| &entry.1).ok_or_else(|| reach.refuse(lane, refused()))
        });
        let reduce = reduce.transpose()?;
        let tile = reach.place(&self.shared, lane);
        reach.check(lane, tile, 16, 128, self.loads)?;
        let Place::Shared(rank, at) = tile else {
            return Err(reach.refuse(lane, "a tile that is not in shared memory".to_owned()));
        };
        let mut pieces = Vec::new();
        let im2col = im2col.as_ref().map(|layout| (layout, &offsets[..]));
        map.parts(&coordinates, im2col, at, |bytes, global, shared| {
            let (global, shared) = (global.map(Place::Global), Place::Shared(rank, shared));
            let (from, to) = match (self.loads, global) {
                (true, Some(global)) => (Source::Memory(global), shared),
                (true, None) => (Source::Value(map.fill()), shared),
                (false, Some(global)) => (Source::Memory(shared), global),
                (false, None) => return,
            };
            pieces.push(Piece { lane: lane as u8, bytes: bytes as u32, from, to });
        });
        for piece in &pieces {
            if let Source::Memory(from) = piece.from {
                reach.check(lane, from, u64::from(piece.bytes), 1, false)?;
            }
        }
        let issued = reach.cluster.issued.len();
        reach.issue(lane, 1, pieces, reduce, &self.recipients)?;
        let issues = reach.cluster.issued.iter_mut().skip(issued);
        issues.for_each(|issue| issue.tensor = Some((address, map.address)));
        Ok(())
    }
}

/// Reads the map at a generic address, and its im2col description if there is one.
fn read_map(reach: &Reach<'_, '_, '_>, address: u64) -> Result<(TensorMap, Option<Im2col>), String> {
    let mut bytes = [0; 128];
    let region = Region::of(address);
    let at = address.wrapping_sub(region.window());
    match region {
        Region::Param | Region::Const => {
            let memory = if region == Region::Param { reach.params } else { reach.constants };
            let found = usize::try_from(at).ok().and_then(|at| memory.get(at..)?.get(..128));
            bytes.copy_from_slice(found.unwrap_or(&[0; 128]));
        }
        _ => reach.global.read(address, &mut bytes),
    }
    TensorMap::read(&bytes)
}
