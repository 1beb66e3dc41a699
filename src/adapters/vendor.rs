//! Who made a model, where the source does not say.

/// Who made a model, by its name.
#[must_use]
pub fn vendor_of(model: &str) -> Option<&'static str> {
    const VENDORS: &[(&str, &str)] = &[
        ("claude", "anthropic"),
        ("gpt", "openai"),
        ("gemini", "google"),
        ("glm", "zai"),
        ("kimi", "moonshotai"),
        ("deepseek", "deepseek"),
        ("qwen", "alibaba"),
        ("minimax", "minimax"),
        ("grok", "xai"),
    ];
    VENDORS.iter().find(|(part, _)| contains_ignoring_case(model, part)).map(|(_, vendor)| *vendor)
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_is_known_by_the_name_of_the_model() {
        assert_eq!(vendor_of("us.anthropic.claude-opus-4-5"), Some("anthropic"));
        assert_eq!(vendor_of("GLM-4.7"), Some("zai"));
        assert_eq!(vendor_of("somebody-else"), None);
    }
}
