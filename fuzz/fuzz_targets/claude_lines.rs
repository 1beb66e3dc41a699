//! Any bytes as a Claude Code transcript. Seeds: the files in `fixtures/claude`.
#![no_main]

use agentlake_fuzz::Target;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static TARGET: Target = Target::new("claude");
}

fuzz_target!(|bytes: &[u8]| TARGET.with(|target| target.read(bytes)));
