//! has 51200 bytes of static shared memory
#[address_space(shared)]
static mut A: [MaybeUninit<u8>; 40_000] = [const { MaybeUninit::uninit() }; 40_000];
#[inline(never)]
unsafe fn used(i: usize) -> u8 {
    #[address_space(shared)]
    static mut B: [MaybeUninit<u8>; 11_200] = [const { MaybeUninit::uninit() }; 11_200];
    unsafe {
        B[i].write(i as u8);
        thread::sync_threads();
        B[i ^ 1].assume_init()
    }
}
#[kernel]
pub unsafe fn fits(i: usize, out: *mut u8) {
    unsafe { *out = used(i) }
}
#[kernel]
pub unsafe fn both(i: usize, out: *mut u8) {
    unsafe {
        A[i].write(used(i));
        thread::sync_threads();
        *out = A[i ^ 1].assume_init();
    }
}
