//! What stands before a model's name: routers, clouds and their regions, vendors; and which vendor a bare name belongs to.
//!
//! Only known prefixes come off. An unknown one stays, and with it the name has no price: it may be anybody's resale.

use super::cell::API;

/// Gateways that put their name before the vendor's, and the channel that they mean.
const ROUTERS: [(&str, &str); 25] = [
    ("openrouter/", API),
    ("litellm/", API),
    ("litellm_proxy/", API),
    ("models/", API),
    ("cx/", API),
    ("cp/", API),
    ("cline/", API),
    ("cline-pass/", API),
    ("omniroute:", API),
    ("vercel/", API),
    ("vercel_ai_gateway/", API),
    ("requesty/", API),
    ("kilo/", API),
    ("opencode/", API),
    ("github_copilot/", API),
    ("github-copilot/", API),
    ("copilot/", API),
    ("chatgpt/", API),
    ("fireworks_ai/", API),
    ("accounts/fireworks/models/", API),
    ("bedrock/", "bedrock"),
    ("amazon-bedrock/", "bedrock"),
    ("vertex_ai/", "vertex"),
    ("google-vertex/", "vertex"),
    ("azure/", "azure"),
];

/// Vendors as they are written in front of a model, or in a field of its own.
const VENDORS: [(&str, &str); 40] = [
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("google", "google"),
    ("gemini", "google"),
    ("google-ai-studio", "google"),
    ("xai", "xai"),
    ("x-ai", "xai"),
    ("deepseek", "deepseek"),
    ("deepseek-ai", "deepseek"),
    ("qwen", "qwen"),
    ("alibaba", "qwen"),
    ("dashscope", "qwen"),
    ("moonshot", "moonshot"),
    ("moonshotai", "moonshot"),
    ("kimi", "moonshot"),
    ("zhipu", "zhipu"),
    ("zhipuai", "zhipu"),
    ("z-ai", "zhipu"),
    ("zai", "zhipu"),
    ("zai-org", "zhipu"),
    ("minimax", "minimax"),
    ("minimaxai", "minimax"),
    ("mistral", "mistral"),
    ("mistralai", "mistral"),
    ("cursor", "cursor"),
    ("cognition", "cognition"),
    ("windsurf", "cognition"),
    ("xiaomi", "xiaomi"),
    ("stepfun", "stepfun"),
    ("stepfun-ai", "stepfun"),
    ("tencent", "tencent"),
    ("bytedance", "bytedance"),
    ("volcengine", "bytedance"),
    ("meta", "meta"),
    ("cohere", "cohere"),
    ("perplexity", "perplexity"),
    ("ai21", "ai21"),
    ("upstage", "upstage"),
    ("inception", "inception"),
    ("longcat", "longcat"),
];

/// What names of a vendor begin with. This chooses whose names are searched; the name must still be found there, whole.
const FAMILIES: [(&str, &str); 38] = [
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("gpt ", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("grok", "xai"),
    ("deepseek", "deepseek"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("qvq", "qwen"),
    ("kimi", "moonshot"),
    ("moonshot", "moonshot"),
    ("k2", "moonshot"),
    ("k3", "moonshot"),
    ("glm", "zhipu"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("magistral", "mistral"),
    ("ministral", "mistral"),
    ("pixtral", "mistral"),
    ("composer-", "cursor"),
    ("swe-", "cognition"),
    ("mimo-", "xiaomi"),
    ("step-", "stepfun"),
    ("hy3", "tencent"),
    ("doubao-", "bytedance"),
    ("command-", "cohere"),
    ("sonar", "perplexity"),
    ("muse-", "meta"),
    ("jamba-", "ai21"),
    ("solar-", "upstage"),
];

/// Regions before `anthropic.` in ids of Amazon Bedrock, and the channel whose price they pay.
const REGIONS: [(&str, &str); 6] = [
    ("global.", "bedrock-global"),
    ("us.", "bedrock-regional"),
    ("eu.", "bedrock-regional"),
    ("apac.", "bedrock-regional"),
    ("au.", "bedrock-regional"),
    ("jp.", "bedrock-regional"),
];

/// A vendor by one of the names that it goes by; `None` for routers, clouds and whoever is not known.
#[must_use]
pub fn vendor_named(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    VENDORS.iter().find(|(known, _)| *known == lower).map(|(_, vendor)| *vendor)
}

/// The channel that a recorded vendor means who only passes requests on: a cloud or a router.
#[must_use]
pub fn channel_named(name: &str) -> Option<&'static str> {
    let lower = format!("{}/", name.to_ascii_lowercase());
    ROUTERS.iter().find(|(prefix, _)| *prefix == lower).map(|(_, channel)| *channel)
}

/// The vendor whose names are to be searched for a name whose vendor was not recorded.
#[must_use]
pub fn family(model_id: &str) -> Option<&'static str> {
    let lower = model_id.trim().to_ascii_lowercase();
    let unprefixed = Unprefixed::of(&lower);
    unprefixed
        .vendor
        .or_else(|| FAMILIES.iter().find(|(start, _)| unprefixed.name.starts_with(start)).map(|(_, vendor)| *vendor))
}

/// A name without what routers, regions and vendors put in front.
pub struct Unprefixed<'a> {
    /// The rest.
    pub name: &'a str,
    /// The vendor that a prefix named.
    pub vendor: Option<&'static str>,
    /// How the vendor was reached.
    pub channel: &'static str,
}

impl<'a> Unprefixed<'a> {
    /// Takes a name in lower case apart.
    pub fn of(lower: &'a str) -> Self {
        let mut name = inference_profile(lower).unwrap_or(lower);
        let mut channel = if name.len() < lower.len() { "bedrock" } else { API };
        while let Some((rest, meant)) = strip_one(name, &ROUTERS) {
            name = rest;
            channel = meant;
        }
        if let Some((rest, meant)) = strip_one(name, &REGIONS).filter(|(rest, _)| rest.starts_with("anthropic.")) {
            name = rest;
            channel = meant;
        }
        if let Some(rest) = name.strip_prefix("anthropic.") {
            let channel = if channel == API { "bedrock" } else { channel };
            return Self { name: without_bedrock_version(rest), vendor: Some("anthropic"), channel };
        }
        if let Some(rest) = name.strip_prefix("anthropic--") {
            return Self { name: rest, vendor: Some("anthropic"), channel };
        }
        match name.split_once('/') {
            Some((prefix, rest)) if vendor_named(prefix).is_some() => {
                Self { name: rest, vendor: vendor_named(prefix), channel }
            }
            _ => Self { name, vendor: None, channel },
        }
    }
}

/// `arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-…` ⇒ what stands behind the slash.
fn inference_profile(lower: &str) -> Option<&str> {
    let (arn, name) = lower.strip_prefix("arn:aws:bedrock:")?.split_once('/')?;
    (arn.ends_with(":inference-profile") || arn.ends_with(":foundation-model")).then_some(name)
}

fn strip_one<'a>(name: &'a str, prefixes: &[(&str, &'static str)]) -> Option<(&'a str, &'static str)> {
    prefixes.iter().find_map(|&(prefix, meant)| Some((name.strip_prefix(prefix)?, meant)))
}

/// `claude-opus-4-5-20251101-v1:0` ⇒ `claude-opus-4-5-20251101`.
fn without_bedrock_version(name: &str) -> &str {
    let Some((rest, version)) = name.rsplit_once("-v") else { return name };
    let is_version = version.split(':').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version { rest } else { name }
}
