//! Tells what a person typed from what Codex put into the conversation in the person's role, and makes titles of it.

/// How texts begin that Codex writes as `user` or `developer` messages.
const INJECTED: [&str; 14] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<personality_spec>",
    "<INSTRUCTIONS>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<user_action>",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
    "Warning: apply_patch was requested via",
];
/// What the editor extensions write between their context and the person's own words.
const REQUEST_MARK: &str = "## My request for Codex:";
/// Longest title, in characters.
const TITLE_CHARS: usize = 120;

/// Whether a message in the person's role was written by Codex.
pub fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED.iter().any(|start| text.starts_with(start)) || is_tagged(text)
}

/// Whether the whole text stands in one tag whose name has an underscore: Codex names its tags so, pages and components
/// that people paste hardly ever.
fn is_tagged(text: &str) -> bool {
    let Some((name, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else { return false };
    let is_name = name.contains('_') && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let end = text.trim_end().strip_suffix('>').and_then(|text| text.strip_suffix(name));
    is_name && end.is_some_and(|text| text.ends_with("</"))
}

/// The person's own words, on one line, cut.
pub fn title(text: &str) -> String {
    let own = text.rsplit_once(REQUEST_MARK).map_or(text, |(_, request)| request);
    let mut title = String::new();
    let mut characters = 0;
    for word in own.split_whitespace() {
        if characters > 0 {
            title.push(' ');
            characters += 1;
        }
        for character in word.chars() {
            if characters == TITLE_CHARS {
                return title.trim_end().to_owned();
            }
            title.push(character);
            characters += 1;
        }
        if characters >= TITLE_CHARS {
            break;
        }
    }
    title
}

/// The working directory in an `<environment_context>`, which is the only place where the oldest files tell it.
pub fn cwd_of_environment(text: &str) -> Option<&str> {
    let text = text.trim_start().strip_prefix("<environment_context>")?;
    if let Some((_, rest)) = text.split_once("<cwd>") {
        return rest.split_once("</cwd>").map(|(cwd, _)| cwd.trim());
    }
    let (_, rest) = text.split_once("Current working directory:")?;
    rest.lines().next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_writes_is_told_from_what_people_type() {
        assert!(is_injected("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"));
        assert!(is_injected("# AGENTS.md instructions for /w\n"));
        assert!(is_injected("<recommended_plugins>\nx\n</recommended_plugins>\n"));
        assert!(!is_injected("<div>centre this</div>"));
        assert!(!is_injected("fix <environment_context> parsing"));
        assert!(!is_injected("<my_tag> what is this?"));
    }

    #[test]
    fn titles_are_one_short_line_of_the_persons_words() {
        assert_eq!(title("  fix\n the   build "), "fix the build");
        assert_eq!(title("# Context from my IDE setup:\n- a.rs\n\n## My request for Codex:\nfix it\n"), "fix it");
        assert_eq!(title(&"é".repeat(300)).chars().count(), 120);
    }

    #[test]
    fn the_working_directory_of_the_oldest_files() {
        let tagged = "<environment_context>\n  <cwd>/w/app</cwd>\n</environment_context>";
        assert_eq!(cwd_of_environment(tagged), Some("/w/app"));
        let listed = "<environment_context>\nCurrent working directory: /w/app\nApproval policy: never\n";
        assert_eq!(cwd_of_environment(listed), Some("/w/app"));
        assert_eq!(cwd_of_environment("hello"), None);
    }
}
