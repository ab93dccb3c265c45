//! A vote of all lanes in a loop that lanes leave at different times.
//!
//! The vote's mask names all 32 lanes. In the first round, all lanes vote. Lanes with fewer rounds then leave the loop,
//! and the remaining lanes vote with a mask that still names the lanes that left.
//!
//! In the fixed version, all lanes run the largest number of rounds. A lane that is done votes "no".

use cuda_std::warp::warp_vote_ballot;
use cuda_std::{kernel, thread};

pitfall! { ballot_in_a_loop: Sync, 1 x 32 {
    lesson: "lanes that vote together must run the same number of rounds: a lane that is done votes \"no\"",
    on_gpu: "undefined: the vote proceeds without the missing lanes, or the warp hangs",
    arguments: [Input(32), Output(32)],
    right: |input, at| {
        let voted = |step: usize| (0..32).filter(|lane| lane / 8 >= step && input[*lane] % 2 == 1).count() as u32;
        (0..=at / 8).map(voted).sum()
    },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn ballot_in_a_loop(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        let (rounds, is_odd) = (1 + lane / 8, *input.add(lane as usize) % 2 == 1);
        let (mut round, mut votes) = (0, 0);
        while round < rounds {
            votes += warp_vote_ballot(u32::MAX, is_odd).count_ones(); // fault
            round += 1;
        }
        *output.add(lane as usize) = votes;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn ballot_in_a_loop_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: lane < 32, because the block has 32 threads. All 32 lanes run four rounds, so every lane that the mask
    // names reaches each vote.
    unsafe {
        let lane = thread::thread_idx_x();
        let (rounds, is_odd) = (1 + lane / 8, *input.add(lane as usize) % 2 == 1);
        let (mut round, mut votes) = (0, 0);
        while round < 4 {
            let is_here = round < rounds;
            let ballot = warp_vote_ballot(u32::MAX, is_here & is_odd);
            votes += u32::from(is_here) * ballot.count_ones();
            round += 1;
        }
        *output.add(lane as usize) = votes;
    }
}
