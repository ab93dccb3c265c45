use super::*;

struct Guard<'a>(&'a core::cell::Cell<u64>, u64);
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(mix(self.0.get(), self.1));
    }
}
pub fn value(i: u32) -> u64 {
    let log = core::cell::Cell::new(u64::from(i));
    let _first = Guard(&log, 1);
    {
        let guards = [Guard(&log, 2), Guard(&log, 3)];
        if i % 2 == 0 {
            core::mem::forget(guards);
        }
        let mut kept = Some(Guard(&log, 4));
        kept.take();
        let _ = core::mem::replace(&mut kept, Some(Guard(&log, 5)));
    }
    log.get()
}
