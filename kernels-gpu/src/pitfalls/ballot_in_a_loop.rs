//! A vote of all lanes in a loop that lanes leave at different times.
//!
//! The vote names all 32 lanes. In the first round they all come; lanes with fewer rounds then leave the loop, and
//! the others vote with lanes that do not come any more.
//!
//! The cure has all lanes go round as often as the one that goes most often, and vote "no" when they are done.

use cuda_std::warp::warp_vote_ballot;
use cuda_std::{kernel, thread};

use crate::warp::FULL_MASK;

pitfall! { ballot_in_a_loop: Sync, 1 x 32 {
    lesson: "lanes that vote together go round a loop together: those that are done vote on, for nothing",
    on_gpu: "undefined: the vote goes on without them, or the warp waits for ever",
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
            votes += warp_vote_ballot(FULL_MASK, is_odd).count_ones(); // fault
            round += 1;
        }
        *output.add(lane as usize) = votes;
    }
}

/// The cure.
#[kernel]
pub unsafe fn ballot_in_a_loop_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        let (rounds, is_odd) = (1 + lane / 8, *input.add(lane as usize) % 2 == 1);
        let (mut round, mut votes) = (0, 0);
        while round < 4 {
            let is_here = round < rounds;
            let ballot = warp_vote_ballot(FULL_MASK, is_here & is_odd);
            votes += u32::from(is_here) * ballot.count_ones();
            round += 1;
        }
        *output.add(lane as usize) = votes;
    }
}
