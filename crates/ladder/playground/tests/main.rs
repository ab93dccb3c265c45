//! Tests of the playground: the states of a run, and the page in a browser.

mod browser;
mod states;
