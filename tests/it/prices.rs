//! Prices as people use them: looking them up, finding what has none, files of one's own, and months that stay.

use std::process::Command;

use crate::home::{Home, Run, agentlake, run};
use crate::transcript::Transcript;

/// A command with the home, the lake and the configuration of a test.
fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = agentlake();
    command.args(arguments).env("HOME", home.beside("user")).env("AGENTLAKE_LAKE", home.lake());
    command
}

fn ask(home: &Home, arguments: &[&str]) -> Run {
    run(&mut command(home, arguments)).expect_code(0)
}

/// A lake with one session, priced.
fn priced() -> Home {
    let home = Home::new();
    let transcript = Transcript::with_turns(1, 3);
    home.write_old(&transcript.path(), transcript.text());
    ask(&home, &["export", "--home", home.home().to_str().unwrap()]);
    home
}

fn costs(home: &Home, arguments: &[&str]) -> String {
    let sql =
        ["query", "--format", "csv", "--sql", "SELECT cost_usd, cost_status FROM priced_requests ORDER BY request_key"];
    ask(home, &[&sql[..], arguments].concat()).stdout
}

#[test]
fn a_model_is_shown_as_it_is_read() {
    let home = Home::new();
    let shown = ask(&home, &["prices", "show", "anthropic/claude-sonnet-4.5"]).stdout;
    assert!(shown.contains("anthropic/claude-sonnet-4-5, channel api, mode standard (prefix+separators)"), "{shown}");
    assert!(shown.contains("over 200000 until 2026-04-30T00:00:00Z"), "{shown}");
    assert!(shown.contains("prices of 20"), "{shown}");
    let unknown = ask(&home, &["prices", "show", "claude-opus-4-99"]).stdout;
    assert!(
        unknown.contains("no price is known") && unknown.contains("near to it: anthropic/claude-opus-4"),
        "{unknown}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&ask(&home, &["prices", "show", "o3", "--format", "json"]).stdout).unwrap();
    assert_eq!(
        (&json["meanings"][0]["price_key"], &json["prices"][0]["channel"]),
        (&"openai/o3".into(), &"api".into())
    );
}

#[test]
fn prices_are_listed_by_day() {
    let home = Home::new();
    let list = |at: &str| ask(&home, &["prices", "list", "--vendor", "google", "--at", at]).stdout;
    let argon = |text: &str| text.lines().find(|line| line.starts_with("google/gemini-4-argon ")).unwrap().to_owned();
    assert_ne!(argon(&list("2026-11-30")), argon(&list("2026-12-01")));
    assert!(!list("2026-11-30").contains("anthropic/"));
}

#[test]
fn a_file_is_checked_with_the_line_of_what_is_wrong() {
    let home = Home::new();
    let file = home.write("prices.toml", "[[price]]\nprice_key = \"a/b\"\ninptu = 1\n");
    let refused = run(&mut command(&home, &["prices", "check", file.to_str().unwrap()])).expect_code(2);
    assert!(refused.stderr.contains("line 3 of prices.toml: [[price]] has no field `inptu`"), "{}", refused.stderr);
    let file =
        home.write("prices.toml", "[[price]]\nprice_key = \"a/b\"\ninput = 1\noutput = 2\nmissing = \"input\"\n");
    let fine = ask(&home, &["prices", "check", file.to_str().unwrap()]).stdout;
    assert!(fine.contains("is fine: prices.toml (1 price)"), "{fine}");
}

#[test]
fn a_broken_file_of_ones_own_stops_what_would_use_it() {
    let home = priced();
    let config = home.beside("user").join(".config/agentlake");
    fs_err::create_dir_all(&config).unwrap();
    fs_err::write(config.join("prices.toml"), "[[price]]\n").unwrap();
    let refused = run(&mut command(&home, &["query", "daily_cost"])).expect_code(2);
    assert!(refused.stderr.contains("line 1 of prices.toml") && refused.stdout.is_empty(), "{}", refused.stderr);
    let named = run(&mut command(&home, &["query", "daily_cost", "--prices", "/nowhere/p.toml"])).expect_code(2);
    assert!(named.stderr.contains("there is no such file"), "{}", named.stderr);
}

#[test]
fn ones_own_prices_hold_in_answers_and_in_the_lake() {
    let home = priced();
    let before = costs(&home, &[]);
    let model =
        ask(&home, &["query", "--format", "csv", "--sql", "SELECT any_value(price_key) FROM priced_requests"]).stdout;
    let key = model.lines().nth(1).unwrap().to_owned();
    let file = home
        .write("own.toml", format!("[[price]]\nprice_key = \"{key}\"\ninput = 0\noutput = 0\nmissing = \"input\"\n"));
    let own = ["--prices", file.to_str().unwrap()];
    assert!(
        costs(&home, &own).lines().skip(1).all(|line| line.starts_with("0.000000000000,")),
        "an explicit zero is free"
    );
    let table = ask(&home, &["query", "daily_cost", own[0], own[1]]).stdout;
    assert!(table.lines().any(|line| line.contains("+ own.toml (1 price)")), "{table}");
    assert_eq!(costs(&home, &[]), before);
    // An export with other prices refreshes the database and the files, although nothing is new.
    let hash = || fs_err::read_to_string(home.lake().join(".agentlake/prices.hash")).unwrap();
    let old = hash();
    ask(&home, &["export", "--home", home.home().to_str().unwrap(), own[0], own[1]]);
    assert_ne!(hash(), old);
    for name in ["prices", "aliases", "hours"] {
        assert!(home.lake().join(format!("prices/{name}.parquet")).exists(), "{name}");
    }
}

#[test]
fn a_month_stays_when_present_prices_change() {
    let home = priced();
    let before = costs(&home, &[]);
    assert!(before.contains(",priced") || before.contains(",estimated"), "{before}");
    let model =
        ask(&home, &["query", "--format", "csv", "--sql", "SELECT any_value(price_key) FROM priced_requests"]).stdout;
    let (vendor, model) = model.lines().nth(1).unwrap().split_once('/').unwrap();
    let list = home.write(
        "api.json",
        format!(r#"{{"{vendor}": {{"models": {{"{model}": {{"cost": {{"input": 77, "output": 99}}}}}}}}}}"#),
    );
    let tried = ask(&home, &["prices", "update", "--from", list.to_str().unwrap(), "--dry-run"]).stdout;
    assert!(tried.contains("1 differ") && tried.contains("becomes 77 in, 99 out"), "{tried}");
    let updates = home.beside("user").join(".config/agentlake/prices.updates.toml");
    assert!(!updates.exists());
    ask(&home, &["prices", "update", "--from", list.to_str().unwrap()]);
    assert!(updates.exists());
    assert_eq!(costs(&home, &[]), before, "what was priced in May moved");
    let shown = ask(&home, &["prices", "show", &format!("{vendor}/{model}")]).stdout;
    assert!(shown.contains(" 77 ") && shown.contains("update api.json"), "{shown}");
    // The same list again changes nothing.
    let again = ask(&home, &["prices", "update", "--from", list.to_str().unwrap()]).stdout;
    assert!(again.contains("0 differ"), "{again}");
}

#[test]
fn models_without_a_price_are_told() {
    let home = priced();
    let nothing = ask(&home, &["prices", "missing"]).stdout;
    assert!(nothing.starts_with("every request with tokens has a price"), "{nothing}");
    let file = home.write("free.toml", "[[alias]]\nname = \"no-such\"\nprice_key = \"no/body\"\n");
    let dangling = run(&mut command(&home, &["prices", "missing", "--prices", file.to_str().unwrap()])).expect_code(2);
    assert!(dangling.stderr.contains("no/body"), "{}", dangling.stderr);
}
