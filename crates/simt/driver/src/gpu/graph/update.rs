//! Updates of executable graphs: the nodes get the parameters of the nodes in another graph of the same shape.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::{Node, Work};
use super::{Graph, Inner, exec, get};
use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::copy::{Copy, Side};
use crate::gpu::op::Op;
use crate::gpu::ranges;

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Info {
    /// `CUgraphExecUpdateResult`.
    pub(crate) result: u32,
    pub(crate) node: Handle,
    pub(crate) from: Handle,
}

const FAILURE: u32 = 1;
const TOPOLOGY: u32 = 2;
const TYPE: u32 = 3;
const PARAMETERS: u32 = 5;
const UNSUPPORTED: u32 = 6;
const ATTRIBUTES: u32 = 8;

/// A node of an executable graph, and the node whose parameters it gets.
struct Change {
    graph: Arc<Graph>,
    node: Handle,
    from: Node,
}

/// Returns, for each side of a copy, whether kernels can access the memory of that side.
fn spaces(copy: &Copy) -> [bool; 2] {
    [copy.from, copy.to].map(|Side { address, .. }| ranges::range_of(address).is_some())
}

/// Returns the reason why a node cannot get another node's parameters, if there is one.
fn difference(old: &Node, new: &Node) -> Option<u32> {
    let (Work::Op(old), Work::Op(new)) = (&old.work, &new.work) else { return None };
    match (old, new) {
        (Op::Launch(old), Op::Launch(new)) if old.is_cooperative != new.is_cooperative => Some(ATTRIBUTES),
        (Op::Copy(old), Op::Copy(new)) if spaces(old) != spaces(new) => Some(PARAMETERS),
        (Op::Fill(old), Op::Fill(new)) => {
            let is_same = (old.rows, old.width, old.pitch, old.size) == (new.rows, new.width, new.pitch, new.size);
            ((old.rows > 1 || new.rows > 1) && !is_same).then_some(PARAMETERS)
        }
        (Op::Allocate(old), Op::Allocate(new)) if old.address != new.address => Some(UNSUPPORTED),
        (Op::Free(old), Op::Free(new)) if old != new => Some(UNSUPPORTED),
        _ => None,
    }
}

/// Matches each node of `old` with a node of `new`, from the leaves of the graphs backward, in the order of the edges.
fn pair(old: &Inner, new: &Inner) -> std::result::Result<Vec<(Handle, Handle)>, Info> {
    let failed = |result: u32, node: Handle, from: Handle| Err(Info { result, node, from });
    if old.nodes.len() != new.nodes.len() {
        return failed(TOPOLOGY, 0, 0);
    }
    let (ends, new_ends) = (old.leaves(), new.leaves());
    if ends.len() != new_ends.len() {
        let has_more = new_ends.len() > ends.len();
        return failed(TOPOLOGY, new_ends.last().copied().filter(|_| has_more).unwrap_or_default(), 0);
    }
    let mut left: Vec<_> = ends.into_iter().zip(new_ends).map(|(old, new)| (old, new, 0)).collect();
    let mut known: HashMap<Handle, Handle> = HashMap::new();
    let mut pairs = Vec::new();
    while let Some((old_handle, new_handle, to)) = left.pop() {
        match known.get(&old_handle) {
            Some(known) if *known == new_handle => continue,
            Some(_) => return failed(TOPOLOGY, to, new_handle),
            None => {}
        }
        let (Some(node), Some(new_node)) = (old.nodes.get(&old_handle), new.nodes.get(&new_handle)) else {
            return failed(FAILURE, new_handle, 0);
        };
        if node.kind() != new_node.kind() {
            return failed(TYPE, new_handle, 0);
        }
        if node.dependencies.len() != new_node.dependencies.len() {
            return failed(TOPOLOGY, new_handle, 0);
        }
        known.insert(old_handle, new_handle);
        pairs.push((old_handle, new_handle));
        left.extend(
            node.dependencies
                .iter()
                .zip(&new_node.dependencies)
                .map(|(old_edge, new_edge)| (old_edge.node, new_edge.node, new_handle)),
        );
    }
    Ok(pairs)
}

/// Returns the changes that an update makes to an executable graph.
fn changes(old: &Arc<Graph>, new: &Graph) -> std::result::Result<Vec<Change>, Info> {
    let (inner, new_inner) = (old.lock(), new.lock());
    let mut changes = Vec::new();
    for (old_handle, new_handle) in pair(&inner, &new_inner)? {
        let (Some(node), Some(from)) = (inner.nodes.get(&old_handle), new_inner.nodes.get(&new_handle)) else {
            continue;
        };
        if let Some(result) = difference(node, from) {
            return Err(Info { result, node: new_handle, from: 0 });
        }
        match (&node.work, &from.work) {
            (Work::Child(old), Work::Child(new)) => changes.extend(self::changes(old.graph(), new.graph())?),
            _ => changes.push(Change { graph: old.clone(), node: old_handle, from: from.copy_of(0, Vec::new()) }),
        }
    }
    Ok(changes)
}

fn apply(changes: Vec<Change>) {
    for Change { graph, node, from } in changes {
        if let Some(target) = graph.lock().nodes.get_mut(&node) {
            let (original, dependencies, is_enabled) =
                (target.original, std::mem::take(&mut target.dependencies), target.is_enabled);
            *target = Node { original, dependencies, is_enabled, ..from };
        }
    }
}

/// Updates an executable graph from another graph and reports the result.
fn all(exec: Handle, graph: Handle, report: impl FnOnce(Info)) -> Result<()> {
    let exec = exec::get(exec)?;
    let graph = get(graph)?;
    let changes = changes(&exec.graph, &graph);
    report(changes.as_ref().err().copied().unwrap_or_default());
    match changes {
        Ok(changes) => apply(changes),
        Err(Info { result, .. }) => {
            let what = format!("the graph cannot update the executable graph (CUgraphExecUpdateResult {result})");
            return Err(Error::new(Code::GRAPH_EXEC_UPDATE_FAILURE, what));
        }
    }
    Ok(())
}

/// Updates the graph of a child node from another graph.
pub(crate) fn child(exec: Handle, node: Handle, graph: Handle) -> Result<()> {
    let exec = exec::get(exec)?;
    let graph = get(graph)?;
    let child = exec.with_node(node, |node| match &node.work {
        Work::Child(child) => Ok(child.graph().clone()),
        Work::Op(_) => Err(Error::new(Code::INVALID_VALUE, "the node is not a child graph node")),
    })?;
    let changes = changes(&child, &graph);
    apply(changes.map_err(|_| Error::new(Code::GRAPH_EXEC_UPDATE_FAILURE, "the graphs do not match"))?);
    Ok(())
}

functions! {
    fn cuGraphExecChildGraphNodeSetParams(exec: Handle, node: Handle, child: Handle) {
        self::child(exec, node, child)
    }

    fn cuGraphExecUpdate(exec: Handle, graph: Handle, node: Out<Handle>, result: Out<u32>) {
        all(exec, graph, |info| {
            node.offer(info.node);
            result.offer(info.result);
        })
    }

    fn cuGraphExecUpdate_v2(exec: Handle, graph: Handle, info: Out<Info>) {
        all(exec, graph, |found| info.offer(found))
    }
}
