//! The playground: the states of a run, and its page in a browser.

mod browser;
mod states;
