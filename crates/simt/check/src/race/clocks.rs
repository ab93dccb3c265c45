//! What is known of all threads of a launch: of each thread a clock, up to which its accesses have happened before.
//!
//! The clocks are a tree that is never changed, so that knowledge is copied and joined cheaply: its leaves are the lanes
//! of a warp, the level above them the warps of a block, the levels above those blocks. Where all threads below a node have
//! the same clock, as behind a barrier, there is nothing below it.

use std::array;
use std::sync::Arc;

use simt::regs::{ALL, LANES};

/// A node of the tree, whose level its owner knows.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// All threads below have this clock.
    Uniform(u32),
    /// The lanes of a warp.
    Leaf(Arc<[u32; LANES]>),
    Inner(Arc<[Node; LANES]>),
}

impl Node {
    /// Nothing is known.
    pub(super) const NONE: Self = Self::Uniform(0);

    /// A warp of which `lanes` have this clock.
    pub(super) fn lanes(lanes: u32, clock: u32) -> Self {
        match lanes {
            ALL => Self::Uniform(clock),
            _ => Self::Leaf(Arc::new(array::from_fn(|lane| if lanes >> lane & 1 != 0 { clock } else { 0 }))),
        }
    }

    /// A warp whose lanes have these clocks.
    pub(super) fn leaf(clocks: [u32; LANES]) -> Self {
        match clocks.iter().all(|clock| *clock == clocks[0]) {
            true => Self::Uniform(clocks[0]),
            false => Self::Leaf(Arc::new(clocks)),
        }
    }

    /// Whether it is the same without looking below.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Uniform(a), Self::Uniform(b)) => a == b,
            (Self::Leaf(a), Self::Leaf(b)) => Arc::ptr_eq(a, b),
            (Self::Inner(a), Self::Inner(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Whether it has of each thread a clock as late as the other one has.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            _ if self.is(other) => true,
            (_, Self::Uniform(0)) => true,
            (Self::Uniform(own), Self::Uniform(clock)) => own >= clock,
            (Self::Uniform(own), Self::Leaf(clocks)) => clocks.iter().all(|clock| own >= clock),
            (Self::Leaf(own), Self::Uniform(clock)) => own.iter().all(|own| own >= clock),
            (Self::Leaf(own), Self::Leaf(clocks)) => own.iter().zip(&**clocks).all(|(own, clock)| own >= clock),
            (Self::Uniform(_), Self::Inner(children)) => children.iter().all(|child| self.covers(child)),
            (Self::Inner(own), Self::Uniform(_)) => own.iter().all(|own| own.covers(other)),
            (Self::Inner(own), Self::Inner(children)) => {
                own.iter().zip(&**children).all(|(own, child)| own.covers(child))
            }
            // Nodes of different levels, which are never compared.
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => false,
        }
    }

    /// The lanes of a warp's node whose clocks are as late as this one.
    pub(super) fn lanes_at(&self, clock: u32) -> u32 {
        match self {
            Self::Uniform(own) if *own >= clock => ALL,
            Self::Leaf(own) => (0..LANES).filter(|lane| own[*lane] >= clock).fold(0, |all, lane| all | 1 << lane),
            Self::Uniform(_) | Self::Inner(_) => 0,
        }
    }

    /// Of each thread the later clock of both.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            _ if self.is(other) => self.clone(),
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
            // Mostly one side has all of the other, which is seen without a new node.
            (Self::Inner(a), Self::Inner(b)) => {
                let differing = || a.iter().zip(&**b).filter(|(a, b)| !a.is(b));
                if differing().all(|(a, b)| a.covers(b)) {
                    self.clone()
                } else if differing().all(|(a, b)| b.covers(a)) {
                    other.clone()
                } else {
                    inner(array::from_fn(|child| a[child].join(&b[child])))
                }
            }
            (known, Self::Uniform(clock)) | (Self::Uniform(clock), known) => known.at_least(*clock),
            // Nodes of different levels, which are never joined.
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => self.clone(),
        }
    }

    /// The same, and of each thread this clock at least.
    fn at_least(&self, clock: u32) -> Self {
        match self {
            Self::Uniform(own) => Self::Uniform(clock.max(*own)),
            Self::Leaf(own) if own.iter().all(|own| *own >= clock) => self.clone(),
            Self::Leaf(own) => Self::leaf(own.map(|own| own.max(clock))),
            Self::Inner(own) => {
                let all: [Self; LANES] = array::from_fn(|child| own[child].at_least(clock));
                match all.iter().zip(&**own).all(|(one, other)| one.is(other)) {
                    true => self.clone(),
                    false => inner(all),
                }
            }
        }
    }

    /// The node so many levels below with this number among those of its level.
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

    /// The same, and in that node so many levels below what `known` has.
    pub(super) fn join_at(&self, levels: u32, number: u32, known: &Self) -> Self {
        let Some(above) = levels.checked_sub(1) else {
            return self.join(known);
        };
        let child = (number >> (5 * above)) as usize % LANES;
        let mut children = match self {
            Self::Inner(children) => {
                let joined = children[child].join_at(above, number, known);
                if joined.is(&children[child]) {
                    return self.clone();
                }
                let mut children = (**children).clone();
                children[child] = joined;
                return inner(children);
            }
            Self::Uniform(clock) => array::from_fn(|_| Self::Uniform(*clock)),
            Self::Leaf(_) => return self.clone(),
        };
        children[child] = children[child].join_at(above, number, known);
        inner(children)
    }
}

fn inner(children: [Node; LANES]) -> Node {
    match &children[0] {
        Node::Uniform(first) if children.iter().all(|own| matches!(own, Node::Uniform(clock) if clock == first)) => {
            Node::Uniform(*first)
        }
        _ => Node::Inner(Arc::new(children)),
    }
}
