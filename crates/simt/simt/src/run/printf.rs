//! `printf` in kernels: the text of one call, and the buffer of the messages that launches have printed.
//!
//! The conversions are the C conversions that CUDA documents ("CUDA C++ Programming Guide", "Formatted Output"). Their
//! output equals that of the Linux C library, which CUDA's driver calls.

mod number;

use std::collections::{BTreeMap, VecDeque};

use crate::memory::AccessFault;
use number::{float, integer};

/// The largest number of arguments. Conversions beyond this number are printed as they appear in the format.
const MAX_ARGUMENTS: u32 = 32;
/// The largest width and the largest precision; larger values are clamped.
const MOST: u64 = 1 << 15;
/// The bytes that each message uses in the buffer in addition to its text.
const RECORD: u64 = 16;

/// The arguments of a call. Each argument follows the previous one and is aligned to its size.
pub(super) struct Arguments {
    next: u64,
    /// The number of arguments read so far.
    pub(super) count: u32,
}

impl Arguments {
    pub(super) fn new(first: u64) -> Self {
        let next = first;
        Self { next, count: 0 }
    }

    fn take(&mut self, bytes: u32, read: Read<'_>) -> Result<u64, AccessFault> {
        let at = self.next.next_multiple_of(u64::from(bytes));
        let value = read(at, bytes)?;
        self.next = at.wrapping_add(u64::from(bytes));
        self.count += 1;
        Ok(value)
    }
}

/// Reads a number at a generic address; the second argument is the number's size in bytes.
pub(super) type Read<'a> = &'a dyn Fn(u64, u32) -> Result<u64, AccessFault>;
/// Reads a zero-terminated text at a generic address.
pub(super) type ReadText<'a> = &'a dyn Fn(u64) -> Result<Vec<u8>, AccessFault>;

/// The part of a conversion after `%`.
#[derive(Debug, Clone, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The size of an integer in bytes, from the length modifiers.
    bytes: u32,
    letter: u8,
}

impl Conversion {
    /// Pads the number to the width: with zeros between the prefix and the digits if `zeros` is true and the conversion
    /// requests zeros, otherwise with spaces.
    fn pad(&self, prefix: &str, body: &[u8], zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + body.len());
        let fill = |byte: u8, is_used: bool| vec![byte; if is_used { missing } else { 0 }];
        let zeros = zeros && self.zero && !self.left;
        [
            fill(b' ', !zeros && !self.left),
            prefix.as_bytes().to_vec(),
            fill(b'0', zeros),
            body.to_vec(),
            fill(b' ', self.left),
        ]
        .concat()
    }

    /// Returns the sign before a number.
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }
}

/// Returns the text that a call prints.
///
/// # Errors
/// Returns an [`AccessFault`] when an argument or a text is outside of memory.
pub(super) fn format(
    format: &[u8],
    arguments: &mut Arguments,
    read: Read<'_>,
    text: ReadText<'_>,
) -> Result<Vec<u8>, AccessFault> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'%' {
            out.push(*first);
            rest = tail;
            continue;
        }
        let (conversion, tail) = conversion(tail, arguments, read)?;
        let Some(conversion) = conversion else {
            // CUDA does not support this conversion, so its text is printed unchanged.
            out.extend(&rest[..rest.len() - tail.len()]);
            rest = tail;
            continue;
        };
        let bytes = conversion.bytes;
        match conversion.letter {
            b'%' => out.push(b'%'),
            _ if arguments.count >= MAX_ARGUMENTS => {
                out.extend(&rest[..rest.len() - tail.len()]);
            }
            b'c' => {
                let value = arguments.take(4, read)? as u8;
                out.extend(conversion.pad("", &[value], false));
            }
            b's' => {
                let mut value = match arguments.take(8, read)? {
                    0 => b"(null)".to_vec(),
                    address => text(address)?,
                };
                value.truncate(conversion.precision.unwrap_or(usize::MAX));
                out.extend(conversion.pad("", &value, false));
            }
            b'p' => out.extend(match arguments.take(8, read)? {
                0 => conversion.pad("", b"(nil)", false),
                address => conversion.pad("0x", format!("{address:x}").as_bytes(), true),
            }),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                let value = arguments.take(bytes.max(4), read)?;
                out.extend(integer(&conversion, value));
            }
            _ => {
                let value = f64::from_bits(arguments.take(8, read)?);
                out.extend(float(&conversion, value));
            }
        }
        rest = tail;
    }
    Ok(out)
}

/// Parses the conversion after a `%`. Returns the conversion (`None` if it is unknown) and the rest of the format.
fn conversion<'f>(
    format: &'f [u8],
    arguments: &mut Arguments,
    read: Read<'_>,
) -> Result<(Option<Conversion>, &'f [u8]), AccessFault> {
    let mut found = Conversion { bytes: 4, ..Conversion::default() };
    let mut rest = format;
    let mut take = |byte: u8| {
        let tail = rest.strip_prefix(&[byte]);
        rest = tail.unwrap_or(rest);
        tail.is_some()
    };
    loop {
        match () {
            () if take(b'-') => found.left = true,
            () if take(b'+') => found.plus = true,
            () if take(b' ') => found.space = true,
            () if take(b'#') => found.alternative = true,
            () if take(b'0') => found.zero = true,
            () => break,
        }
    }
    let mut number = |rest: &mut &'f [u8]| -> Result<i64, AccessFault> {
        if let Some(tail) = rest.strip_prefix(b"*") {
            *rest = tail;
            return Ok(i64::from(arguments.take(4, read)? as i32));
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, tail) = rest.split_at(digits);
        *rest = tail;
        let text = std::str::from_utf8(digits).unwrap_or_default();
        Ok(text.parse().unwrap_or(0))
    };
    let small = |number: i64| number.unsigned_abs().min(MOST) as usize;
    let width = number(&mut rest)?;
    found.left |= width < 0;
    found.width = small(width);
    if let Some(tail) = rest.strip_prefix(b".") {
        rest = tail;
        let precision = number(&mut rest)?;
        found.precision = (precision >= 0).then(|| small(precision));
    }
    for (word, bytes) in [("hh", 1), ("h", 2), ("ll", 8), ("l", 8), ("j", 8), ("z", 8), ("t", 8)] {
        if let Some(tail) = rest.strip_prefix(word.as_bytes()) {
            (rest, found.bytes) = (tail, bytes);
            break;
        }
    }
    let Some((letter, tail)) = rest.split_first() else {
        return Ok((None, rest));
    };
    found.letter = *letter;
    let known = b"%cdiouxXpeEfFgGaAs".contains(letter);
    Ok((known.then_some(found), tail))
}

/// The messages that launches have printed and the host has not yet taken. If the messages exceed the size limit, the
/// oldest messages are dropped.
///
/// CUDA's buffer is circular too: new messages overwrite the oldest messages ("CUDA C++ Programming Guide", "Formatted
/// Output", "Limitations"). Unlike in CUDA, messages are ordered by block number, regardless of the order in which the
/// blocks ran, and only whole messages are dropped.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// The messages, by launch number and block number.
    messages: BTreeMap<(u64, u64), VecDeque<Vec<u8>>>,
    bytes: u64,
    launches: u64,
}

impl Printed {
    /// Starts a launch.
    pub(super) fn begin(&mut self) {
        self.launches += 1;
    }

    /// Adds a message of a block of the running launch.
    pub(super) fn add(&mut self, block: u64, message: Vec<u8>, limit: u64) {
        self.bytes += message.len() as u64 + RECORD;
        let messages = self.messages.entry((self.launches, block)).or_default();
        messages.push_back(message);
        while self.bytes > limit
            && let Some(mut first) = self.messages.first_entry()
        {
            let dropped = first.get_mut().pop_front();
            self.bytes -= dropped.map_or(0, |dropped| dropped.len() as u64 + RECORD);
            if first.get().is_empty() {
                first.remove();
            }
        }
    }

    /// Drops the messages of blocks after `block`, in which the running launch has faulted, because these messages
    /// depend on the timing of host threads.
    pub(super) fn end_at(&mut self, block: u64) {
        let later = self.messages.split_off(&(self.launches, block.saturating_add(1)));
        let messages = later.values().flatten();
        self.bytes -= messages.map(|message| message.len() as u64 + RECORD).sum::<u64>();
    }

    /// Takes all messages.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.bytes = 0;
        let messages = std::mem::take(&mut self.messages);
        messages.into_values().flatten().flatten().collect()
    }
}
