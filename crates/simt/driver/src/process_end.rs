//! The end of a process whose kernels are checked: the summary of the findings, and the exit code for them.

use crate::abi::{platform, report};
use crate::gpu::{queue, sanitize, state};

/// Waits for all launches of the process and reports the findings.
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

/// Runs at the end of the process, after all its other code.
///
/// The system calls the functions of this section after the program, its exit handlers and its static destructors have
/// finished. It does not call them when a process is killed or calls `_exit`.
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
// SAFETY: `.fini_array` holds addresses of functions without arguments, such as this one.
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
