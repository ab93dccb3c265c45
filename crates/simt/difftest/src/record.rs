//! Recorded answers of a GPU: a header line, then the results of each instance, as narrow as they are.

use crate::plan::{Plan, Set};

/// A GPU's answers to the instances of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The instructions.
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

/// The error of reading a file that is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a record of answers: {0}")]
pub struct NoRecord(String);

/// Says of a plan whether it is the one that was recorded: the 64-bit FNV-1a hash of its text.
fn hash(plan: &Plan) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    plan.ptx.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Record {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = Plan::new(self.set, self.seed, self.rounds);
        let (hash, title) = (hash(&plan), self.set.title());
        let (seed, rounds, origin) = (self.seed, self.rounds, &self.origin);
        let header = format!("{title} seed {seed} rounds {rounds} of {hash:x} {origin}\n");
        let mut bytes = header.into_bytes();
        let mut results = self.results.iter();
        for own in &plan.answers {
            // 32 answers of any number of bits are whole bytes.
            let (mut queue, mut filled) = (0u128, 0);
            for answer in results.by_ref().take(own.count) {
                queue |= u128::from(*answer) << filled;
                filled += own.bits;
                while filled >= 8 {
                    bytes.push(queue as u8);
                    queue >>= 8;
                    filled -= 8;
                }
            }
        }
        bytes
    }

    /// Reads a file, and makes its instances again.
    ///
    /// # Errors
    /// [`NoRecord`] when the file is no record, or when its seed no longer gives the instances that the
    /// answers are for: then a GPU has to record them again.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Plan), NoRecord> {
        let fail = |what: &str| NoRecord(what.to_owned());
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| fail("no header"))?;
        let header = std::str::from_utf8(&bytes[..end]).map_err(|_| fail("no header"))?;
        let words: Vec<&str> = header.splitn(9, ' ').collect();
        let [name, version, "seed", seed, "rounds", rounds, "of", of, origin] = words[..] else {
            return Err(fail("another header"));
        };
        let mut sets = [Set::Values, Set::Matrices].into_iter();
        let set = sets.find(|set| set.title() == format!("{name} {version}"));
        let set = set.ok_or_else(|| fail("another header"))?;
        let seed = seed.parse().map_err(|_| fail("no seed"))?;
        let rounds = rounds.parse().map_err(|_| fail("no number of rounds"))?;
        let plan = Plan::new(set, seed, rounds);
        if format!("{:x}", hash(&plan)) != of {
            let message = "the forms that simt runs are others than when it was made; run `difftest record` \
                           on a machine with a GPU";
            return Err(fail(message));
        }
        let mut rest = bytes[end + 1..].iter();
        let mut results = Vec::with_capacity(plan.results());
        for own in &plan.answers {
            let bits = own.bits;
            let (mut queue, mut filled) = (0u128, 0);
            for _ in 0..own.count {
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
            return Err(fail("there are more answers than instances"));
        }
        let origin = origin.to_owned();
        let record = Self { set, seed, rounds, origin, results };
        Ok((record, plan))
    }
}
