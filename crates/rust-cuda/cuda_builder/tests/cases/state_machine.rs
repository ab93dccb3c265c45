use super::*;

#[derive(Clone, Copy)]
enum State {
    Start,
    Number(u32),
    Comment { depth: u8 },
    End,
}
pub fn value(i: u32) -> u64 {
    let text = b"12 (a (b) c) 345;(x) 9;77";
    let mut state = State::Start;
    let mut sum = 0_u64;
    for byte in text.iter().cycle().skip(i as usize % 25).take(core::hint::black_box(40)) {
        state = match (state, *byte) {
            (State::End, _) => break,
            (State::Comment { depth: 1 }, b')') => State::Start,
            (State::Comment { depth }, b')') => State::Comment { depth: depth - 1 },
            (State::Comment { depth }, b'(') => State::Comment { depth: depth + 1 },
            (it @ State::Comment { .. }, _) => it,
            (_, b'(') => State::Comment { depth: 1 },
            (State::Number(it), digit @ b'0'..=b'9') => State::Number(it * 10 + u32::from(digit - b'0')),
            (_, digit @ b'0'..=b'9') => State::Number(u32::from(digit - b'0')),
            (State::Number(it), b';') if it == 9 => {
                sum += 1;
                State::End
            }
            (State::Number(it), _) => {
                sum = mix(sum, u64::from(it));
                State::Start
            }
            (it, _) => it,
        };
    }
    sum
}
