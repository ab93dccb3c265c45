//! Tests of the sanitizer `race`: each kernel with a race has a similar counterpart without one.

mod asynchronous;
mod atomics;
mod barriers;
mod clusters;
mod hints;
mod volatile;

use simt::{Config, Launch, Module, Simulator};
use simt_check::{Check, Checks, Finding, Sanitized};

/// Returns the findings for a kernel with this body.
///
/// `%tid` is the thread in its block and `%cta` the block. `%out` is the address of 64 KiB of zeroed global memory, and
/// `%word` the address of the thread's word there. `%tile` is the address of `tile`, an array of 4 KiB in shared
/// memory, and `%slot` the address of the thread's word in `tile`. `%r0` to `%r9`, `%a0` to `%a9` and `%p0` to `%p9`
/// are free.
fn findings_of(body: &str, grid: u32, block: u32) -> Vec<Finding> {
    findings_in_clusters(body, grid, block, 1)
}

/// Returns the findings for clusters of `cluster` blocks.
fn findings_in_clusters(body: &str, grid: u32, block: u32, cluster: u32) -> Vec<Finding> {
    checked(body, grid, block, cluster).findings
}

/// Returns the findings and the notes.
fn notes_of(body: &str, grid: u32, block: u32) -> (Vec<Finding>, Vec<String>) {
    let Sanitized { findings, notes, .. } = checked(body, grid, block, 1);
    (findings, notes)
}

fn checked(body: &str, grid: u32, block: u32, cluster: u32) -> Sanitized {
    let sanitized = launched(body, grid, block, cluster, Checks::NONE.with(Check::Race));
    if let Err(error) = &sanitized.result {
        panic!("{error}\n{body}");
    }
    sanitized
}

/// Runs a kernel with any `checks`; the launch may fault.
fn launched(body: &str, grid: u32, block: u32, cluster: u32, checks: Checks) -> Sanitized {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.file 1 \"kernel.cu\"\n\
         .entry kernel(.param .u64 out)\n{{\n\
         .shared .align 128 .b8 tile[4096];\n\
         .reg .b32 %tid, %cta, %lane, %r<10>;\n.reg .b64 %out, %tile, %slot, %word, %a<10>;\n.reg .pred %p<10>;\n\
         ld.param.u64 %out, [out];\n\
         mov.u32 %tid, %tid.x;\nmov.u32 %cta, %ctaid.x;\nmov.u32 %lane, %laneid;\nmov.u64 %tile, tile;\n\
         mad.wide.u32 %slot, %tid, 4, %tile;\nmad.wide.u32 %word, %tid, 4, %out;\n\
         {body}\nret;\n}}\n"
    );
    let kernel = Module::from_ptx(text).unwrap().function("kernel").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u32>(1 << 14).unwrap();
    let args = [out.into()];
    let launch = Launch::new(&kernel, [grid, 1, 1], [block, 1, 1], &args);
    let launch = Launch { cluster: Some([cluster, 1, 1]), ..launch };
    checks.launch(&mut simulator, &launch)
}

/// Fails unless the kernel has no race.
#[track_caller]
fn clean(body: &str, grid: u32, block: u32) {
    let findings = findings_of(body, grid, block);
    let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}\n{body}", all.join("\n"));
}

/// Fails unless there is exactly one race, whose description contains `words`.
#[track_caller]
fn races(body: &str, grid: u32, block: u32, words: &str) {
    let findings = findings_of(body, grid, block);
    let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let [found] = &findings[..] else { panic!("{} findings: {}\n{body}", all.len(), all.join("\n")) };
    let text = format!("{}; {}", found.what, found.help);
    assert!(text.contains(words), "{text}\n{body}");
    assert_eq!(found.check, Check::Race);
}
