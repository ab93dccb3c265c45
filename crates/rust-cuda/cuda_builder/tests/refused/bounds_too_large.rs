//! launch bounds of `bounded`: 5000 threads
#[kernel]
pub unsafe fn bounded(out: *mut u32) {
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        core::arch::asm!("// launch_bounds 5000");
    }
    unsafe { *out = 1 }
}
