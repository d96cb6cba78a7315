#!/usr/bin/env python3
"""Checks 'aggregate-power verify STORE|AGGREGATE' on every kind of run that writes an audit record.

Each run is made by the program from testdata, and holds. Then one digit of one of its files is
changed by hand, and verify must find it and say whose fault it is: an input is 'changed', an
aggregate or a record is 'tampered'.

usage: tests/publication/verify_runs_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, run_tests  # noqa: E402

DATA = ROOT / "testdata"
TRIES = 6  # digits of each file


def program(folder, *words, status=0):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("POWER_")}
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env=environment | {"TZ": "UTC"}, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Run:
    """A kind of run: how it is made, and its files."""

    def __init__(self, source, words, aggregate, record, inputs):
        self.source, self.words, self.inputs = source, words, inputs
        self.aggregate, self.record = aggregate, record

    def make(self, folder):
        shutil.copytree(DATA / self.source, folder / "run", symlinks=True)
        words = [word.read_text().strip() if isinstance(word, pathlib.Path) else word for word in self.words]
        program(folder, *words)
        return folder / "run"


SHA = DATA / "package" / "LOGS" / "power" / "power-producer-sha.txt"
AGENTS_SHA = DATA / "agentic_nodes" / "LOGS" / "power" / "power-producer-sha.txt"
ONE_NODE = ["--csv", "run/gpu_metrics.csv", "--bench-result", "run/run.json", "--agg-result", "run/agg_run.json"]
RUNS = {
    "one_node": Run("runs/b200", [*ONE_NODE, "--expected-num-gpus", "8", "--extended"],
                    "agg_run.json", "power_validation_run.json", ["gpu_metrics.csv", "run.json"]),
    "schema_1": Run("runs/b200", [*ONE_NODE, "--validation-result", "run/power_validation_run.json"],
                    "agg_run.json", "power_validation_run.json", ["gpu_metrics.csv", "run.json"]),
    "agentic": Run("agentic", ["agentic", "--result-dir", "run/results", "--agg-result",
                               "run/coding_tp2_conc2.json", "--expected-num-gpus", "2"],
                   "coding_tp2_conc2.json", "results/power_validation.json",
                   ["results/gpu_metrics.csv", "results/aiperf_artifacts/profile_export.jsonl",
                    "results/agentic_power_window.json"]),
    "agentic_nodes": Run("agentic_nodes",
                         ["agentic", "--result-dir", "run/LOGS/agentic/conc_4", "--agg-result",
                          "run/coding_conc4.json", "--power-dir", "run/LOGS/power", "--logs-root", "run/LOGS",
                          "--expected-producer-sha", AGENTS_SHA],
                         "coding_conc4.json", "LOGS/agentic/conc_4/power_validation.json",
                         ["LOGS/power/samples.csv", "LOGS/power/manifest.json",
                          "LOGS/agentic/conc_4/agentic_power_concurrency_4.json"]),
    "hosts": Run("nodes", ["multinode", "--nodes", "run", "--role", "prefill=node0", "--role",
                           "decode=node1", "--bench-result", "run/run.json", "--agg-result", "run/agg_run.json"],
                 "agg_run.json", "power_validation_run.json", ["node1/gpu_metrics.csv", "run.json"]),
    "package": Run("package",
                   ["multinode", "--power-dir", "run/LOGS/power", "--logs-root", "run/LOGS",
                    "--prefill-gpus", "2", "--decode-gpus", "2", "--expected-producer-sha", SHA,
                    "--bench-result", "run/run.json", "--agg-result", "run/agg_run.json"],
                   "agg_run.json", "power_validation_run.json",
                   ["LOGS/power/samples.csv", "LOGS/power/cpu/samples.csv", "run.json"]),
    "stored": Run("store/power_audit_llama_tp2_conc8", ["backfill", "run"], "agg_llama_tp2_conc8.json",
                  "power_validation_llama_tp2_conc8.json", ["gpu_metrics.csv", "llama_tp2_conc8.json"]),
}


class Made:
    """A run in a folder of its own."""

    def __init__(self, run):
        self.run = run

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.place = self.run.make(self.folder)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def verify(self, *words, status=0):
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        text = program(self.folder, "verify", *(words or ["run"]), status=status)
        assert before == {path: path.read_bytes() for path in self.folder.rglob("*")
                          if path.is_file()}, "a file was changed"
        return text

    def verdicts(self, *words, status=1):
        return json.loads(self.verify(*(words or ["run"]), "--json", status=status))["faults"]


def change_digit(path, numbers, wanted):
    """Changes one digit of a file, where `wanted(match)`; returns how to undo it."""
    text = path.read_bytes()
    places = [match.start() for match in re.finditer(rb"[0-9]", text) if wanted(text, match.start())]
    at = numbers.choice(places)
    digit = numbers.choice([d for d in b"0123456789" if d != text[at]])
    path.write_bytes(text[:at] + bytes([digit]) + text[at + 1:])
    return text, f"{path.name}: byte {at}"


def any_digit(_text, _at):
    return True


def in_power_keys(text, at):
    """The value of a member that the program set."""
    line = text[text.rfind(b"\n", 0, at) + 1:at]
    return re.search(rb'"[^"]*(power|joules|energy)[^"]*":', line) is not None


def in_checked_part(text, at):
    """Not what asks for the run or names files: an option or a version that is changed may give the same run."""
    line = text[text.rfind(b"\n", 0, at) + 1:text.find(b"\n", at)]
    options = text.find(b'"options": {')
    if options >= 0 and options < at < text.find(b"}", options):
        return False
    key_end = line.find(b'": ')
    if key_end >= 0 and at - text.rfind(b"\n", 0, at) - 1 < key_end:
        return False  # a key
    names = rb'"(tool_version|telemetry_source|benchmark_result|aggregate|telemetry|patched|identity)"'
    patched = text.find(b'"patched": {')
    if re.search(names, line) or (0 <= patched < at) or b"/" in line:
        return False
    return not re.search(rb'"(rivals|recorder)"', line)


def without_idle_bounds(record):
    for number in record["idle"].values():
        if isinstance(number, dict):
            number.pop("low", None)
            number.pop("high", None)


def test_idle_energies_without_their_bounds_do_not_hold(folder):
    """Of 8 GPUs at 85 W; whoever deletes the bounds, or writes the shape from before them, hides what is not known."""
    shutil.copytree(DATA / "runs" / "b200", folder / "run")
    program(folder, *ONE_NODE, "--expected-num-gpus", "8", "--idle", "85+-1")
    path = folder / "run" / "power_validation_run.json"
    whole = path.read_text()

    def found(*changes):
        path.write_text(whole)
        for change in changes:
            edit(path, change)
        return json.loads(subprocess.run([PROGRAM, "verify", "run", "--json"], cwd=folder, capture_output=True,
                                         text=True, timeout=60).stdout)

    answer = found(without_idle_bounds)
    assert {"tampered"} == {fault["verdict"] for fault in answer["faults"]}, answer
    assert ["'idle.net_energy_j.low'", "'idle.net_energy_j.high'"] == [fault["what"] for fault in answer["faults"][:2]]
    assert "its net energy has no bounds" in answer["warnings"][0], answer
    by = lambda version: lambda record: record["computed_from"].update(tool_version=version)  # noqa: E731
    for version in ("9", "0.1.1", "0.10.0", ""):  # later than the one with bounds, or none
        answer = found(without_idle_bounds, by(version))
        assert ["not reproducible by this version"] == [fault["verdict"] for fault in answer["faults"]], (version, answer)
    # A version from before them: what it states must be as it is now.
    assert [] == found(without_idle_bounds, by("0.0.9"))["faults"]
    for name, key in (("total", "watts"), ("total", "standard_uncertainty"), ("idle_energy_j", "standard_uncertainty"),
                      ("net_energy_j", "value"), ("net_energy_j", "standard_uncertainty")):
        def wrong(record, name=name, key=key):
            record["idle"][name][key] = 0.5
        [fault] = found(without_idle_bounds, by("0.0.9"), wrong)["faults"]
        assert fault["what"].endswith(f"the first is 'idle.{name}.{key}'"), fault


def test_what_is_not_json_is_named_with_what_to_name(folder):
    shutil.copytree(DATA / "runs" / "b200", folder / "run")
    for words in (["verify", "run/gpu_metrics.csv"], ["bundle", "run/gpu_metrics.csv", "--out", "x.tar.zst"]):
        done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stderr.endswith(": name an aggregate, an audit record or a folder of runs\n"), done


def test_a_folder_without_runs_does_not_hold(folder):
    """A gate on the wrong folder must not pass."""
    (folder / "empty").mkdir()
    text = program(folder, "verify", "empty", status=1)
    wanted = ("empty: missing: a run with an audit record; name the folder of its record or aggregate\n"
              "0 runs, 0 files: 1 fault\n")
    assert text == wanted, text


def test_every_kind_holds(_):
    for name, run in RUNS.items():
        with Made(run) as made:
            text = made.verify()
            assert text.startswith("1 run, ") and text.endswith(": all holds\n"), f"{name}: {text}"
            for place in (run.aggregate, run.record):
                assert made.verify(f"run/{place}").endswith(": all holds\n") or name == "agentic", name


def test_a_digit_of_an_input_is_found(_):
    numbers = random.Random(1)
    for name, run in RUNS.items():
        with Made(run) as made:
            for file in run.inputs:
                for _ in range(TRIES):
                    path = made.place / file
                    text, what = change_digit(path, numbers, any_digit)
                    faults = made.verdicts()
                    assert any(fault["verdict"] == "changed" and fault["where"].endswith(file)
                               for fault in faults), f"{name}: {what}: {faults}"
                    assert all(fault["verdict"] == "changed" for fault in faults), f"{name}: {what}: {faults}"
                    path.write_bytes(text)


def test_a_digit_of_an_aggregate_is_found(_):
    numbers = random.Random(2)
    for name, run in RUNS.items():
        with Made(run) as made:
            path = made.place / run.aggregate
            for _ in range(TRIES):
                text, what = change_digit(path, numbers, in_power_keys)
                faults = made.verdicts()
                assert {fault["verdict"] for fault in faults} == {"tampered"}, f"{name}: {what}: {faults}"
                assert faults[0]["where"].endswith(run.aggregate), f"{name}: {what}: {faults}"
                path.write_bytes(text)


def test_a_digit_of_a_record_is_found(_):
    numbers = random.Random(3)
    for name, run in RUNS.items():
        with Made(run) as made:
            path = made.place / run.record
            for _ in range(4 * TRIES):
                text, what = change_digit(path, numbers, in_checked_part)
                faults = made.verdicts()
                # A hash in the record that is not the file's says that the file is another.
                at = int(what.split()[-1])
                of_hash = re.search(rb'"(xxh3_128|bytes)"', text[text.rfind(b"\n", 0, at):at])
                word = "changed" if of_hash else "tampered"
                line = text[text.rfind(b"\n", 0, at):text.find(b"\n", at)].decode()
                assert any(fault["verdict"] in (word, "missing") for fault in faults), f"{name}: {line}: {faults}"
                path.write_bytes(text)


def test_a_file_that_is_gone_is_missing(_):
    for name, run in RUNS.items():
        for file in [run.inputs[0], run.inputs[-1]]:
            with Made(run) as made:
                (made.place / file).unlink()
                faults = made.verdicts()
                assert {fault["verdict"] for fault in faults} == {"missing"}, f"{name}: {file}: {faults}"


def test_an_aggregate_without_its_record_is_found(_):
    with Made(RUNS["one_node"]) as made:
        (made.place / "power_validation_run.json").unlink()
        for words in ("run", "run/agg_run.json"):
            faults = made.verdicts(words)
            assert [fault["verdict"] for fault in faults] == ["missing"], faults
            assert faults[0]["where"] == "run/agg_run.json", faults


def test_a_record_without_its_aggregate_is_found(_):
    with Made(RUNS["one_node"]) as made:
        (made.place / "agg_run.json").unlink()
        faults = made.verdicts()
        assert [(fault["verdict"], fault["what"]) for fault in faults] == [
            ("missing", "its aggregate, run/agg_run.json")], faults


def test_another_version_gives_other_digits(_):
    """Its files are as it read them, so nobody has changed them."""
    for name, run in RUNS.items():
        with Made(run) as made:
            path = made.place / run.record
            record = json.loads(path.read_text())
            record["computed_from"]["tool_version"] = "0.0.1"
            path.write_text(json.dumps(record, indent=2))
            made.verify()
            record["metrics"]["avg_power_w"] += 0.25
            path.write_text(json.dumps(record, indent=2))
            faults = made.verdicts()
            assert faults[0]["verdict"] == "not reproducible by this version", f"{name}: {faults}"
            assert "0.0.1" in faults[0]["what"], faults


def test_another_version_may_word_its_texts_otherwise(_):
    """Only numbers, and yes or no, decide whether a record can be reproduced."""
    with Made(RUNS["one_node"]) as made:
        shutil.copy(DATA / "runs" / "b200" / "agg_run.json", made.place)
        program(made.folder, *ONE_NODE, "--expected-num-gpus", "8", "--idle", "85")
        path = made.place / "power_validation_run.json"
        edit(path, lambda record: record["computed_from"].update(tool_version="0.0.1"))
        edit(path, lambda record: record.update(integration_method="by_trapezoids"))
        edit(path, lambda record: record["computed_from"].pop("averaging"))
        answer = json.loads(made.verify("run", "--json"))
        assert answer["holds"] and len(answer["warnings"]) == 1, answer
        assert "version 0.0.1; this one gives the same numbers, and words 2 texts otherwise" in answer["warnings"][0]
        for change in (lambda record: record["idle"]["total"].update(watts=680.5),
                       lambda record: record["idle"].update(available=False),
                       lambda record: record.update(something=1)):
            text = path.read_text()
            edit(path, change)
            faults = made.verdicts()
            assert [fault["verdict"] for fault in faults] == ["not reproducible by this version"], faults
            path.write_text(text)
        # Whoever wrote the record, its aggregate must say the same.
        edit(made.place / "agg_run.json", lambda aggregate: aggregate.update(avg_power_w=12.5))
        faults = made.verdicts()
        assert [(fault["verdict"], fault["found"]) for fault in faults] == [("tampered", "12.5")], faults


def test_other_members_of_an_aggregate(_):
    """A backfill knows them; a single run leaves them to other programs."""
    for name, run in RUNS.items():
        with Made(run) as made:
            path = made.place / run.aggregate
            text = path.read_text()
            for change in (lambda aggregate: aggregate.update(note="by hand"),
                           lambda aggregate: aggregate.update(hw="another")):
                edit(path, change)
                if name == "stored":
                    faults = made.verdicts()
                    assert [(fault["verdict"], fault["what"].split(",")[0]) for fault in faults] == [
                        ("changed", "members that do not tell of power")], f"{name}: {faults}"
                else:
                    made.verify()
                path.write_text(text)


def test_other_members_of_a_stored_package(folder):
    shutil.copytree(DATA / "package", folder / "store" / "run", symlinks=True)
    program(folder, "backfill", "store")
    assert program(folder, "verify", "store").endswith(": all holds\n")
    edit(folder / "store" / "run" / "agg_run.json", lambda aggregate: aggregate.update(note="by hand"))
    text = program(folder, "verify", "store", status=1)
    assert ": changed: members that do not tell of power" in text, text


def test_a_record_without_hashes_does_not_say_whose_fault_it_is(_):
    """Records of the first versions."""
    with Made(RUNS["one_node"]) as made:
        path = made.place / "power_validation_run.json"
        record = json.loads(path.read_text())
        for key in ("aggregate", "inputs"):
            del record["computed_from"][key]
        path.write_text(json.dumps(record, indent=2))
        made.verify()
        telemetry = made.place / "gpu_metrics.csv"
        lines = telemetry.read_text().splitlines()
        cells = lines[9].split(", ")
        power = next(i for i, cell in enumerate(lines[0].split(", ")) if "power" in cell)
        cells[power] = "999.00 W"
        telemetry.write_text("\n".join([*lines[:9], ", ".join(cells), *lines[10:]]) + "\n")
        faults = made.verdicts()
        assert {fault["verdict"] for fault in faults} == {"changed"}, faults


def test_a_run_that_was_moved_is_found(_):
    for name, run in RUNS.items():
        with Made(run) as made:
            (made.folder / "elsewhere").mkdir()
            made.place.rename(made.folder / "elsewhere" / "moved")
            text = made.verify("elsewhere/moved")
            assert text.endswith(": all holds\n"), f"{name}: {text}"


def test_options_that_change_the_run_are_known(_):
    with Made(RUNS["one_node"]) as made:
        shutil.copy(DATA / "runs" / "b200" / "agg_run.json", made.place)
        program(made.folder, *ONE_NODE, "--expected-num-gpus", "2", "--gpus", "0-1", "--max-sample-gap", "7.5",
                "--start", "1788852019.6", "--duration", "1.2", "--output-tokens", "77")
        record = json.loads((made.place / "power_validation_run.json").read_text())
        assert record["computed_from"]["options"] == {
            "max_sample_gap_s": "7.5", "start": "1788852019.6", "duration": "1.2", "output_tokens": "77"}
        made.verify()


def test_a_run_that_is_not_valid_holds(_):
    with Made(RUNS["one_node"]) as made:
        program(made.folder, *ONE_NODE, "--expected-num-gpus", "9")
        made.verify()
        aggregate = made.place / "agg_run.json"
        content = json.loads(aggregate.read_text())
        content["total_gpu_energy_j"] = 4165.455
        aggregate.write_text(json.dumps(content))
        faults = made.verdicts()
        assert [(fault["verdict"], fault["what"]) for fault in faults] == [
            ("tampered", "'total_gpu_energy_j'")], faults


def test_a_store_of_several_runs_is_verified_at_once(folder):
    shutil.copytree(DATA / "store", folder / "store")
    program(folder, "backfill", "store")
    program(folder, "backfill", "store", "--output", "out")
    assert program(folder, "verify", "store").startswith("3 runs, ")
    assert program(folder, "verify", "out", "--artifacts", "store").endswith(": all holds\n")


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=2))


def test_a_record_that_does_not_name_its_files_is_a_fault(_):
    with Made(RUNS["one_node"]) as made:
        edit(made.place / "power_validation_run.json", lambda record: record.pop("computed_from"))
        faults = made.verdicts()
        assert [fault["verdict"] for fault in faults] == ["not reproducible by this version"], faults
        edit(made.place / "agg_run.json", lambda aggregate: aggregate.update(avg_power_w=12.5))
        faults = made.verdicts()
        assert [(fault["verdict"], fault["found"]) for fault in faults[1:]] == [("tampered", "12.5")], faults


def test_a_claim_that_no_run_wrote_is_tampered(_):
    with Made(RUNS["one_node"]) as made:
        shutil.copy(DATA / "runs" / "b200" / "agg_run.json", made.place)
        program(made.folder, *ONE_NODE, "--expected-num-gpus", "8")
        aggregate = made.place / "agg_run.json"
        text = aggregate.read_text()
        for key, value in (("total_gpu_energy_j_low", 4000.0), ("p90_power_w", 350.5), ("power_verdicts", ["ok"])):
            edit(aggregate, lambda content, key=key, value=value: content.update({key: value}))
            faults = made.verdicts()
            assert [(fault["verdict"], fault["what"], fault["expected"]) for fault in faults] == [
                ("tampered", f"'{key}'", "nothing")], faults
            aggregate.write_text(text)
        # Another program's.
        edit(aggregate, lambda content: content.update(avg_temp_c=55.0, note="by hand"))
        made.verify()


def twice(path, key, first):
    """The first time that an object has the key, it also has it before, with another value."""
    text = path.read_text()
    at = text.index(f'"{key}":')
    path.write_text(f"{text[:at]}{first}, {text[at:]}")


def test_a_key_that_occurs_twice_is_tampered(_):
    """DuckDB and jq show one value, other programs the other; escapes spell the same key."""
    for name, run in RUNS.items():
        with Made(run) as made:
            aggregate, record = made.place / run.aggregate, made.place / run.record
            for path, key, first, where in (
                    (aggregate, "power_valid", '"power_valid": 1', "power_valid"),
                    (aggregate, "power_valid", r'"po\u0077er_valid": 0', "power_valid"),
                    (aggregate, "avg_power_w", '"avg_power_w": 1.0', "avg_power_w"),
                    (aggregate, "power_valid", '"own": {"a": [1, {"b": 1, "c": 2, "b": 3}]}', "own.a.b"),
                    (record, "power_valid", '"power_valid": false', "power_valid"),
                    (record, "avg_power_w", '"avg_power_w": 1.0', "metrics.avg_power_w"),
                    (record, "tool_version", '"tool_version": "9"', "computed_from.tool_version")):
                text = path.read_text()
                if f'"{key}":' not in text:  # a run without valid power, or of the original's first schema
                    continue
                twice(path, key, first)
                faults = made.verdicts()
                end = f"{where}' occurs twice, and programs differ in which of the two counts"
                assert any(fault["verdict"] == "tampered" and fault["what"].endswith(end) for fault in faults), f"{name}: {key}: {faults}"
                path.write_text(text)
            # The last one forged.
            text = aggregate.read_text()
            aggregate.write_text(text.rstrip()[:-1].rstrip() + ', "avg_power_w": 1.0}')
            assert "'avg_power_w'" in made.verify(status=1)
            aggregate.write_text(text)
            made.verify()


def test_a_backfill_leaves_one_of_each_key_of_ours(folder):
    with Made(RUNS["stored"]) as made:
        aggregate = made.place / RUNS["stored"].aggregate
        text = aggregate.read_text()
        for key in ("avg_power_w", "power_valid", "total_gpu_energy_j"):
            twice(aggregate, key, f'"{key}": 1.0')
        program(made.folder, "backfill", "run")
        assert json.loads(aggregate.read_text()) == json.loads(text)
        assert aggregate.read_text().count('"avg_power_w"') == 1, aggregate.read_text()
        made.verify()


def recording(watts_of):
    """Of one GPU, each second for a minute; the window is from 10 s to 50 s."""
    rows = ["timestamp, index, power.draw [W]"]
    rows += [f"2026/04/25 12:{at // 60:02}:{at % 60:02}.000, 0, {watts_of(at):.3f} W" for at in range(61)]
    return "\n".join(rows) + "\n"


def make_minute(folder, *words, watts_of=lambda at: 100):
    start = 1777118400  # 2026-04-25T12:00:00Z
    (folder / "gpu.csv").write_text(recording(watts_of))
    (folder / "run.json").write_text(json.dumps({
        "benchmark_start_time_unix": start + 10, "benchmark_end_time_unix": start + 50, "duration": 40,
        "completed": 2, "total_input_tokens": 200, "total_output_tokens": 100}))
    (folder / "agg_run.json").write_text("{}")
    requests = [{"metadata": {"x_request_id": str(i), "request_start_ns": (start + at) * 10**9,
                              "request_end_ns": (start + at + 10) * 10**9, "benchmark_phase": "profiling"},
                 "metrics": {"input_sequence_length": {"value": 100}, "output_sequence_length": {"value": 50},
                             "time_to_first_token": {"value": 1000}}, "error": None}
                for i, at in enumerate((15, 25))]
    (folder / "profile_export.jsonl").write_text("".join(json.dumps(line) + "\n" for line in requests))
    program(folder, "--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
            "--expected-num-gpus", 1, "--timezone", "UTC", *words)


def test_the_path_of_the_requests_is_not_compared(folder):
    (folder / "made").mkdir()
    make_minute(folder / "made", "--requests", "profile_export.jsonl", "--per-request", "out.jsonl")
    for where, what in (("made", "."), ("made", "agg_run.json"), ("", "made")):
        text = program(folder / where, "verify", what)
        assert text.endswith(": all holds\n"), text
    (folder / "made").rename(folder / "moved")
    assert program(folder, "verify", "moved").endswith(": all holds\n")


def test_the_file_of_requests_is_computed_again(folder):
    """Its energies are 1000 J each: 100 W for 10 s."""
    make_minute(folder, "--requests", "profile_export.jsonl", "--per-request", "out.jsonl")
    path = folder / "out.jsonl"
    text = path.read_text()
    first, second = text.splitlines()
    assert '"energy_j":1000.0' in second, second
    before = program(folder, "verify", ".")
    assert before == "1 run, 6 files: all holds\n", before  # record, aggregate, recording, result, requests, energies
    for content, what, expected, found in (
            (text.replace('"energy_j":1000.0', '"energy_j":1001.0', 1), "line 1: 'energy_j'", "1000.0", "1001.0"),
            (f"{first}\n{second.replace('true', 'false')}\n", "line 2: 'ok'", "true", "false"),
            (f"{first}\n", "line 2", second[:100], "nothing"), (text + "{}\n", "line 3", "nothing", "{}"),
            (f"{second}\n{first}\n", "line 1: 'id'", "'0'", "'1'"), ("", "line 1", first[:100], "nothing")):
        path.write_text(content)
        faults = json.loads(program(folder, "verify", ".", "--json", status=1))["faults"]
        assert [(fault["verdict"], fault["where"], fault["what"]) for fault in faults] == [
            ("tampered", "out.jsonl", what)], faults
        assert faults[0]["expected"].startswith(expected[:90]) and faults[0]["found"] == found, faults
    edit(folder / "power_validation_run.json", lambda record: record["computed_from"].update(tool_version="0.0.1"))
    faults = json.loads(program(folder, "verify", ".", "--json", status=1))["faults"]
    assert [fault["verdict"] for fault in faults] == ["not reproducible by this version"], faults
    path.unlink()
    faults = json.loads(program(folder, "verify", ".", "--json", status=1))["faults"]
    assert [(fault["verdict"], fault["where"]) for fault in faults] == [("missing", "out.jsonl")], faults


def test_the_file_of_requests_of_a_run_that_is_not_valid(folder):
    make_minute(folder, "--requests", "profile_export.jsonl", "--per-request", "out.jsonl", "--max-sample-gap", "0.5")
    assert (folder / "out.jsonl").read_text() == ""
    assert program(folder, "verify", ".").endswith(": all holds\n")


def test_an_aggregate_without_content_does_not_hold(folder):
    make_minute(folder)
    for text in ("", "\n", "{}"):
        (folder / "agg_run.json").write_text(text)
        faults = json.loads(program(folder, "verify", ".", "--json", status=1))["faults"]
        assert faults and {fault["where"] for fault in faults} == {"agg_run.json"}, (text, faults)


def test_what_measure_writes_is_measured_again(folder):
    """Of one recording and of two; with a window that the caller gives, and requests."""
    make_minute(folder)
    (folder / "b.csv").write_text(recording(lambda at: 300).replace(", 0, ", ", 1, "))
    given = ("--start", 1777118400 + 10, "--end", "+40s", "--telemetry", "gpu.csv")
    asked = ("--requests", "profile_export.jsonl", "--per-request", "out.jsonl", "--uncertainty", "--gpu", "A100",
             "--idle", "30")
    for words in (("run.json", "gpu.csv"), ("run.json", "gpu.csv", "b.csv"), given,
                  ("run.json", "gpu.csv", "--output-tokens", "50"), ("run.json", "gpu.csv", *asked),
                  (*given, *asked)):
        program(folder, "measure", *words, "--timezone", "UTC", "--out", "new.json")
        text = program(folder, "verify", "new.json")
        assert text.startswith("1 run, ") and text.endswith(": all holds\n"), (words, text)
        aggregate = (folder / "new.json").read_text()
        edit(folder / "new.json", lambda content: content.update(total_gpu_energy_j=4000.5))
        faults = json.loads(program(folder, "verify", "new.json", "--json", status=1))["faults"]
        assert [(fault["verdict"], fault["what"]) for fault in faults] == [
            ("tampered", "'total_gpu_energy_j'")], (words, faults)
        (folder / "new.json").write_text(aggregate)
    program(folder, "measure", "run.json", "gpu.csv", "--timezone", "UTC", "--expected-num-gpus", 2, "--out", "new.json",
            status=1)
    assert program(folder, "verify", "new.json").endswith(": all holds\n")


def test_a_rounding_tie_is_not_tampering(folder):
    """The record's 6 digits may lie on a tie of the aggregate's 3: 100.0005 is 100.0 and 100.001."""
    make_minute(folder)
    with (folder / "gpu.csv").open("a") as file:
        file.write("\n")
    for key, recorded, published, verdicts in (
            ("avg_power_w", 100.0005, 100.001, ["changed"]), ("avg_power_w", 100.0005, 100.0, ["changed"]),
            ("avg_power_w", 100.0005, 100.002, ["changed", "tampered"]),
            ("joules_per_output_token", 40.0, 40.000001, ["changed", "tampered"])):
        record, aggregate = folder / "power_validation_run.json", folder / "agg_run.json"
        texts = record.read_text(), aggregate.read_text()
        edit(record, lambda content, key=key, value=recorded: content["metrics"].update({key: value}))
        edit(aggregate, lambda content, key=key, value=published: content.update({key: value}))
        faults = json.loads(program(folder, "verify", ".", "--json", status=1))["faults"]
        assert [fault["verdict"] for fault in faults] == verdicts, (key, published, faults)
        record.write_text(texts[0])
        aggregate.write_text(texts[1])


def test_a_sample_is_the_same_each_time(folder):
    for i in range(20):
        run = folder / "store" / f"power_audit_r{i}"
        run.mkdir(parents=True)
        make_minute(run)
    drawn = set()
    for seed in (0, 1, 2):
        texts = {program(folder, "verify", "store", "--sample", 5, "--seed", seed, "--json") for _ in range(2)}
        assert len(texts) == 1
        found = json.loads(texts.pop())
        assert (found["points"], found["holds"]) == (5, True), found
        assert found["warnings"] == [f"5 of 20 runs were drawn with seed {seed}, and only these are verified"]
    for i in range(20):
        edit(folder / "store" / f"power_audit_r{i}" / "agg_run.json", lambda content: content.update(avg_power_w=99.0))
    for seed in (0, 1, 2):
        found = json.loads(program(folder, "verify", "store", "--sample", 5, "--seed", seed, "--json", status=1))
        drawn.add(frozenset(fault["where"] for fault in found["faults"]))
        assert {fault["verdict"] for fault in found["faults"]} == {"tampered"}
    assert len(drawn) == 3 and all(len(one) == 5 for one in drawn), drawn
    assert json.loads(program(folder, "verify", "store", "--sample", 99, "--json", status=1))["points"] == 20


def test_files_named_like_aggregates_use_up_no_draw(folder):
    (folder / "store").mkdir()
    make_minute(folder / "store")
    for i in range(99):
        (folder / "store" / f"agg_other{i}.json").write_text('{"tput_per_gpu": 1.0}')
    for most in (1, 2):
        for seed in range(4):
            found = json.loads(program(folder, "verify", "store", "--sample", most, "--seed", seed, "--json"))
            assert (found["points"], found["holds"]) == (1, True), found
    assert found["warnings"] == [], found


def test_an_aggregate_without_its_record_is_in_a_sample(folder):
    make_minute(folder)
    (folder / "power_validation_run.json").unlink()
    faults = json.loads(program(folder, "verify", ".", "--sample", 5, "--json", status=1))["faults"]
    assert [(fault["where"], fault["verdict"]) for fault in faults] == [("agg_run.json", "missing")], faults


def test_a_record_with_another_name_is_found(folder):
    make_minute(folder, "--validation-result", "other.json")
    for what in (".", "agg_run.json"):
        assert program(folder, "verify", what).startswith("1 run, "), what
    edit(folder / "agg_run.json", lambda content: content.update(avg_power_w=99.0))
    for what in (".", "agg_run.json"):
        faults = json.loads(program(folder, "verify", what, "--json", status=1))["faults"]
        assert [(fault["verdict"], fault["what"]) for fault in faults] == [("tampered", "'avg_power_w'")], faults


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
