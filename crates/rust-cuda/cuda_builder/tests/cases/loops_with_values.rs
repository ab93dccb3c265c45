use super::*;

pub fn value(i: u32) -> u64 {
    let mut n = i;
    let found = 'outer: loop {
        for k in 2..20 {
            if n % k == 0 && n / k > 3 {
                break 'outer n * 100 + k;
            }
            if n > 300 {
                continue 'outer;
            }
            n += 3;
        }
        if n > 200 {
            break n;
        }
    };
    let block = 'block: {
        if i % 2 == 0 {
            break 'block 1;
        }
        2
    };
    u64::from(found) * block
}
