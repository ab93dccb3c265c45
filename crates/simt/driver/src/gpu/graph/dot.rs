//! Graphs in the language of Graphviz's `dot`.

use std::fmt::Write as _;

use super::Graph;
use super::node::{Node, Work};
use crate::abi::handles::Handle;
use crate::gpu::op::Op;

/// `CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE` and `_HANDLES`.
const VERBOSE: u32 = 1;
const HANDLES: u32 = 1 << 10;

/// Returns a graph in the language of `dot`.
pub(crate) fn text(graph: &Graph, flags: u32) -> String {
    let mut text = String::from("digraph dot {\n");
    write(&mut text, graph, flags);
    text.push_str("}\n");
    text
}

fn write(text: &mut String, graph: &Graph, flags: u32) {
    let inner = graph.lock();
    let id = graph.handle;
    let name = |node: Handle| format!("\"graph_{id:#x}_node_{node:#x}\"");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id:#x}\" graph[style=\"dashed\"];");
    for (handle, node) in &inner.nodes {
        let shape = if matches!(node.work, Work::Op(Op::Launch(_))) { "octagon" } else { "rectangle" };
        let mut label = describe(node);
        if flags & (VERBOSE | HANDLES) != 0 {
            let _ = write!(label, "\\n{handle:#x}");
        }
        let _ = writeln!(text, "{}[style=\"solid\" shape=\"{shape}\" label=\"{label}\"];", name(*handle));
    }
    for (dependency, to) in inner.edges() {
        let _ = writeln!(text, "{} -> {};", name(dependency.node), name(to));
    }
    for node in inner.nodes.values() {
        if let Work::Child(child) = &node.work {
            write(text, child.graph(), flags);
        }
    }
    text.push_str("}\n");
}

/// Describes the work of a node in a few words.
fn describe(node: &Node) -> String {
    let Work::Op(op) = &node.work else { return "GRAPH".to_owned() };
    match op {
        Op::Launch(launch) => {
            let program = launch.function.kernel.name();
            format!("{program}\\n{:?} x {:?}", launch.grid, launch.block)
        }
        Op::Copy(copy) => format!("MEMCPY\\n{} x {} x {} bytes", copy.bytes, copy.rows, copy.slices),
        Op::Fill(fill) => format!("MEMSET\\n{} x {} of {} bytes", fill.width, fill.rows, fill.size),
        Op::Host(_) => "HOST".to_owned(),
        Op::Record(_) => "EVENT_RECORD".to_owned(),
        Op::Wait(_) => "EVENT_WAIT".to_owned(),
        Op::Free(address) => format!("MEM_FREE\\n{address:#x}"),
        Op::Allocate(memory) => format!("MEM_ALLOC\\n{:#x}", memory.address),
        Op::Batch(ops) => format!("BATCH_MEM_OP\\n{}", ops.len()),
        Op::End(_) | Op::Nothing => "EMPTY".to_owned(),
    }
}
