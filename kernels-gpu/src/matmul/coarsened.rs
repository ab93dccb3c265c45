//! Thread coarsening: several tiles of `c` for each block.

use rung::{Geometry, Rung};

use super::tiled::row_times_column;
use super::{Matrix, Place, SHARED_BYTES, SQUARE};
use crate::tile::TileWriter;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_COARSENED1, MATMUL_COARSENED2, MATMUL_COARSENED4, MATMUL_COARSENED8];

/// A block takes `COARSE` tiles of `c` side by side: it loads a tile of `a` once, and the `COARSE` tiles of
/// `b` that it is multiplied with one after the other.
///
/// # Safety
/// As [`matmul`](super) says, with blocks of `T` × `T`; `tiles` are `T * T` elements of shared memory each.
#[inline(always)]
unsafe fn coarsened<const T: usize, const COARSE: usize>(
    tiles: (*mut f32, *mut f32),
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    (m, n, k): (u32, u32, u32),
) {
    const {
        assert!(
            2 * T * T * size_of::<f32>() <= SHARED_BYTES && T * T <= 1024,
            "two tiles fit into shared memory, and a tile's threads into a block"
        );
    }
    let side = T as u32;
    // SAFETY: as the caller promises.
    let (mut tile_a, mut tile_b) = unsafe { (TileWriter::new(tiles.0), TileWriter::<f32, T, 0>::new(tiles.1)) };
    let a = Matrix { data: a, rows: m, columns: k };
    let place = Place::of_this_thread(side, side * COARSE as u32);
    let row = place.top + place.down;
    // One address for each row: the tiles lie at constant distances from it.
    let left = place.left + place.along;
    let is_inside = |tile: usize| tile as u32 * side < n.saturating_sub(left);
    let mut sums = [0.0; COARSE];
    for first in (0..k).step_by(T) {
        // SAFETY: every thread writes its own element of each tile.
        unsafe { tile_a.set(place.down, place.along, a.get(row, first + place.along)) };
        let row_of_b = first + place.down;
        let from = b.wrapping_add((row_of_b * n + left) as usize);
        for (tile, sum) in sums.iter_mut().enumerate() {
            let mut element = 0.0;
            if row_of_b < k && is_inside(tile) {
                // SAFETY: in bounds, by the question.
                element = unsafe { *from.add(tile * T) };
            }
            // SAFETY: every thread writes its own element of each tile.
            unsafe { tile_b.set(place.down, place.along, element) };
            let (written_a, written_b) = tile_a.sync_with(tile_b);
            // SAFETY: all of both tiles is written.
            let added = unsafe { row_times_column(&written_a, &written_b, place.down, place.along, *sum) };
            *sum = evaluated_here(added);
            (tile_a, tile_b) = written_a.sync_with(written_b);
        }
    }
    let to = c.wrapping_add((row * n + left) as usize);
    for (tile, sum) in sums.into_iter().enumerate() {
        if row < m && is_inside(tile) {
            // SAFETY: in bounds, and this thread's own.
            unsafe { *to.add(tile * T) = sum };
        }
    }
}

/// The value, computed before the thread goes on.
///
/// Nothing asks for a tile's sum before the next round, so LLVM's code generator moves its last addition to the
/// end of the loop, past the barriers, and keeps both factors in registers until then: with eight tiles so many
/// that one block fits on an SM where two should. A comment in `asm!` that takes the sum pins it.
#[inline(always)]
fn evaluated_here(value: f32) -> f32 {
    #[cfg_attr(not(target_arch = "nvptx64"), expect(unused_mut))]
    let mut bits = value.to_bits();
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a comment has no effect.
    unsafe {
        core::arch::asm!("// {}", inout(reg32) bits, options(nomem, nostack, preserves_flags));
    }
    f32::from_bits(bits)
}

/// Writes the entry points of a coarsening factor.
macro_rules! coarsened_entries {
    ($($(#[$doc:meta])* $name:ident = $coarse:literal, $lesson:literal;)*) => {$(
        entries! {
            $(#[$doc])*
            ///
            /// # Safety
            /// As [`matmul`](super) says, where a block takes so many tiles side by side.
            $name(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
            for T x _H in [16 x 16, 32 x 32];
            shared tile_a: [f32; T * T];
            shared tile_b: [f32; T * T];
            rung SQUARE {
                lesson: $lesson,
                geometry: Geometry::Tiles { columns_per_thread: $coarse },
            };
            // SAFETY: the body has the kernel's contract.
            => unsafe { coarsened::<T, $coarse>((tile_a, tile_b), a, b, c, (m, n, k)) }
        }
    )*};
}

coarsened_entries! {
    /// Coarsened by 1: the work of `matmul_tiled`, which shows what the loop over tiles costs by itself.
    matmul_coarsened1 = 1,
        "the tiled kernel with a loop around its second tile: what the loop alone costs";

    /// Two tiles of `c` a block: a tile of `a` is loaded half as often.
    ///
    /// Blocks cannot share what they loaded, so each of two neighbours loads the same tile of `a`. That is the price
    /// of running them in parallel, and where the device would run them one after the other anyway, it is paid for
    /// nothing. (Section 6.3, figures 6.12 and 6.13.)
    matmul_coarsened2 = 2,
        "two tiles of the product a block: the first matrix's tile is loaded half as often";

    /// Four tiles of `c` a block.
    matmul_coarsened4 = 4,
        "four tiles a block: a quarter of the loads of the first matrix, and of the blocks";

    /// Eight tiles of `c` a block: an eighth of the loads of `a`, and an eighth of the blocks.
    ///
    /// Where few blocks are left, some SMs have nothing to do: how far to go depends on the device and on the size.
    /// (Section 6.3 warns of coarsening so much that the hardware is underused.)
    matmul_coarsened8 = 8,
        "eight tiles a block: where too few blocks are left, parts of the device are idle";
}
