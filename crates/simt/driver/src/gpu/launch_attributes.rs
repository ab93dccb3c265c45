//! Attributes of streams, launches and kernel nodes (`CUlaunchAttribute`).

use std::collections::BTreeMap;

use crate::abi::call::In;
use crate::abi::error::{Code, Result};
use crate::abi::handles::Handle;

/// `CUlaunchAttributeValue`.
pub(crate) type Value = [u32; 16];

/// `CUlaunchAttributeID`.
pub(crate) const IGNORE: u32 = 0;
pub(crate) const ACCESS_POLICY_WINDOW: u32 = 1;
pub(crate) const COOPERATIVE: u32 = 2;
pub(crate) const SYNCHRONIZATION_POLICY: u32 = 3;
pub(crate) const CLUSTER: u32 = 4;
pub(crate) const CLUSTER_SCHEDULING: u32 = 5;
pub(crate) const PROGRAMMATIC_SERIALIZATION: u32 = 6;
pub(crate) const PROGRAMMATIC_EVENT: u32 = 7;
pub(crate) const PRIORITY: u32 = 8;
pub(crate) const MEMORY_DOMAIN_MAP: u32 = 9;
pub(crate) const MEMORY_DOMAIN: u32 = 10;
pub(crate) const PREFERRED_CLUSTER: u32 = 11;
pub(crate) const COMPLETION_EVENT: u32 = 12;
pub(crate) const DEVICE_UPDATABLE: u32 = 13;
pub(crate) const SHARED_CARVEOUT: u32 = 14;
pub(crate) const NVLINK_CENTRIC: u32 = 16;

/// The attributes of a stream.
const OF_STREAMS: [u32; 5] = [ACCESS_POLICY_WINDOW, SYNCHRONIZATION_POLICY, PRIORITY, MEMORY_DOMAIN_MAP, MEMORY_DOMAIN];

/// The readable attributes of a kernel node.
const OF_NODES: [u32; 9] = [
    ACCESS_POLICY_WINDOW,
    COOPERATIVE,
    CLUSTER,
    CLUSTER_SCHEDULING,
    PRIORITY,
    MEMORY_DOMAIN_MAP,
    MEMORY_DOMAIN,
    DEVICE_UPDATABLE,
    SHARED_CARVEOUT,
];

/// Returns an attribute value with a single number.
pub(crate) fn number(value: u32) -> Value {
    let mut all = [0; 16];
    all[0] = value;
    all
}

/// The kind of object that has attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Stream,
    Node,
}

/// The attributes that a program set, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(BTreeMap<u32, Value>);

impl Attributes {
    /// Returns attributes that set only a priority.
    pub(crate) fn with_priority(priority: i32) -> Self {
        Self(BTreeMap::from([(PRIORITY, number(priority as u32))]))
    }

    /// Returns the priority.
    pub(crate) fn priority(&self) -> i32 {
        self.0.get(&PRIORITY).map_or(0, |value| value[0] as i32)
    }

    /// Returns an attribute, or its default value. Returns `CUDA_ERROR_INVALID_VALUE` when the owner has no such
    /// attribute.
    pub(crate) fn get(&self, owner: Owner, id: u32) -> Result<Value> {
        let known = match owner {
            Owner::Stream => OF_STREAMS.contains(&id),
            Owner::Node => OF_NODES.contains(&id),
        };
        if !known {
            return Err(Code::INVALID_VALUE.into());
        }
        Ok(self.0.get(&id).copied().unwrap_or_else(|| match id {
            SYNCHRONIZATION_POLICY => number(u32::MAX),
            // One byte for each logical domain: the default domain maps to 0, the remote domain to 1.
            MEMORY_DOMAIN_MAP => number(1 << 8),
            _ => number(0),
        }))
    }

    /// Sets an attribute.
    pub(crate) fn set(&mut self, owner: Owner, id: u32, value: Value) -> Result<()> {
        let is_known = match owner {
            Owner::Stream => OF_STREAMS.contains(&id),
            Owner::Node => OF_NODES.contains(&id) || id == NVLINK_CENTRIC,
        };
        let is_valid = match id {
            SYNCHRONIZATION_POLICY => (1..=4).contains(&value[0]),
            MEMORY_DOMAIN => value[0] <= 1,
            _ => true,
        };
        if !is_known || !is_valid {
            return Err(Code::INVALID_VALUE.into());
        }
        self.0.insert(id, value);
        Ok(())
    }
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) stream: Handle,
    attributes: In<LaunchAttribute>,
    attribute_count: u32,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: u32,
    padding: u32,
    pub(crate) value: Value,
}

impl LaunchConfig {
    /// Returns the attributes.
    pub(crate) fn attributes(&self) -> Result<Vec<LaunchAttribute>> {
        self.attributes.all(self.attribute_count as usize)
    }

    /// Returns the value of an attribute, if it is given.
    fn attribute(&self, id: u32) -> Result<Option<Value>> {
        let attributes = self.attributes()?;
        Ok(attributes.iter().find(|attribute| attribute.id == id).map(|attribute| attribute.value))
    }

    /// Returns the cluster size, if it is given.
    pub(crate) fn cluster(&self) -> Result<Option<[u32; 3]>> {
        Ok(self.attribute(CLUSTER)?.map(|value| [value[0], value[1], value[2]]))
    }

    /// Returns the number of threads per block.
    pub(crate) fn threads(&self) -> Result<u32> {
        let threads = self.block.iter().try_fold(1u32, |threads, side| threads.checked_mul(*side));
        threads.filter(|threads| *threads > 0).ok_or_else(|| Code::INVALID_VALUE.into())
    }
}
