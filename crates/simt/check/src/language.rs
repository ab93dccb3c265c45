//! The languages of kernels, and the names that messages use for functions in each language.

use std::path::Path;

/// The language that a kernel is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Cuda,
    /// The kernel has no other source than its PTX.
    Ptx,
}

/// The placeholders in messages, each with the name of its function in Rust, in CUDA C++ and in PTX.
const NAMES: [(&str, [&str; 3]); 7] = [
    ("{sync_threads}", ["`thread::sync_threads()`", "`__syncthreads()`", "`bar.sync 0`"]),
    ("{sync_warp}", ["`warp::sync_warp`", "`__syncwarp()`", "`bar.warp.sync`"]),
    ("{ballot}", ["`warp::warp_vote_ballot`", "`__ballot_sync()`", "`vote.sync.ballot`"]),
    ("{device_fence}", ["`thread::device_fence()`", "`__threadfence()`", "`fence.acq_rel.gpu`"]),
    ("{block_fence}", ["`thread::device_fence()`", "`__threadfence_block()`", "`fence.acq_rel.cta`"]),
    (
        "{sync_cluster}",
        [
            "a cluster barrier (`barrier.cluster.arrive` and `.wait`)",
            "`cluster.sync()`",
            "`barrier.cluster.arrive` and `.wait`",
        ],
    ),
    ("{length}", ["`if i < data.len()`", "`if (i < n)`", "`setp.lt` and a predicate"]),
];

impl Language {
    /// Returns the language of a source file, or PTX if there is no source file.
    pub(crate) fn of(source: Option<&(String, u32)>) -> Self {
        match source.map(|(file, _)| Path::new(file).extension().unwrap_or_default()) {
            None => Self::Ptx,
            Some(extension) if extension == "rs" => Self::Rust,
            Some(_) => Self::Cuda,
        }
    }

    /// Replaces the placeholders in `text` with this language's names of functions.
    pub(crate) fn fill(self, text: &str) -> String {
        NAMES.iter().fold(text.to_owned(), |text, (place, names)| text.replace(place, names[self as usize]))
    }
}
