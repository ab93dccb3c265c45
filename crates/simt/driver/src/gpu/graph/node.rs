//! The nodes of graphs.

use std::sync::Arc;

use super::{CopyKind, Dependency, GRAPHS, Graph};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::copy3d::Memcpy3d;
use crate::gpu::launch_attributes::Attributes;
use crate::gpu::op::Op;

/// `CUgraphNodeType`.
pub(crate) const KERNEL: u32 = 0;
pub(crate) const COPY: u32 = 1;
pub(crate) const FILL: u32 = 2;
pub(crate) const HOST: u32 = 3;
pub(crate) const CHILD: u32 = 4;
pub(crate) const EMPTY: u32 = 5;
pub(crate) const WAIT: u32 = 6;
pub(crate) const RECORD: u32 = 7;
pub(crate) const ALLOCATE: u32 = 10;
pub(crate) const FREE: u32 = 11;
pub(crate) const BATCH: u32 = 12;

/// The work of a node.
#[derive(Clone)]
pub(crate) enum Work {
    Op(Op),
    /// The work of another graph.
    Child(Child),
}

/// The graph of a child node.
pub(crate) struct Child(Arc<Graph>);

impl Child {
    /// Copies a graph for a node.
    pub(crate) fn new(graph: &Graph) -> Self {
        Self(graph.copy(CopyKind::Child))
    }

    /// Returns the graph.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.0
    }
}

impl Clone for Child {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(GRAPHS.remove(self.0.handle));
    }
}

/// A node.
pub(crate) struct Node {
    pub(crate) work: Work,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) attributes: Attributes,
    /// Whether the node runs in an executable graph.
    pub(crate) is_enabled: bool,
    /// The node that this node was copied from.
    pub(crate) original: Handle,
    /// The parameters that were passed to the program by address. The program may read this memory until it changes the
    /// node.
    pub(crate) shown: Vec<Box<[u64]>>,
    /// The program's description of the operation of a copy node, if the program provided one.
    pub(crate) copied: Option<Memcpy3d>,
    /// Whether the program passed the kernel's arguments in one buffer.
    pub(crate) has_buffer: bool,
}

impl Node {
    /// Creates a node that has work but no other properties.
    pub(crate) fn new(work: Work) -> Self {
        let (dependencies, shown, attributes) = Default::default();
        Self { work, dependencies, attributes, is_enabled: true, original: 0, shown, copied: None, has_buffer: false }
    }

    /// Sets the attributes, if the node is a kernel.
    pub(crate) fn with_attributes(self, attributes: Attributes) -> Self {
        match self.kind() {
            KERNEL => Self { attributes, ..self },
            _ => self,
        }
    }

    /// Copies the node for another graph, in which it depends on `dependencies`.
    pub(crate) fn copy_of(&self, original: Handle, dependencies: Vec<Dependency>) -> Self {
        let Self { work, attributes, is_enabled, copied, has_buffer, .. } = self;
        Self {
            work: work.clone(),
            dependencies,
            attributes: attributes.clone(),
            is_enabled: *is_enabled,
            original,
            shown: Vec::new(),
            copied: *copied,
            has_buffer: *has_buffer,
        }
    }

    /// Returns the type of the node (`CUgraphNodeType`).
    pub(crate) fn kind(&self) -> u32 {
        self.work.kind()
    }

    /// Replaces the work with that of another node of the same type. Attributes that the program set remain.
    pub(crate) fn set(&mut self, mut other: Self) -> Result<()> {
        if other.kind() != self.kind() {
            return Err(Error::new(Code::INVALID_VALUE, "the new parameters are for another type of node"));
        }
        if let (Work::Op(Op::Launch(new)), Work::Op(Op::Launch(old))) = (&mut other.work, &self.work) {
            (new.is_cooperative, new.cluster) = (old.is_cooperative, old.cluster);
        }
        (self.work, self.copied, self.has_buffer) = (other.work, other.copied, other.has_buffer);
        self.shown.clear();
        Ok(())
    }
}

impl Work {
    /// Returns the type of a node with this work.
    pub(crate) fn kind(&self) -> u32 {
        match self {
            Work::Child(_) => CHILD,
            Work::Op(op) => match op {
                Op::Launch(_) => KERNEL,
                Op::Copy(_) => COPY,
                Op::Fill(_) => FILL,
                Op::Host(_) => HOST,
                Op::Record(_) => RECORD,
                Op::Wait(_) => WAIT,
                Op::Free(_) => FREE,
                Op::Batch(_) => BATCH,
                Op::Allocate(_) => ALLOCATE,
                Op::End(_) | Op::Nothing => EMPTY,
            },
        }
    }
}
