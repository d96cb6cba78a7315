"""Runs the tests of a program: its functions named test_..., each in a fresh folder."""
import pathlib
import sys
import tempfile


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
