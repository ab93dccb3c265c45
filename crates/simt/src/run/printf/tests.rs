//! Texts as C's library prints them, and the buffer.

#![allow(clippy::unwrap_used)]

use super::{Arguments, Printed, format};
use crate::memory::AccessFault;

/// The text of a call whose arguments lie at address 0, and how many it has taken.
fn text(form: &str, arguments: &[u8]) -> (String, u32) {
    let read = |at: u64, bytes: u32| -> Result<u64, AccessFault> {
        let mut value = [0; 8];
        value[..bytes as usize].copy_from_slice(&arguments[at as usize..][..bytes as usize]);
        Ok(u64::from_le_bytes(value))
    };
    let string = |at: u64| Ok(format!("text{at}").into_bytes());
    let mut taken = Arguments::new(0);
    let found = format(form.as_bytes(), &mut taken, &read, &string).unwrap();
    (String::from_utf8(found).unwrap(), taken.count)
}

/// The rows are what `tests/fixtures/printf/c.c` prints with glibc 2.36.
#[test]
fn numbers_are_those_of_c() {
    let rows = include_str!("../../../tests/fixtures/printf/c.txt").lines();
    for row in rows.clone() {
        let [form, value, expected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let value = u64::from_str_radix(value, 16).unwrap();
        let found = text(&form[2..], &value.to_le_bytes());
        assert_eq!((found.0 + "|", found.1), (expected.to_owned(), 1), "{row}");
    }
    assert!(rows.count() > 700);
}

#[test]
fn texts_stars_and_what_is_no_conversion() {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    for (form, arguments, expected, count) in [
        ("100%% %s!", words(&[7]), "100% text7!", 1),
        ("%8s|%-8s|%.2s", words(&[1, 2, 3]), "   text1|text2   |te", 3),
        ("%s", words(&[0]), "(null)", 1),
        ("%p %20p", words(&[0x1f00, 0]), "0x1f00                (nil)", 2),
        ("%*d|", words(&[5 | 42 << 32]), "   42|", 2),
        ("%*d|", words(&[0xffff_fffb | 42 << 32]), "42   |", 2),
        ("%.*f", words(&[2, 2.5f64.to_bits()]), "2.50", 2),
        // Arguments lie at multiples of their size.
        ("%d %lld %d", words(&[1, 2, 3]), "1 2 3", 3),
        ("%y %", words(&[]), "%y %", 0),
        ("%n", words(&[]), "%n", 0),
        ("", words(&[]), "", 0),
    ] {
        let (found, taken) = text(form, &arguments);
        assert_eq!((&*found, taken), (expected, count), "{form}");
    }
    for form in ["%#.99999g", "%99999d", "%#.99999f", "%.99999a", "%99999.99999e", "%.99999d"] {
        let (found, _) = text(form, &words(&[1e-4f64.to_bits()]));
        assert!((1 << 15..1 << 16).contains(&found.len()), "{form}");
    }
    let many = "%d".repeat(33);
    let (found, taken) = text(&many, &[0; 256]);
    assert_eq!((&*found, taken), (&*("0".repeat(32) + "%d"), 32));
}

#[test]
fn the_buffer_keeps_the_last_messages_in_the_order_of_blocks() {
    let mut printed = Printed::default();
    printed.begin();
    for block in [2, 0, 1] {
        printed.add(block, format!("{block} ").into_bytes(), 1 << 20);
    }
    printed.end_at(1);
    printed.begin();
    printed.add(0, b"next".to_vec(), 1 << 20);
    assert_eq!(printed.take(), b"0 1 next");
    for block in (0..10).rev() {
        printed.add(block, vec![b'0' + block as u8; 4], 60);
    }
    assert_eq!(printed.take(), b"777788889999");
    printed.add(0, vec![0; 100], 60);
    assert_eq!(printed.take(), b"");
}
