"""The three public price lists as timelines by (price key, channel, mode).

Each reader returns {(key, channel, mode): [(start, Price)]}. `start` is "" or an RFC 3339 time in UTC. A statement
without a date is an observation: `observed` says on which day it was made. Left to others: who wins (merge.py).
"""

import csv
import json
import re
from decimal import Decimal
from pathlib import Path

from timeline import OPEN, Rates, price, rounded

HISTORY = "model_prices_history.csv"
GENAI = "genai_prices.csv"
LITELLM = "litellm-1.110.2.json"
LITELLM_HISTORY = "litellm_history.csv"

# Days on which the lists were read, which date their undated statements.
GENAI_OBSERVED = "2026-11-15T00:00:00Z"
LITELLM_OBSERVED = "2026-11-20"

VENDORS = {
    "alibaba": "qwen", "dashscope": "qwen", "moonshotai": "moonshot", "zai": "zhipu", "x-ai": "xai", "stepfun-ai": "stepfun",
    "tencent-tokenhub": "tencent", "volcengine": "bytedance", "byteplus": "bytedance-global", "gemini": "google",
    **{name: name for name in (
        "ai21", "anthropic", "arcee", "bailing", "cognition", "cohere", "cursor", "deepseek", "google", "inception",
        "longcat", "meta", "minimax", "mistral", "moonshot", "nova", "openai", "perplexity", "poolside", "sakana", "stepfun",
        "tencent", "upstage", "xai", "xiaomi", "zhipu", "thinkingmachines")},
}

# Not priced by text tokens alone.
NOT_TEXT = re.compile(
    r"embed|image|tts|audio|realtime|transcri|whisper|moderation|ocr|-live|live-|voice|voxtral|asr|translate|robotics"
    r"|babbage|davinci|instruct-0914|search|-mt-|rerank|omni|dall-e|sora|veo|imagen|lyria|aqa|learnlm|container|ft:"
    r"|captioner|nano-banana|vision-exp|peft|lightning|computer-use|deep-research")


# What a vendor's own models are called: some also host those of others, at prices of their own.
OWN = {
    "anthropic": "claude", "openai": r"gpt-|o[134]|codex|chatgpt", "google": "gemini|gemma", "xai": "grok", "deepseek": "deepseek",
    "qwen": "qwen|qwq|qvq", "moonshot": "kimi|moonshot", "zhipu": "glm", "minimax": "minimax|m2-her", "perplexity": "sonar|r1",
    "mistral": r"(?!.*(?:glm|deepseek))", "bytedance": "doubao", "bytedance-global": "seed|dola", "cursor": "composer",
}


def key_of(vendor, model):
    """`vendor/model`, or None for what is not a text model of one vendor."""
    model = model.lower().strip()
    if "/" in model or ":" in model or "," in model or NOT_TEXT.search(model) or ".ft-" in model:
        return None
    if not re.match(OWN.get(vendor, ""), model):
        return None
    if vendor == "anthropic":
        # One key per model: dated and `-latest` ids are found by the rules for names and by aliases.
        model = re.sub(r"(-\d{8}|-latest)$", "", model)
        model = re.sub(r"^(claude-(?:opus|sonnet)-4)-0$", r"\1", model)
        if not re.fullmatch(r"claude-[a-z]+-\d(-\d)?|claude-3(-\d)?-[a-z]+", model):
            return None
    return f"{vendor}/{model}"


def rates(input_, output, cache_read=None, cache_write=None, write_1h=None, one_hour_factor=None):
    """All five rates. What a vendor does not list costs what input costs: there is no discount and no premium. A write
    listed at zero means that storing is free; the tokens are prompt tokens all the same."""
    input_ = rounded(input_)
    read = rounded(cache_read) if cache_read not in (None, "") else input_
    write = rounded(cache_write) if cache_write not in (None, "") and Decimal(str(cache_write)) != 0 else input_
    if write_1h not in (None, ""):
        hour = rounded(write_1h)
    elif one_hour_factor and write != input_:
        hour = rounded(input_ * Decimal(one_hour_factor))
    else:
        hour = write
    return Rates(input_, read, write, hour, rounded(output))


def history(folder: Path):
    """model-prices: intervals with a beginning each, by vendor."""
    rows = {}
    with (folder / HISTORY).open(newline="") as file:
        for row in csv.DictReader(file):
            key = VENDORS.get(row["provider"]) and key_of(VENDORS[row["provider"]], row["model"])
            if key:
                rows.setdefault((key, "api", row["mode"], row["model"]), []).append(row)
    found = {}
    # Of several ids of one key the shortest speaks for it: the undated one.
    for (key, channel, mode, model), intervals in sorted(rows.items(), key=lambda item: (-len(item[0][3]), item[0])):
        entries = []
        for index, row in enumerate(intervals):
            following = intervals[index + 1]["start"] if index + 1 < len(intervals) else None
            # A bad first commit that was corrected at the very same instant.
            if not row["input"] or not row["output"] or row["valid_from"] == following:
                continue
            entry = history_price(row)
            if is_stub(entry):
                continue
            if entries and learned(entries[-1][1], entry):
                entries[-1] = (entries[-1][0], entry)
            else:
                entries.append((row["start"], entry))
        if entries:
            found[key, channel, mode] = [(OPEN, entries[0][1]), *entries[1:]]
    return found


def is_stub(entry):
    """Zero for prompt and output: a plan's catalogue, a preview, or a row that nobody filled in; no price at any rate."""
    return all(rates.input == 0 and rates.output == 0 for _, rates in entry.bands)


def learned(before, after):
    """Whether a list only came to know the price of cached tokens, which it had left out at first."""
    return [over for over, _ in before.bands] == [over for over, _ in after.bands] and all(
        (ours.input, ours.output) == (theirs.input, theirs.output)
        and ours.cache_read in (ours.input, theirs.cache_read)
        and ours.cache_write_5m in (ours.input, theirs.cache_write_5m)
        and ours.cache_write_1h in (ours.cache_write_5m, ours.input, theirs.cache_write_1h)
        for (_, ours), (_, theirs) in zip(before.bands, after.bands))


def history_price(row):
    basis, _, source = row["basis_source"].rpartition(" ")
    basis = {"documented": "documented", "models.dev commit": "commit"}.get(basis, "observed")
    # xAI's limit is the first token of the dearer band; everybody else's the last of the cheaper.
    inclusive = 1 if row["provider"] == "xai" else 0
    factor = row["cw1h_mult"] or None
    base = rates(row["input"], row["output"], row["cache_read"], row["cache_write"], None, factor)
    bands = [(None, base)]
    for tier in json.loads(row["tiers"] or "[]", parse_float=str, parse_int=str):
        listed = rates(tier["input"], tier["output"], tier.get("cache_read"), tier.get("cache_write"), None, factor)
        bands.append((int(tier["above"]) - inclusive, listed))
    return price(bands, basis, source.replace(",", "%2C"))


GENAI_MODES = {
    "standard": "standard", '{"processing": "batch"}': "batch", '{"service_tier": "priority"}': "fast",
    '{"service_tier": "fast"}': "fast", '{"service_tier": "flex"}': "flex", '{"speed": "fast"}': "fast",
}


def genai(folder: Path):
    """genai-prices: (undated, dated) statements of first parties. Times of day are left out: the lists put DeepSeek's
    on days on which they did not hold."""
    statements, by_hour = {}, set()
    with (folder / GENAI).open(newline="") as file:
        for row in csv.DictReader(file):
            vendor = VENDORS.get(row["provider"])
            key = vendor and key_of(vendor, row["model"])
            mode = GENAI_MODES.get(row["variant"])
            if not key or not mode:
                continue
            if key.startswith("cursor/"):
                key, mode = (key.removesuffix("-fast"), "fast") if key.endswith("-fast") else (key, mode)
            if "TimeOf" in row["constraint"]:
                by_hour.add(key)
                continue
            listed = json.loads(row["prices_json"])
            if "input_mtok" not in listed or "output_mtok" not in listed or is_stub(genai_price(key, listed)):
                continue
            date = re.search(r"date\((\d+), (\d+), (\d+)\)", row["constraint"])
            start = "{:04}-{:02}-{:02}T00:00:00Z".format(*map(int, date.groups())) if date else OPEN
            statements.setdefault((key, "api", mode), {})[start] = genai_price(key, listed)
    return {
        place: sorted(entries.items()) for place, entries in statements.items() if place[0] not in by_hour
    }


def genai_price(key, listed):
    def rate(name, over):
        value = listed.get(name)
        if isinstance(value, dict):
            reached = [Decimal(rate) for limit, rate in value["tiers"] if over is not None and int(limit) <= over]
            return reached[-1] if reached else value["base"]
        return value

    limits = sorted({int(limit) for value in listed.values() if isinstance(value, dict) for limit, _ in value["tiers"]})
    factor = "2" if key.startswith("anthropic/") else "2.5" if key.startswith("openai/") else None
    bands = [
        (over, rates(rate("input_mtok", over), rate("output_mtok", over), rate("cache_read_mtok", over),
                     rate("cache_write_mtok", over), rate("cache_write_1h_mtok", over), factor))
        for over in [None, *limits]
    ]
    return price(bands, "observed", "https://github.com/pydantic/genai-prices")


LITELLM_FIRST_PARTY = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "google", "xai": "xai", "deepseek": "deepseek",
    "moonshot": "moonshot", "zai": "zhipu", "minimax": "minimax", "mistral": "mistral", "codestral": "mistral",
    "dashscope": "qwen", "cohere_chat": "cohere", "perplexity": "perplexity",
}

LITELLM_MODES = {"standard": "", "batch": "_batches", "flex": "_flex", "fast": "_priority", "ultrafast": "_ultrafast"}


def litellm(folder: Path):
    """LiteLLM: {place: [(first day seen, last day seen, Price)]}, of the vendors themselves and of three clouds."""
    found = {}
    with (folder / LITELLM_HISTORY).open(newline="") as file:
        rows = [
            (row["model"], row["first_seen_snapshot"], row["last_seen_snapshot"], row["litellm_provider"], row["mode"],
             json.loads(row["price_fields_json"], parse_float=str, parse_int=str))
            for row in csv.DictReader(file)
        ]
    # The newest list in full: it has fields that the history does not repeat.
    newest = json.loads((folder / LITELLM).read_text(), parse_float=str, parse_int=str)
    for model, first, last, provider, kind, fields in rows:
        if kind not in ("chat", "responses", "completion"):
            continue
        place = litellm_place(model, provider)
        if not place:
            continue
        if last == LITELLM_OBSERVED and model in newest:
            fields = {**fields, **newest[model]}
        for mode in LITELLM_MODES:
            listed = litellm_price(place[0], fields, mode)
            if listed and not is_stub(listed):
                found.setdefault((*place, mode), []).append((len(model), first, last, listed))
    statements = {}
    for place, entries in found.items():
        shortest = min(length for length, *_ in entries)
        statements[place] = [entry[1:] for entry in sorted(entries, key=lambda e: (e[1], e[0])) if entry[0] == shortest]
    return statements


def litellm_place(model, provider):
    """(price key, channel) of one of LiteLLM's names, or None."""
    name = model.lower()
    bedrock = re.fullmatch(r"(?:(us|eu|apac|au|jp|global)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+(?::\d+)?)?", name)
    if bedrock and provider.startswith("bedrock"):
        key = key_of("anthropic", bedrock[2])
        region = bedrock[1]
        channel = "bedrock" if region is None else "bedrock-global" if region == "global" else "bedrock-regional"
        # Every region costs the same; one of them speaks for all.
        return key and (key, channel) if region in (None, "global", "us") else None
    if name.startswith("vertex_ai/claude-"):
        key = key_of("anthropic", re.sub(r"@.*", "", name.removeprefix("vertex_ai/")))
        return key and (key, "vertex")
    if re.fullmatch(r"azure/(gpt|o\d)[^/]*", name):
        key = key_of("openai", name.removeprefix("azure/"))
        return key and (key, "azure")
    vendor = LITELLM_FIRST_PARTY.get(provider)
    if not vendor:
        return None
    name = name.removeprefix(f"{provider}/").removeprefix("mistral/").removeprefix("cohere/")
    key = key_of(vendor, name)
    return key and (key, "api")


def litellm_price(key, fields, mode):
    suffix = LITELLM_MODES[mode]
    if key.startswith("deepseek/"):
        return None  # these rows hold the price of peak hours

    def listed(name, above, ending):
        over = f"_above_{above}" if above else ""
        value = fields.get(f"{name}{over}{ending}")
        return None if value is None else Decimal(value) * 1_000_000

    def all_rates(above):
        input_, output = (listed(f"{name}_cost_per_token", above, suffix) for name in ("input", "output"))
        if input_ is None or output is None:
            return None
        read = listed("cache_read_input_token_cost", above, suffix)
        write = listed("cache_creation_input_token_cost", above, suffix)
        standard = listed("input_cost_per_token", above, "")
        if standard and suffix:
            # Lists often leave out the cached classes of a mode; they keep their ratio to the input.
            ratio = input_ / standard
            if read is None and (normal := listed("cache_read_input_token_cost", above, "")) is not None:
                read = normal * ratio
            if write is None and (normal := listed("cache_creation_input_token_cost", above, "")) is not None:
                write = normal * ratio
        factor = "2" if key.startswith("anthropic/") else "2.5" if key.startswith("openai/") else None
        hour = listed("cache_creation_input_token_cost_above_1hr", above, suffix) if not above else None
        return rates(input_, output, read, write, hour, factor)

    bands = []
    if fields.get("tiered_pricing"):
        if suffix:
            return None
        for tier in fields["tiered_pricing"]:
            if "range" not in tier or tier.get("input_cost_per_token") is None:
                return None
            low = int(Decimal(tier["range"][0]))
            read = tier.get("cache_read_input_token_cost")
            bands.append((low or None, rates(
                Decimal(tier["input_cost_per_token"]) * 1_000_000, Decimal(tier["output_cost_per_token"]) * 1_000_000,
                None if read is None else Decimal(read) * 1_000_000)))
    else:
        base = all_rates(None)
        if base is None:
            return None
        bands.append((None, base))
        limits = {found[1] for name in fields if (found := re.match(r"input_cost_per_token_above_(\d+k)_tokens", name))}
        inclusive = 1 if key.startswith("xai/") else 0
        for limit in limits:
            dearer = all_rates(f"{limit}_tokens")
            if dearer:
                bands.append((int(limit[:-1]) * 1000 - inclusive, dearer))
    if bands[0][0] is not None:
        return None
    return price(bands, "observed", "https://github.com/BerriAI/litellm")
