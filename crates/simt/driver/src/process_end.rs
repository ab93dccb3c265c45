//! The end of a process whose kernels are checked: the summary of the findings, and the exit code for them.

use crate::abi::{platform, report};
use crate::gpu::{queue, sanitize, state};

/// Waits for what the process has launched, and says what was found in it.
fn conclude() {
    let Some(driver) = state::started() else { return };
    let sanitizer = &driver.sanitizer;
    if sanitizer.is_off() {
        return;
    }
    if let Ok(queue) = queue::queue() {
        queue.wait_for_all();
    }
    driver.print_printed();
    sanitizer.report_leaks(None, &driver.simulator());
    report::tell(&sanitizer.summary());
}

/// Ends the process after all of its other code has run.
///
/// The functions of this section are called when the program, its exit handlers and its static objects are done. A process
/// that is killed or calls `_exit` does not call them.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems have no such section"))]
extern "C" fn end() {
    if !state::is_child()
        && std::panic::catch_unwind(conclude).is_ok()
        && let Some(code) = sanitize::code_of_findings()
    {
        platform::exit(code);
    }
}

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds the addresses of functions without arguments.
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
