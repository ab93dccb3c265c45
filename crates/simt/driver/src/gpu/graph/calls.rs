//! The driver's functions for graphs as a whole, and for their nodes and edges.

use super::node::Node;
use super::{CopyKind, Dependency, EdgeData, Graph, Inner, NODES, dot, get, of_node, with_node};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::state::driver;

/// Reads the value that the program wrote to a place.
fn read_place(place: Out<usize>) -> Result<usize> {
    // SAFETY: `cuda.h` requires that the program writes the capacity of its list to the place of the list's length.
    unsafe { In::from_ptr(place.as_ptr()) }.get()
}

/// Writes a list up to its capacity, pads it with zeros, and writes the number of elements. If the place of the list is
/// null, writes only the number of elements.
fn list<T: Copy + Default>(place: Out<T>, count: Out<usize>, all: &[T]) -> Result<()> {
    let capacity = read_place(count)?;
    if !place.is_requested() {
        return count.set(all.len());
    }
    place.set_all(all.iter().copied().chain(std::iter::repeat(T::default())), capacity);
    count.set(all.len().min(capacity))
}

/// The places for a list of edges: source nodes, destination nodes and edge data.
struct Edges {
    from: Out<Handle>,
    to: Out<Handle>,
    data: Out<EdgeData>,
    count: Out<usize>,
}

impl Edges {
    /// Writes edges. The caller decides which of the node lists may be null.
    fn write(&self, edges: &[(Dependency, Handle)]) -> Result<()> {
        let capacity = read_place(self.count)?;
        let is_requested = self.from.is_requested() || self.to.is_requested();
        let shown = &edges[..edges.len().min(if is_requested { capacity } else { 0 })];
        let has_data = shown.iter().any(|(dependency, _)| dependency.data != EdgeData::default());
        if has_data && !self.data.is_requested() {
            return Err(Code::LOSSY_QUERY.into());
        }
        if !is_requested {
            return self.count.set(edges.len());
        }
        let of = |at: fn(&(Dependency, Handle)) -> Handle| shown.iter().map(at).collect::<Vec<_>>();
        list(self.from, self.count, &of(|edge| edge.0.node))?;
        self.count.set(capacity)?;
        let data: Vec<_> = shown.iter().map(|edge| edge.0.data).collect();
        if self.data.is_requested() {
            list(self.data, self.count, &data)?;
            self.count.set(capacity)?;
        }
        list(self.to, self.count, &of(|edge| edge.1))?;
        self.count.set(shown.len())
    }

    fn of_graph(&self, graph: Handle) -> Result<()> {
        let edges = get(graph)?.lock().edges();
        if self.from.is_requested() != self.to.is_requested() {
            return Err(Code::INVALID_VALUE.into());
        }
        self.write(&edges)
    }

    fn dependencies(&self, node: Handle) -> Result<()> {
        self.write(&with_node(node, |dependent| {
            Ok(dependent.dependencies.iter().map(|dependency| (*dependency, node)).collect::<Vec<_>>())
        })?)
    }

    fn dependents(&self, node: Handle) -> Result<()> {
        let edges = of_node(node)?.lock().edges();
        self.write(&edges.into_iter().filter(|(dependency, _)| dependency.node == node).collect::<Vec<_>>())
    }
}

/// Adds or removes edges. If one change fails, all edges remain unchanged.
fn change(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    data: In<EdgeData>,
    count: usize,
    change: fn(&mut Inner, Dependency, Handle) -> Result<()>,
) -> Result<()> {
    let graph = get(graph)?;
    let edges = Dependency::read(from, data, count)?.into_iter().zip(to.all(count)?);
    let mut inner = graph.lock();
    let before: Vec<(Handle, Vec<Dependency>)> =
        inner.nodes.iter().map(|(handle, node)| (*handle, node.dependencies.clone())).collect();
    for (dependency, to) in edges {
        if let Err(error) = change(&mut inner, dependency, to) {
            for (handle, dependencies) in before {
                if let Some(node) = inner.nodes.get_mut(&handle) {
                    node.dependencies = dependencies;
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the graph with this handle. Returns an error if the graph belongs to a node or to a capture.
fn independent(graph: Handle) -> Result<std::sync::Arc<Graph>> {
    let graph = get(graph)?;
    match graph.is_child || graph.is_captured() {
        true => Err(Error::new(Code::INVALID_VALUE, "the graph belongs to a child graph node or to a capture")),
        false => Ok(graph),
    }
}

functions! {
    fn cuGraphCreate(graph: Out<Handle>, flags: u32) {
        driver()?;
        graph.check()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        graph.set(Graph::create().handle)
    }

    fn cuGraphDestroy(graph: Handle) {
        independent(graph)?.destroy();
        Ok(())
    }

    fn cuGraphClone(clone: Out<Handle>, graph: Handle) {
        clone.check()?;
        let graph = get(graph)?;
        if graph.lock().has_memory() {
            return Err(Error::new(Code::NOT_SUPPORTED, "cloning graphs that allocate or free memory is not supported"));
        }
        clone.set(graph.copy(CopyKind::Plain).handle)
    }

    fn cuGraphNodeFindInClone(node: Out<Handle>, original: Handle, clone: Handle) {
        node.check()?;
        let clone = get(clone)?;
        let inner = clone.lock();
        let found = inner.nodes.iter().find(|(_, copy)| copy.original == original && original != 0);
        let (found, _) = found.ok_or_else(|| Error::new(Code::INVALID_VALUE, "the graph has no clone of the node"))?;
        node.set(*found)
    }

    fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) {
        kind.check()?;
        kind.set(with_node(node, |node| Ok(Node::kind(node)))?)
    }

    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let all: Vec<Handle> = get(graph)?.lock().nodes.keys().copied().collect();
        list(nodes, count, &all)
    }

    fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let graph = get(graph)?;
        let inner = graph.lock();
        let roots = inner.nodes.iter().filter(|(_, node)| node.dependencies.is_empty());
        let roots: Vec<Handle> = roots.map(|(handle, _)| *handle).collect();
        list(nodes, count, &roots)
    }

    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        Edges { from, to, data: Out::none(), count }.of_graph(graph)
    }

    fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        Edges { from, to, data, count }.of_graph(graph)
    }

    fn cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        Edges { from: nodes, to: Out::none(), data: Out::none(), count }.dependencies(node)
    }

    fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, data: Out<EdgeData>, count: Out<usize>) {
        Edges { from: nodes, to: Out::none(), data, count }.dependencies(node)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        Edges { from: Out::none(), to: nodes, data: Out::none(), count }.dependents(node)
    }

    fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, data: Out<EdgeData>, count: Out<usize>) {
        Edges { from: Out::none(), to: nodes, data, count }.dependents(node)
    }

    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change(graph, from, to, In::none(), count, Inner::connect)
    }

    fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: In<EdgeData>, count: usize,
    ) {
        change(graph, from, to, data, count, Inner::connect)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change(graph, from, to, In::none(), count, Inner::disconnect)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: In<EdgeData>, count: usize,
    ) {
        change(graph, from, to, data, count, Inner::disconnect)
    }

    fn cuGraphDestroyNode(node: Handle) {
        let graph = of_node(node)?;
        if graph.is_captured() {
            return Err(Error::new(Code::INVALID_VALUE, "operations are being captured into the graph"));
        }
        let mut inner = graph.lock();
        if inner.has_memory() {
            return Err(Error::new(Code::NOT_SUPPORTED, "removing nodes of a graph with memory nodes is not supported"));
        }
        let removed = inner.remove(node)?;
        drop(inner);
        NODES.remove(node)?;
        drop(removed);
        Ok(())
    }

    fn cuGraphDebugDotPrint(graph: Handle, path: In<std::ffi::c_char>, flags: u32) {
        let graph = get(graph)?;
        let path = path.text()?;
        let text = dot::text(&graph, flags);
        std::fs::write(path, text).map_err(|error| Error::new(Code::OPERATING_SYSTEM, format!("`{path}`: {error}")))
    }
}
