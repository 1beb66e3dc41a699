#!/usr/bin/env python3
"""Draws what `AGENTLAKE_NIGHTS=400 AGENTLAKE_NIGHTS_CSV=FILE` of tests/it/nightly.rs measured, as SVG on standard output.

usage: plot-nights.py FILE > docs/nightly.svg
"""

import csv
import sys

WIDTH, HEIGHT, LEFT, GAP = 720, 130, 70, 34
PANELS = [
    ("parts of the lake", ["parts"]),
    ("most parts in a partition (closed, open days)", ["most_parts_closed", "most_parts_open"]),
    ("export, ms", ["export_ms"]),
    ("query daily_cost, ms", ["daily_cost_ms"]),
]
COLOURS = ["#1f5fa8", "#c05a1a"]


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def smoothed(values, around=5):
    """Medians of neighbours: a busy machine has outliers."""
    return [median(values[max(0, at - around) : at + around + 1]) for at in range(len(values))]


def panel(rows, title, columns, top):
    series = [[float(row[column]) for row in rows] for column in columns]
    if title.endswith("ms"):
        series = [smoothed(values) for values in series]
    highest = max(max(values) for values in series) or 1
    yield f'<text x="{LEFT}" y="{top - 8}">{title}</text>'
    yield f'<text x="{LEFT - 8}" y="{top + 10}" text-anchor="end">{highest:.0f}</text>'
    yield f'<text x="{LEFT - 8}" y="{top + HEIGHT}" text-anchor="end">0</text>'
    yield f'<path d="M{LEFT} {top}V{top + HEIGHT}H{LEFT + WIDTH}" fill="none" stroke="#999"/>'
    for values, colour in zip(series, COLOURS):
        last = max(len(values) - 1, 1)
        points = " ".join(
            f"{LEFT + WIDTH * at / last:.1f},{top + HEIGHT * (1 - value / highest):.1f}" for at, value in enumerate(values)
        )
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    full = (HEIGHT + GAP) * len(PANELS) + GAP
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {full}" font-family="sans-serif" font-size="12">')
    for number, (title, columns) in enumerate(PANELS):
        print("\n".join(panel(rows, title, columns, GAP + number * (HEIGHT + GAP))))
    print(f'<text x="{LEFT}" y="{full - 10}">{len(rows)} nights; times are medians of eleven</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
