//! Writes Claude Code transcripts line by line, with totals that a test can count by hand: every answer has 10 input and
//! 100 cache-read tokens, and the output that the test says.

use serde_json::{Value, json};

/// A transcript that grows.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// One digit tells sessions apart.
    number: u32,
    lines: Vec<String>,
    answers: u32,
    /// Minutes since the session began.
    clock: u32,
    day: u32,
}

impl Transcript {
    /// An empty session; sessions of other numbers share nothing with it.
    pub fn new(number: u32) -> Self {
        Self { number, lines: Vec::new(), answers: 0, clock: 0, day: 1 + number % 28 }
    }

    /// A session with that many prompts, each answered with 20 tokens of output.
    pub fn with_turns(number: u32, turns: u32) -> Self {
        let mut transcript = Self::new(number);
        transcript.turns(turns);
        transcript
    }

    /// Adds prompts with answers.
    pub fn turns(&mut self, turns: u32) -> &mut Self {
        for _ in 0..turns {
            let text = format!("Prompt after {} lines", self.lines.len());
            self.prompt(&text).answer("Done.", 20);
        }
        self
    }

    /// The session's id.
    pub fn session_id(&self) -> String {
        format!("{:08x}-1111-4111-8111-111111111111", self.number)
    }

    /// Where the transcript stands below the home directory.
    pub fn path(&self) -> String {
        format!(".claude/projects/-w-app/{}.jsonl", self.session_id())
    }

    fn uuid(&self, line: usize) -> String {
        format!("{:08x}-aaaa-4000-8000-{line:012}", self.number)
    }

    fn push(&mut self, kind: &str, fields: Value) {
        let at = self.lines.len();
        let mut line = json!({
            "parentUuid": (at > 0).then(|| self.uuid(at - 1)), "isSidechain": false, "userType": "external", "cwd": "/w/app",
            "sessionId": self.session_id(), "version": "2.1.200", "gitBranch": "main", "uuid": self.uuid(at), "type": kind,
            "timestamp": format!("2026-05-{:02}T{:02}:{:02}:00.000Z", self.day, 10 + self.clock / 60, self.clock % 60),
        });
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.lines.push(line.to_string());
        self.clock += 1;
    }

    /// A prompt.
    pub fn prompt(&mut self, text: &str) -> &mut Self {
        self.push("user", json!({ "message": { "role": "user", "content": text } }));
        self
    }

    fn response(&self) -> String {
        // Answers copied from another session keep their ids; a fork's own ones have its number.
        format!("{:08x}{:06}", self.number, self.answers)
    }

    /// A whole response in one line.
    pub fn answer(&mut self, text: &str, output: i64) -> &mut Self {
        self.block(&json!({ "type": "text", "text": text }), json!(output));
        self.answers += 1;
        self
    }

    /// A response that calls a tool, in two lines that repeat its usage, and the tool's result.
    pub fn tool(&mut self, output: i64) -> &mut Self {
        let call = format!("toolu_{:08x}{:04}", self.number, self.answers);
        self.block(&json!({ "type": "text", "text": "I look." }), json!(1));
        self.block(
            &json!({ "type": "tool_use", "id": call, "name": "Read", "input": { "file_path": "/w/a.rs" } }),
            json!(output),
        );
        self.answers += 1;
        self.push(
            "user",
            json!({ "message": { "role": "user", "content": [{ "tool_use_id": call, "type": "tool_result", "content": "fn main() {}" }] } }),
        );
        self
    }

    /// One block line of the current response, with an `output_tokens` of any kind.
    pub fn block(&mut self, block: &Value, output: Value) -> &mut Self {
        let id = self.response();
        let usage = json!({ "input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100,
            "output_tokens": output, "service_tier": "standard" });
        let message = json!({ "id": format!("msg_01{id}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
            "content": [block], "stop_reason": "end_turn", "stop_sequence": null, "usage": usage });
        self.push("assistant", json!({ "message": message, "requestId": format!("req_01{id}") }));
        self
    }

    /// A line as it stands.
    pub fn line(&mut self, line: &str) -> &mut Self {
        self.lines.push(line.to_owned());
        self
    }

    /// All lines so far.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Another session that begins with copies of this one's lines, as a fork does, and goes on with its own.
    pub fn fork(&self, number: u32) -> Self {
        let mut fork = Self { number, day: self.day, clock: self.clock, ..Self::new(number) };
        let ids = (self.session_id(), fork.session_id());
        fork.lines = self.lines.iter().map(|line| line.replace(&ids.0, &ids.1)).collect();
        fork.answers = self.answers;
        fork
    }
}
