//! The problems that several devices compute together.

use engine::problem::{Problem, Verdict};
use engine::{Error, Ladder, Options, Rung};

use crate::divide::{Combination, Share, Side};

/// The name of the kernel parameter of a [`PeerProblem`] that holds the number of the rank for which the first row of
/// blocks computes. A device that has the buffers of all ranks launches with 0.
pub const FIRST_RANK: &str = "first";

/// A ladder whose problems several devices compute together.
#[derive(Debug)]
pub struct SharedLadder {
    /// The ladder's name.
    pub name: &'static str,
    /// Creates the problem that a complete set of options describes.
    pub problem: fn(&Options) -> Result<SharedProblem, Error>,
}

/// A problem that several devices compute together.
pub enum SharedProblem {
    /// Each rank computes a share, and a communicator combines the results.
    Divided(Box<dyn Divide>),
    /// The kernels read and write the memory of all ranks.
    Peers(Box<dyn PeerProblem>),
}

/// A problem whose kernels access the memory of all ranks. The problem's buffers form groups with one buffer per rank,
/// and its kernels receive a table of the addresses in each group. The first length of the problem's shape is the
/// number of ranks.
pub trait PeerProblem: Problem {
    /// Compares one rank's output with the reference.
    fn check_output(&self, output: &[u8]) -> Verdict;
}

/// A problem that is divided into a [share](RankProblem) for each rank.
pub trait Divide: Problem {
    /// Returns the share of one rank.
    ///
    /// # Errors
    /// Returns the reason why the problem cannot be divided this way.
    fn share(&self, share: Share, side: Side) -> Result<RankProblem, String>;

    /// Returns how the ranks' results are combined into the whole result.
    fn combination(&self, rung: &Rung) -> Combination;

    /// Returns the minimum number of pieces that a rank's share must be cut into, because kernels use 31-bit element
    /// indices.
    fn least_pieces(&self) -> usize {
        1
    }

    /// Returns one of several pieces, which are computed one after another. If the ranks' results are
    /// [reduced](Combination::Reduce), each launch accumulates into the output.
    ///
    /// # Errors
    /// Returns the reason why the problem cannot be cut this way.
    fn piece(&self, rung: &Rung, piece: Share) -> Result<Piece, String>;

    /// Returns the reference result for this share of a problem whose results are [reduced](Combination::Reduce). The
    /// other ranks need this result to check the whole result.
    fn reference(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Compares the [reduced](Combination::Reduce) output with the references of all shares, in the order of the ranks.
    fn check_combined(&self, _references: &[Vec<u8>], _output: &[u8]) -> Verdict {
        Verdict::Wrong("the ladder has no reference for reduced results".to_owned())
    }
}

/// The part of a problem that one rank computes.
pub struct RankProblem {
    /// The rank's share, as a problem.
    pub problem: Box<dyn Divide>,
    /// The indices of the inputs that are the same for all ranks. The first rank's inputs are copied to the other
    /// ranks.
    pub broadcast: Vec<usize>,
    /// The problem whose result the rank holds at the end, if the ranks' results are [scattered](Combination::Scatter).
    pub scattered: Option<Box<dyn Divide>>,
}

/// A piece of a problem, in the problem's buffers.
pub struct Piece {
    /// The piece as a problem, with the same buffers.
    pub problem: Box<dyn Problem>,
    /// The byte offsets of the piece, with the indices of their buffers. All other buffers are used as a whole.
    pub offsets: Vec<(usize, u64)>,
}

impl SharedLadder {
    /// Returns the ladder's problem for these options, with the ladder's defaults for missing options.
    ///
    /// # Errors
    /// Returns [`Error::NotOffered`] with the names in `all` when `all` does not contain the ladder, and the errors of
    /// [`Ladder::problem`].
    pub fn problem_of(all: &[Self], ladder: &Ladder, options: &Options) -> Result<SharedProblem, Error> {
        let complete = ladder.complete(options)?;
        match all.iter().find(|shared| shared.name == ladder.name) {
            Some(shared) => (shared.problem)(&complete),
            None => {
                let names: Vec<&str> = all.iter().map(|shared| shared.name).collect();
                let (name, names) = (ladder.name, names.join(", "));
                Err(Error::NotOffered(format!(
                    "{name} does not support several devices; the ladders that do are {names}"
                )))
            }
        }
    }
}

impl SharedProblem {
    /// Returns the whole problem, as a single device computes it.
    pub fn problem(&self) -> &dyn Problem {
        match self {
            Self::Divided(problem) => &**problem,
            Self::Peers(problem) => &**problem,
        }
    }
}
