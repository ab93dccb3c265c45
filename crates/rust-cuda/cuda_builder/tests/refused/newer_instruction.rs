//! `totals` uses an instruction that compute_75 does not have
#[kernel]
pub unsafe fn totals(out: *mut u32) {
    unsafe { *out = warp::warp_reduce(u32::MAX, *out, warp::WarpReductionOp::Add) }
}
