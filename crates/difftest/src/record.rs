//! Recorded answers of a GPU: a header line, then the results of each instance, as narrow as their type.

use crate::forms::Ty;
use crate::generate::{Instance, LANES, instances};

/// A GPU's answers to the instances of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The seed of the instances.
    pub seed: u64,
    /// The number of instances.
    pub count: usize,
    /// The GPU and the day of the recording.
    pub origin: String,
    /// The answers.
    pub results: Vec<u64>,
}

/// The error of reading a file that is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a record of answers: {0}")]
pub struct NoRecord(String);

fn width(ty: Ty) -> usize {
    (ty.bits() as usize).div_ceil(8)
}

impl Record {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!(
            "difftest 1 seed {} count {} {}\n",
            self.seed, self.count, self.origin
        )
        .into_bytes();
        for (instance, answers) in instances(self.seed, self.count)
            .iter()
            .zip(self.results.chunks(LANES))
        {
            for answer in answers {
                bytes.extend(&answer.to_le_bytes()[..width(instance.form.to)]);
            }
        }
        bytes
    }

    /// Reads a file, and makes its instances again.
    ///
    /// # Errors
    /// [`NoRecord`] when the file is no record, or when its seed no longer gives the instances that the
    /// answers are for.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Vec<Instance>), NoRecord> {
        let fail = |what: &str| NoRecord(what.to_owned());
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| fail("no header"))?;
        let header = std::str::from_utf8(&bytes[..end]).map_err(|_| fail("no header"))?;
        let words: Vec<&str> = header.splitn(7, ' ').collect();
        let ["difftest", "1", "seed", seed, "count", count, origin] = words[..] else {
            return Err(fail("another header"));
        };
        let seed = seed.parse().map_err(|_| fail("no seed"))?;
        let count = count.parse().map_err(|_| fail("no count"))?;
        let instances = instances(seed, count);
        let mut rest = &bytes[end + 1..];
        let mut results = Vec::with_capacity(instances.len() * LANES);
        for instance in &instances {
            let width = width(instance.form.to);
            for _ in 0..LANES {
                let (answer, after) = rest
                    .split_at_checked(width)
                    .ok_or_else(|| fail("answers are missing"))?;
                let mut word = [0; 8];
                word[..width].copy_from_slice(answer);
                results.push(u64::from_le_bytes(word));
                rest = after;
            }
        }
        if !rest.is_empty() {
            return Err(fail("there are more answers than instances"));
        }
        Ok((
            Self {
                seed,
                count,
                origin: origin.to_owned(),
                results,
            },
            instances,
        ))
    }
}
