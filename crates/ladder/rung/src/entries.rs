//! The entry points of a rung and their names.

#[cfg(not(target_arch = "nvptx64"))]
pub use names::{NotCompiled, dims, variant_in_words};

/// The `.entry` points of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// A single entry, named after the rung, that supports every block.
    Any,
    /// One entry per block, named `<rung>_<block>`, because the block is a compile-time constant of the kernel.
    PerBlock(&'static [[u32; 3]]),
    /// Entries for each variant of the ladder's computation that the rung supports, named `<rung>_<variant>` and then
    /// the suffix of the inner entries. The variant `""` adds nothing to the name.
    PerVariant(&'static [(&'static str, Entries)]),
}

impl Entries {
    /// Returns the entries of a variant, or `None` if the rung does not support the variant.
    pub fn of(self, variant: &str) -> Option<Self> {
        match self {
            Self::PerVariant(variants) => {
                let mut named = variants.iter().filter(|(name, _)| *name == variant);
                named.next().map(|(_, entries)| *entries)
            }
            entries => variant.is_empty().then_some(entries),
        }
    }
}

/// The names of entries, which only the host needs.
#[cfg(not(target_arch = "nvptx64"))]
mod names {
    use alloc::borrow::ToOwned;
    use alloc::string::String;
    use alloc::vec::Vec;
    use alloc::{format, vec};
    use core::{error, fmt};

    use super::Entries;
    use crate::Rung;

    /// The error when a rung does not have the requested entry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NotCompiled {
        /// The rung.
        pub rung: &'static str,
        /// The requested block or variant, in words: `a block of 512`.
        pub what: String,
        /// The blocks or variants that the rung supports, in words.
        pub compiled: Vec<String>,
    }

    impl fmt::Display for NotCompiled {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self { rung, what, compiled } = self;
            write!(f, "{rung} was not compiled for {what}, only for {}", compiled.join(", "))
        }
    }

    impl error::Error for NotCompiled {}

    impl Rung {
        /// Returns the name of the entry for a variant of the computation and a block.
        ///
        /// # Errors
        /// Returns [`NotCompiled`] when the rung has no entry for this variant or for this block.
        pub fn entry(&self, variant: &str, block: [u32; 3]) -> Result<String, NotCompiled> {
            let not_compiled = |what, compiled| NotCompiled { rung: self.name, what, compiled };
            match self.entries.of(variant) {
                Some(Entries::PerBlock(blocks)) if !blocks.contains(&block) => {
                    Err(not_compiled(format!("a block of {}", dims(block)), blocks.iter().copied().map(dims).collect()))
                }
                Some(Entries::PerBlock(_)) => Ok(join(self.name, &[variant, &dims(block)])),
                Some(_) => Ok(join(self.name, &[variant])),
                None => Err(not_compiled(variant_in_words(variant), vec!["other rungs".to_owned()])),
            }
        }

        /// Returns the names of all entries of the rung in the PTX.
        pub fn entry_names(&self) -> Vec<String> {
            fn names(entries: Entries, prefix: &str, into: &mut Vec<String>) {
                match entries {
                    Entries::Any => into.push(prefix.to_owned()),
                    Entries::PerBlock(blocks) => {
                        into.extend(blocks.iter().map(|&block| join(prefix, &[&dims(block)])));
                    }
                    Entries::PerVariant(variants) => {
                        for (variant, entries) in variants {
                            names(*entries, &join(prefix, &[variant]), into);
                        }
                    }
                }
            }
            let mut all = Vec::new();
            names(self.entries, self.name, &mut all);
            all
        }
    }

    /// Formats a grid or a block, without trailing lengths of 1: `256`, `32x16`, `8x8x4`.
    pub fn dims(dims: [u32; 3]) -> String {
        match dims {
            [x, 1, 1] => format!("{x}"),
            [x, y, 1] => format!("{x}x{y}"),
            [x, y, z] => format!("{x}x{y}x{z}"),
        }
    }

    /// Returns a variant in words: `max, f32`.
    pub fn variant_in_words(variant: &str) -> String {
        if variant.is_empty() { "the ladder's default computation".to_owned() } else { variant.replace('_', ", ") }
    }

    /// Joins a name and its nonempty parts: `name_part_part`.
    fn join(name: &str, parts: &[&str]) -> String {
        let mut joined = name.to_owned();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            joined += "_";
            joined += part;
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use alloc::string::ToString;

    use super::*;
    use crate::Rung;

    const BLOCKS: Entries = Entries::PerBlock(&[[64, 1, 1], [32, 16, 1]]);
    const SOME: Rung =
        Rung { name: "some", entries: Entries::PerVariant(&[("", BLOCKS), ("max_f32", Entries::Any)]), ..Rung::USUAL };

    #[test]
    fn entries_are_named_after_the_variant_and_the_block() {
        assert_eq!(SOME.entry_names(), ["some_64", "some_32x16", "some_max_f32"]);
        assert_eq!(SOME.entry("", [32, 16, 1]).unwrap(), "some_32x16");
        assert_eq!(SOME.entry("max_f32", [7, 1, 1]).unwrap(), "some_max_f32");
        assert!(SOME.computes("max_f32") && !SOME.computes("min_f32"));
    }

    #[test]
    fn what_was_not_compiled_is_named_with_what_was() {
        assert_eq!(
            SOME.entry("", [128, 1, 1]).unwrap_err().to_string(),
            "some was not compiled for a block of 128, only for 64, 32x16"
        );
        assert_eq!(SOME.entry("min_f32", [64, 1, 1]).unwrap_err().what, "min, f32");
    }
}
