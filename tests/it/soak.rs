//! Kills at random instants, and two runs at once, while sessions grow: nothing is missing, nothing stands twice.
//!
//! Twenty rounds; a hundred with `AGENTLAKE_SOAK=1`. `AGENTLAKE_SEED` repeats a sequence that failed.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::fuzz::Random;
use crate::home::{Home, Run};
use crate::rollout::Rollout;
use crate::transcript::Transcript;

#[test]
fn random_kills_lose_nothing_and_double_nothing() {
    let rounds = if std::env::var_os("AGENTLAKE_SOAK").is_some_and(|value| value == "1") { 100 } else { 20 };
    let mut random = Random::seeded("AGENTLAKE_SEED");
    let home = Home::new();
    let mut claude: Vec<Transcript> = (1..=4).map(|number| Transcript::with_turns(number, 2)).collect();
    let mut codex = Rollout::with_turns(1, 2);
    let write = |claude: &[Transcript], codex: &Rollout| {
        for transcript in claude {
            home.write(&transcript.path(), transcript.text());
        }
        home.write(&codex.path(), codex.text());
    };
    write(&claude, &codex);
    let started = Instant::now();
    home.export_into("timing").expect_code(0);
    let typical = started.elapsed();
    let (mut killed, mut refused) = (0, 0);
    for round in 1..=rounds {
        let at = random.below(claude.len());
        claude[at].turns(1).tool(40);
        codex.turn(30);
        write(&claude, &codex);
        if round % 5 == 0 {
            let runs = [home.start_export(), home.start_export()];
            for run in runs.map(|child| Run::of(child.wait_with_output().unwrap())) {
                assert!(matches!(run.code, Some(0 | 3)), "round {round}, {random:?}: {run:?}");
                refused += u32::from(run.code == Some(3));
            }
            continue;
        }
        let mut child = home.start_export();
        sleep(typical.mul_f64(1.2 * random.share()));
        child.kill().unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert!(
            matches!((run.code, run.signal), (Some(0), None) | (None, Some(9))),
            "round {round}, {random:?}: {run:?}"
        );
        killed += u32::from(run.signal.is_some());
        // The locks of the dead die with them.
        if round % 7 == 0 {
            home.export().expect_code(0);
            home.rows().assert_no_doubles();
        }
    }
    // Two seconds after the last write a file's times can be trusted again; this must not be needed.
    sleep(Duration::from_millis(10));
    home.export().expect_code(0);
    home.export_into("undisturbed").expect_code(0);
    let (rows, undisturbed) = (home.rows(), home.rows_of("undisturbed"));
    rows.assert_no_doubles();
    rows.assert_same_views(&undisturbed, &format!("{random:?}"));
    assert_eq!(rows.totals()["usage_copies"], undisturbed.totals()["usage_copies"], "{random:?}");
    assert!(killed > 0, "no run was killed in {rounds} rounds: {random:?}");
    eprintln!("{rounds} rounds: {killed} runs killed, {refused} refused because another one wrote");
}
