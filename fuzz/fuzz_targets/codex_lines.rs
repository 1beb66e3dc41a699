//! Any bytes as a Codex rollout. Seeds: the files in `fixtures/codex`.
#![no_main]

use agentlake_fuzz::Target;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static TARGET: Target = Target::new("codex");
}

fuzz_target!(|bytes: &[u8]| TARGET.with(|target| target.read(bytes)));
