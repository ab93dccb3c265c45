//! The lanes of a warp, divided into classes with the same knowledge.

use std::sync::Arc;

use super::threads::Knowledge;
use simt::regs::{self, ALL, LANES};

/// The classes of a warp's lanes, or of some of its lanes. A copy shares their knowledge.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    all: Vec<(u32, Arc<Knowledge>)>,
    /// The index of the class of each lane, if the lane is in a class.
    indices: [u8; LANES],
}

impl Classes {
    /// Creates one class of all lanes.
    pub(super) fn uniform(known: Arc<Knowledge>) -> Self {
        Self { all: vec![(ALL, known)], indices: [0; LANES] }
    }

    /// Returns the knowledge of the lanes if it is the same for all of them.
    #[inline]
    pub(super) fn only(&self) -> Option<&Knowledge> {
        let [(_, known)] = &self.all[..] else { return None };
        Some(known)
    }

    /// Returns the classes of these lanes, each with the selected lanes in it.
    #[inline]
    pub(super) fn of(&self, mut lanes: u32) -> impl Iterator<Item = (u32, &Arc<Knowledge>)> {
        std::iter::from_fn(move || {
            let (class_lanes, known) = self.first(lanes)?;
            lanes &= !class_lanes;
            Some((class_lanes, known))
        })
    }

    /// Returns the class of the first of these lanes.
    #[inline]
    pub(super) fn first(&self, lanes: u32) -> Option<(u32, &Arc<Knowledge>)> {
        let index = self.indices.get(lanes.trailing_zeros() as usize)?;
        let (class_lanes, known) = self.all.get(usize::from(*index))?;
        (class_lanes & lanes != 0).then_some((class_lanes & lanes, known))
    }

    /// Returns the classes restricted to these lanes.
    pub(super) fn part(&self, lanes: u32) -> Self {
        let mut part = Self::default();
        self.of(lanes).for_each(|(class_lanes, known)| part.push(class_lanes, known.clone()));
        part
    }

    fn push(&mut self, lanes: u32, known: Arc<Knowledge>) {
        regs::lanes(lanes).for_each(|lane| self.indices[lane] = self.all.len() as u8);
        self.all.push((lanes, known));
    }

    /// Changes the knowledge of these lanes.
    pub(super) fn change(&mut self, mut lanes: u32, change: impl Fn(&mut Knowledge)) {
        while lanes != 0 {
            let index = usize::from(self.indices[lanes.trailing_zeros() as usize]);
            let (class_lanes, known) = &mut self.all[index];
            let part = *class_lanes & lanes;
            lanes &= !part;
            if part == *class_lanes {
                change(Arc::make_mut(known));
            } else {
                *class_lanes &= !part;
                let mut known = known.clone();
                change(Arc::make_mut(&mut known));
                self.push(part, known);
            }
        }
    }

    /// Puts these lanes into one class.
    pub(super) fn unite(&mut self, lanes: u32, known: Arc<Knowledge>) {
        if lanes == ALL {
            self.all.clear();
            self.all.push((ALL, known));
            self.indices = [0; LANES];
        } else {
            *self = self.part(!lanes);
            self.push(lanes, known);
        }
    }
}
