"""Measures agentlake and other tools side by side; benches/compare.sh prepares and starts it.

Each round runs every contender once, so that whatever else the machine does falls on all of them alike; the table shows
medians over the rounds, and ratios are the median of each round's ratio. CPU is user plus system time of the process
and its children, peak memory is its largest resident set, both from wait4(2). (A child starts with the resident set of
this script, so peaks below some 25 MiB are not told apart.) Files are warm: one round is run before those that count.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

GROWN_FILES = 7
GROWN_LINES = 5


@dataclass
class Measurement:
    """One process, from start to end."""

    cpu: float
    wall: float
    peak_mib: float


@dataclass
class Contender:
    """One row of the table."""

    name: str
    command: list
    # Before each run, outside the measured time.
    prepare: object = None
    # Exit statuses that are not failures.
    accept: tuple = (0,)
    # Name of the contender that this one is measured against.
    against: str = ""


def measure(command, environment, accept):
    """Runs a command to its end. Its output is dropped, unless it fails."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        if code not in accept:
            errors.seek(0)
            sys.exit(f"compare: {' '.join(map(str, command))} ended with {code}:\n{errors.read().decode(errors='replace')}")
    unit = 1 if platform.system() == "Darwin" else 1024
    return Measurement(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 2**20)


class GrowingHome:
    """A private copy of the sessions, in which some files grow by a few lines whenever asked."""

    def __init__(self, source, target, times):
        for folder in (".claude", ".codex"):
            if (source / folder).is_dir():
                shutil.copytree(source / folder, target / folder, symlinks=True)
        self.path = target
        self.files = sorted(path for path in target.rglob("*.jsonl") if path.is_file() and not path.is_symlink())
        self.bytes = sum(path.stat().st_size for path in self.files)
        self.held_back = {}
        for path in self._spread(times * GROWN_LINES):
            lines = path.read_bytes().splitlines(keepends=True)
            keep = len(lines) - times * GROWN_LINES
            path.write_bytes(b"".join(lines[:keep]))
            self.held_back[path] = lines[keep:]

    def _spread(self, lines):
        """Files with more than `lines` lines, evenly spread over the tree."""
        enough = []
        step = max(1, len(self.files) // (GROWN_FILES * 10))
        for path in self.files[::step]:
            with path.open("rb") as file:
                if sum(1 for _ in file) > lines:
                    enough.append(path)
        if len(enough) < GROWN_FILES:
            sys.exit(f"compare: too few files with more than {lines} lines to grow {GROWN_FILES} of them")
        return enough[:: len(enough) // GROWN_FILES][:GROWN_FILES]

    def grow(self):
        """Appends the next lines to each file that grows."""
        for path, lines in self.held_back.items():
            with path.open("ab") as file:
                file.writelines(lines[:GROWN_LINES])
            del lines[:GROWN_LINES]


def contenders(arguments, home, lake, output):
    """What is run in a round, in this order."""
    agentlake, claude = str(arguments.agentlake), str(home.path / ".claude" / "projects")
    export = [agentlake, "export", "--quiet", "--no-duckdb", "--home", str(home.path), "--lake", str(lake)]
    query = [agentlake, "query", "daily_cost", "--lake", str(lake)]
    folders = [str(folder) for folder in (home.path / ".claude", home.path / ".codex") if folder.is_dir()]

    def put_aside(folder):
        # Not removed: ext4 avoids inodes that were freed in the last minutes, at a cost that no first run has.
        if folder.exists():
            folder.rename(folder.with_name(f"{folder.name}.{time.monotonic_ns()}"))

    rows = []
    if arguments.ccusage:
        rows.append(Contender("ccusage daily --json --offline", [arguments.ccusage, "daily", "--json", "--offline"]))
        yardstick = rows[0].name
    else:
        yardstick = "DuckDB read_json → COPY"
    copy = [sys.executable, str(Path(__file__).with_name("read_json_copy.py")), claude, str(output)]
    find = ["find", *folders, "-printf", "%s %T@\n"]
    rows += [
        Contender("DuckDB read_json → COPY", copy, lambda: put_aside(output), against=yardstick),
        # Exit status 1 says that something in the sessions was unreadable; the run is complete all the same.
        Contender("agentlake export, cold", export, lambda: put_aside(lake), accept=(0, 1), against=yardstick),
        Contender("find -printf '%s %T@'", find),
        Contender("agentlake export, nothing changed", export, against="find -printf '%s %T@'"),
        Contender(
            f"agentlake export, {GROWN_FILES} files grown by {GROWN_LINES} lines",
            export,
            home.grow,
            accept=(0, 1),
            against=yardstick,
        ),
        Contender(
            "the same with --no-compact", [*export, "--no-compact"], home.grow, accept=(0, 1), against=yardstick
        ),
        Contender("agentlake query daily_cost, from the parts", query, against=yardstick),
        Contender("agentlake export, DuckDB database made", [part for part in export if part != "--no-duckdb"], against=yardstick),
        Contender("agentlake query daily_cost, from the database", query, against=yardstick),
    ]
    return rows


def environment_for(home):
    """The home decides alone what is read: no variable of this user's points elsewhere."""
    keep = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
    return {"HOME": str(home)} | {name: os.environ[name] for name in keep if name in os.environ}


def version(command):
    """The first line of a program's --version."""
    return subprocess.run([*command, "--version"], capture_output=True, text=True).stdout.strip().split("\n")[0]


def processor():
    """The processor's name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def print_table(rows, results, home, arguments):
    """The medians as Markdown, with what is needed to read them."""
    tools = [version([str(arguments.agentlake)])]
    if arguments.ccusage:
        tools.append(f"ccusage {version([arguments.ccusage]).removeprefix('ccusage ')}")
    import duckdb  # only now: its libraries would count into every child's first resident set

    tools.append(f"DuckDB {duckdb.__version__}")
    print(
        f"{len(home.files):,} session files, {home.bytes / 1e6:,.0f} MB; {arguments.rounds} rounds; "
        f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end; {', '.join(tools)}\n"
    )
    print("| run | CPU s | wall s | peak MiB | CPU ratio | wall ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in rows:
        mine = results[row.name]
        cells = [
            row.name,
            f"{statistics.median(m.cpu for m in mine):.3f}",
            f"{statistics.median(m.wall for m in mine):.3f}",
            f"{statistics.median(m.peak_mib for m in mine):.0f}",
        ]
        if row.against:
            yardstick = list(zip(mine, results[row.against]))
            short = row.against.split()[0]
            cells.append(f"{statistics.median(m.cpu / max(y.cpu, 1e-3) for m, y in yardstick):.2f}× {short}")
            cells.append(f"{statistics.median(m.wall / y.wall for m, y in yardstick):.2f}× {short}")
        else:
            cells += ["", ""]
        print(f"| {' | '.join(cells)} |")
    print(
        "\nccusage reads the same files (all tools that it knows), prints sums and writes nothing. DuckDB reads the Claude "
        "files only and writes their lines unparsed but for the top level; its time includes starting Python."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agentlake", type=Path, required=True)
    parser.add_argument("--ccusage", default="", help="path of the native binary; without it, it is left out")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    # Beside the sessions, so that the lake is written to the disk that they are on and not to a memory file system.
    with tempfile.TemporaryDirectory(prefix="agentlake-bench.", dir=arguments.home.resolve().parent) as work:
        work = Path(work)
        home = GrowingHome(arguments.home, work / "home", 2 * (arguments.rounds + 1))
        rows = contenders(arguments, home, work / "lake", work / "copy")
        environment = environment_for(home.path)
        results = defaultdict(list)
        for turn in range(arguments.rounds + 1):
            print(f"round {turn} of {arguments.rounds}" + (" (to warm up)" if turn == 0 else ""), file=sys.stderr)
            for row in rows:
                if row.prepare:
                    row.prepare()
                measurement = measure(row.command, environment, row.accept)
                if turn > 0:
                    results[row.name].append(measurement)
        print_table(rows, results, home, arguments)


if __name__ == "__main__":
    main()
