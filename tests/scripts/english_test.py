#!/usr/bin/env python3
"""Checks scripts/english.py in fresh repositories: what it finds, what it leaves alone, and its status.

usage: tests/scripts/english_test.py [TEST...]
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import run_tests  # noqa: E402  (in the folder above)

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "english.py"
# The user's settings and the repository that the test is run in must not matter.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
ENVIRONMENT.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
FENCE = "```"


def same(expected, found):
    assert expected == found, f"expected {expected!r}, found {found!r}"


def git(folder, *words):
    settings = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(["git", *settings, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder, path, *lines):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


def commit(folder, subject="tests: add files"):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


def repository(folder):
    """A repository whose only commit has the script and a source with wording from before it."""
    git(folder, "init", "-q")
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts" / "english.py")
    write(folder, "src/old.cpp", "// It is worked out anew.", "int old_value;", "// Kept.")
    return commit(folder)


def check(folder, *words, note=""):
    """The script's status and output, the text of the lines left out."""
    done = subprocess.run([sys.executable, folder / "scripts" / "english.py", *words], cwd="/", env=ENVIRONMENT,
                          capture_output=True, text=True)
    assert done.returncode == 2 or done.stderr.strip() == note, done.stderr
    return done.returncode, [": ".join(line.split(": ")[:3]) for line in done.stdout.splitlines()]


def findings(folder, path, *lines):
    """What is found in a new, untracked file, as "line phrase -> replacement"."""
    write(folder, path, *lines)
    status, found = check(folder)
    (folder / path).unlink()
    same(1 if found else 0, status)
    short = []
    for line in found:
        place, phrase, advice = line.split(": ")
        assert place.startswith(f"{path}:"), line
        short.append(f"{place[len(path) + 1:]} {phrase[1:-1]} -> {advice[len('write') + 2:-1]}")
    return short


def test_nothing_changed(folder):
    repository(folder)
    same((0, []), check(folder))


def test_every_rule(folder):
    repository(folder)
    everywhere = (
        ("mend", "fix"), ("mended", "fix"), ("mends", "fix"), ("anew", "again"), ("Likewise", "also"),
        ("worked out", "computed"), ("comes to", "is"), ("just one", "exactly one"), ("is told", "is reported"),
        ("are told", "are reported"), ("so many watts", "a given power"), ("void a", "invalidate"),
        ("voids the", "invalidate"), ("voided it", "invalidate"), ("void this", "invalidate"),
        ("void that", "invalidate"), ("void whole", "invalidate"))
    not_in_messages = (
        ("that of", "the ... of"), ("those of", "the ... of"), ("is none", "is not one"), ("of which", "whose ..."),
        ("says of", "says about"), ("said of", "said about"), ("beside it", "next to it"), ("rights", "permissions"))
    for path, form, rules in (
            ("src/a.cpp", "// This {} run.", everywhere + not_in_messages),
            ("src/a.h", "int a;  // This {} run.", everywhere + not_in_messages),
            ("src/help/a.md", "This {} run.", everywhere + not_in_messages),
            ("README.md", "This {} run.", everywhere + not_in_messages),
            ("src/a.cpp", 'fail("this {} run");', everywhere)):
        same([f"{number} {phrase} -> {advice}" for number, (phrase, advice) in enumerate(rules, 1)],
             findings(folder, path, *[form.format(phrase) for phrase, advice in rules]))
    same([], findings(folder, "src/a.cpp", *[f'fail("this {phrase} run");' for phrase, advice in not_in_messages]))
    same(["2 Nullopt: -> Returns nullopt if ..."],
         findings(folder, "src/a.h", "// Returns nullopt: see below.", "// Nullopt: it does not say."))


def test_words_that_only_contain_a_phrase(folder):
    repository(folder)
    same([], findings(folder, "src/a.cpp", "// Amendments, recommended; avoids the copy; copyrights; that office.",
                      "// The zone, if there is none.", "static_cast<void>(anew);"))


def test_only_prose_is_checked(folder):
    repository(folder)
    same(["4 anew -> again", "5 anew -> again", "6 anew -> again"], findings(
        folder, "src/a.cpp", "int anew = 1'000; char quote = '\"'; anew();", 'json["comes_to"] = "worked_out";',
        "#include <likewise>", "anew('\"');  // read anew", r'text("a \" anew");', 'at("https://a"); /* anew */'))
    same(["2 anew -> again", "4 just one -> exactly one"], findings(
        folder, "tests/a.py", "#!/usr/bin/env anew", "# Read anew.", "text = '# anew'; anew = 1",
        'x = "a"  # just one'))
    same(["1 anew -> again"], findings(folder, "scripts/a.sh", "# anew", 'anew "${x#anew}" $#', "echo anew"))
    same(["1 anew -> again"], findings(folder, ".ci/night", "# anew", "anew"))
    same(["1 anew -> again"], findings(folder, "CMakeLists.txt", "# anew", "add_library(anew)"))
    same([], findings(folder, "tests/cases/a/why.txt", "# anew"))
    same([], findings(folder, "testdata/a.md", "anew"))


def test_markdown_without_its_code(folder):
    repository(folder)
    same(["1 anew -> again", "6 anew -> again"], findings(
        folder, "src/help/a.md", "Read anew.", f"{FENCE}console", "$ anew", FENCE, "Not `anew` and `just one`.",
        "It is anew."))


def test_the_whole_message(folder):
    repository(folder)
    write(folder, "src/a.cpp", "int a;", "  // Read anew, " + "and again " * 12)
    done = subprocess.run([sys.executable, folder / "scripts" / "english.py"], cwd="/", env=ENVIRONMENT,
                          capture_output=True, text=True)
    line = ("// Read anew, " + "and again " * 12)[:100]
    same(f'src/a.cpp:2: "anew": write "again": {line}\n', done.stdout)


def test_lines_added_to_a_file(folder):
    repository(folder)
    write(folder, "src/old.cpp", "// It is worked out anew.", "int old_value;", "// Likewise.", "// Kept.")
    expected = (1, ['src/old.cpp:3: "Likewise": write "also"'])
    same(expected, check(folder))
    git(folder, "add", "-A")
    same(expected, check(folder))
    commit(folder)
    same(expected, check(folder))


def test_moved_lines(folder):
    repository(folder)
    write(folder, "src/old.cpp", "int old_value;", "// Kept.")
    write(folder, "src/new.cpp", "  // It is worked out anew.")
    same((0, []), check(folder))
    git(folder, "checkout", "-q", "src/old.cpp")
    same((1, ['src/new.cpp:1: "anew": write "again"', 'src/new.cpp:1: "worked out": write "computed"']),
         check(folder))


def test_a_renamed_file(folder):
    repository(folder)
    git(folder, "mv", "src/old.cpp", "src/renamed.cpp")
    same((0, []), check(folder))


def test_files_that_state_the_rules(folder):
    repository(folder)
    write(folder, "scripts/commit-msg", "# anew")
    (folder / "scripts" / "english.py").write_text(SCRIPT.read_text() + "# anew\n")
    same((0, []), check(folder))


def test_another_base(folder):
    first = repository(folder)
    write(folder, "src/a.cpp", "// Read anew.")
    second = commit(folder)
    write(folder, "src/b.cpp", "// Likewise.")
    later = 'src/b.cpp:1: "Likewise": write "also"'
    same((1, [later]), check(folder, second))
    same((1, ['src/a.cpp:1: "anew": write "again"', later]), check(folder, first))
    same((2, []), check(folder, "nonsense"))


def test_before_the_script_is_committed(folder):
    """The base is then HEAD; without a commit or a repository, there is nothing to check."""
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts" / "english.py")
    write(folder, "src/a.cpp", "// Read anew.")
    same((0, []), check(folder))
    git(folder, "init", "-q")
    same((0, []), check(folder))
    git(folder, "add", "src")
    git(folder, "commit", "-q", "-m", "tests: add a source")
    same((0, []), check(folder))
    write(folder, "src/a.cpp", "// Read anew.", "// Just one.")
    same((1, ['src/a.cpp:2: "Just one": write "exactly one"']), check(folder))


def test_a_shallow_clone(folder):
    repository(folder)
    write(folder, "src/a.cpp", "// Read anew.")
    commit(folder)
    git(folder, "clone", "-q", "--depth", "1", f"file://{folder}", "shallow")
    note = "english.py: this clone is shallow: only what is not committed is checked"
    same((0, []), check(folder / "shallow", note=note))
    write(folder / "shallow", "src/a.cpp", "// Read anew.", "// Likewise.")
    same((1, ['src/a.cpp:2: "Likewise": write "also"']), check(folder / "shallow", note=note))


def test_usage(folder):
    repository(folder)
    same((2, []), check(folder, "HEAD", "HEAD"))
    same((2, []), check(folder, "--nonsense"))
    for word in ("-h", "--help"):
        done = subprocess.run([sys.executable, SCRIPT, word], capture_output=True, text=True)
        same(0, done.returncode)
        assert "usage: scripts/english.py [BASE]" in done.stdout, done.stdout


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
