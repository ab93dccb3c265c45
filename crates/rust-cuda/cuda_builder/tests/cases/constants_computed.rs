use super::*;

const fn primes<const N: usize>() -> [u16; N] {
    let (mut found, mut count, mut n) = ([0; N], 0, 2);
    while count < N {
        let (mut k, mut is_prime) = (0, true);
        while k < count {
            if n % found[k] == 0 {
                is_prime = false;
            }
            k += 1;
        }
        if is_prime {
            found[count] = n;
            count += 1;
        }
        n += 1;
    }
    found
}
const PRIMES: [u16; 100] = primes();
pub fn value(i: u32) -> u64 {
    u64::from(PRIMES[i as usize % 100]) + const { PRIMES[99] as u64 * 1000 }
}
