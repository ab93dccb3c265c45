//! A thread's knowledge of the clocks of all threads of a launch. Accesses up to a known clock happened before the
//! thread's next access.
//!
//! The clocks form an immutable tree, so that knowledge is cheap to copy and join. The leaves of the tree are the lanes
//! of a warp, the next level contains the warps of a block, and the upper levels contain the blocks. A node whose
//! threads all have the same clock, as after a barrier, has no children.

use std::array;
use std::sync::Arc;

use simt::regs::{ALL, LANES};

/// A node of the tree. The owner of the node knows its level.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// All threads of this subtree have this clock.
    Uniform(u32),
    /// The lanes of a warp.
    Leaf(Arc<[u32; LANES]>),
    Inner(Arc<[Node; LANES]>),
}

impl Node {
    /// No knowledge.
    pub(super) const NONE: Self = Self::Uniform(0);

    /// Returns the node of a warp in which `lanes` have this clock.
    pub(super) fn lanes(lanes: u32, clock: u32) -> Self {
        match lanes {
            ALL => Self::Uniform(clock),
            _ => Self::Leaf(Arc::new(array::from_fn(|lane| if lanes >> lane & 1 != 0 { clock } else { 0 }))),
        }
    }

    /// Returns the node of a warp whose lanes have these clocks.
    pub(super) fn leaf(clocks: [u32; LANES]) -> Self {
        match clocks.iter().all(|clock| *clock == clocks[0]) {
            true => Self::Uniform(clocks[0]),
            false => Self::Leaf(Arc::new(clocks)),
        }
    }

    /// Returns whether two nodes are identical, without comparing their children.
    pub(super) fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Uniform(a), Self::Uniform(b)) => a == b,
            (Self::Leaf(a), Self::Leaf(b)) => Arc::ptr_eq(a, b),
            (Self::Inner(a), Self::Inner(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns whether the clock of each thread is at least its clock in `other`.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            _ if self.is_identical(other) => true,
            (_, Self::Uniform(0)) => true,
            (Self::Uniform(left), Self::Uniform(right)) => left >= right,
            (Self::Uniform(left), Self::Leaf(right)) => right.iter().all(|right| left >= right),
            (Self::Leaf(left), Self::Uniform(right)) => left.iter().all(|left| left >= right),
            (Self::Leaf(left), Self::Leaf(right)) => left.iter().zip(&**right).all(|(left, right)| left >= right),
            (Self::Uniform(_), Self::Inner(right)) => right.iter().all(|child| self.covers(child)),
            (Self::Inner(left), Self::Uniform(_)) => left.iter().all(|child| child.covers(other)),
            (Self::Inner(left), Self::Inner(right)) => {
                left.iter().zip(&**right).all(|(left, right)| left.covers(right))
            }
            // Nodes of different levels are never compared.
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => false,
        }
    }

    /// Returns the lanes of a warp's node whose clocks are at least `clock`.
    pub(super) fn lanes_at(&self, clock: u32) -> u32 {
        match self {
            Self::Uniform(known) if *known >= clock => ALL,
            Self::Leaf(clocks) => (0..LANES).filter(|lane| clocks[*lane] >= clock).fold(0, |all, lane| all | 1 << lane),
            Self::Uniform(_) | Self::Inner(_) => 0,
        }
    }

    /// Returns the later of both clocks for each thread.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            _ if self.is_identical(other) => self.clone(),
            (Self::Uniform(a), Self::Uniform(b)) => Self::Uniform(*a.max(b)),
            (Self::Uniform(0), known) | (known, Self::Uniform(0)) => known.clone(),
            (Self::Leaf(a), Self::Leaf(b)) => {
                let all = array::from_fn(|lane| a[lane].max(b[lane]));
                if all == **a {
                    self.clone()
                } else if all == **b {
                    other.clone()
                } else {
                    Self::leaf(all)
                }
            }
            // Usually one node covers the other, so no new node is needed.
            (Self::Inner(a), Self::Inner(b)) => {
                let differing = || a.iter().zip(&**b).filter(|(a, b)| !a.is_identical(b));
                if differing().all(|(a, b)| a.covers(b)) {
                    self.clone()
                } else if differing().all(|(a, b)| b.covers(a)) {
                    other.clone()
                } else {
                    inner(array::from_fn(|child| a[child].join(&b[child])))
                }
            }
            (known, Self::Uniform(clock)) | (Self::Uniform(clock), known) => known.at_least(*clock),
            // Nodes of different levels are never joined.
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => self.clone(),
        }
    }

    /// Raises the clock of each thread to at least `clock`.
    fn at_least(&self, clock: u32) -> Self {
        match self {
            Self::Uniform(known) => Self::Uniform(clock.max(*known)),
            Self::Leaf(clocks) if clocks.iter().all(|known| *known >= clock) => self.clone(),
            Self::Leaf(clocks) => Self::leaf(clocks.map(|known| known.max(clock))),
            Self::Inner(children) => {
                let all: [Self; LANES] = array::from_fn(|child| children[child].at_least(clock));
                match all.iter().zip(&**children).all(|(new, old)| new.is_identical(old)) {
                    true => self.clone(),
                    false => inner(all),
                }
            }
        }
    }

    /// Returns the node `levels` levels below this one, by its number within that level.
    #[inline]
    pub(super) fn at(&self, levels: u32, number: u32) -> &Self {
        let mut node = self;
        for level in (0..levels).rev() {
            match node {
                Self::Inner(children) => node = &children[(number >> (5 * level)) as usize % LANES],
                _ => return node,
            }
        }
        node
    }

    /// Joins `known` into the node `levels` levels below this one, by its number within that level.
    pub(super) fn join_at(&self, levels: u32, number: u32, known: &Self) -> Self {
        let Some(child_levels) = levels.checked_sub(1) else {
            return self.join(known);
        };
        let child = (number >> (5 * child_levels)) as usize % LANES;
        let mut children = match self {
            Self::Inner(children) => {
                let joined = children[child].join_at(child_levels, number, known);
                if joined.is_identical(&children[child]) {
                    return self.clone();
                }
                let mut children = (**children).clone();
                children[child] = joined;
                return inner(children);
            }
            Self::Uniform(clock) => array::from_fn(|_| Self::Uniform(*clock)),
            Self::Leaf(_) => return self.clone(),
        };
        children[child] = children[child].join_at(child_levels, number, known);
        inner(children)
    }
}

fn inner(children: [Node; LANES]) -> Node {
    match &children[0] {
        Node::Uniform(first)
            if children.iter().all(|child| matches!(child, Node::Uniform(clock) if clock == first)) =>
        {
            Node::Uniform(*first)
        }
        _ => Node::Inner(Arc::new(children)),
    }
}
