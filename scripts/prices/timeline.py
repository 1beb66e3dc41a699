"""Prices as values: rates, bands of prompt sizes, and timelines of them; how two timelines become one.

Left to others: where they come from (sources.py, corrections.py) and whether they may be published (checks.py).
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

OPEN = ""  # an open beginning sorts before every RFC 3339 time in UTC

FOREVER = "9999"

CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


class Rates(NamedTuple):
    """USD per million tokens."""

    input: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    output: Decimal

    def times(self, factor):
        return Rates(*(rounded(rate * Decimal(factor)) for rate in self))


@dataclass(frozen=True)
class Price:
    """What holds during a span: bands of (over, rates) in ascending order, the first over None."""

    bands: tuple
    basis: str
    source: str
    web_search: Decimal | None = None  # until merge.py settles it
    geo_us: Decimal | None = None

    def same_as(self, other):
        return (self.bands, self.web_search, self.geo_us) == (other.bands, other.web_search, other.geo_us)

    def same_rates(self, other):
        return self.bands == other.bands


def rounded(value):
    """At most six decimals, without trailing zeros; floats in the sources carry noise beyond them."""
    value = Decimal(value).quantize(Decimal("0.000001")).normalize()
    return value if value != 0 else Decimal(0)


def price(bands, basis, source):
    """A price of (over, Rates) bands; neighbours with the same rates are one band."""
    kept = []
    for over, rates in sorted(bands, key=lambda band: band[0] or 0):
        if not kept or kept[-1][1] != rates:
            kept.append((over, rates))
    return Price(tuple(kept), basis, source)


def at(timeline, instant):
    """The price that holds at an instant."""
    held = [price for start, price in timeline if start <= instant]
    return held[-1] if held else None


def tidy(timeline):
    """The same timeline without entries that change nothing, from an open beginning on."""
    kept = []
    for start, entry in sorted(timeline, key=lambda item: item[0]):
        if kept and kept[-1][1].same_as(entry):
            continue
        kept.append((OPEN if not kept else start, entry))
    return kept


def insert(timeline, start, entry, until=None):
    """`entry` from `start` until the next change that the timeline knows, or until `until`, whatever comes before it."""
    after = [item for item in timeline if item[0] > start] if until is None else [
        item for item in timeline if item[0] >= until
    ]
    before = [item for item in timeline if item[0] < start]
    if until is not None and until < FOREVER and not any(item[0] == until for item in after):
        following = at(timeline, until)
        if following is not None:
            after.insert(0, (until, following))
    return before + [(start, entry)] + after


def mapped(timeline, change):
    return [(start, change(entry)) for start, entry in timeline]


def scaled(timeline, factor):
    """All rates times a factor (batch, peak hours)."""
    return mapped(timeline, lambda entry: replace(
        entry, bands=tuple((over, rates.times(factor)) for over, rates in entry.bands)))
