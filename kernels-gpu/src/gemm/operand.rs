//! The factors of a product in global memory, as the blocks of the rungs with `mma.sync` read them.
//!
//! A *line* is a row of `a` or a column of `b`. A block multiplies so many lines of `a` with so many of `b`, [`DEPTH`]
//! elements of them at a time: a tile of each factor. It reads a tile in chunks of 16 bytes, which lie in one row of
//! memory: along `k`, or across 8 lines where `b` lies row after row.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::warp::warp_shuffle_down;

use super::{Product, unknown};
use crate::copy_async::{Shared, copy_four, copy_two, copy_up_to_four};
use crate::warp::{FULL_MASK, WARP_SIZE};
use crate::wide;

/// Elements of a tile along `k`.
pub(super) const DEPTH: u32 = 32;
/// Elements of a chunk.
pub(super) const CHUNK: u32 = 8;
/// Threads of a block.
pub(super) const THREADS: u32 = 256;

/// A thread's chunks of a tile: the first, and those some rows of memory further down. With `ALONG_K`, a row of memory
/// is a line.
///
/// What lies beyond the matrix is zero.
pub(super) struct Chunks<const ALONG_K: bool> {
    matrix: *const u16,
    /// The first chunk of the next tile.
    first: *const u16,
    /// Elements from one row of memory to the next.
    pitch: u32,
    /// Rows and columns from the first chunk's first element on to the end of the matrix; negative beyond.
    rows: i32,
    columns: i32,
    /// The bytes that addresses of chunks are a multiple of: 16, 8, 4 or 2.
    alignment: u32,
}

impl<A, C> Product<A, C> {
    /// Chunks of the rows of `a` from `line` on.
    #[inline(always)]
    pub(super) fn chunks_of_a(&self, line: u32, row: u32, column: u32) -> Chunks<true> {
        Chunks::new(self.a.cast(), [self.m, self.k], line, row, column)
    }

    /// Chunks of the columns of `b` from `line` on. `row` and `column` are the first one's place in the tile as it lies
    /// in memory.
    #[inline(always)]
    pub(super) fn chunks_of_b<const ALONG_K: bool>(&self, line: u32, row: u32, column: u32) -> Chunks<ALONG_K> {
        let sides = if ALONG_K { [self.n, self.k] } else { [self.k, self.n] };
        Chunks::new(self.b.cast(), sides, line, row, column)
    }
}

impl<const ALONG_K: bool> Chunks<ALONG_K> {
    #[inline(always)]
    fn new(matrix: *const u16, [rows, columns]: [u32; 2], line: u32, row: u32, column: u32) -> Self {
        let (row, column) = if ALONG_K { (line + row, column) } else { (row, line + column) };
        // The lowest bit that is set in the address or in the bytes of a row.
        let bits = matrix as u32 | (columns * 2) | 16;
        Self {
            matrix,
            first: matrix.wrapping_add((row * columns + column) as usize),
            pitch: columns,
            rows: rows as i32 - row as i32,
            columns: columns as i32 - column as i32,
            alignment: bits & bits.wrapping_neg(),
        }
    }

    /// Goes on to the next tile.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        if ALONG_K {
            self.first = self.first.wrapping_add(DEPTH as usize);
            self.columns -= DEPTH as i32;
        } else {
            self.first = self.first.wrapping_add((DEPTH * self.pitch) as usize);
            self.rows -= DEPTH as i32;
        }
    }

    /// The address of the chunk `down` rows below the first, and how many columns there are from it on; 0 or fewer
    /// where the row does not exist.
    #[inline(always)]
    fn place(&self, down: u32) -> (*const u16, i32) {
        let columns = if self.rows > down as i32 { self.columns } else { 0 };
        (self.first.wrapping_add((down * self.pitch) as usize), columns)
    }

    /// The chunk `down` rows below the first, as four pairs of elements.
    ///
    /// # Safety
    /// The matrix is valid for reads.
    #[inline(always)]
    pub(super) unsafe fn get(&self, down: u32) -> [u32; 4] {
        let (from, columns) = self.place(down);
        // SAFETY: what is read exists: with this alignment, the matrix has whole chunks only.
        unsafe {
            if self.alignment < 16 {
                self.elements(from, columns)
            } else if columns > 0 {
                wide::load(from.cast())
            } else {
                [0; 4]
            }
        }
    }

    /// A chunk of a matrix whose chunks are not aligned, element by element.
    ///
    /// # Safety
    /// The matrix is valid for reads, and `from` has so many columns from there on.
    #[inline(always)]
    unsafe fn elements(&self, from: *const u16, columns: i32) -> [u32; 4] {
        // Reads some other element instead of one that does not exist: eight loads without a branch are waited for
        // together.
        let (from, last) = if columns > 0 { (from, columns - 1) } else { (self.matrix, 0) };
        pairs(|i| {
            // SAFETY: the element is in the matrix.
            let element = unsafe { *from.wrapping_add(i.min(last) as usize) };
            u32::from(element) & if columns > i { 0xffff } else { 0 }
        })
    }

    /// Starts asynchronous copies of this thread's chunks of a tile, `apart` rows apart, to their places in shared
    /// memory, in the group that is ended next.
    ///
    /// `cp.async` copies 16 or 8 bytes from a multiple of that. Where chunks begin in between, each is copied from the multiple of 16
    /// before, and the last one of a row with the 16 bytes behind it: together they are all of the row, and
    /// [`Chunks::realign`] puts the chunks together when they have arrived. What is copied too early exists: memory is allocated
    /// from a multiple of 16 bytes on.
    ///
    /// `ALIGNMENT` is 16, 8 or 2, and at most that of this matrix's chunks.
    ///
    /// # Safety
    /// The matrix is valid for reads. No thread accesses the places before the copies have been waited for, this thread has
    /// realigned them, and a barrier has been passed.
    #[inline(always)]
    pub(super) unsafe fn copy<const ALIGNMENT: u32>(&self, apart: u32, places: Places) {
        let Places { to, bytes, count, .. } = places;
        let shared = Shared::of(to);
        if ALIGNMENT == 16 || self.alignment == 16 {
            for i in 0..count {
                let (from, columns) = self.place(i * apart);
                // SAFETY: as the caller promises; with this alignment, the matrix has whole chunks only.
                unsafe { copy_four(shared.byte_add(i * bytes), from.cast(), columns > 0) };
            }
            return;
        }
        // Loops that stay ones: nobody waits here for instructions, and several times as many would be in the way of
        // others.
        if ALIGNMENT == 8 || self.alignment == 8 {
            for i in 0..unknown(count) {
                let (from, columns) = self.place(i * apart);
                for half in 0..2 {
                    let from = from.wrapping_add((CHUNK / 2 * half) as usize).cast();
                    let exist = columns > (CHUNK / 2 * half) as i32;
                    // SAFETY: as above, of halves of chunks.
                    unsafe { copy_two(shared.byte_add(i * bytes + 8 * half), from, exist) };
                }
            }
            return;
        }
        let early = self.early_bytes();
        for i in 0..unknown(count) {
            let down = i * apart;
            let from = self.first.wrapping_add((down * self.pitch) as usize).wrapping_byte_sub(early as usize);
            // The bytes from there to the end of the row.
            let left = if self.rows > down as i32 { 2 * self.columns + early as i32 } else { 0 };
            let is_last_row = self.rows == down as i32 + 1;
            // SAFETY: as the caller promises; no byte behind the row's end is copied.
            unsafe {
                copy_up_to(to.wrapping_byte_add((i * bytes) as usize), from, left, is_last_row);
                if places.is_last {
                    copy_up_to(places.tail(i), from.wrapping_byte_add(16), left - 16, is_last_row);
                }
            }
        }
    }

    /// How many bytes before this thread's chunks the copies begin: the same for all of them, as they are a multiple of eight
    /// rows apart.
    #[inline(always)]
    fn early_bytes(&self) -> u32 {
        self.first as u32 % 16
    }

    /// The bytes that addresses of chunks are a multiple of: 16, 8, 4 or 2.
    #[inline(always)]
    pub(super) fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Puts chunks together that were copied too early: each is the end of what was copied in its place, and the beginning of
    /// what the next lane copied.
    ///
    /// # Safety
    /// As [`Chunks::copy`], whose copies to these places have been waited for. All lanes of the warp call it together.
    #[inline(always)]
    pub(super) unsafe fn realign(&self, places: Places) {
        if self.alignment >= 8 {
            return;
        }
        let early = self.early_bytes();
        for i in 0..unknown(places.count) {
            // SAFETY: as the caller promises; the places are this thread's own.
            unsafe {
                let to = places.to.wrapping_byte_add((i * places.bytes) as usize);
                let own: [u32; 4] = wide::load(to);
                let mut next = own.map(|word| warp_shuffle_down(FULL_MASK, word, 1, WARP_SIZE).0);
                if places.is_last {
                    next = wide::load(places.tail(i));
                }
                wide::store(to, join(own, next, early));
            }
        }
    }
}

/// Starts a copy of 16 bytes of a row that has `left` bytes from there on, with zeros behind the row's end. The end of the
/// last row is loaded and stored: what is copied has to exist as a whole.
///
/// # Safety
/// As [`copy_up_to_four`], of what `left` says.
#[inline(always)]
unsafe fn copy_up_to(to: *mut u32, from: *const u16, left: i32, is_last_row: bool) {
    // SAFETY: as the caller promises.
    unsafe {
        if is_last_row && left < 16 {
            return wide::store(
                to,
                pairs(|i| if 2 * i < left { u32::from(*from.wrapping_add(i as usize)) } else { 0 }),
            );
        }
        copy_up_to_four(Shared::of(to), from.cast(), left.clamp(0, 16) as u32);
    }
}

/// A chunk's elements, each 16 bits, as four pairs.
#[inline(always)]
pub(super) fn pairs(element: impl Fn(i32) -> u32) -> [u32; 4] {
    [0, 2, 4, 6].map(|i| element(i) | element(i + 1) << 16)
}

/// 16 of 32 bytes, from byte `begin` on, an even number below 16.
#[inline(always)]
pub(super) fn join([a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4], begin: u32) -> [u32; 4] {
    // Masks: what chooses between two elements of an array would put it into local memory.
    let mask = |bit: u32| if begin & bit == 0 { 0 } else { u32::MAX };
    let pick = |mask: u32, here: u32, later: u32| here ^ (here ^ later) & mask;
    let by_8 = [(a, c), (b, d), (c, e), (d, f), (e, g), (f, h)].map(|(here, later)| pick(mask(8), here, later));
    let by_4: [u32; 5] = array::from_fn(|i| pick(mask(4), by_8[i], by_8[i + 1]));
    array::from_fn(|i| pick(mask(2), by_4[i], by_4[i] >> 16 | by_4[i + 1] << 16))
}

/// Where a thread's chunks of a tile go in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// The first chunk's 16 bytes, at a multiple of 16.
    pub(super) to: *mut u32,
    /// Bytes from one chunk to the next.
    pub(super) bytes: u32,
    /// The chunks.
    pub(super) count: u32,
    /// Whether they are the last ones of their rows of memory.
    pub(super) is_last: bool,
    /// Where the 16 bytes behind the first chunk's row go.
    pub(super) tails: *mut u32,
    /// Bytes from these to those behind the next chunk's row.
    pub(super) tails_apart: u32,
}

impl Places {
    /// Where the 16 bytes behind a chunk's row go.
    #[inline(always)]
    fn tail(self, i: u32) -> *mut u32 {
        self.tails.wrapping_byte_add((i * self.tails_apart) as usize)
    }
}
