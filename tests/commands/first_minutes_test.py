#!/usr/bin/env python3
"""What a newcomer types in the first minutes: words to look for, our own files given back to us, folders that moved.

usage: tests/commands/first_minutes_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402
from running import run_tests  # noqa: E402

B200 = ROOT / "testdata" / "runs" / "b200"
PATCH = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
         "--expected-num-gpus", "8"]


class Folder(running.Folder):
    def call(self, *words, status=0, **options):
        return super().call(*words, status=status, **options).out


def sections(text):
    return re.findall(r"(?m)^help ([a-z-]+): ", text)


def test_several_words_find_the_sections_that_have_all_of_them(folder):
    found = folder.call("help", "joules", "carbon")
    assert "cost" in sections(found), found
    for section in re.split(r"(?m)^help ", found)[1:4]:
        assert "carbon" in section.lower() or "joule" in section.lower(), section
    folder.call("help", "joules", "xylophone", status=2)
    assert "no page has 'joules xylophone'" in folder.err, folder.err


def test_words_in_their_order_come_first(folder):
    text = folder.call("help", "power", "limit")
    assert "power limit" in " ".join(text.lower().split()[:60]), text[:300]


def test_whole_words_and_titles_come_before_parts_of_words(folder):
    for word, pages in (("ci", {"installing"}), ("pip", {"installing"}), ("npm", {"installing"}), ("duckdb", {"schemas", "export"}),
                        ("monitor", {"recording"}), ("slurm", {"cluster"}), ("energy", {"measure"}), ("idle", {"uncertainty", "recording"}),
                        ("price", {"cost"}), ("carbon", {"cost"})):
        found = folder.call("help", word)
        assert sections(found)[0] in pages, (word, sections(found))
        assert re.search(rf"(?i)\b{word}", found.split("\nhelp ")[0]), (word, found[:500])
    assert "facility" not in folder.call("help", "ci").split("\nhelp ")[0]


def test_commands_of_a_page_stay_commands(folder):
    """Each line of a block of commands that is too long ends with a backslash, or has a word that is too long."""
    for page in sorted((ROOT / "src" / "help").glob("*.md")):
        blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", page.read_text())
        shown = folder.call("help", page.stem)
        for block in blocks:
            if "<<" in block:
                continue
            for line in block.splitlines():
                if len(line) + 4 > 80 and not line.startswith("#"):
                    joined = re.sub(r" \\\n +", " ", shown)
                    assert "    " + line in joined, (page.stem, line)


def test_inspect_says_what_our_own_files_are(folder):
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json"):
        shutil.copy(B200 / name, folder.path)
    folder.call(*PATCH)
    measured = folder.call("measure", "run.json", "gpu_metrics.csv", "--json")
    (folder.path / "m.json").write_text(measured)
    (folder.path / "c.json").write_text(folder.call("compare", "m.json", "--json"))
    for name, words in (("agg_run.json", "an aggregate with power; 'aggregate-power compare agg_run.json' reads it"),
                        ("power_validation_run.json",
                         "an audit record; 'aggregate-power verify power_validation_run.json' checks it"),
                        ("m.json", "what 'aggregate-power measure' printed as JSON, of 1 run(s); 'aggregate-power compare "
                                   "m.json' reads it"),
                        ("c.json", "what 'aggregate-power compare' printed as JSON")):
        assert f"is         {words}\n" in folder.call("inspect", name), (name, folder.call("inspect", name))
        assert json.loads(folder.call("inspect", name, "--json"))["is"] == words
    for command in (["compare", "agg_run.json"], ["verify", "power_validation_run.json"], ["compare", "m.json"]):
        folder.call(*command)  # what was proposed works


def test_verify_names_the_folder_next_to_it_that_has_the_files(folder):
    store, rows = folder.path / "store", folder.path / "rows"
    for made in (store, rows, folder.path / "another"):
        made.mkdir()
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json"):
        shutil.copy(B200 / name, store)
    folder.call(*PATCH, folder="store")
    for name in ("agg_run.json", "power_validation_run.json"):
        shutil.move(store / name, rows / name)
    folder.call("verify", "rows", status=1)
    hint = re.search(r"all holds with (--artifacts \S+)", folder.err)
    assert hint and hint[1] == "--artifacts store", folder.err
    folder.call("verify", "rows", *hint[1].split())
    for i in range(25):  # folders without the files, before the one that has them
        (folder.path / f"a{i:02}").mkdir()
    (folder.path / "b_loop").symlink_to("b_loop")
    folder.call("verify", "rows", status=1)
    assert "all holds with --artifacts store" in folder.err, folder.err
    shutil.rmtree(store)
    folder.call("verify", "rows", status=1)
    assert "--artifacts" not in folder.err, folder.err


def test_a_backfill_counts_doubtful_runs(folder):
    """A gap of 6 s that --max-sample-gap accepts is a warning."""
    start = 1_800_000_000
    for name, gap in (("a", ()), ("b", range(20, 25))):
        run = folder.path / "store" / name
        run.mkdir(parents=True)
        (run / "agg_run.json").write_text('{"hw": "h100", "tp": 2, "num_gpus": 2}')
        (run / "run.json").write_text(json.dumps(
            {"benchmark_start_time_unix": start, "benchmark_end_time_unix": start + 60, "duration": 60, "completed": 1,
             "total_input_tokens": 10, "total_output_tokens": 10}))
        rows = [f"{start + t},{gpu},{500 + gpu + t % 7 if 0 <= t < 60 else 55 + gpu}" for t in range(-20, 81) if t not in gap
                for gpu in (0, 1)]
        (run / "gpu_metrics.csv").write_text("\n".join(["timestamp,index,power.draw [W]", *rows]) + "\n")
    summary = folder.call("backfill", "store", "--max-sample-gap", "10", "--report", "report.jsonl")
    lines = [json.loads(line) for line in (folder.path / "report.jsonl").read_text().splitlines()]
    doubtful = sum(1 for line in lines if line.get("details") and not line.get("reasons"))
    assert f"doubtful{doubtful:22}  valid, with warnings" in summary and doubtful == 1, (summary, lines)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
