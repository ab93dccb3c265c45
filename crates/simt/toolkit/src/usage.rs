//! Parses the report of `ptxas -v` about each function.

use std::collections::BTreeMap;

use serde::Serialize;

/// The resources of a multiprocessor that one kernel uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: u32,
    /// Bytes of registers that a thread spills to local memory.
    pub spill_store_bytes: u32,
    /// Bytes that a thread reloads from local memory.
    pub spill_load_bytes: u32,
    /// Bytes of a thread's stack frame in local memory.
    pub stack_bytes: u32,
    /// Named barriers.
    pub barriers: u32,
}

/// Parses the messages of `ptxas -v`: the usage of each function that they name.
///
/// The messages are meant for people, and their wording changes. Amounts are identified by the words after the number;
/// everything else is ignored.
#[must_use]
pub fn parse(messages: &str) -> BTreeMap<String, Usage> {
    let mut usages: BTreeMap<String, Usage> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in messages.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            current = rest.split('\'').next().map(str::to_owned);
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            current = Some(name.trim().trim_matches('\'').to_owned());
        } else if let Some(name) = &current {
            let amounts: Vec<_> = line.split(',').filter_map(amount).collect();
            if amounts.is_empty() {
                continue;
            }
            let usage = usages.entry(name.clone()).or_default();
            for (count, what) in amounts {
                match what {
                    "registers" => usage.registers = count,
                    "bytes smem" => usage.shared_bytes = count,
                    "bytes spill stores" => usage.spill_store_bytes = count,
                    "bytes spill loads" => usage.spill_load_bytes = count,
                    "bytes stack frame" => usage.stack_bytes = count,
                    "barriers" | "barrier" => usage.barriers = count,
                    _ => {}
                }
            }
        }
    }
    usages
}

/// Returns the first number that is a separate word and the words after it, in texts such as `ptxas info    : Used 14
/// registers` and ` used 1 barriers`.
fn amount(part: &str) -> Option<(u32, &str)> {
    let mut rest = part.trim();
    loop {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        if let Ok(count) = word.parse() {
            return Some((count, after.trim()));
        }
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::{Usage, parse};

    #[test]
    fn messages_of_version_13_5() {
        let usages = parse(
            "ptxas info    : 0 bytes gmem\n\
             ptxas info    : Compiling entry function 'a' for 'sm_75'\n\
             ptxas info    : Function properties for a\n    \
                 8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
             ptxas info    : Used 14 registers, used 1 barriers, 2176 bytes smem, 372 bytes cmem[0]\n\
             ptxas info    : Compile time = 4.191 ms\n\
             ptxas info    : Compiling entry function 'b' for 'sm_75'\n\
             ptxas info    : Used 8 registers, used 0 barriers, 376 bytes cmem[0]\n",
        );
        let a = Usage {
            registers: 14,
            shared_bytes: 2176,
            spill_store_bytes: 12,
            spill_load_bytes: 16,
            stack_bytes: 8,
            barriers: 1,
        };
        let b = Usage { registers: 8, ..Usage::default() };
        assert_eq!(usages.into_iter().collect::<Vec<_>>(), [("a".to_owned(), a), ("b".to_owned(), b)]);
    }

    #[test]
    fn older_wording_and_noise() {
        // CUDA 12 does not write a barrier count if there are no barriers. Warnings can occur between the lines of the
        // report.
        let usages = parse(
            "ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
             ptxas warning : Unresolved extern variable 'tile', 3 times\n\
             ptxas info    : Used 40 registers, 400 bytes cmem[0], 8 bytes cmem[2]\n\
             nonsense 99999999999999999999 registers, ,,,\n",
        );
        assert_eq!(usages["a"].registers, 40);
        assert_eq!(usages["a"].shared_bytes, 0);
    }
}
