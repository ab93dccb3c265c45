//! Common bugs in kernels. Each file has one faulty kernel and its fixed version.
//!
//! A file explains the bug, why it fails, and the fix. The faulty kernel has the file's name and one bug. The line with
//! the bug ends with the comment `fault`. If the bug is a conflict between two lines, the second line ends with
//! `other`. The fixed version changes as little as possible. Both kernels run on a few words, chosen so that every run
//! reaches the bug. The description ([`Pitfall`]) specifies the launch, and the sanitizer of the simulator that must
//! find the bug.
//!
//! To add a pitfall, add a file and add its name to the two lists below.
//!
//! LLVM may assume that a program has no undefined behavior, so it may remove some bugs before they reach the PTX. The
//! faulty kernels prevent that with volatile accesses, and some with inline PTX.
//!
//! # Safety
//! The fixed versions must be launched with the blocks, the threads and the arguments of the description. The faulty
//! kernels have undefined behavior in every launch. Launch them only for demonstration.
#![allow(clippy::missing_safety_doc, reason = "the section above holds for all kernels")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "no reason can be given for the faulty kernels")]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused, reason = "inline PTX is left out on the host"))]

use inline::shared_address;
#[cfg(not(target_arch = "nvptx64"))]
use rung::Pitfall;

/// Defines `PITFALL`, the description of a pitfall. The arguments are its name, the sanitizer that finds the bug, the
/// number of blocks, the threads per block, and further fields of [`rung::Pitfall`]. Without `shared`, the launches
/// have no dynamic shared memory.
macro_rules! pitfall {
    ($name:ident: $check:ident, $blocks:literal x $threads:literal {
        lesson: $lesson:literal,
        on_gpu: $on_gpu:literal,
        arguments: [$($argument:expr),* $(,)?],
        $(shared: $shared:expr,)?
        right: $right:expr $(,)?
    }) => {
        /// The description of this pitfall.
        pub const PITFALL: rung::Pitfall = {
            #[allow(unused_imports, reason = "a pitfall uses some of the arguments")]
            use rung::pitfall::Argument::*;
            #[allow(unused_mut, unused_assignments, reason = "only some pitfalls have dynamic shared memory")]
            let mut shared = (0, 0);
            $(shared = $shared;)?
            rung::Pitfall {
                name: stringify!($name),
                fixed: concat!(stringify!($name), "_fixed"),
                source: file!(),
                text: include_str!(concat!(stringify!($name), ".rs")),
                check: rung::pitfall::Check::$check,
                lesson: $lesson,
                on_gpu: $on_gpu,
                launch: ($blocks, $threads),
                shared,
                arguments: &[$($argument),*],
                right: $right,
            }
        };
    };
}

#[macro_use]
pub mod inline;

pub mod atomic_mixed_with_plain;
pub mod atomic_of_narrow_scope;
pub mod ballot_in_a_loop;
pub mod barrier_count_too_high;
pub mod buffer_reused_too_early;
pub mod copy_group_miscounted;
pub mod copy_left_under_way;
pub mod copy_not_waited_for;
pub mod copy_without_barrier;
pub mod counter_not_zeroed;
pub mod crossed_barriers;
pub mod divergent_barrier;
pub mod early_return;
pub mod forgotten_fence;
pub mod halo_before_the_start;
pub mod histogram_in_global;
pub mod histogram_in_shared;
pub mod in_place_stencil;
pub mod last_warp_without_syncwarp;
pub mod local_array_half_filled;
pub mod lock_without_order;
pub mod mbarrier_count_too_high;
pub mod mbarrier_of_wrong_phase;
pub mod misaligned_vector;
pub mod missing_barrier;
pub mod negative_index;
pub mod neighbouring_allocation;
pub mod null_pointer;
pub mod one_element_too_far;
pub mod output_read_first;
pub mod partial_last_warp;
pub mod plain_flag;
pub mod relaxed_flag;
pub mod set_on_one_path;
pub mod shared_array_one_short;
pub mod shared_bytes_as_elements;
pub mod shuffle_from_inactive_lane;
pub mod shuffle_in_a_branch;
pub mod tail_reads_past_the_end;
pub mod two_writers;
pub mod uninitialized_accumulator;
pub mod uninitialized_tail;
pub mod use_after_free;
pub mod wrong_grid_stride;

/// The pitfalls, ordered by the sanitizer that finds them.
#[cfg(not(target_arch = "nvptx64"))]
pub const PITFALLS: &[Pitfall] = &[
    // found by the memory sanitizer
    shared_array_one_short::PITFALL,
    one_element_too_far::PITFALL,
    tail_reads_past_the_end::PITFALL,
    halo_before_the_start::PITFALL,
    negative_index::PITFALL,
    neighbouring_allocation::PITFALL,
    misaligned_vector::PITFALL,
    shared_bytes_as_elements::PITFALL,
    null_pointer::PITFALL,
    use_after_free::PITFALL,
    // found by the init sanitizer
    uninitialized_accumulator::PITFALL,
    uninitialized_tail::PITFALL,
    output_read_first::PITFALL,
    counter_not_zeroed::PITFALL,
    early_return::PITFALL,
    set_on_one_path::PITFALL,
    local_array_half_filled::PITFALL,
    shuffle_from_inactive_lane::PITFALL,
    partial_last_warp::PITFALL,
    // found by the race sanitizer
    missing_barrier::PITFALL,
    buffer_reused_too_early::PITFALL,
    last_warp_without_syncwarp::PITFALL,
    in_place_stencil::PITFALL,
    histogram_in_shared::PITFALL,
    histogram_in_global::PITFALL,
    two_writers::PITFALL,
    wrong_grid_stride::PITFALL,
    forgotten_fence::PITFALL,
    plain_flag::PITFALL,
    relaxed_flag::PITFALL,
    lock_without_order::PITFALL,
    atomic_mixed_with_plain::PITFALL,
    atomic_of_narrow_scope::PITFALL,
    copy_not_waited_for::PITFALL,
    copy_group_miscounted::PITFALL,
    copy_without_barrier::PITFALL,
    mbarrier_of_wrong_phase::PITFALL,
    // found by the sync sanitizer
    divergent_barrier::PITFALL,
    barrier_count_too_high::PITFALL,
    crossed_barriers::PITFALL,
    mbarrier_count_too_high::PITFALL,
    shuffle_in_a_branch::PITFALL,
    ballot_in_a_loop::PITFALL,
    copy_left_under_way::PITFALL,
];
