//! Graphs: operations as nodes, and an edge from each node to every node that depends on it.

pub(crate) mod calls;
pub(crate) mod dot;
pub(crate) mod exec;
pub(crate) mod generic;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod transfer;
pub(crate) mod update;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::abi::call::In;
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::gpu::state::driver;
use node::{Node, Work};
use objects::Reference;

static GRAPHS: Handles<Graph> = Handles::new();
/// The graph of each node, by node handle.
static NODES: Handles<Weak<Graph>> = Handles::new();

/// A graph.
pub(crate) struct Graph {
    /// The handle of the graph; 0 for the private graph of an executable graph.
    pub(crate) handle: Handle,
    /// Whether the graph belongs to a node of another graph.
    is_child: bool,
    /// Whether operations are being captured into the graph.
    is_captured: AtomicBool,
    inner: Mutex<Inner>,
}

/// The content of a graph.
#[derive(Default)]
pub(crate) struct Inner {
    /// The nodes by handle. Handles increase in the order in which nodes are added.
    pub(crate) nodes: BTreeMap<Handle, Node>,
    pub(crate) objects: Vec<Reference>,
    /// The number of executable graphs made from this graph.
    pub(crate) executables: usize,
    /// Whether an executable graph was ever made from this graph.
    pub(crate) was_executable: bool,
}

/// `CUgraphEdgeData`: all zero if a node waits for the end of another node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct EdgeData {
    pub(crate) from_port: u8,
    pub(crate) to_port: u8,
    pub(crate) kind: u8,
    pub(crate) reserved: [u8; 5],
}

/// The ports of a node: its end, and for kernels also the programmatic signal and the start of all blocks.
const WHOLE: u8 = 0;
const PROGRAMMATIC_PORT: u8 = 1;
const LAUNCH_ORDER: u8 = 2;
/// `CUgraphDependencyType`.
const PLAIN: u8 = 0;
const PROGRAMMATIC: u8 = 1;

/// A node that another node depends on, with the data of the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) node: Handle,
    pub(crate) data: EdgeData,
}

impl Dependency {
    /// Returns a dependency on the end of a node.
    pub(crate) fn on(node: Handle) -> Self {
        Self { node, data: EdgeData::default() }
    }

    /// Reads `count` dependencies, with or without edge data.
    pub(crate) fn read(nodes: In<Handle>, data: In<EdgeData>, count: usize) -> Result<Vec<Self>> {
        let nodes = nodes.all(count)?;
        let data = match data.as_ptr().is_null() {
            true => vec![EdgeData::default(); count],
            false => data.all(count)?,
        };
        Ok(nodes.into_iter().zip(data).map(|(node, data)| Self { node, data }).collect())
    }
}

/// Returns the graph with this handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Graph>> {
    driver()?;
    GRAPHS.find(handle).ok_or_else(|| Error::new(Code::INVALID_VALUE, "the graph does not exist"))
}

/// Returns the graph that contains a node.
pub(crate) fn of_node(node: Handle) -> Result<Arc<Graph>> {
    driver()?;
    let graph = NODES.find(node).and_then(|graph| graph.upgrade());
    graph.ok_or_else(|| Error::new(Code::INVALID_VALUE, "the node does not exist"))
}

/// Runs `work` on a node.
pub(crate) fn with_node<R>(node: Handle, work: impl FnOnce(&mut Node) -> Result<R>) -> Result<R> {
    let graph = of_node(node)?;
    let mut inner = graph.lock();
    inner.nodes.get_mut(&node).map_or_else(|| Err(Code::INVALID_VALUE.into()), work)
}

impl Graph {
    fn new(handle: Handle, is_child: bool) -> Self {
        Self { handle, is_child, is_captured: false.into(), inner: Mutex::default() }
    }

    /// Creates an empty graph.
    pub(crate) fn create() -> Arc<Self> {
        GRAPHS.add(|handle| Self::new(handle, false))
    }

    /// Locks and returns the content of the graph.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Sets whether operations are being captured into the graph.
    pub(crate) fn set_captured(&self, is_captured: bool) {
        self.is_captured.store(is_captured, Ordering::Relaxed);
    }

    /// Returns whether operations are being captured into the graph.
    pub(crate) fn is_captured(&self) -> bool {
        self.is_captured.load(Ordering::Relaxed)
    }

    /// Removes the graph's handle.
    pub(crate) fn destroy(&self) {
        drop(GRAPHS.remove(self.handle));
    }

    /// Refuses dependencies on nodes outside the graph, and two dependencies on the same node.
    pub(crate) fn check(&self, dependencies: &[Dependency]) -> Result<()> {
        let inner = self.lock();
        let mut seen = HashSet::new();
        match dependencies
            .iter()
            .all(|dependency| inner.nodes.contains_key(&dependency.node) && seen.insert(dependency.node))
        {
            true => Ok(()),
            false => Err(Error::new(Code::INVALID_VALUE, "a dependency is duplicated or is not a node of the graph")),
        }
    }

    /// Adds a node that depends on `dependencies`.
    pub(crate) fn add(self: &Arc<Self>, mut node: Node, dependencies: &[Dependency]) -> Result<Handle> {
        self.check(dependencies)?;
        let mut inner = self.lock();
        dependencies.iter().try_for_each(|dependency| inner.check_data(dependency, node.kind()))?;
        node.dependencies = dependencies.to_vec();
        let mut added = 0;
        NODES.add(|handle| {
            added = handle;
            Arc::downgrade(self)
        });
        inner.nodes.insert(added, node);
        Ok(added)
    }

    /// Returns the given nodes and all nodes that they depend on, directly or indirectly.
    pub(crate) fn ancestors(&self, nodes: &[Handle]) -> HashSet<Handle> {
        let inner = self.lock();
        let (mut found, mut left) = (HashSet::new(), nodes.to_vec());
        while let Some(node) = left.pop() {
            if found.insert(node) {
                left.extend(
                    inner.nodes.get(&node).iter().flat_map(|node| &node.dependencies).map(|dependency| dependency.node),
                );
            }
        }
        found
    }

    /// Copies the graph. Each node of the copy records its original.
    pub(crate) fn copy(&self, kind: CopyKind) -> Arc<Self> {
        let copy = match kind {
            CopyKind::Plain => GRAPHS.add(|handle| Self::new(handle, false)),
            CopyKind::Child => GRAPHS.add(|handle| Self::new(handle, true)),
            CopyKind::Executable => Arc::new(Self::new(0, false)),
        };
        let inner = self.lock();
        let mut target = copy.lock();
        let mut names = BTreeMap::new();
        for handle in inner.nodes.keys() {
            NODES.add(|name| {
                names.insert(*handle, name);
                Arc::downgrade(&copy)
            });
        }
        for (handle, node) in &inner.nodes {
            let dependencies = node
                .dependencies
                .iter()
                .map(|dependency| Dependency { node: names[&dependency.node], ..*dependency })
                .collect();
            target.nodes.insert(names[handle], node.copy_of(*handle, dependencies));
        }
        target.objects = inner.objects.clone();
        drop(target);
        copy
    }
}

/// The purpose of a graph's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyKind {
    Plain,
    /// The graph of a child node.
    Child,
    /// The graph of an executable graph, which has no handle.
    Executable,
}

impl Drop for Graph {
    fn drop(&mut self) {
        for node in self.lock().nodes.keys() {
            drop(NODES.remove(*node));
        }
    }
}

impl Inner {
    /// Refuses edge data that the two nodes do not support.
    fn check_data(&self, dependency: &Dependency, to: u32) -> Result<()> {
        let EdgeData { from_port, to_port, kind, reserved } = dependency.data;
        let from = self.nodes.get(&dependency.node).map(Node::kind);
        let is_known = match (from_port, kind) {
            (WHOLE, PLAIN) => true,
            (LAUNCH_ORDER, PLAIN) => from == Some(node::KERNEL),
            (PROGRAMMATIC_PORT | LAUNCH_ORDER, PROGRAMMATIC) => (from, to) == (Some(node::KERNEL), node::KERNEL),
            _ => false,
        };
        match is_known && to_port == 0 && reserved == [0; 5] {
            true => Ok(()),
            false => Err(Error::new(Code::INVALID_VALUE, "the edge data is not valid for the nodes of the edge")),
        }
    }

    /// Adds an edge.
    pub(crate) fn connect(&mut self, dependency: Dependency, to: Handle) -> Result<()> {
        let node = self.nodes.get(&to).ok_or(Code::INVALID_VALUE)?;
        let is_new = node.dependencies.iter().all(|existing| existing.node != dependency.node);
        if !self.nodes.contains_key(&dependency.node) || dependency.node == to || !is_new {
            return Err(Error::new(Code::INVALID_VALUE, "the edge already exists, or its nodes are invalid"));
        }
        self.check_data(&dependency, node.kind())?;
        if let Some(node) = self.nodes.get_mut(&to) {
            node.dependencies.push(dependency);
        }
        Ok(())
    }

    /// Removes an edge.
    pub(crate) fn disconnect(&mut self, dependency: Dependency, to: Handle) -> Result<()> {
        let node = self.nodes.get_mut(&to).ok_or(Code::INVALID_VALUE)?;
        let at = node.dependencies.iter().position(|existing| *existing == dependency).ok_or(Code::INVALID_VALUE)?;
        node.dependencies.remove(at);
        Ok(())
    }

    /// Removes a node and its edges.
    pub(crate) fn remove(&mut self, node: Handle) -> Result<Node> {
        let removed = self.nodes.remove(&node).ok_or(Code::INVALID_VALUE)?;
        for remaining in self.nodes.values_mut() {
            remaining.dependencies.retain(|dependency| dependency.node != node);
        }
        Ok(removed)
    }

    /// Returns the edges (source, data, destination), sorted by source node.
    pub(crate) fn edges(&self) -> Vec<(Dependency, Handle)> {
        let of = |(to, node): (&Handle, &Node)| {
            node.dependencies.iter().map(|dependency| (*dependency, *to)).collect::<Vec<_>>()
        };
        let mut edges: Vec<_> = self.nodes.iter().flat_map(of).collect();
        edges.sort_by_key(|(dependency, _)| dependency.node);
        edges
    }

    /// Returns the nodes that no other node depends on, in the order in which they were added.
    pub(crate) fn leaves(&self) -> Vec<Handle> {
        let inner: HashSet<Handle> =
            self.nodes.values().flat_map(|node| &node.dependencies).map(|dependency| dependency.node).collect();
        self.nodes.keys().filter(|node| !inner.contains(node)).copied().collect()
    }

    /// Returns the nodes in topological order. If several nodes could come next, the node that was added first comes
    /// next. Returns a node of a cycle as the error if there is a cycle.
    pub(crate) fn order(&self) -> std::result::Result<Vec<Handle>, Handle> {
        let mut missing: BTreeMap<Handle, usize> =
            self.nodes.iter().map(|(handle, node)| (*handle, node.dependencies.len())).collect();
        let mut next: BTreeMap<Handle, Vec<Handle>> = BTreeMap::new();
        for (to, node) in &self.nodes {
            for dependency in &node.dependencies {
                next.entry(dependency.node).or_default().push(*to);
            }
        }
        let mut ready: BTreeSet<Handle> =
            missing.iter().filter(|(_, left)| **left == 0).map(|(node, _)| *node).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = ready.pop_first() {
            missing.remove(&node);
            order.push(node);
            for to in next.get(&node).into_iter().flatten() {
                if let Some(left) = missing.get_mut(to) {
                    *left -= 1;
                    if *left == 0 {
                        ready.insert(*to);
                    }
                }
            }
        }
        missing.last_key_value().map_or(Ok(order), |(node, _)| Err(*node))
    }

    /// Returns whether the graph allocates or frees memory.
    pub(crate) fn has_memory(&self) -> bool {
        self.nodes.values().any(|node| match &node.work {
            Work::Op(_) => matches!(node.kind(), node::ALLOCATE | node::FREE),
            Work::Child(child) => child.graph().lock().has_memory(),
        })
    }
}
