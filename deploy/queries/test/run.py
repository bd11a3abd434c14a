# SPDX-License-Identifier: Apache-2.0
"""Runs the queries on ClickHouse (PyPI chdb-core) over what the stand-in for GraphJSON stored; see deploy/test-queries.sh.

usage: run.py ARRIVED [--write]

Each result must be exactly test/expected/NAME.tsv, with the timestamp as a DateTime and as whole seconds: which of the two
GraphJSON's column is, is not documented. Then each query is made wrong in the ways of test/mutations.tsv, and its result must
change each time: an expected result that a wrong query gives too would show nothing. --write writes the expected results.
"""

import csv
import json
import pathlib
import sys
import tempfile

from chdb import session

here = pathlib.Path(__file__).resolve().parent
TIMESTAMP_TYPES = ("DateTime", "Int64")


def rows(path):
    """The stored events: collection, timestamp, and the event's text as it came."""
    for line in path.read_text().splitlines():
        outer = json.loads(line)
        start = line.index(',"json":') + len(',"json":')
        yield outer["collection"], outer["timestamp"], line[start : line.rindex(',"request":')]


def load(engine, path, timestamp_type):
    collections = {}
    for collection, timestamp, event in rows(path):
        collections.setdefault(collection, []).append((timestamp, event))
    for collection, events in collections.items():
        engine.query(f"DROP TABLE IF EXISTS {collection}")
        engine.query(
            f"CREATE TABLE {collection} (timestamp {timestamp_type}, json String) ENGINE = MergeTree ORDER BY timestamp"
        )
        values = ",".join(
            "({},'{}')".format(timestamp, event.replace("\\", "\\\\").replace("'", "\\'")) for timestamp, event in events
        )
        engine.query(f"INSERT INTO {collection} VALUES {values}")
    return sum(map(len, collections.values()))


def result(engine, sql):
    return str(engine.query(sql, "TSVWithNames"))


def mutations():
    with open(here / "mutations.tsv", newline="") as file:
        for name, old, new, why in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield name, old.replace("\\n", "\n"), new.replace("\\n", "\n"), why


def main():
    arrived = pathlib.Path(sys.argv[1])
    queries = {path.stem: path.read_text() for path in sorted(here.parent.glob("*.sql"))}
    passed, failures, engine = 0, [], None
    with tempfile.TemporaryDirectory() as folder:
        engine = session.Session(folder)
        for timestamp_type in TIMESTAMP_TYPES:
            count = load(engine, arrived, timestamp_type)
            print(f"{count} rows, timestamp {timestamp_type}")
            for name, sql in queries.items():
                actual = result(engine, sql)
                file = here / "expected" / f"{name}.tsv"
                if "--write" in sys.argv and timestamp_type == TIMESTAMP_TYPES[0]:
                    file.write_text(actual)
                if actual == file.read_text():
                    passed += 1
                    continue
                failures.append(f"{name} with timestamp {timestamp_type} gives\n{actual}instead of\n{file.read_text()}")
        tried = set()
        for name, old, new, why in mutations():
            sql = queries[name]
            tried.add(name)
            if sql.count(old) == 0:
                failures.append(f"{name}: a mutation does not apply any more: {old}")
                continue
            try:
                actual = result(engine, sql.replace(old, new))
            except Exception as error:
                failures.append(f"{name}: a query that cannot run shows nothing: {new}\n{error}")
                continue
            if actual == (here / "expected" / f"{name}.tsv").read_text():
                failures.append(f"{name}: the result is the same although {why}")
            else:
                passed += 1
        failures += [f"{name}: nobody made it wrong" for name in queries.keys() - tried]
        engine.close()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"queries: {passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
