//! `misc` and `ptr`.

use cuda_std::misc::{breakpoint, clock, profiler_counter};
use cuda_std::prelude::*;
use cuda_std::ptr::{AddressSpace, is_in_address_space};
use cuda_std::ptr::{convert_generic_to_specific_address_space, convert_specific_address_space_to_generic};
use cuda_std::{externally_visible, gpu_only, shared_array};

#[kernel]
pub unsafe fn debugging(out: *mut u64) {
    let start = clock();
    breakpoint();
    profiler_counter(3);
    unsafe { *out = clock() - start };
}

#[kernel]
pub unsafe fn address_spaces(p: *mut u32, out: *mut u32) {
    let tile = shared_array![u32; 4];
    use AddressSpace::{Constant, Global, Local, Shared};
    unsafe {
        for (bit, space) in [Global, Shared, Constant, Local].into_iter().enumerate() {
            *out |= u32::from(is_in_address_space(p, space)) << bit;
            let address = convert_generic_to_specific_address_space(p, space);
            *out ^= convert_specific_address_space_to_generic(address, space) as u32;
        }
        // The compiler knows this result.
        *out += u32::from(is_in_address_space(tile, Shared));
    }
}

#[gpu_only]
pub extern "C" fn helper(x: u32) -> u32 {
    x + 1
}

#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn kept_without_a_kernel(x: u32) -> u32 {
    helper(x)
}
