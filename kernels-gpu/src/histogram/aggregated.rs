//! Aggregation: equal bytes are added up in a register before the sum goes to shared memory.

use cuda_std::thread;
use rung::Rung;

use super::{BINS, BYTES_PER_THREAD, COARSENED, add_private, with_block_bins};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[HISTOGRAM_AGGREGATED];

entries! {
    /// `histogram_private_coarsened`, where a thread counts a run of equal bytes in a register and adds it
    /// to the block's copy when another byte comes.
    ///
    /// Where one value dominates, most additions are gone, and with them the queue for one counter. Where all values
    /// are equally likely there are no runs, and looking for them costs a little. But from compute capability 8.0 on
    /// the rung before has no queue either: the hardware counts the lanes that add 1 to a word and adds once for all
    /// of them (`ATOMS.POPC.INC`). It does so for additions of 1 only, and the sums of runs are larger. For 2^28
    /// constant bytes an H100 80GB HBM3 takes 418 µs with runs and 401 without. The runs are those of the bytes that
    /// the thread takes, a block's width apart. (Section 6.4, the entry "privatization", which leaves the kernel to a
    /// later chapter.)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_aggregated(input: *const u8, bins: *mut u32, n: u32) for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung COARSENED {
        lesson: "runs of equal bytes are counted in a register: one atomic a run, for skewed data",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { aggregated::<BLOCK>(copy, input, bins, n) }
}

/// # Safety
/// As [`histogram`](super) says, with blocks of `BLOCK` threads; `copy` is 256 words of shared memory.
#[inline(always)]
unsafe fn aggregated<const BLOCK: usize>(copy: *mut u32, input: *const u8, bins: *mut u32, n: u32) {
    let first = thread::block_idx_x() * (BLOCK * BYTES_PER_THREAD) as u32 + thread::thread_idx_x();
    // SAFETY: in bounds, by the question.
    unsafe {
        with_block_bins::<BLOCK>(copy, bins, || {
            let (mut value, mut run) = (0, 0);
            for step in 0..BYTES_PER_THREAD {
                let i = first + (step * BLOCK) as u32;
                if i < n {
                    let byte = *input.add(i as usize);
                    if byte != value && run > 0 {
                        add_private(copy, value, run);
                        run = 0;
                    }
                    value = byte;
                    run += 1;
                }
            }
            if run > 0 {
                add_private(copy, value, run);
            }
        });
    }
}
