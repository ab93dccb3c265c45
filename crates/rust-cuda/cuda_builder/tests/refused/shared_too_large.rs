//! kernel `holds` has 400000 bytes of static shared memory, but the limit is 49152 (`shared_too_large::TILE` 400000)
#[address_space(shared)]
static mut TILE: [MaybeUninit<f32>; 100_000] = [const { MaybeUninit::uninit() }; 100_000];
#[kernel]
pub unsafe fn holds(i: usize, out: *mut f32) {
    unsafe {
        TILE[i].write(1.0);
        thread::sync_threads();
        *out = TILE[99_999 - i].assume_init();
    }
}
