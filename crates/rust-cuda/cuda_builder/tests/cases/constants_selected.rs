use super::*;

/// A `match` on constant variables.
pub fn value(i: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    use cuda_std::address_space;
    macro_rules! tables {
        ($($name:ident = $value:expr;)*) => {
            $(#[cfg_attr(target_arch = "nvptx64", address_space(constant))]
            static $name: [u32; $value.len()] = $value;)*
        };
    }
    tables! { A = [3, 1, 4, 1, 5]; B = [2, 7, 1, 8, 2, 8]; C = [1, 4, 1, 4]; D = [1, 7, 3, 2, 0, 5, 0]; }
    let table: &[u32] = match hash(i) % 4 {
        0 => &A,
        1 => &B,
        2 => &C,
        _ => &D,
    };
    let largest = table.iter().position(|x| *x > 3).unwrap_or(table.len());
    mix(u64::from(table[i as usize % table.len()]), largest as u64)
}
