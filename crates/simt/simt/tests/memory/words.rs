//! Tests of the words of device memory.

use std::sync::atomic::AtomicU64;
use std::thread::scope;

#[allow(dead_code, reason = "loads and stores use the rest")]
#[path = "../../src/memory/words.rs"]
mod accesses;

use accesses::Word;

/// Each thread updates a separate part of a word and reads the whole word. Miri also reports races between accesses of
/// different sizes (`cargo +nightly miri test -p simt-tests words`).
#[test]
fn parts_of_a_word_are_independent() {
    fn turns<W: Word + std::fmt::Debug>(words: &[AtomicU64], at: u64) {
        let last = if cfg!(miri) { 20 } else { 20_000 };
        for turn in 0..last {
            let value = W::narrow(turn);
            value.store(words, at);
            assert_eq!(W::load(words, at), value);
            let increment = |value: W| W::narrow(value.widen() + 1);
            assert_eq!(W::update(words, at, increment), value);
            assert_eq!(W::load(words, at), increment(value));
            let [high, whole] = [u64::from(u32::load(words, 4)), u64::load(words, 0)];
            assert!(high.max(whole >> 32) <= last);
        }
    }
    let words = [const { AtomicU64::new(0) }; 2];
    scope(|threads| {
        threads.spawn(|| turns::<u8>(&words, 0));
        threads.spawn(|| turns::<u8>(&words, 1));
        threads.spawn(|| turns::<u16>(&words, 2));
        threads.spawn(|| turns::<u32>(&words, 4));
        threads.spawn(|| turns::<u64>(&words, 8));
    });
}
