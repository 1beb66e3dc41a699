//! What is known of a session. Facts are learned record by record, file by file and run by run, and merged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How good a title is; a better or newer equal one replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TitleRank {
    /// The first prompt of a person, cleaned of injected context.
    FirstPrompt,
    /// A summary that the tool wrote.
    Summary,
    /// A title that the tool made up.
    Generated,
    /// A title that a person gave.
    Custom,
}

/// Facts of one session. `None` is "not known (yet)".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionFacts {
    /// Where the work belongs: the directory the session began in.
    pub project: Option<String>,
    /// The tool's own short name of the project.
    pub project_slug: Option<String>,
    /// Working directory at the start.
    pub cwd: Option<String>,
    /// Branch at the start.
    pub git_branch: Option<String>,
    /// Repository URL as recorded, without credentials.
    pub repo: Option<String>,
    /// The best title so far.
    pub title: Option<(TitleRank, String)>,
    /// The session that this one was started from.
    pub parent_session_id: Option<String>,
    /// The first session of the family.
    pub root_session_id: Option<String>,
    /// `fork`, `resume` or `subagent`.
    pub relation: Option<String>,
    /// `interactive`, `cron` or `system`, for tools that have such categories.
    pub category: Option<String>,
    /// Name of the scheduled job.
    pub cron_job_name: Option<String>,
    /// The channel that prompts came through.
    pub source_channel: Option<String>,
    /// Time of the first record, microseconds since the epoch.
    pub started_at: Option<i64>,
    /// Time of the newest record, microseconds since the epoch.
    pub updated_at: Option<i64>,
    /// Version of the tool, newest seen.
    pub agent_version: Option<String>,
    /// What only one provider knows: name ⇒ JSON text of the value. The newest wins.
    pub attributes: BTreeMap<String, String>,
}

impl SessionFacts {
    /// Learns that the session has a record at `ts`.
    pub fn saw(&mut self, ts: i64) {
        self.started_at = Some(self.started_at.map_or(ts, |first| first.min(ts)));
        self.updated_at = Some(self.updated_at.map_or(ts, |last| last.max(ts)));
    }

    /// Proposes a title; blank ones are ignored. Equal rank: the newer replaces, except that the first prompt stays.
    pub fn propose_title(&mut self, rank: TitleRank, title: &str) {
        let title = title.trim();
        let better = match &self.title {
            None => true,
            Some((held, _)) if *held == rank => rank != TitleRank::FirstPrompt,
            Some((held, _)) => rank > *held,
        };
        if better && !title.is_empty() {
            self.title = Some((rank, title.to_owned()));
        }
    }

    /// Sets a fact where it is not known yet.
    pub fn set_once(slot: &mut Option<String>, value: Option<&str>) {
        if slot.is_none()
            && let Some(value) = value
            && !value.is_empty()
        {
            *slot = Some(value.to_owned());
        }
    }

    /// Sets a fact to the newest value, without an allocation where it did not change.
    pub fn set_latest(slot: &mut Option<String>, value: Option<&str>) {
        if let Some(value) = value
            && !value.is_empty()
            && slot.as_deref() != Some(value)
        {
            *slot = Some(value.to_owned());
        }
    }

    /// Merges what was learned later: first known wins, except for titles (by rank), times, version and attributes.
    pub fn absorb(&mut self, later: Self) {
        let Self {
            project,
            project_slug,
            cwd,
            git_branch,
            repo,
            title,
            parent_session_id,
            root_session_id,
            relation,
            category,
            cron_job_name,
            source_channel,
            started_at,
            updated_at,
            agent_version,
            attributes,
        } = later;
        for (slot, value) in [
            (&mut self.project, project),
            (&mut self.project_slug, project_slug),
            (&mut self.cwd, cwd),
            (&mut self.git_branch, git_branch),
            (&mut self.repo, repo),
            (&mut self.parent_session_id, parent_session_id),
            (&mut self.root_session_id, root_session_id),
            (&mut self.relation, relation),
            (&mut self.category, category),
            (&mut self.cron_job_name, cron_job_name),
            (&mut self.source_channel, source_channel),
        ] {
            if slot.is_none() {
                *slot = value;
            }
        }
        if let Some((rank, title)) = title {
            self.propose_title(rank, &title);
        }
        for ts in [started_at, updated_at].into_iter().flatten() {
            self.saw(ts);
        }
        self.agent_version = agent_version.or(self.agent_version.take());
        self.attributes.extend(attributes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_in_two_steps_equals_learning_at_once() {
        let learn = |facts: &mut SessionFacts, steps: &[(i64, TitleRank, &str)]| {
            for (ts, rank, title) in steps {
                facts.saw(*ts);
                facts.propose_title(*rank, title);
            }
        };
        let steps = [
            (5, TitleRank::FirstPrompt, "a"),
            (3, TitleRank::FirstPrompt, "b"),
            (9, TitleRank::Summary, "c"),
            (8, TitleRank::FirstPrompt, "d"),
        ];
        let mut whole = SessionFacts::default();
        learn(&mut whole, &steps);
        for cut in 0..=steps.len() {
            let (mut first, mut second) = (SessionFacts::default(), SessionFacts::default());
            learn(&mut first, &steps[..cut]);
            learn(&mut second, &steps[cut..]);
            first.absorb(second);
            assert_eq!(first, whole, "cut at {cut}");
        }
    }
}
