use super::*;
use core::any::{Any, TypeId};
pub fn value(i: u32) -> u64 {
    let values: [&dyn Any; 3] = [&7_u32, &"text", &2.5_f32];
    let any = values[i as usize % 3];
    let number = any.downcast_ref::<u32>().copied().unwrap_or(0);
    let text = any.downcast_ref::<&str>().map_or(0, |it| it.len());
    u64::from(number) + text as u64 * 10 + 100 * u64::from(any.type_id() == TypeId::of::<f32>()) + u64::from(i)
}
