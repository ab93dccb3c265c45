//! shared static `shared_passed_on::k::TILE` in `k` stays generic
#[inline(never)]
unsafe fn sum(data: *const u32, n: usize) -> u32 {
    (0..n).map(|i| unsafe { data.add(i * i).read_volatile() }).sum()
}
#[kernel]
pub unsafe fn k(i: usize, out: *mut u32) {
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; 8] = [const { MaybeUninit::uninit() }; 8];
    unsafe {
        TILE[i].write(1);
        *out = sum((&raw const TILE).cast(), i) + sum(out, i);
    }
}
