//! Edges of graphs, as programs describe them.

use crate::abi::call::In;
use crate::abi::error::Result;
use crate::abi::handles::Handle;

/// `CUgraphEdgeData`: all zero where a node waits for the end of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct EdgeData {
    pub(crate) from_port: u8,
    pub(crate) to_port: u8,
    pub(crate) kind: u8,
    pub(crate) reserved: [u8; 5],
}

/// What a node comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) node: Handle,
    pub(crate) data: EdgeData,
}

impl Dependency {
    /// The end of a node.
    pub(crate) fn on(node: Handle) -> Self {
        Self { node, data: EdgeData::default() }
    }

    /// Reads so many dependencies, with or without data of their edges.
    pub(crate) fn read(nodes: In<Handle>, data: In<EdgeData>, count: usize) -> Result<Vec<Self>> {
        let nodes = nodes.all(count)?;
        let data = match data.as_ptr().is_null() {
            true => vec![EdgeData::default(); count],
            false => data.all(count)?,
        };
        Ok(nodes.into_iter().zip(data).map(|(node, data)| Self { node, data }).collect())
    }
}
