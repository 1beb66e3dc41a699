"""What a DuckDB user would write instead of agentlake: session lines to date-partitioned Parquet, in one statement.

usage: read_json_copy.py PROJECTS_FOLDER OUTPUT_FOLDER

Only the top level of a line becomes columns; message, data and toolUseResult stay JSON text. Nothing is de-duplicated,
added up or remembered. It is the yardstick for how fast the bytes can be read and written at all.
"""

import sys

import duckdb

COLUMNS = {
    "type": "VARCHAR",
    "timestamp": "TIMESTAMP",
    "sessionId": "VARCHAR",
    "uuid": "VARCHAR",
    "parentUuid": "VARCHAR",
    "requestId": "VARCHAR",
    "isSidechain": "BOOLEAN",
    "cwd": "VARCHAR",
    "gitBranch": "VARCHAR",
    "version": "VARCHAR",
    "message": "JSON",
    "data": "JSON",
    "toolUseResult": "JSON",
}


def main():
    projects, output = sys.argv[1:]
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    duckdb.execute(
        f"""
        COPY (
            SELECT *, coalesce(timestamp, TIMESTAMP '1970-01-01')::DATE AS date
            FROM read_json('{projects}/**/*.jsonl', format = 'newline_delimited', columns = {{{columns}}},
                           ignore_errors = true, maximum_object_size = 134217728)
        ) TO '{output}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date))
        """
    )


if __name__ == "__main__":
    main()
