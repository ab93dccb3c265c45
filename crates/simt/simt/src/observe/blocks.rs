//! An observer of some of a launch's blocks.

use std::sync::Arc;

use super::*;

/// An observer that receives only the calls about some blocks, by their numbers in the grid, while all blocks run. Use
/// it to sample a launch that would take too long to observe completely. Calls that do not concern a block, such as
/// accesses by the host, are also forwarded.
#[derive(Debug, Clone)]
pub struct BlockFilter<O> {
    blocks: Arc<[u64]>,
    is_chosen: bool,
    inner: O,
}

impl<O> BlockFilter<O> {
    /// Creates an observer that forwards the calls about these blocks to `inner`.
    pub fn new(blocks: impl Into<Vec<u64>>, inner: O) -> Self {
        Self { blocks: blocks.into().into(), is_chosen: false, inner }
    }

    /// Returns the inner observer with its observations.
    pub fn into_inner(self) -> O {
        self.inner
    }

    #[inline(always)]
    fn choose(&mut self, block: u64) -> bool {
        self.is_chosen = self.blocks.contains(&block);
        self.is_chosen
    }
}

/// Defines methods that forward a call about a chosen block. The most recent call of `turn` or `block` determines the
/// block that a call concerns.
macro_rules! chosen {
    () => {};
    ($(#[$doc:meta])* turn($subject:ident: $ty:ty); $($rest:tt)*) => {
        #[inline(always)]
        fn turn(&mut self, $subject: $ty) {
            if self.choose($subject.block) {
                self.inner.turn($subject);
            }
        }
        chosen!($($rest)*);
    };
    ($(#[$doc:meta])* block($subject:ident: $ty:ty, $($arg:ident: $other:ty),+); $($rest:tt)*) => {
        #[inline(always)]
        fn block(&mut self, $subject: $ty, $($arg: $other),+) {
            if self.choose($subject) {
                self.inner.block($subject, $($arg),+);
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

impl<O: Observer> Observer for BlockFilter<O> {
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
