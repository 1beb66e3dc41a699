"""What people decided: corrections.toml, with the same `[[price]]` entries as a user's prices.toml."""

import fnmatch
import re
import tomllib
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from timeline import CLASSES, OPEN, Price, Rates, price, rounded


@dataclass
class Corrections:
    prices: dict  # {place: [(start, until or None, Price)]}
    drops: list
    derived: list
    extras: list
    accepted: list
    rejected: list

    def rejects(self, place, who):
        return any(entry["list"] == who and names(entry, place) for entry in self.rejected)

    @classmethod
    def read(cls, path: Path):
        content = tomllib.loads(path.read_text(), parse_float=Decimal)
        unknown = content.keys() - {"price", "drop", "derived", "extra", "accepted", "rejected"}
        if unknown:
            raise SystemExit(f"{path} has unknown tables {sorted(unknown)}")
        return cls(spans(content.get("price", [])), *(content.get(name, []) for name in ("drop", "derived", "extra", "accepted", "rejected")))


def names(entry, place):
    """Whether an entry speaks of a place: its price_key may be a pattern, channel and mode may be left out."""
    return fnmatch.fnmatch(place[0], entry["price_key"]) and all(
        entry.get(name) in (None, place[index]) for index, name in ((1, "channel"), (2, "mode")))


FIELDS = {"price_key", "channel", "mode", "valid_from", "valid_to", "prompt_over", "prompt_upto", *CLASSES, "web_search_per_1k", "geo_us_mult",
          "basis", "source"}


def spans(entries):
    """Entries of one place and span are its bands."""
    grouped = {}
    for entry in entries:
        if unknown := entry.keys() - FIELDS:
            raise SystemExit(f"corrections.toml: {entry.get('price_key')} has unknown fields {sorted(unknown)}")
        place = (entry["price_key"], entry.get("channel", "api"), entry.get("mode", "standard"))
        span = (instant(entry.get("valid_from")) or OPEN, instant(entry.get("valid_to")))
        grouped.setdefault(place, {}).setdefault(span, []).append(entry)
    return {
        place: [(start, until, of_bands(place, entries)) for (start, until), entries in sorted(by_span.items(), key=str)]
        for place, by_span in grouped.items()
    }


def instant(value):
    if value is None:
        return None
    text = value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T00:00:00Z"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text):
        raise SystemExit(f"corrections.toml: {text} is no day and no time in UTC")
    return text


def of_bands(place, entries) -> Price:
    entries = sorted(entries, key=lambda entry: entry.get("prompt_over", -1))
    for first, second in zip(entries, entries[1:]):
        if first.get("prompt_upto") != second.get("prompt_over"):
            raise SystemExit(f"corrections.toml: bands of {place} do not meet")
    bands = [(entry.get("prompt_over"), Rates(*(rounded(entry[name]) for name in CLASSES))) for entry in entries]
    found = price(bands, entries[0]["basis"], entries[0]["source"])
    said = lambda name: Decimal(entries[0][name]) if name in entries[0] else None
    return replace(found, web_search=said("web_search_per_1k"), geo_us=said("geo_us_mult"))
