"""Who wins: model-prices < genai-prices < LiteLLM < our corrections.

A later list adds what an earlier one lacks, and changes what it contradicts *from the day on which it says so*: a list of
present prices knows nothing of the past, so it never moves a closed month. Every contradiction is told, to be judged by
a person: what is settled otherwise goes to corrections.toml.
"""

import fnmatch
import re
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from corrections import names
from sources import GENAI_OBSERVED, LITELLM_OBSERVED, learned
from timeline import FOREVER, OPEN, at, insert, scaled, tidy


def merge(history, genai, litellm, corrections):
    """({place: timeline}, [contradictions])."""
    cells, told = dict(history), []
    for place, statements in sorted(genai.items()):
        if not corrections.rejects(place, "genai-prices"):
            add_genai(cells, told, place, statements)
    for place, statements in sorted(litellm.items()):
        if not corrections.rejects(place, "LiteLLM"):
            add_litellm(cells, told, place, statements)
    for correction in corrections.drops:
        for place in [place for place in cells if names(correction, place)]:
            del cells[place]
    for place, spans in corrections.prices.items():
        timeline = cells.get(place, [])
        for start, until, entry in spans:
            if timeline == [] or (start == OPEN and until is None):
                timeline = [item for item in timeline if until is not None and item[0] >= until]
                timeline = [(start, entry), *timeline]
            else:
                timeline = insert(timeline, start, entry, until or FOREVER)
        cells[place] = timeline
    derive(cells, corrections)
    cells = {place: tidy([extras(place, item, corrections) for item in timeline]) for place, timeline in cells.items()}
    return without_echoes(cells), told


def add_genai(cells, told, place, statements):
    if place not in cells:
        # A first statement with a date says what came to be; nothing is known of before, so it reaches back.
        cells[place] = [(OPEN, statements[0][1]), *statements[1:]]
        return
    if len(statements) == 1 and statements[0][0] == OPEN:
        contradict(cells, told, place, GENAI_OBSERVED, statements[0][1], "genai-prices")
    for start, entry in statements:
        if start == OPEN or at(cells[place], start).same_rates(entry):
            continue
        # The day of a change whose instant is known already.
        nearly = (datetime.fromisoformat(start) + timedelta(days=1)).isoformat().replace("+00:00", "Z")
        if not at(cells[place], nearly).same_rates(entry):
            cells[place] = insert(cells[place], start, entry)


def add_litellm(cells, told, place, statements):
    if place not in cells:
        (_, _, first), *later = statements
        cells[place] = [(OPEN, first), *((f"{day}T00:00:00Z", entry) for day, _, entry in later)]
        return
    for day, last, entry in statements:
        if last == LITELLM_OBSERVED:
            contradict(cells, told, place, f"{max(day, LITELLM_OBSERVED)}T00:00:00Z", entry, "LiteLLM")


def contradict(cells, told, place, day, entry, who):
    held = at(cells[place], day)
    # A list without a price for cached tokens says nothing of them.
    if held.same_rates(entry) or says_less(held, entry):
        return
    if len(cells[place]) == 1 and learned(held, entry):
        cells[place] = [(OPEN, entry)]
        return
    told.append((place, who, day, held, entry))
    cells[place] = insert(cells[place], day, entry)


def says_less(held, entry):
    if [over for over, _ in held.bands] != [over for over, _ in entry.bands]:
        return len(entry.bands) == 1 and agree(held.bands[0][1], entry.bands[0][1])
    return all(agree(ours[1], theirs[1]) for ours, theirs in zip(held.bands, entry.bands))


def agree(ours, theirs):
    same = ours.input == theirs.input and ours.output == theirs.output
    unsaid = lambda value: value == theirs.input
    return same and (ours.cache_read == theirs.cache_read or unsaid(theirs.cache_read)) and (
        ours.cache_write_5m == theirs.cache_write_5m or unsaid(theirs.cache_write_5m)) and (
        ours.cache_write_1h == theirs.cache_write_1h or unsaid(theirs.cache_write_1h)
        or theirs.cache_write_5m == theirs.cache_write_1h)


def derive(cells, corrections):
    """Modes that are a factor of another by rule: batches at half, DeepSeek's hours."""
    for rule in corrections.derived:
        for place in [place for place in cells if place[2] == "standard" and place[1] == rule.get("channel", "api")]:
            key, channel, _ = place
            target = (key, channel, rule["mode"])
            if not fnmatch.fnmatch(key, rule["price_key"]):
                continue
            if {"all": True, "present": target in cells, "absent": target not in cells}[rule["where"]]:
                cells[target] = scaled(cells[place], rule["factor"])


def extras(place, item, corrections):
    """Searches and the US surcharge: by rules, unless a correction says them of its own."""
    start, entry = item
    web, geo = Decimal(0), Decimal(1)
    for extra in corrections.extras:
        if any(fnmatch.fnmatch(place[0], pattern) for pattern in extra["price_keys"]):
            web = Decimal(extra.get("web_search_per_1k", web))
            geo = Decimal(extra.get("geo_us_mult", geo))
    # On a cloud the region is part of the name, and so of the channel.
    geo = geo if place[1] == "api" else Decimal(1)
    web = web if entry.web_search is None else entry.web_search
    return start, replace(entry, web_search=web, geo_us=geo if entry.geo_us is None else entry.geo_us)


def without_echoes(cells):
    """Without dated ids that cost today what their undated one costs, and spellings that another spelling covers: the
    rules for names find those, and of a dated id the lists know no history. What differs stays, for the exact name wins."""
    by_key = {}
    for (key, channel, mode), timeline in cells.items():
        by_key.setdefault(key, {})[channel, mode] = [(start, entry.bands) for start, entry in timeline]
    gone = set()
    for key in sorted(by_key):
        base = re.sub(r"-(20\d{6}|20\d\d-\d\d-\d\d)$", "", key)
        common = by_key[key].keys() & by_key.get(base, {}).keys()
        if base != key and common:
            place = min(common, key=lambda place: (place != ("api", "standard"), place))
            if by_key[base][place][-1][1] == by_key[key][place][-1][1]:
                gone.add(key)
    folded = {}
    for key in sorted(by_key.keys() - gone):
        folded.setdefault(re.sub(r"[._ ]", "-", key), []).append(key)
    for keys in folded.values():
        # The spelling with points is the vendors' own.
        keys.sort(key=lambda key: (-key.count("."), key))
        for other in keys[1:]:
            if all(by_key[keys[0]].get(place) == entry for place, entry in by_key[other].items()):
                gone.add(other)
    return {place: timeline for place, timeline in cells.items() if place[0] not in gone}
