"""Runs the tests of a program: its functions named test_..., each in a fresh folder."""
import os
import pathlib
import sys
import tempfile


QUICK = os.environ.get("QUICK") == "1"


def size(full, quick):
    """How many runs a long test makes: QUICK=1 asks for as many as notice a change."""
    return quick if QUICK else full


def some_of(cases, first=0):
    """Every case, or with QUICK=1 every fifth, but one at least; each number `first` begins elsewhere."""
    cases, step = list(cases), size(1, 5)
    return cases[first % min(step, max(1, len(cases)))::step]


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
