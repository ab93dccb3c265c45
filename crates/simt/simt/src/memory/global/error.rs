//! Why memory cannot be had or used.

/// An allocation of device memory that fails, or a buffer that cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The size in bytes of so many elements does not fit into 64 bits.
    #[error("{len} elements of {element_bytes} bytes are more bytes than 64 bits can count; ask for fewer")]
    TooLarge {
        /// Elements asked for.
        len: usize,
        /// Bytes of each.
        element_bytes: usize,
    },
    /// The allocation would exceed the machine's limit.
    #[error(
        "{bytes} bytes of device memory asked for, and {used} of the {limit} that this machine may have \
         (Config::max_memory_bytes) are in use; ask for less, free buffers or raise the limit"
    )]
    Limit {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes that the machine may have.
        limit: u64,
    },
    /// The host gives no more memory.
    #[error("the host has no {bytes} bytes of memory left to give; ask for less or free buffers")]
    Host {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The machine's addresses are used up: those of freed memory are not given out again, so that each
    /// access to it is found.
    #[error("{bytes} bytes asked for, and the machine has {left} device addresses left; make a new machine")]
    Addresses {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes for which there are addresses.
        left: u64,
    },
    /// The data has more elements than the buffer.
    #[error("{data} elements do not fit into a buffer of {buffer}; copy fewer or make it larger")]
    TooLong {
        /// Elements of the data.
        data: usize,
        /// Elements of the buffer.
        buffer: usize,
    },
    /// The buffer was freed.
    #[error("the buffer at {address:#x} was freed; free it after its last use")]
    Freed {
        /// Its address.
        address: u64,
    },
    /// The memory is a variable's, which is freed with its instance.
    #[error("the memory at {address:#x} is a variable of a loaded module; unload the module instead")]
    Variable {
        /// Its address.
        address: u64,
    },
    /// The buffer belongs to another simulator.
    #[error("the buffer at {address:#x} is another machine's; use it with the machine that made it")]
    Foreign {
        /// Its address.
        address: u64,
    },
}

crate::error::debug_like_display!(MemoryError);
