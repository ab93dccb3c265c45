//! a constant holds the address of shared static `shared_in_constant::TILE`
#[address_space(shared)]
static mut TILE: [MaybeUninit<u32>; 8] = [const { MaybeUninit::uninit() }; 8];
const PLACES: [*mut u32; 2] = [(&raw mut TILE).cast(), unsafe { (&raw mut TILE).cast::<u32>().add(4) }];
#[kernel]
pub unsafe fn reads(i: usize, out: *mut u32) {
    unsafe { *out = *PLACES[i % 2] }
}
