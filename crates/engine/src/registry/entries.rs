//! Which entries a rung has, and the shared memory that they take.

/// The `.entry` points of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One, of the rung's name, for any block.
    Any,
    /// The block is a constant of the kernel: one entry a block, `<rung>_<block>`.
    PerBlock(&'static [[u32; 3]]),
    /// Entries for each of the ladder's computations that the rung does, by [`Problem::variant`](crate::Problem::variant):
    /// `<rung>_<variant>`, and what follows from the inner entries. The variant `""` adds nothing.
    PerVariant(&'static [(&'static str, Entries)]),
}

/// The shared memory of a block, in bytes for a block of threads.
#[derive(Clone, Copy, Debug)]
pub enum Shared {
    /// None.
    None,
    /// Declared by the kernel at its size.
    Static(fn([u32; 3]) -> u32),
    /// Sized by the launch.
    Dynamic(fn([u32; 3]) -> u32),
}

impl Entries {
    /// Those of a variant. `None` where there are none.
    pub fn of(self, variant: &str) -> Option<Self> {
        match self {
            Self::PerVariant(variants) => {
                let mut named = variants.iter().filter(|(name, _)| *name == variant);
                named.next().map(|(_, entries)| *entries)
            }
            own => variant.is_empty().then_some(own),
        }
    }
}

impl Shared {
    /// Bytes that a launch has to ask for.
    pub fn dynamic_bytes(&self, block: [u32; 3]) -> u32 {
        match self {
            Self::Dynamic(bytes) => bytes(block),
            Self::None | Self::Static(_) => 0,
        }
    }

    /// Bytes that a block uses, however they are declared.
    pub fn bytes(&self, block: [u32; 3]) -> u32 {
        match self {
            Self::None => 0,
            Self::Static(bytes) | Self::Dynamic(bytes) => bytes(block),
        }
    }
}
