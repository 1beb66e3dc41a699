//! Beta providers are read only if they are asked for, and `sources` says so.

use serde_json::Value;

use crate::fixtures::root;
use crate::home::{Home, agentlake, copy_over, run};

/// Requests that an export of a task of Cline adds, with some arguments and one environment variable.
fn requests(arguments: &[&str], variable: Option<(&str, &str)>) -> i64 {
    let home = Home::new();
    copy_over(&root().join("cline/newer-generation/home"), &home.home());
    let mut command = agentlake();
    command.arg("export").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    command.args(["--no-duckdb", "--format", "json"]).args(arguments).envs(variable);
    run(&mut command).expect_code(0).summary()["requests_added"].as_i64().unwrap()
}

#[test]
fn a_beta_provider_is_read_only_if_it_is_asked_for() {
    assert_eq!(requests(&[], None), 0);
    assert_eq!(requests(&[], Some(("AGENTLAKE_BETA_CLINE", "0"))), 0);
    assert_eq!(requests(&[], Some(("AGENTLAKE_BETA_ROO", "1"))), 0);
    assert_eq!(requests(&[], Some(("AGENTLAKE_BETA_CLINE", "Yes"))), 2);
    assert_eq!(requests(&["--beta"], None), 2);
    assert_eq!(requests(&["--provider", "cline"], None), 2);
}

#[test]
fn sources_shows_every_provider_and_whether_it_is_on() {
    let home = Home::new();
    let states = |arguments: &[&str]| -> Vec<(String, String)> {
        let mut command = agentlake();
        command.arg("sources").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
        let ended = run(command.args(["--format", "json"]).args(arguments)).expect_code(0);
        let providers: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        providers.iter().map(|provider| (text(&provider["provider"]), text(&provider["state"]))).collect()
    };
    let off = states(&[]);
    assert_eq!(off.len(), agentlake::adapters::all().len());
    assert!(off.contains(&("claude".to_owned(), "on".to_owned())));
    assert!(off.contains(&("cline".to_owned(), "off".to_owned())));
    assert!(states(&["--beta"]).contains(&("cline".to_owned(), "beta".to_owned())));
}
