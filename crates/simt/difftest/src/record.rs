//! Recorded answers of a GPU: a header line, followed by the results of each instance, bit-packed.

use crate::plan::{Plan, Set};

/// A GPU's answers to the instances of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The set of instructions.
    pub set: Set,
    /// The seed of the instances.
    pub seed: u64,
    /// The number of instances of each form.
    pub rounds: usize,
    /// The GPU and the day of the recording.
    pub origin: String,
    /// The answers.
    pub results: Vec<u64>,
}

/// The error for a file that is not a valid record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the record of answers: {0}")]
pub struct NoRecord(String);

/// Returns the 64-bit FNV-1a hash of a plan's text, which identifies the plan of a recording.
fn hash(plan: &Plan) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    plan.ptx.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Record {
    /// Returns the contents of the record's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = Plan::new(self.set, self.seed, self.rounds);
        let (hash, title) = (hash(&plan), self.set.title());
        let (seed, rounds, origin) = (self.seed, self.rounds, &self.origin);
        let header = format!("{title} seed {seed} rounds {rounds} of {hash:x} {origin}\n");
        let mut bytes = header.into_bytes();
        let mut results = self.results.iter();
        for answers in &plan.answers {
            // 32 answers of any width fill whole bytes.
            let (mut queue, mut filled) = (0u128, 0);
            for answer in results.by_ref().take(answers.count) {
                queue |= u128::from(*answer) << filled;
                filled += answers.bits;
                while filled >= 8 {
                    bytes.push(queue as u8);
                    queue >>= 8;
                    filled -= 8;
                }
            }
        }
        bytes
    }

    /// Parses a file and regenerates its instances.
    ///
    /// # Errors
    /// Returns [`NoRecord`] when the file is not a record, or when its seed no longer yields the recorded instances. In
    /// the latter case, a GPU must record them again.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Plan), NoRecord> {
        let fail = |what: &str| NoRecord(what.to_owned());
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| fail("the header line is missing"))?;
        let header = std::str::from_utf8(&bytes[..end]).map_err(|_| fail("the header is not UTF-8"))?;
        let words: Vec<&str> = header.splitn(9, ' ').collect();
        let [name, version, "seed", seed, "rounds", rounds, "of", of, origin] = words[..] else {
            return Err(fail("the header has an unknown format"));
        };
        let mut sets = [Set::Values, Set::Matrices].into_iter();
        let set = sets.find(|set| set.title() == format!("{name} {version}"));
        let set = set.ok_or_else(|| fail("the set or version in the header is unknown"))?;
        let seed = seed.parse().map_err(|_| fail("the seed in the header is not a number"))?;
        let rounds = rounds.parse().map_err(|_| fail("the number of rounds in the header is not a number"))?;
        let plan = Plan::new(set, seed, rounds);
        if format!("{:x}", hash(&plan)) != of {
            let message = "simt's supported forms have changed since the recording; run `difftest record` \
                           on a machine with a GPU";
            return Err(fail(message));
        }
        let mut rest = bytes[end + 1..].iter();
        let mut results = Vec::with_capacity(plan.results());
        for answers in &plan.answers {
            let bits = answers.bits;
            let (mut queue, mut filled) = (0u128, 0);
            for _ in 0..answers.count {
                while filled < bits {
                    let byte = rest.next().ok_or_else(|| fail("answers are missing"))?;
                    queue |= u128::from(*byte) << filled;
                    filled += 8;
                }
                results.push((queue & (u128::MAX >> (128 - bits))) as u64);
                queue >>= bits;
                filled -= bits;
            }
        }
        if rest.next().is_some() {
            return Err(fail("there are too many answers"));
        }
        let origin = origin.to_owned();
        let record = Self { set, seed, rounds, origin, results };
        Ok((record, plan))
    }
}
