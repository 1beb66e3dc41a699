"""Makes src/pricing/data/prices.csv from the public price lists: `python3 scripts/prices FOLDER`, or `make prices`.

FOLDER (or AGENTLAKE_PRICE_LISTS) holds the lists; src/pricing/data/NOTICES.md says where they come from, with version and
hash. Nothing is fetched. The table is text to be reviewed: sorted, one cell per line. With --check the file is only
compared. Exit status 1 and no new file if a check fails.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import checks
import merge
import sources
from corrections import Corrections
from timeline import OPEN

DATA = Path(__file__).parents[2] / "src" / "pricing" / "data"
HEADER = ("price_key,channel,mode,valid_from,valid_to,prompt_over,prompt_upto,input,cache_read,cache_write_5m,"
          "cache_write_1h,output,web_search_per_1k,geo_us_mult,basis,source")
MODES = ("standard", "thinking", "batch", "flex", "fast", "ultrafast", "peak", "off_peak")


def main():
    arguments = argparse.ArgumentParser(prog="make prices", description=__doc__.split("\n")[0])
    arguments.add_argument("folder", nargs="?", default=os.environ.get("AGENTLAKE_PRICE_LISTS"), type=Path)
    arguments.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    arguments = arguments.parse_args()
    if not arguments.folder or not arguments.folder.is_dir():
        print("name the folder with the price lists, as argument or in AGENTLAKE_PRICE_LISTS; "
              "src/pricing/data/NOTICES.md says which", file=sys.stderr)
        return 2
    corrections = Corrections.read(DATA / "corrections.toml")
    cells, told = merge.merge(
        sources.history(arguments.folder), sources.genai(arguments.folder), sources.litellm(arguments.folder), corrections)
    for place, who, day, held, entry in told:
        print(f"{who} contradicts {' '.join(place)} from {day[:10]}: {bands(held)} becomes {bands(entry)}")
    released = set((DATA / "keys.txt").read_text().split()) if (DATA / "keys.txt").exists() else set()
    wrong = checks.check(cells, corrections, released, checks.read_golden(DATA / "golden.csv"))
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        print(f"{len(wrong)} problems; nothing was written", file=sys.stderr)
        return 1
    lines = [HEADER]
    for place in sorted(cells, key=lambda place: (place[0], place[1], MODES.index(place[2]))):
        lines += cell_lines(place, cells[place])
    text = "\n".join(lines) + "\n"
    target = DATA / "prices.csv"
    if arguments.check:
        same = target.read_text() == text
        print(f"{target.name} is {'up to date' if same else 'not what the lists and corrections make'}")
        return 0 if same else 1
    target.write_text(text)
    (DATA / "date.txt").write_text(f"{sources.LITELLM_OBSERVED}\n")
    (DATA / "keys.txt").write_text("".join(f"{key}\n" for key in sorted({place[0] for place in cells})))
    print(f"{len(lines) - 1} cells of {len({place[0] for place in cells})} models")
    return 0


def bands(entry):
    return " | ".join("/".join(f"{rate:f}" for rate in rates) for _, rates in entry.bands)


def cell_lines(place, timeline):
    starts = [start for start, _ in timeline]
    for (start, entry), until in zip(timeline, [*starts[1:], OPEN]):
        overs = [over for over, _ in entry.bands]
        for (over, rates), upto in zip(entry.bands, [*overs[1:], None]):
            numbers = (*rates, entry.web_search.normalize(), entry.geo_us.normalize())
            fields = (*place, start, until, "" if over is None else over, "" if upto is None else upto,
                      *(f"{number:f}" for number in numbers), entry.basis, entry.source)
            yield ",".join(map(str, fields))


if __name__ == "__main__":
    sys.exit(main())
