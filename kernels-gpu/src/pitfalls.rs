//! Faults that people make, each in a kernel of its own, and beside it the kernel without.
//!
//! A file says what people do, why it fails, and what cures it. The faulty kernel has the file's name and one fault,
//! whose line ends with the comment `fault`; where the fault is that two lines get in each other's way, the second ends
//! with `other`. The cure is the same kernel with as little changed as possible. Both are launched on a few
//! words, chosen so that the fault is reached in every run; the description ([`Pitfall`]) says how, and which of the
//! simulator's checks has to find it.
//!
//! A new pitfall is one file here and its name in the list below.
//!
//! LLVM may assume that a program has no fault, and some faults would not get as far as the PTX. These kernels
//! are written so that they do: by volatile accesses, and in places by instructions of PTX.
//!
//! # Safety
//! The cures: as many blocks and threads as the description says, and its arguments. The faulty kernels are not safe
//! to launch, which is what they are there for.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, reason = "the faulty kernels keep no promise")]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused, reason = "instructions of PTX are left out on the host"))]

#[cfg(not(target_arch = "nvptx64"))]
use rung::Pitfall;

/// Writes the description of the pitfall in this file, `PITFALL`: its name, the check that finds it, its blocks and
/// their threads, and then the fields of [`rung::Pitfall`] that remain. Without `shared` there is no dynamic shared
/// memory.
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
            #[allow(unused_imports, reason = "not every pitfall has every argument")]
            use rung::pitfall::Argument::*;
            #[allow(unused_mut, unused_assignments, reason = "few have dynamic shared memory")]
            let mut shared = (0, 0);
            $(shared = $shared;)?
            rung::Pitfall {
                name: stringify!($name),
                cure: concat!(stringify!($name), "_cured"),
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

/// An instruction of PTX, which on the host is none. Its line is that of the call.
#[collapse_debuginfo(yes)]
macro_rules! ptx {
    ($($text:literal),+ $(, $direction:ident($class:ident) $operand:expr)* $(,)?) => {
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!($($text),+ $(, $direction($class) $operand)*, options(nostack, preserves_flags));
    };
}

macro_rules! pitfalls {
    ($($check:literal: $($file:ident),* $(,)?;)*) => {
        $($(pub mod $file;)*)*

        /// The pitfalls, by the check that finds them.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const PITFALLS: &[Pitfall] = &[$($($file::PITFALL),*),*];
    };
}

pitfalls! {
    "memory":
        shared_array_one_short,
        one_element_too_far,
        tail_reads_past_the_end,
        halo_before_the_start,
        negative_index,
        neighbouring_allocation,
        misaligned_vector,
        shared_bytes_as_elements,
        null_pointer,
        use_after_free;
    "init":
        uninitialized_accumulator,
        uninitialized_tail,
        output_read_first,
        counter_not_zeroed,
        early_return,
        set_on_one_path,
        local_array_half_filled,
        shuffle_from_inactive_lane,
        partial_last_warp;
    "race":
        missing_barrier,
        buffer_reused_too_early,
        last_warp_without_syncwarp,
        in_place_stencil,
        histogram_in_shared,
        histogram_in_global,
        two_writers,
        wrong_grid_stride,
        forgotten_fence,
        plain_flag,
        relaxed_flag,
        lock_without_order,
        atomic_mixed_with_plain,
        atomic_of_narrow_scope,
        copy_not_waited_for,
        copy_group_miscounted,
        copy_without_barrier,
        mbarrier_of_wrong_phase;
    "sync":
        divergent_barrier,
        barrier_count_too_high,
        crossed_barriers,
        mbarrier_count_too_high,
        shuffle_in_a_branch,
        ballot_in_a_loop,
        copy_left_under_way;
}
