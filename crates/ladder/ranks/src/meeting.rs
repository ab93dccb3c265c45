//! The meeting of all ranks: they exchange messages over TCP through the first rank. The ranks may run in one or
//! several processes, on one or several hosts.
//!
//! Every wait has a time limit. A rank that fails notifies the other ranks. The first rank detects ranks that end or do
//! not answer, and notifies the other ranks. As a result, all ranks return the same error, and no rank waits forever. A
//! rank that waits for its device also watches its connections ([`Meeting::watch`]), because the device can wait for
//! work of other ranks.

use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::divide::Share;
use crate::error::Error;
use crate::host_memory::HostMemory;
use engine::device::Watch;

/// The first bytes of a connection. Change the number at the end whenever the format of the messages changes.
const GREETING: [u8; 8] = *b"ladder 1";

/// The pause between two attempts to reach the first rank.
const PAUSE: Duration = Duration::from_millis(20);

/// The minimum time limit for the rest of a message.
const LEAST: Duration = Duration::from_secs(1);

/// The time for which the first rank waits for the other ranks after a rank failed. The failure can end their work too.
const GRACE: Duration = Duration::from_secs(1);

/// The maximum number of bytes of a message.
const MOST_BYTES: u64 = 1 << 36;

/// A rank's connections to the other ranks.
pub struct Meeting {
    /// The number of this rank and the number of ranks.
    pub rank: Share,
    /// On the first rank, the connections to all other ranks in order. On another rank, the connection to the first
    /// rank.
    links: Vec<TcpStream>,
    limit: Duration,
    /// The shared memory of all ranks, if they are threads of this process.
    pub(crate) memory: Option<Arc<HostMemory>>,
    /// The rank that failed, and the reason. Every later exchange fails with this error.
    failed: Option<(usize, String)>,
}

impl Meeting {
    /// Connects all ranks. The first rank listens at `address`, on `listener` if it is given, and the other ranks
    /// connect to it. `limit` is the time limit of every wait.
    ///
    /// # Errors
    /// Returns [`Error::Rank`] with the number of a rank that does not connect within the limit, that exists twice, or
    /// that expects a different number of ranks.
    pub fn new(rank: Share, address: &str, listener: Option<TcpListener>, limit: Duration) -> Result<Self, Error> {
        let mut meeting = Self { rank, links: Vec::new(), limit, memory: None, failed: None };
        let connected = match rank.index {
            0 => meeting.accept_others(address, listener),
            _ => meeting.connect_to_first(address),
        };
        match connected {
            Ok(()) => Ok(meeting),
            Err((rank, reason)) => Err(Error::Rank { rank, reason }),
        }
    }

    /// Accepts the connections of all other ranks.
    fn accept_others(&mut self, address: &str, listener: Option<TcpListener>) -> Result<(), (usize, String)> {
        let ranks = self.rank.count;
        let listen_error = |error: io::Error| (0, format!("cannot wait for the other ranks at {address}: {error}"));
        let listener = listener.map_or_else(|| TcpListener::bind(address), Ok).map_err(listen_error)?;
        listener.set_nonblocking(true).map_err(listen_error)?;
        let mut connected: Vec<Option<TcpStream>> = (1..ranks).map(|_| None).collect();
        let end = Instant::now() + self.limit;
        let mut wrong = None;
        while wrong.is_none() && connected.iter().any(Option::is_none) {
            match listener.accept() {
                // A connection that does not start with the greeting is not from a rank.
                Ok((stream, _)) => match read_greeting(&stream, self.limit) {
                    Ok((rank, others)) if others != ranks => {
                        wrong = Some((rank, format!("expects {others} ranks, and rank 0 expects {ranks}")));
                        self.links.push(stream);
                    }
                    Ok((rank, _)) => match rank.checked_sub(1).and_then(|at| connected.get_mut(at)) {
                        Some(place @ None) => *place = Some(stream),
                        _ => {
                            wrong = Some((rank, "two ranks have this number".to_owned()));
                            self.links.push(stream);
                        }
                    },
                    Err(_) => {}
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < end => thread::sleep(PAUSE),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let missing = connected.iter().position(Option::is_none).unwrap_or_default() + 1;
                    wrong = Some((missing, format!("did not connect to {address} within {:?}", self.limit)));
                }
                Err(error) => wrong = Some(listen_error(error)),
            }
        }
        self.links.extend(connected.into_iter().flatten());
        let answer = wrong.map_or_else(|| Ok(Vec::new()), Err);
        self.send_to_others(&answer);
        answer.map(drop)
    }

    /// Connects to the first rank and waits until all other ranks have connected too.
    fn connect_to_first(&mut self, address: &str) -> Result<(), (usize, String)> {
        let end = Instant::now() + self.limit;
        let stream = loop {
            let connected = connect(address, self.limit);
            match connected {
                Ok(stream) => break stream,
                Err(_) if Instant::now() < end => thread::sleep(PAUSE),
                Err(error) => {
                    return Err((0, format!("was not reachable at {address} within {:?} ({error})", self.limit)));
                }
            }
        };
        let mut greeting = GREETING.to_vec();
        for number in [self.rank.index, self.rank.count] {
            greeting.extend((number as u64).to_le_bytes());
        }
        set_up(&stream, self.limit)
            .and_then(|()| (&stream).write_all(&greeting))
            .map_err(|error| (0, format!("does not accept messages at {address}: {error}")))?;
        self.links.push(stream);
        self.receive().map(drop)
    }

    /// Sends this rank's message, or its error, to all ranks, and returns the messages of all ranks in order.
    ///
    /// # Errors
    /// Returns [`Error::Rank`] when a rank failed, ended or does not answer. All ranks return the same error, in this
    /// and every later exchange.
    pub fn exchange(&mut self, message: Result<Vec<u8>, String>) -> Result<Vec<Vec<u8>>, Error> {
        let result = match self.failed.clone() {
            Some(failed) => Err(failed),
            None if self.rank.index == 0 => {
                let all = self.gather(message);
                self.send_to_others(&all);
                all
            }
            None => self.exchange_with_first(message),
        };
        result.map_err(|(rank, reason)| {
            self.failed = Some((rank, reason.clone()));
            Error::Rank { rank, reason }
        })
    }

    /// Waits until all ranks have reached this call.
    ///
    /// # Errors
    /// Returns the errors of [`Meeting::exchange`].
    pub fn barrier(&mut self) -> Result<(), Error> {
        self.exchange(Ok(Vec::new())).map(drop)
    }

    /// Reports to the other ranks whether this rank's step succeeded. The caller keeps the step's error.
    ///
    /// # Errors
    /// Returns the errors of [`Meeting::exchange`], including the error of this rank's `result`.
    pub fn report<T, E: Display>(&mut self, result: &Result<T, E>) -> Result<(), Error> {
        self.exchange(result.as_ref().map(|_| Vec::new()).map_err(ToString::to_string)).map(drop)
    }

    /// Sends this rank's number to all ranks and returns the numbers of all ranks in order.
    ///
    /// # Errors
    /// Returns the errors of [`Meeting::exchange`].
    pub fn exchange_number(&mut self, number: u64) -> Result<Vec<u64>, Error> {
        let all = self.exchange(Ok(number.to_le_bytes().to_vec()))?;
        let broken = |rank| Error::Rank { rank, reason: "sent an invalid number".to_owned() };
        let number =
            |(rank, bytes): (usize, &Vec<u8>)| Ok(u64::from_le_bytes(bytes[..].try_into().map_err(|_| broken(rank))?));
        all.iter().enumerate().map(number).collect()
    }

    /// Returns a function that watches the other ranks while this rank waits for its device. If a rank ends or fails,
    /// the function returns the reason to give up. [`Meeting::exchange`] then returns the error of the run.
    pub fn watch(&self) -> Watch {
        let links: Vec<TcpStream> = self.links.iter().filter_map(|link| link.try_clone().ok()).collect();
        Box::new(move || links.iter().any(has_failed).then(|| GIVEN_UP.to_owned()))
    }

    /// Receives the messages of all ranks, on the first rank.
    fn gather(&mut self, message: Result<Vec<u8>, String>) -> Result<Vec<Vec<u8>>, (usize, String)> {
        let mut end = Instant::now() + self.limit;
        let mut all = vec![message.map_err(|why| (0, why))];
        for at in 0..self.links.len() {
            if all.iter().any(Result::is_err) {
                // Other ranks might be waiting for the failed rank, and they stay silent until they receive its error.
                end = end.min(Instant::now() + GRACE);
            }
            let answer = await_one(&self.links, at, end).and_then(|()| read(&mut self.links[at]));
            all.push(match answer {
                Ok((0, bytes)) => Ok(bytes),
                Ok((_, why)) => Err((at + 1, String::from_utf8_lossy(&why).into_owned())),
                Err(error) => Err((at + 1, why_silent(&error, self.limit))),
            });
        }
        // A rank's error explains more than a lost connection or a silent rank, which can be consequences of the error.
        // An error about work that was abandoned because of another rank explains nothing.
        let weight = |why: &str| match why {
            why if why.ends_with(GIVEN_UP) => 3,
            why if is_silence(why) => 1 + u8::from(why != ENDED),
            _ => 0,
        };
        let failed = all.iter().filter_map(|result| result.as_ref().err()).min_by_key(|(_, why)| weight(why));
        let Some((rank, why)) = failed else { return Ok(all.into_iter().flatten().collect()) };
        // If GPUs can access each other's memory, a driver reports a kernel's fault for all of these GPUs. The driver
        // does not report which GPU caused the fault.
        let same = all
            .iter()
            .filter_map(|result| result.as_ref().err())
            .filter(|failure| failure.0 != *rank && failure.1 == *why);
        let same: Vec<String> =
            same.filter(|failure| weight(&failure.1) == 0).map(|failure| failure.0.to_string()).collect();
        let suffix = match &same[..] {
            [] => String::new(),
            [one] => format!("; rank {one} reports the same error"),
            more => format!("; ranks {} report the same error", more.join(", ")),
        };
        Err((*rank, format!("{why}{suffix}")))
    }

    /// Sends the messages of all ranks, or the failed rank and the reason, to the other ranks.
    fn send_to_others(&mut self, all: &Result<Vec<Vec<u8>>, (usize, String)>) {
        let (kind, bytes) = match all {
            Ok(all) => (
                0,
                all.iter().flat_map(|message| [&(message.len() as u64).to_le_bytes()[..], message].concat()).collect(),
            ),
            Err((rank, why)) => (1, [&(*rank as u64).to_le_bytes(), why.as_bytes()].concat()),
        };
        let bytes: Vec<u8> = bytes;
        for link in &mut self.links {
            // Ignore an error, because the next exchange detects a rank that has ended.
            let _ = write(link, kind, &bytes);
        }
    }

    /// Sends this rank's message to the first rank and receives the messages of all ranks.
    fn exchange_with_first(&mut self, message: Result<Vec<u8>, String>) -> Result<Vec<Vec<u8>>, (usize, String)> {
        let link = &mut self.links[0];
        let sent = match &message {
            Ok(bytes) => write(link, 0, bytes),
            Err(why) => write(link, 1, why.as_bytes()),
        };
        // If the first rank has ended, its last message can contain the reason.
        let answer = self.receive();
        match (sent, message) {
            (Err(_), Err(why)) if matches!(&answer, Err((0, said)) if is_silence(said)) => Err((self.rank.index, why)),
            _ => answer,
        }
    }

    /// Returns the answer of the first rank.
    fn receive(&mut self) -> Result<Vec<Vec<u8>>, (usize, String)> {
        // The first rank can wait up to the limit for other ranks before it answers.
        let (link, patience) = (&mut self.links[0], 2 * self.limit);
        let answer = link.set_read_timeout(Some(patience)).and_then(|()| read(link));
        let (kind, bytes) = answer.map_err(|error| (0, why_silent(&error, patience)))?;
        let mut rest = &bytes[..];
        let broken = || (0, "sent an invalid message".to_owned());
        if kind != 0 {
            let (rank, why) = rest.split_first_chunk().ok_or_else(broken)?;
            return Err((u64::from_le_bytes(*rank) as usize, String::from_utf8_lossy(why).into_owned()));
        }
        let mut all = Vec::new();
        while !rest.is_empty() {
            let (length, remainder) = rest.split_first_chunk().ok_or_else(broken)?;
            let (message, remainder) =
                remainder.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(broken)?;
            all.push(message.to_vec());
            rest = remainder;
        }
        Ok(all)
    }
}

/// The reasons for a rank whose connection has ended, and for a rank that does not answer.
const ENDED: &str = "has ended";
const SILENT: &str = "did not answer within";

/// The end of the error message of abandoned work.
const GIVEN_UP: &str = "abandoned because another rank has failed";

/// Returns the reason why a rank did not send a message.
fn why_silent(error: &io::Error, waited: Duration) -> String {
    if is_late(error) { format!("{SILENT} {waited:?}") } else { ENDED.to_owned() }
}

/// Returns whether `said` is a result of [`why_silent`].
fn is_silence(said: &str) -> bool {
    said == ENDED || said.starts_with(SILENT)
}

/// Waits until a message arrives on a link. The wait ends at `end`, or [`GRACE`] after another link failed.
fn await_one(links: &[TcpStream], at: usize, mut end: Instant) -> io::Result<()> {
    let link = &links[at];
    link.set_read_timeout(Some(PAUSE))?;
    let peeked = loop {
        match link.peek(&mut [0]) {
            Err(error) if is_late(&error) && Instant::now() < end => {
                if links.iter().any(has_failed) {
                    end = end.min(Instant::now() + GRACE);
                }
            }
            peeked => break peeked,
        }
    };
    // Once a message has started to arrive, it is read completely.
    link.set_read_timeout(Some(end.saturating_duration_since(Instant::now()).max(LEAST)))?;
    peeked.map(drop)
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns whether a connection has ended or its next message reports a failed rank. The message stays in the
/// connection.
fn has_failed(link: &TcpStream) -> bool {
    let mut kind = [0];
    let peeked = link.set_nonblocking(true).and_then(|()| link.peek(&mut kind));
    let is_open = link.set_nonblocking(false).is_ok();
    match peeked {
        Ok(0) => true,
        Ok(_) => kind[0] != 0,
        Err(error) => !is_open || error.kind() != ErrorKind::WouldBlock,
    }
}

/// Connects to the first resolved address that answers.
fn connect(address: &str, limit: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the address cannot be resolved");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sets the time limit of every later read and write.
fn set_up(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))
}

/// Reads the greeting of a new connection: its rank, and the number of ranks it expects.
fn read_greeting(mut stream: &TcpStream, limit: Duration) -> io::Result<(usize, usize)> {
    set_up(stream, limit.min(Duration::from_secs(5)))?;
    let mut greeting = [0; 24];
    stream.read_exact(&mut greeting)?;
    stream.set_write_timeout(Some(limit))?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| greeting[at + byte])) as usize;
    match greeting.starts_with(&GREETING) {
        true => Ok((number(8), number(16))),
        false => Err(ErrorKind::InvalidData.into()),
    }
}

/// Sends a message: its kind, its length and its bytes.
fn write(link: &mut TcpStream, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut head = vec![kind];
    head.extend((bytes.len() as u64).to_le_bytes());
    link.write_all(&head)?;
    link.write_all(bytes)
}

/// Receives a message: its kind and its bytes.
fn read(link: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 9];
    link.read_exact(&mut head)?;
    let length = u64::from_le_bytes(std::array::from_fn(|byte| head[1 + byte]));
    if length > MOST_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    match link.take(length).read_to_end(&mut bytes)? as u64 == length {
        true => Ok((head[0], bytes)),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
