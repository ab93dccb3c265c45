//! An observer of some of a launch's blocks.

use std::sync::Arc;

use super::*;

/// An observer that is told only of some blocks, by their numbers in the grid, while all of them run: what takes too long to
/// learn of a whole launch is learned of a sample. What is told of no block, such as what the host does, reaches it too.
#[derive(Debug, Clone)]
pub struct OfBlocks<O> {
    blocks: Arc<[u64]>,
    is_chosen: bool,
    inner: O,
}

impl<O> OfBlocks<O> {
    /// Tells `inner` of these blocks.
    pub fn new(blocks: impl Into<Vec<u64>>, inner: O) -> Self {
        Self { blocks: blocks.into().into(), is_chosen: false, inner }
    }

    /// The observer, with what it has seen.
    pub fn into_inner(self) -> O {
        self.inner
    }

    #[inline(always)]
    fn choose(&mut self, block: u64) -> bool {
        self.is_chosen = self.blocks.contains(&block);
        self.is_chosen
    }
}

/// Methods that forward a call about a chosen block; `turn` and `block` say which block the calls after them are about.
macro_rules! chosen {
    () => {};
    ($(#[$doc:meta])* turn($own:ident: $ty:ty); $($rest:tt)*) => {
        #[inline(always)]
        fn turn(&mut self, $own: $ty) {
            if self.choose($own.block) {
                self.inner.turn($own);
            }
        }
        chosen!($($rest)*);
    };
    ($(#[$doc:meta])* block($own:ident: $ty:ty, $($arg:ident: $other:ty),+); $($rest:tt)*) => {
        #[inline(always)]
        fn block(&mut self, $own: $ty, $($arg: $other),+) {
            if self.choose($own) {
                self.inner.block($own, $($arg),+);
            }
        }
        chosen!($($rest)*);
    };
    ($(#[$doc:meta])* $method:ident($($arg:ident: $ty:ty),+); $($rest:tt)*) => {
        #[inline(always)]
        fn $method(&mut self, $($arg: $ty),+) {
            if self.is_chosen {
                self.inner.$method($($arg),+);
            }
        }
        chosen!($($rest)*);
    };
}

impl<O: Observer> Observer for OfBlocks<O> {
    const REQUESTS: Requests = O::REQUESTS;

    fn steps(&self) -> bool {
        self.is_chosen && self.inner.steps()
    }

    fn values(&self) -> bool {
        self.inner.values()
    }

    fn fork(&self) -> Self {
        Self { blocks: self.blocks.clone(), is_chosen: false, inner: self.inner.fork() }
    }

    fn merge(&mut self, other: Self) {
        self.inner.merge(other.inner);
    }

    every_event!(chosen);
}
