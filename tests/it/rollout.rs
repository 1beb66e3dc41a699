//! Writes Codex rollouts line by line, with totals that a test can count by hand: every answer has 400 uncached input and
//! 600 cached tokens, and the output that the test says.

use serde_json::{Value, json};

/// A rollout that grows.
#[derive(Debug, Clone)]
pub struct Rollout {
    number: u32,
    lines: Vec<String>,
    answers: i64,
    output: i64,
    clock: u32,
}

impl Rollout {
    /// A thread; threads of other numbers share nothing with it.
    pub fn new(number: u32) -> Self {
        let mut rollout = Self { number, lines: Vec::new(), answers: 0, output: 0, clock: 0 };
        let id = rollout.thread_id();
        rollout.push(
            "session_meta",
            &json!({ "id": id, "timestamp": "2026-05-20T08:00:00.000Z", "cwd": "/w/app", "originator": "codex-tui",
                "cli_version": "0.140.0", "source": "cli", "model_provider": "openai" }),
        );
        rollout
            .push("turn_context", &json!({ "turn_id": "t1", "cwd": "/w/app", "model": "gpt-5.5", "effort": "medium" }));
        rollout
    }

    /// A thread with that many prompts, each answered with 30 tokens of output.
    pub fn with_turns(number: u32, turns: u32) -> Self {
        let mut rollout = Self::new(number);
        for _ in 0..turns {
            rollout.turn(30);
        }
        rollout
    }

    pub fn thread_id(&self) -> String {
        format!("019e0000-0000-7000-8000-{:012x}", self.number)
    }

    fn name(&self) -> String {
        format!("rollout-2026-05-20T08-00-00-{}.jsonl", self.thread_id())
    }

    /// Where the rollout stands below the home directory.
    pub fn path(&self) -> String {
        format!(".codex/sessions/2026/05/20/{}", self.name())
    }

    /// Where it stands once it is archived.
    pub fn archived_path(&self) -> String {
        format!(".codex/archived_sessions/{}", self.name())
    }

    fn push(&mut self, kind: &str, payload: &Value) {
        let timestamp = format!("2026-05-20T{:02}:{:02}:00.000Z", 8 + self.clock / 60, self.clock % 60);
        self.lines.push(json!({ "timestamp": timestamp, "type": kind, "payload": payload }).to_string());
        self.clock += 1;
    }

    /// A prompt, a tool call with its result, and an answer.
    pub fn turn(&mut self, output: i64) -> &mut Self {
        let call = format!("call_{}_{}", self.number, self.answers);
        let prompt = format!("Prompt {}", self.answers);
        self.push(
            "response_item",
            &json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] }),
        );
        self.push(
            "response_item",
            &json!({ "type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": call }),
        );
        self.push("response_item", &json!({ "type": "function_call_output", "call_id": call, "output": "a.rs" }));
        self.push(
            "response_item",
            &json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] }),
        );
        self.answers += 1;
        self.output += output;
        let usage = |answers: i64, output: i64| {
            json!({ "input_tokens": 1000 * answers, "cached_input_tokens": 600 * answers, "output_tokens": output,
                "reasoning_output_tokens": 0, "total_tokens": 1000 * answers + output })
        };
        let info = json!({ "total_token_usage": usage(self.answers, self.output), "last_token_usage": usage(1, output),
            "model_context_window": 272_000 });
        self.push("event_msg", &json!({ "type": "token_count", "info": info, "rate_limits": null }));
        self
    }

    /// The file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
