"""What keeps a price from being published. `cargo test` asks the same of the committed table.

Overlap and gap, negative and doubtful rates, golden cases that move, keys that vanish.
"""

import csv
from decimal import Decimal

from corrections import names
from timeline import CLASSES, OPEN, Rates

DEAREST = 1000  # USD per million tokens; nothing on any list comes near


def check(cells, corrections, released_keys, golden):
    """Sentences about what is wrong; none if all is well."""
    wrong = []
    accepted = lambda place: any(names(entry, place) for entry in corrections.accepted)
    for place, timeline in sorted(cells.items()):
        wrong += [f"{' '.join(place)}: {problem}" for problem in partition(timeline)]
        for start, entry in timeline:
            for problem in doubts(entry):
                if problem.startswith("negative") or not accepted(place):
                    wrong.append(f"{' '.join(place)} from {start or 'ever'}: {problem}")
    keys = {place[0] for place in cells}
    dropped = lambda key: any(names(entry, (key, "", "")) for entry in corrections.drops)
    wrong += [f"{key} was released and has vanished" for key in sorted(released_keys - keys) if not dropped(key)]
    wrong += [problem for case in golden if (problem := moved(cells, case))]
    return wrong


def partition(timeline):
    starts = [start for start, _ in timeline]
    if starts[:1] != [OPEN]:
        yield "has no price at first"
    if starts != sorted(set(starts)):
        yield "has spans that overlap"
    for start, entry in timeline:
        overs = [over for over, _ in entry.bands]
        if overs[:1] != [None] or overs[1:] != sorted(set(overs[1:])) or any(over <= 0 for over in overs[1:]):
            yield f"bands from {start or 'ever'} do not cover every size of prompt once"


def doubts(entry):
    previous = None
    for over, rates in entry.bands:
        if min(rates) < 0 or entry.web_search < 0 or entry.geo_us <= 0:
            yield "negative rate"
        if rates.cache_read > rates.input:
            yield f"cache reads cost more than input ({rates.cache_read} > {rates.input})"
        if rates.cache_write_1h < rates.cache_write_5m:
            yield "writes for an hour cost less than for five minutes"
        if rates.output < rates.input:
            yield f"output costs less than input ({rates.output} < {rates.input})"
        if rates.input == 0 or rates.output == 0:
            yield "input or output costs nothing"
        if max(rates) > DEAREST:
            yield f"costs more than {DEAREST} USD per million tokens"
        if previous and (rates.input < previous.input or rates.output < previous.output):
            yield f"prompts over {over} are cheaper than shorter ones"
        if any((rate * entry.geo_us * 1_000_000) % 1 for rate in rates):
            yield "the US surcharge needs more than six decimals"
        previous = rates


def read_golden(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def moved(cells, case):
    """Prices a golden case as SQL and Rust do; a sentence if it is not what it should be."""
    timeline = cells.get((case["price_key"], "api", case["mode"]))
    if timeline is None:
        return None if case["usd"] == "" else f"golden case {case['case']} has no price"
    held = [entry for start, entry in timeline if start <= case["at"]][-1]
    counters = Rates(*(int(case[name] or 0) for name in CLASSES))
    prompt = sum(counters) - counters.output
    rates = [rates for over, rates in held.bands if over is None or over < prompt][-1]
    factor = held.geo_us if case["geo"] == "us" else Decimal(1)
    usd = sum(count * rate * factor for count, rate in zip(counters, rates)) / 1_000_000
    usd += int(case["web_search_requests"] or 0) * held.web_search / 1000
    return None if usd == Decimal(case["usd"] or -1) else f"golden case {case['case']} costs {usd}, not {case['usd']}"
