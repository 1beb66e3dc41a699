"""Do pyarrow, polars and DuckDB read the same numbers from a lake?

usage: interop.py LAKE

Reads every table of the lake three ways, each as its users would (a hive-partitioned dataset, a scan of a glob, a query
over a glob), and compares per provider and date: rows, earliest and latest time, and for `usage` every counter, for
`messages` and `tool_calls` the bytes of their texts. Exit status: 0 all agree; 1 they differ, or a table that cannot be
empty is; 2 usage.
"""

import sys
from pathlib import Path

import duckdb
import polars
import pyarrow.compute
import pyarrow.dataset

# Table -> (columns that are added up, texts whose UTF-8 bytes are counted).
MEASURES = {
    "usage": (
        [
            "input_tokens",
            "cache_read_tokens",
            "cache_write_5m_tokens",
            "cache_write_1h_tokens",
            "output_tokens",
            "web_search_requests",
            "reasoning_tokens",
            "context_tokens",
        ],
        ["request_key", "model"],
    ),
    "messages": ([], ["content_text", "thinking_text"]),
    "tool_calls": (["lines_added", "lines_removed"], ["name", "input"]),
    "tool_results": (["exit_code", "duration_ms"], ["output"]),
    "sessions": ([], ["title"]),
    "usage_copies": (["input_tokens", "output_tokens"], []),
    "issues": ([], ["kind", "detail"]),
}
# A lake made of any real session has rows in these.
NEVER_EMPTY = ("usage", "messages", "tool_calls")
# Every reader answers, per (provider, date): a dictionary of measure -> integer, None where nothing was recorded.
KEYS = ("provider", "date")


def measure_names(sums, texts):
    """The measures of one table, in the order in which differences are shown."""
    names = ["rows", "first_ts", "last_ts"]
    for column in sums:
        names += [f"sum({column})", f"recorded({column})"]
    return names + [f"bytes({column})" for column in texts]


def read_pyarrow(folder, sums, texts):
    """A dataset over the folder, with hive partitions (which pyarrow reads as strings)."""
    dataset = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive")
    table = dataset.to_table(columns=[*KEYS, "ts", *sums, *texts])
    for column in KEYS:
        table = table.set_column(
            table.schema.get_field_index(column), column, pyarrow.compute.cast(table[column], "string")
        )
    table = table.set_column(
        table.schema.get_field_index("ts"), "ts", pyarrow.compute.cast(table["ts"], "int64")
    )
    for column in texts:
        length = pyarrow.compute.cast(pyarrow.compute.binary_length(table[column]), "int64")
        table = table.append_column(f"bytes({column})", length)
    asked = [([], "count_all"), ("ts", "min"), ("ts", "max")]
    names = ["rows", "first_ts", "last_ts"]
    for column in sums:
        asked += [(column, "sum"), (column, "count")]
        names += [f"sum({column})", f"recorded({column})"]
    for column in texts:
        asked.append((f"bytes({column})", "sum"))
        names.append(f"bytes({column})")
    grouped = table.group_by(list(KEYS)).aggregate(asked)
    answered = ["count_all" if column == [] else f"{column}_{how}" for column, how in asked]
    return collect(
        (row["provider"], row["date"], dict(zip(names, (row[name] for name in answered))))
        for row in grouped.to_pylist()
    )


def read_polars(folder, sums, texts):
    """A lazy scan of the glob, with hive partitions (the date becomes a Date)."""
    frame = polars.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
    column = polars.col
    measures = [
        polars.len().alias("rows"),
        column("ts").dt.epoch("us").min().alias("first_ts"),
        column("ts").dt.epoch("us").max().alias("last_ts"),
    ]
    for name in sums:
        measures += [column(name).sum().alias(f"sum({name})"), column(name).count().alias(f"recorded({name})")]
    measures += [column(name).str.len_bytes().cast(polars.Int64).sum().alias(f"bytes({name})") for name in texts]
    grouped = frame.group_by(*(column(key).cast(polars.String) for key in KEYS)).agg(*measures).collect()
    return collect((row.pop("provider"), row.pop("date"), row) for row in grouped.to_dicts())


def read_duckdb(folder, sums, texts):
    """SQL over the glob, with hive partitions (the date becomes a DATE)."""
    measures = ["count(*)", "min(epoch_us(ts))", "max(epoch_us(ts))"]
    for column in sums:
        measures += [f'sum("{column}")::BIGINT', f'count("{column}")']
    measures += [f'sum(strlen("{column}"))::BIGINT' for column in texts]
    rows = duckdb.execute(
        f"select provider::VARCHAR, date::VARCHAR, {', '.join(measures)}"
        " from read_parquet(?, hive_partitioning = true) group by 1, 2",
        [f"{folder}/**/*.parquet"],
    ).fetchall()
    names = measure_names(sums, texts)
    return collect((provider, date, dict(zip(names, values))) for provider, date, *values in rows)


READERS = {"pyarrow": read_pyarrow, "polars": read_polars, "duckdb": read_duckdb}


def collect(rows):
    """(provider, date) -> measures. The sum of nothing is 0 to polars and NULL to the others; here it is 0."""
    return {
        (provider, date): {
            name: 0 if value is None and not name.endswith("_ts") else value for name, value in measures.items()
        }
        for provider, date, measures in rows
    }


def differences(answers, names):
    """Lines that say where the readers disagree: one for each partition and measure."""
    partitions = sorted({partition for answer in answers.values() for partition in answer}, key=str)
    for partition in partitions:
        for name in names:
            values = {reader: answer.get(partition, {}).get(name) for reader, answer in answers.items()}
            if len(set(values.values())) > 1:
                told = "  ".join(f"{reader}={value}" for reader, value in values.items())
                yield f"provider={partition[0]} date={partition[1]} {name}: {told}"


def check_table(lake, table):
    """Compares one table; prints one line, and the differences. True when there is nothing to complain of."""
    sums, texts = MEASURES[table]
    folder = lake / table
    if not any(folder.glob("**/*.parquet")):
        wrong = table in NEVER_EMPTY
        print(f"{'FAIL' if wrong else 'ok  '} {table}: no rows" + (", so nothing was compared" if wrong else ""))
        return not wrong
    answers = {}
    for name, reader in READERS.items():
        try:
            answers[name] = reader(str(folder), sums, texts)
        except Exception as error:  # whatever a reader raises, it means that its users cannot read the table
            print(f"FAIL {table}: {name} cannot read it: {error}")
            return False
    found = list(differences(answers, measure_names(sums, texts)))
    told = answers["duckdb"]
    rows = sum(measures["rows"] for measures in told.values())
    totals = ", ".join(f"{column} {sum(m[f'sum({column})'] for m in told.values()):,}" for column in sums)
    print(
        f"{'FAIL' if found else 'ok  '} {table}: {rows:,} rows in {len(told)} partitions"
        + (f"; {totals}" if totals else "")
    )
    for line in found:
        print(f"     {line}")
    return not found


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    lake = Path(sys.argv[1])
    if not lake.is_dir():
        print(f"interop: there is no lake at {lake}", file=sys.stderr)
        return 2
    versions = (f"{module.__name__} {module.__version__}" for module in (pyarrow, polars, duckdb))
    print(f"reading {lake} with {', '.join(versions)}")
    good = [check_table(lake, table) for table in MEASURES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
