//! `squares`
#[kernel]
pub unsafe fn squares(out: *mut f64, x: f64) {
    let wide = f128::from(x);
    unsafe { *out = (wide * wide + wide) as f64 }
}
