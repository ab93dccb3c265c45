use super::*;
use core::cell::{Cell, OnceCell, RefCell};
pub fn value(i: u32) -> u64 {
    let (cell, list, once) = (Cell::new(i), RefCell::new([i; 3]), OnceCell::new());
    cell.set(cell.get() + 1);
    list.borrow_mut()[1] = cell.replace(3);
    let busy = {
        let _held = list.borrow();
        list.try_borrow_mut().is_err()
    };
    let first = *once.get_or_init(|| list.borrow()[1]);
    u64::from(first + once.get().copied().unwrap_or(0) + cell.take()) + u64::from(busy)
}
