//! The lanes of a warp, divided into classes that know the same.

use std::sync::Arc;

use super::threads::Knowledge;
use simt::regs::{self, ALL, LANES};

/// The classes of a warp's lanes, or of some of its lanes. A copy shares what they know.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    all: Vec<(u32, Arc<Knowledge>)>,
    /// The index of the class of each lane that is in one.
    of: [u8; LANES],
}

impl Classes {
    /// One class of all lanes.
    pub(super) fn uniform(known: Arc<Knowledge>) -> Self {
        Self { all: vec![(ALL, known)], of: [0; LANES] }
    }

    /// Returns what all lanes know if it is the same.
    #[inline]
    pub(super) fn only(&self) -> Option<&Knowledge> {
        let [(_, known)] = &self.all[..] else { return None };
        Some(known)
    }

    /// Returns the classes of these lanes, each with those of the lanes that are in it.
    #[inline]
    pub(super) fn of(&self, mut lanes: u32) -> impl Iterator<Item = (u32, &Arc<Knowledge>)> {
        std::iter::from_fn(move || {
            let (own, known) = self.first(lanes)?;
            lanes &= !own;
            Some((own, known))
        })
    }

    /// Returns the class of the first of these lanes.
    #[inline]
    pub(super) fn first(&self, lanes: u32) -> Option<(u32, &Arc<Knowledge>)> {
        let index = self.of.get(lanes.trailing_zeros() as usize)?;
        let (own, known) = self.all.get(usize::from(*index))?;
        (own & lanes != 0).then_some((own & lanes, known))
    }

    /// Returns the classes of these lanes only.
    pub(super) fn part(&self, lanes: u32) -> Self {
        let mut part = Self::default();
        self.of(lanes).for_each(|(own, known)| part.push(own, known.clone()));
        part
    }

    fn push(&mut self, lanes: u32, known: Arc<Knowledge>) {
        regs::lanes(lanes).for_each(|lane| self.of[lane] = self.all.len() as u8);
        self.all.push((lanes, known));
    }

    /// Changes what these lanes know.
    pub(super) fn change(&mut self, mut lanes: u32, change: impl Fn(&mut Knowledge)) {
        while lanes != 0 {
            let index = usize::from(self.of[lanes.trailing_zeros() as usize]);
            let (own, known) = &mut self.all[index];
            let here = *own & lanes;
            lanes &= !here;
            if here == *own {
                change(Arc::make_mut(known));
            } else {
                *own &= !here;
                let mut known = known.clone();
                change(Arc::make_mut(&mut known));
                self.push(here, known);
            }
        }
    }

    /// Makes one class of these lanes.
    pub(super) fn unite(&mut self, lanes: u32, known: Arc<Knowledge>) {
        if lanes == ALL {
            self.all.clear();
            self.all.push((ALL, known));
            self.of = [0; LANES];
        } else {
            *self = self.part(!lanes);
            self.push(lanes, known);
        }
    }
}
