"""Runs the tests of a program: its functions named test_..., each in a fresh folder."""
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile


ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.path.abspath(os.environ.get("AGGREGATE_POWER") or ROOT / "build" / "aggregate-power")
QUICK = os.environ.get("QUICK") == "1"


def size(full, quick):
    """How many runs a long test makes: QUICK=1 asks for as many as notice a change."""
    return quick if QUICK else full


def fresh_seed():
    """Another one in each run; $TEST_SEED repeats a run. Print it."""
    return int(os.environ.get("TEST_SEED") or random.randrange(2**32))


def some_of(cases, first=0):
    """Every case, or with QUICK=1 every fifth, but one at least; each number `first` begins elsewhere."""
    cases, step = list(cases), size(1, 5)
    return cases[first % min(step, max(1, len(cases)))::step]


def same(wanted, found, what=""):
    assert wanted == found, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


def near(wanted, found, tolerance=1e-9, what=""):
    """`tolerance` is a share of the larger one; of a zero, a billionth is allowed."""
    assert found is not None and math.isclose(wanted, found, rel_tol=tolerance, abs_tol=1e-9), \
        f"{what}\n    expected {wanted!r}\n    got      {found!r}"


def load_result(start, end, **more):
    """What a load generator writes, with a window in Unix seconds: five requests of 1600 and 200 tokens."""
    return {"benchmark_start_time_unix": start, "benchmark_end_time_unix": end, "duration": end - start,
            "completed": 5, "total_input_tokens": 8000, "total_output_tokens": 1000, **more}


class Folder:
    """A test's folder, and how the last run of the program in it ended."""
    zone = "UTC"  # of the computer

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def write(self, name, content):
        """Bytes, a text, or what is written as JSON; returns the name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, (bytes, str)) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def json(self, name):
        return json.loads((self.path / name).read_text())

    def call(self, *words, folder="", status=None, **options):
        """Runs it with `options` of subprocess.run(); it must end with `status`, if one is given."""
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.path / folder, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TZ": self.zone}, **options)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert status in (None, self.status), f"{words}: status {self.status}\n{self.out}{self.err}"
        return self


def run_tests(namespace, folder_of=pathlib.Path):
    """The exit status. `namespace` is the program's globals(); `folder_of` makes of a path what its
    tests take. Words of the command line are the names of those to run, instead of all."""
    names = sys.argv[1:]
    passed = failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_") or (names and name not in names):
            continue
        with tempfile.TemporaryDirectory() as path:
            try:
                test(folder_of(path))
                passed += 1
            except Exception as error:  # noqa: BLE001  (a test that breaks off has failed)
                failed += 1
                print(f"FAILED {name}: {type(error).__name__}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


DUCKDB = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  for (const query of JSON.parse(process.argv[2])) {
    const reader = await db.runAndReadAll(query);
    console.log(JSON.stringify(reader.getRowsJson()));
  }
})().catch((error) => { console.error(String(error)); process.exit(1); });
"""


def duckdb_rows(folder, queries):
    """The rows of each query, by DuckDB in this folder; None, and a line that says why, if npm cannot install it."""
    why = "there is no npm"
    if shutil.which("npm"):
        try:
            words = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "@duckdb/node-api"]
            installed = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)
            why = f"npm cannot install DuckDB: {installed.stderr[-300:]}" if installed.returncode else None
        except subprocess.TimeoutExpired as error:
            why = str(error)
    if why:
        print(f"SKIPPED what DuckDB reads: {why}")
        return None
    (folder / "run.js").write_text(DUCKDB)
    done = subprocess.run(["node", "run.js", json.dumps(queries)], cwd=folder, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
