//! A fortnight of work, small enough to add up by hand, that the bundled queries are asked about.

use super::mock::{MockLake, Usage, union};

/// | request | session | time | tokens | USD |
/// |---|---|---|---|---|
/// | a | s1, main | Mon 2 Nov 09:00 | 1,000,000 input | 5 |
/// | b | s1 | Mon 2 Nov 09:02 | 1,000,000 read, 100,000 written (5 m), 100,000 output | 0.50 + 0.625 + 2.50 = 3.625 |
/// | c | s1/agent | Mon 2 Nov 09:03 | 40,000 output | 1 |
/// | d | s1, skill | Mon 9 Nov 09:00 | 100,000 written (1 h), 20,000 output | 1 + 0.50 = 1.50 |
/// | e | s3, Codex | Tue 3 Nov 15:00 | 500,000 input, 100,000 output | 2 computed, 2.50 reported |
/// | f | s1 | Mon 9 Nov 09:02 | 1,000 input without a price | none |
///
/// Claude: 9.625 in the first week, 1.50 in the second, 11.125 in all. Codex: 2.50.
pub fn fortnight() -> MockLake {
    let mut lake = MockLake::new();
    let opus = |ts, rest| Usage { ts, model: "claude-opus-5", rest };
    let a = opus("2026-11-02 09:00:00", ", 1000000 AS input_tokens, 1000000 AS context_tokens, 'main' AS git_branch");
    let b = opus(
        "2026-11-02 09:02:00",
        ", 1000000 AS cache_read_tokens, 100000 AS cache_write_5m_tokens, 100000 AS output_tokens, 1100000 AS context_tokens",
    );
    let c = opus(
        "2026-11-02 09:03:00",
        ", 40000 AS output_tokens, 10000 AS context_tokens, true AS is_sidechain, 'Explore' AS agent_type",
    );
    let d = opus(
        "2026-11-09 09:00:00",
        ", 100000 AS cache_write_1h_tokens, 20000 AS output_tokens, 100000 AS context_tokens, 'review' AS skill",
    );
    let e = Usage {
        ts: "2026-11-03 15:00:00",
        model: "gpt-6-sol",
        rest: ", 500000 AS input_tokens, 100000 AS output_tokens, 200000 AS context_tokens, 2.5 AS reported_cost, 'USD' AS reported_cost_unit",
    };
    let f = Usage { ts: "2026-11-09 09:02:00", model: "claude-opus-9", rest: ", 1000 AS input_tokens" };
    let of = |session: &str, project: &str, select: String| {
        format!("SELECT * REPLACE ('{session}' AS session_id, '/home/u/{project}' AS project) FROM ({select})")
    };
    let first = [a.select("a"), b.select("b"), of("s1/agent", "app", c.select("c"))];
    lake.part("usage", "claude", "2026-11-02", 1, &union(&first))
        .part("usage", "claude", "2026-11-09", 2, &union(&[d.select("d"), f.select("f")]))
        .part("usage", "codex", "2026-11-03", 1, &of("s3", "web", e.select("e")));
    sessions(&mut lake);
    messages(&mut lake);
    tools(&mut lake);
    lake
}

fn sessions(lake: &mut MockLake) {
    let session = |id: &str, rest: &str| {
        format!(
            "SELECT '{id}' AS event_id, '{id}' AS session_id, '2026-11-02 09:00:00Z' AS ts, '/home/u/app' AS project{rest}"
        )
    };
    let agent = ", 's1' AS parent_session_id, 's1' AS root_session_id, 'subagent' AS relation";
    let both = [session("s1", ", 'Build it' AS title"), session("s1/agent", agent)];
    lake.part("sessions", "claude", "2026-11-02", 1, &union(&both));
}

fn messages(lake: &mut MockLake) {
    let message = |session: &str, ts: &str, kind: &str, role: &str, rest: &str| {
        format!(
            "SELECT '{ts}{kind}' AS event_id, '{ts}{kind}' AS record_key, '{session}' AS session_id, '{ts}Z' AS ts,
                    'record' AS ts_basis, '{kind}' AS kind, '{role}' AS role{rest}"
        )
    };
    let first = [
        message(
            "s1",
            "2026-11-02 08:59:50",
            "human",
            "user",
            ", 'Build  it\nnow' AS content_text, '{\"permissionMode\":\"plan\"}' AS attributes",
        ),
        message("s1", "2026-11-02 09:00:00", "assistant", "assistant", ""),
        message("s1", "2026-11-02 09:01:00", "tool_result", "user", ""),
        message("s1", "2026-11-02 09:02:00", "assistant", "assistant", ""),
    ];
    let second = [
        message("s1", "2026-11-09 08:59:00", "human", "user", ", 'Go on' AS content_text"),
        message("s1", "2026-11-09 09:00:00", "assistant", "assistant", ""),
        message("s1", "2026-11-09 09:00:10", "summary", "user", ""),
        message("s1", "2026-11-09 09:00:30", "error", "assistant", ""),
        message("s1", "2026-11-09 09:02:00", "injected", "user", ", '[Request interrupted by user]' AS content_text"),
    ];
    let codex = [
        message("s3", "2026-11-03 14:59:55", "human", "user", ", 'Look' AS content_text"),
        message("s3", "2026-11-03 14:59:59", "assistant", "assistant", ""),
    ];
    lake.part("messages", "claude", "2026-11-02", 1, &union(&first))
        .part("messages", "claude", "2026-11-09", 2, &union(&second))
        .part("messages", "codex", "2026-11-03", 1, &union(&codex));
}

fn tools(lake: &mut MockLake) {
    let call = |id: &str, ts: &str, name: &str, rest: &str| {
        format!(
            "SELECT '{id}' AS event_id, '{id}' AS record_key, 's1' AS session_id, '{ts}Z' AS ts, '{id}' AS tool_use_id,
                    '{name}' AS name{rest}"
        )
    };
    let result = |id: &str, ts: &str, rest: &str| {
        format!(
            "SELECT 'r{id}' AS event_id, 'r{id}' AS record_key, 's1' AS session_id, '{ts}Z' AS ts, '{id}' AS tool_use_id{rest}"
        )
    };
    let run = ", '{\"command\":\"make\"}' AS input";
    let file = ", '/home/u/app/a.rs' AS file_path";
    let first = [
        call("t1", "2026-11-02 09:00:00", "Edit", &format!("{file}, 3 AS lines_added, 1 AS lines_removed")),
        call("t2", "2026-11-02 09:00:01", "Bash", run),
        call("t3", "2026-11-02 09:02:00", "Bash", run),
        call("t4", "2026-11-02 09:02:01", "mcp__srv__ask", ", 'srv' AS mcp_server"),
    ];
    let results = [
        result("t1", "2026-11-02 09:00:30", ", false AS is_error"),
        result("t2", "2026-11-02 09:01:00", ", true AS is_error, 100 AS duration_ms"),
        result("t3", "2026-11-02 09:02:10", ", false AS is_error, 300 AS duration_ms"),
        result("t4", "2026-11-02 09:02:11", ", false AS is_error"),
    ];
    lake.part("tool_calls", "claude", "2026-11-02", 1, &union(&first))
        .part("tool_results", "claude", "2026-11-02", 1, &union(&results))
        .part("tool_calls", "claude", "2026-11-09", 2, &call("t5", "2026-11-09 09:00:00", "Read", file));
}
