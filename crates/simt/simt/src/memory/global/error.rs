//! Errors of allocating and using device memory.

/// The error when an allocation of device memory fails or a buffer cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The total size of the elements in bytes does not fit into 64 bits.
    #[error("the size of {len} elements of {element_bytes} bytes does not fit into 64 bits; request fewer elements")]
    TooLarge {
        /// The number of requested elements.
        len: usize,
        /// The size of an element in bytes.
        element_bytes: usize,
    },
    /// The allocation would exceed the simulator's limit.
    #[error(
        "requested {bytes} bytes of device memory, but {used} of the {limit} bytes that the device may have \
         (Config::max_memory_bytes) are in use; request less, free buffers or raise the limit"
    )]
    Limit {
        /// The number of requested bytes.
        bytes: u64,
        /// The number of bytes in use.
        used: u64,
        /// The limit of the simulator in bytes.
        limit: u64,
    },
    /// The host has no more memory.
    #[error("the host has no {bytes} bytes of memory left; request less or free buffers")]
    Host {
        /// The number of requested bytes.
        bytes: u64,
    },
    /// The simulator has no more addresses. The simulator does not reuse the addresses of freed memory, so that it can
    /// detect every access to freed memory.
    #[error("requested {bytes} bytes, but only {left} device addresses are left; create a new simulator")]
    Addresses {
        /// The number of requested bytes.
        bytes: u64,
        /// The number of addresses left.
        left: u64,
    },
    /// The data has more elements than the buffer.
    #[error("{data} elements do not fit into a buffer of {buffer}; copy fewer elements or make the buffer larger")]
    TooLong {
        /// The number of elements in the data.
        data: usize,
        /// The number of elements in the buffer.
        buffer: usize,
    },
    /// The buffer was freed.
    #[error("the buffer at {address:#x} was freed; free it after its last use")]
    Freed {
        /// The address of the buffer.
        address: u64,
    },
    /// The memory belongs to a variable, which is freed with its instance.
    #[error("the memory at {address:#x} is a variable of a loaded module; unload the module instead")]
    Variable {
        /// The address of the variable.
        address: u64,
    },
    /// The buffer belongs to another simulator.
    #[error("the buffer at {address:#x} belongs to another simulator; use it with the simulator that allocated it")]
    Foreign {
        /// The address of the buffer.
        address: u64,
    },
}

crate::error::debug_like_display!(MemoryError);
