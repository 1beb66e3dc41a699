//! One test per bug that was found in the wild or by another test: the smallest input that showed it, and what is right.
//! The name of a test says what went wrong.

use crate::home::Home;
use crate::transcript::Transcript;

/// A session whose gateway numbers responses from 1 in every session. The prompts differ in size: that tells the requests
/// apart from copies.
fn through_a_gateway(number: u32, output: i64) -> Transcript {
    let mut transcript = Transcript::new(number);
    transcript.prompt("Hello").answer("Hello.", output);
    let line = transcript.lines()[1]
        .replace(&format!("msg_01{number:08x}000000"), "chatcmpl-1")
        .replace("\"input_tokens\":10", &format!("\"input_tokens\":{}", 10 + number));
    let mut reused = Transcript::new(number);
    reused.prompt("Hello").line(&line.replace(&format!("req_01{number:08x}000000"), "req-1"));
    reused
}

#[test]
fn two_requests_under_one_reused_id_had_one_request_key() {
    let (first, second) = (through_a_gateway(1, 20), through_a_gateway(2, 30));
    for at_once in [true, false] {
        let home = Home::new();
        home.write_old(&first.path(), first.text());
        if !at_once {
            home.export().expect_code(0);
        }
        home.write_old(&second.path(), second.text());
        home.export().expect_code(0);
        let outputs: Vec<i64> = home.rows().requests().values().map(|(counters, _)| counters[4]).collect();
        assert_eq!(outputs.iter().sum::<i64>(), 50, "at once: {at_once}");
        assert_eq!(outputs.len(), 2, "whoever groups by request_key sees two requests; at once: {at_once}");
    }
}
