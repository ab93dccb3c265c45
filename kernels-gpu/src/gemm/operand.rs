//! The factors of a product in global memory, as the blocks of the rungs with `mma.sync` read them.
//!
//! A *line* is a row of `a` or a column of `b`. A block multiplies so many lines of `a` with so many of `b`, [`DEPTH`]
//! elements of them at a time: a tile of each factor. It reads a tile in chunks of 16 bytes, which lie in one row of
//! memory: along `k`, or across 8 lines where `b` lies row after row.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use super::{Product, unknown};
use crate::copy_async::{Shared, copy_four, copy_one, copy_two};
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
        let element = |i: i32| {
            // SAFETY: the element is in the matrix.
            let element = unsafe { *from.wrapping_add(i.min(last) as usize) };
            u32::from(element) & if columns > i { 0xffff } else { 0 }
        };
        array::from_fn(|pair| element(2 * pair as i32) | element(2 * pair as i32 + 1) << 16)
    }

    /// Starts asynchronous copies of this thread's chunks of a tile, `apart` rows apart, to their places in shared
    /// memory, in the group that is ended next.
    ///
    /// `cp.async` copies 4, 8 or 16 bytes. Where rows have an odd number of elements, every other row begins in the middle of a
    /// word. Its chunks are copied one element early, as five words, and [`Chunks::realign`] moves them when they have arrived.
    ///
    /// `ALIGNMENT` is 16, 4 or 2, and at most that of this matrix's chunks.
    ///
    /// # Safety
    /// The matrix is valid for reads, and `apart` is even. No thread accesses the places before the copies have been waited for,
    /// this thread has realigned them, and a barrier has been passed.
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
        // A loop that stays one: nobody waits here for instructions, and eight times as many would be in the way of
        // others.
        for i in 0..unknown(count) {
            let (from, columns) = self.place(i * apart);
            // SAFETY: as the caller promises; where pieces are aligned, the matrix has whole pieces only.
            unsafe {
                if self.alignment == 8 {
                    for half in 0..2 {
                        let from = from.wrapping_add((CHUNK / 2 * half) as usize).cast();
                        copy_two(shared.byte_add(i * bytes + 8 * half), from, columns > (CHUNK / 2 * half) as i32);
                    }
                } else if ALIGNMENT == 4 || self.alignment == 4 {
                    for pair in 0..CHUNK / 2 {
                        let from = from.wrapping_add(2 * pair as usize).cast();
                        copy_one(shared.byte_add(i * bytes + 4 * pair), from, columns > 2 * pair as i32);
                    }
                } else {
                    self.copy_early(from, columns, places.chunk(i));
                }
            }
        }
    }

    /// Starts the copies of a chunk of a matrix with an odd number of columns. A chunk at the edge is loaded and stored.
    ///
    /// # Safety
    /// As [`Chunks::copy`]; `from` has so many columns from there on.
    #[inline(always)]
    unsafe fn copy_early(&self, from: *const u16, columns: i32, [to, tail]: [*mut u32; 2]) {
        // SAFETY: as the caller promises; inside the matrix, there is an element before the chunk and one behind it.
        unsafe {
            if columns > CHUNK as i32 && from > self.matrix {
                let words = from.wrapping_byte_sub(self.early_bytes()).cast::<f32>();
                for word in 0..CHUNK / 2 {
                    copy_one(Shared::of(to).byte_add(4 * word), words.wrapping_add(word as usize), true);
                }
                if self.early_bytes() > 0 {
                    copy_one(Shared::of(tail), words.wrapping_add(4), true);
                }
            } else {
                let [a, b, c, d] = self.elements(from, columns);
                if self.early_bytes() > 0 {
                    wide::store(to, [a << 16, a >> 16 | b << 16, b >> 16 | c << 16, c >> 16 | d << 16]);
                    *tail = d >> 16;
                } else {
                    wide::store(to, [a, b, c, d]);
                }
            }
        }
    }

    /// How many bytes before this thread's chunks the words begin that they are copied in: 0 or 2, for all of them.
    #[inline(always)]
    fn early_bytes(&self) -> usize {
        self.first as usize & 2
    }

    /// The bytes that addresses of chunks are a multiple of: 16, 8, 4 or 2.
    #[inline(always)]
    pub(super) fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Moves chunks to their places that were copied one element early.
    ///
    /// # Safety
    /// As [`Chunks::copy`], whose copies to these places have been waited for.
    #[inline(always)]
    pub(super) unsafe fn realign(&self, places: Places) {
        if self.alignment > 2 || self.early_bytes() == 0 {
            return;
        }
        for i in 0..unknown(places.count) {
            let [to, tail] = places.chunk(i);
            // SAFETY: as the caller promises.
            unsafe {
                let [a, b, c, d]: [u32; 4] = wide::load(to);
                let e = *tail;
                wide::store(to, [a >> 16 | b << 16, b >> 16 | c << 16, c >> 16 | d << 16, d >> 16 | e << 16]);
            }
        }
    }
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
    /// The first chunk's tail: the word behind a chunk that is copied one element early. The next chunk's is [`THREADS`] words
    /// further.
    pub(super) tail: *mut u32,
}

impl Places {
    /// A chunk, and its tail.
    #[inline(always)]
    fn chunk(self, i: u32) -> [*mut u32; 2] {
        let tail = self.tail.wrapping_add((i * THREADS) as usize);
        [self.to.wrapping_byte_add((i * self.bytes) as usize), tail]
    }
}
