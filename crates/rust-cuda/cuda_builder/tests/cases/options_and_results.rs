use super::*;

fn half(x: u32) -> Result<u32, u8> {
    if x % 2 == 0 { Ok(x / 2) } else { Err(x as u8) }
}
fn quarter(x: u32) -> Result<u32, u8> {
    let x = half(x)?;
    half(x).map_err(|error| error ^ 0x55)
}
pub fn value(i: u32) -> u64 {
    let some = quarter(i).ok().filter(|it| it % 3 != 0).zip(i.checked_sub(9)).map(|(a, b)| a * b);
    quarter(i).map_or_else(u64::from, u64::from)
        + 1000 * u64::from(some.unwrap_or_default())
        + some.xor(Some(1)).is_some() as u64
}
