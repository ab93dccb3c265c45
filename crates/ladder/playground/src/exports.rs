//! The functions that the page calls. Requests and answers are text in the module's memory.

use std::cell::RefCell;

use crate::playground::Playground;

#[derive(Default)]
struct State {
    playground: Playground,
    request: Vec<u8>,
    answer: String,
    words: Vec<u32>,
    panic: String,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Allocates space for a request of `bytes` bytes and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn request(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.request.clear();
        state.request.resize(bytes, 0);
        state.request.as_mut_ptr()
    })
}

/// Answers the request in the allocated space and returns the answer's length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    std::panic::set_hook(Box::new(|why| {
        let text = why.to_string();
        // A panic while the state is borrowed cannot be stored, so the page has no message to show.
        STATE.with(|state| {
            if let Ok(mut state) = state.try_borrow_mut() {
                state.panic = text;
            }
        });
    }));
    let (mut playground, request) =
        STATE.with_borrow_mut(|state| (std::mem::take(&mut state.playground), std::mem::take(&mut state.request)));
    let answer = playground.answer(&String::from_utf8_lossy(&request));
    STATE.with_borrow_mut(|state| {
        state.playground = playground;
        state.answer = answer;
        state.answer.len()
    })
}

/// Returns the address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    STATE.with_borrow(|state| state.answer.as_ptr())
}

/// Stores the words of the block's shared memory after a step and returns the number of words.
#[unsafe(no_mangle)]
pub extern "C" fn shared(step: u32) -> usize {
    STATE.with_borrow_mut(|state| {
        state.words.clear();
        state.playground.shared(step, &mut state.words);
        state.words.len()
    })
}

/// Stores the activity of the block's warps over the steps, in `columns` columns, and returns the number of stored
/// words. See `Trace::overview`.
#[unsafe(no_mangle)]
pub extern "C" fn overview(columns: usize) -> usize {
    STATE.with_borrow_mut(|state| {
        state.words = state.playground.overview(columns);
        state.words.len()
    })
}

/// Returns the address of the words that `shared` or `overview` has stored.
#[unsafe(no_mangle)]
pub extern "C" fn words_at() -> *const u32 {
    STATE.with_borrow(|state| state.words.as_ptr())
}

/// After a call has panicked, stores the panic message as the answer and returns its length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn panicked() -> usize {
    STATE.with(|state| {
        let Ok(mut state) = state.try_borrow_mut() else { return 0 };
        state.answer = std::mem::take(&mut state.panic);
        state.answer.len()
    })
}
