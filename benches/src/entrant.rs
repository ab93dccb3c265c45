//! One of those that are measured: a rung, its twin, a peer, or plain reading.

use host::launch::Launch;
use host::peer::Peer;
use host::problem::Verdict;
use host::{Device, Error, Problem, Rung, Session};
use serde::Serialize;

/// What kind of thing an entrant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rung of the ladder, in Rust.
    Rung,
    /// The same in CUDA C++.
    Twin,
    /// A call of one of NVIDIA's libraries.
    Peer,
    /// Reading the problem's largest buffer and nothing else: a ceiling.
    Read,
}

/// Something that takes part, and how it is run.
#[derive(Clone, Debug)]
pub enum Entrant {
    /// A launch of a rung or of its twin.
    Launch {
        /// The rung.
        rung: &'static Rung,
        /// How it is launched.
        launch: Launch,
        /// Whether the launch is of the twin.
        is_twin: bool,
    },
    /// A peer.
    Peer(Peer),
    /// Reading.
    Read,
}

impl Entrant {
    /// Its name, which no other of the same problem has: `reduce_shfl`, `reduce_shfl (CUDA C++)`,
    /// `CUB DeviceReduce`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Launch { rung, is_twin, .. } => {
                if *is_twin {
                    twin_name(rung)
                } else {
                    rung.name.to_owned()
                }
            }
            Self::Peer(peer) => peer.name.to_owned(),
            Self::Read => READ.to_owned(),
        }
    }

    /// What kind of entrant it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Launch { is_twin: false, .. } => Kind::Rung,
            Self::Launch { is_twin: true, .. } => Kind::Twin,
            Self::Peer(_) => Kind::Peer,
            Self::Read => Kind::Read,
        }
    }

    /// The rung that it is or is a twin of.
    #[must_use]
    pub fn rung(&self) -> Option<&'static Rung> {
        match self {
            Self::Launch { rung, .. } => Some(rung),
            Self::Peer(_) | Self::Read => None,
        }
    }

    /// Whether it does less than the problem asks for.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        match self {
            Self::Launch { rung, .. } => rung.is_bound,
            Self::Peer(peer) => peer.is_bound,
            Self::Read => true,
        }
    }

    /// The bytes that it has to move at the least.
    #[must_use]
    pub fn bytes(&self, problem: &dyn Problem) -> u64 {
        match self {
            Self::Launch { .. } | Self::Peer(_) => problem.bytes(),
            Self::Read => {
                let sizes = problem.buffers().into_iter().map(|buffer| buffer.bytes);
                sizes.max().unwrap_or(0) / 16 * 16
            }
        }
    }

    /// What keeps the device from running it: [`Session::lacks`].
    #[must_use]
    pub fn lacks<D: Device + ?Sized>(&self, session: &Session<'_, D>) -> Option<Error> {
        match self {
            Self::Launch { launch, .. } => session.lacks(launch),
            Self::Peer(_) | Self::Read => None,
        }
    }

    /// Runs it once and compares what comes out with the reference.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn check<D: Device + ?Sized>(
        &self,
        session: &mut Session<'_, D>,
    ) -> Result<Verdict, Error> {
        match self {
            Self::Launch { rung, launch, .. } => session.check(rung, launch),
            Self::Peer(peer) => session.check_peer(peer),
            Self::Read => Ok(Verdict::Right),
        }
    }

    /// Runs it once, and gives the nanoseconds that it took on the device's clock. `None` from a device that
    /// has none.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn once<D: Device + ?Sized>(
        &self,
        session: &mut Session<'_, D>,
    ) -> Result<Option<f64>, Error> {
        Ok(match self {
            Self::Launch { rung, launch, .. } => session.once(rung, launch)?.time_ns,
            Self::Peer(peer) => session.call(peer)?.time_ns,
            Self::Read => session.read()?.map(|(time_ns, _)| time_ns),
        })
    }
}

/// The name of plain reading.
pub const READ: &str = "reading alone";

/// The name of a rung's twin.
#[must_use]
pub fn twin_name(rung: &Rung) -> String {
    format!("{} (CUDA C++)", rung.name)
}
