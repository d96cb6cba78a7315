#!/usr/bin/env python3
"""Checks 'aggregate-power retract' and 'aggregate-power backfill --undo'.

What an aggregate must be afterwards is made here from its text before the numbers were written: that
text itself (undo), or that text with the two members of a run that is not valid (retract).

usage: tests/store/retract_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "publication")]
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402  (beside the folders that share it)
from verify_runs_test import RUNS  # noqa: E402  (every kind of run that writes a record)

DATA = ROOT / "testdata"
LLAMA = "power_audit_llama_tp2_conc8/agg_llama_tp2_conc8.json"  # recorded by nvidia-smi
GAP = "power_audit_llama_tp2_conc16/agg_llama_tp2_conc16.json"  # not valid
QWEN = "bmk_qwen_tp2_conc4/agg_qwen_tp2_conc4.json"  # recorded by amd-smi


def program(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"}, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def record_of(aggregate):
    return aggregate.with_name(aggregate.name.replace("agg_", "power_validation_"))


def counts(text):
    """Of a summary: {"runs": 3, "retracted": 1}."""
    lines = [line.split() for line in text.splitlines() if len(line.split()) == 2]
    return {name: int(count) for name, count in lines if count.isdigit()}


def retract(folder, *words, status=0):
    done = program(folder, "retract", *words, "--json", status=status)
    result = json.loads(done.stdout)
    same("aggregate-power/retract-1", result["schema"])
    return {pathlib.Path(run["run"]).name: run["outcome"] for run in result["runs"]}, done.stderr


def make_store(folder, *words):
    shutil.copytree(DATA / "store", folder / "store")
    program(folder, "backfill", "store", "--report", "report.jsonl", *words)
    return folder / "store"


# ---- retract


def test_only_what_the_records_prove_is_withdrawn(folder):
    store = make_store(folder)
    before = tree(store)
    outcomes, _ = retract(folder, "store", "--where", "collector=amd-smi")
    same({"agg_qwen_tp2_conc4.json": "retracted", "agg_llama_tp2_conc8.json": "not_matching",
          "agg_llama_tp2_conc16.json": "not_valid"}, outcomes)
    after = tree(store)
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    same([QWEN, str(record_of(pathlib.Path(QWEN)))], changed)
    # What a run that is not valid gets, and nothing else.
    text = (DATA / "store" / QWEN).read_text()
    same(text.replace('"tp": 2', '"tp": 2,\n  "power_metric_schema_version": 2,\n  "power_valid": 0'),
         (store / QWEN).read_text())
    was = json.loads(before[changed[1]])
    now = json.loads(after[changed[1]])
    same({"where": ["collector=amd-smi"], "tool_version": was["computed_from"]["tool_version"], "reasons": [],
          "metrics": was["metrics"]}, now.pop("retracted"))
    same([False, ["retracted"], {}], [now[key] for key in ("power_valid", "reasons", "metrics")])
    same(len((store / QWEN).read_bytes()), now["computed_from"].pop("patched")["bytes"])
    was["computed_from"].pop("patched")
    for content in (was, now):
        for key in ("power_valid", "reasons", "metrics"):
            content.pop(key)
    same(was, now)  # the rest of the record stays


def test_conditions_that_no_record_meets_are_named(folder):
    store = make_store(folder)
    before = tree(store)
    for words, why in (
            (["--where", "collector=amd-smy"], "no record states collector=amd-smy; they state NVML, amd-smi"),
            (["--where", "verdict=*"], "no record states a value of verdict"),
            (["--where", "collector=amd-smi", "--where", "schema=nvidia-smi"],
             "no record states all of --where together"),
            (["--where", "collector=amd-smy", "--where", "verdict=*"],
             "no record states collector=amd-smy; they state NVML, amd-smi; no record states a value of verdict")):
        _, told = retract(folder, "store", *words)
        same(f"aggregate-power: nothing was retracted: {why}\n", told)
    same(before, tree(store))
    same("", retract(folder, "store", "--where", "collector=amd-smi", "--dry-run")[1])


def test_it_is_idempotent_and_a_dry_run_writes_nothing(folder):
    store = make_store(folder)
    before = tree(store)
    text = program(folder, "retract", "store", "--where", "collector=amd-smi", "--dry-run").stdout
    same(before, tree(store))
    assert f"store/{QWEN}: total_gpu_energy_j: 38400.0 -> absent\n" in text, text
    assert "runs (dry run)               3\n  retracted                  1\n" in text, text
    program(folder, "retract", "store", "--where", "collector=amd-smi")
    after = tree(store)
    same("already_retracted", retract(folder, "store", "--where", "schema=amd-smi")[0]["agg_qwen_tp2_conc4.json"])
    same(after, tree(store))


def test_all_conditions_must_hold(folder):
    make_store(folder)
    for words in (["collector=amd-smi", "version=9.9"], ["schema=nvidia-smi", "collector=amd-smi"], ["version=0.2*"],
                  ["sensor=power"], ["verdict=stuck_sensor"], ["window_source=*"]):
        outcomes, _ = retract(folder, "store", *(part for word in words for part in ("--where", word)))
        assert "retracted" not in outcomes.values(), (words, outcomes)
    outcomes, _ = retract(folder, "store", "--where", "collector=*smi", "--where", "version=0.1.*", "--where",
                          "contract=october", "--where", "timezone_source=stamps")
    same(["agg_qwen_tp2_conc4.json"], [name for name, outcome in outcomes.items() if outcome == "retracted"])


def test_a_backfill_leaves_retracted_runs_alone(folder):
    store = make_store(folder)
    published = tree(store)
    program(folder, "retract", "store", "--where", "collector=amd-smi")
    retracted = tree(store)
    for words in ([], ["--force"], ["--verify"], ["--max-sample-gap", "5"], ["--uncertainty"]):
        text = program(folder, "backfill", "store", "--only", "qwen_tp2_conc4", *words).stdout
        assert "unchanged                  1  1 of them not valid\n" in text, text
        assert "\n  retracted                          1  nothing, unless the cause" in text, text
        same({name: retracted[name] for name in retracted if "qwen_tp2_conc4" in name},
             {name: content for name, content in tree(store).items() if "qwen_tp2_conc4" in name})
    program(folder, "backfill", "store", "--output", "out", "--only", "qwen_tp2_conc4")
    assert not (folder / "out").exists() or tree(folder / "out") == {}, "published elsewhere"
    # A recording that changed does not bring the numbers back either.
    raw = store / "raw" / "qwen_tp2_conc4.json"
    raw.write_text(raw.read_text() + "\n")
    program(folder, "backfill", "store", "--only", "qwen_tp2_conc4")
    same(0, json.loads((store / QWEN).read_text())["power_valid"])
    shutil.copy(DATA / "store" / "raw" / raw.name, raw)
    program(folder, "backfill", "store", "--republish", "--force")
    same(published, tree(store))


def test_every_kind_of_run_can_be_retracted(folder):
    for kind, run in RUNS.items():
        place = folder / kind
        place.mkdir()
        original = (DATA / run.source / run.aggregate).read_text()
        run.make(place)
        outcomes, _ = retract(place, "run", "--where", "version=*")
        same(["retracted"], list(outcomes.values()))
        aggregate = json.loads((place / "run" / run.aggregate).read_text())
        verdict = {} if kind == "schema_1" else {"power_metric_schema_version": 2, "power_valid": 0}
        if kind == "package":
            verdict["cpu_power_valid"] = 0
        same(json.loads(original) | verdict, aggregate)
        record = json.loads((place / "run" / run.record).read_text())
        same([False, ["retracted"]], [record["power_valid"], record["reasons"]])
        assert record["retracted"]["metrics"]["avg_power_w"] > 0
        if kind == "package":
            same([False, ["retracted"], {}],
                 [record["cpu"][key] for key in ("cpu_power_valid", "reason_codes", "metrics")])
            assert record["retracted"]["cpu"]["metrics"]["total_cpu_energy_j"] > 0
        done = program(place, "verify", "run")
        assert "all holds" in done.stdout and "was retracted" in done.stderr, (kind, done)
        lied = aggregate | {"avg_power_w": 1.0}
        (place / "run" / run.aggregate).write_text(json.dumps(lied))
        assert "tampered: 'avg_power_w'" in program(place, "verify", "run", status=1).stdout


def test_one_host_of_several_is_enough(folder):
    RUNS["hosts"].make(folder)
    record = folder / "run" / RUNS["hosts"].record
    content = json.loads(record.read_text())
    hosts = content["computed_from"]["hosts"]
    first, second = hosts
    hosts[first] |= {"collector": "A", "schema": "x"}
    hosts[second] |= {"collector": "B", "schema": "y"}
    record.write_text(json.dumps(content, indent=2))
    for words in (["collector=C"], ["collector=A", "schema=y"]):  # of no single host
        outcomes, _ = retract(folder, "run", *(part for word in words for part in ("--where", word)))
        same(["not_matching"], list(outcomes.values()))
    outcomes, _ = retract(folder, "run", "--where", "collector=B", "--where", "schema=y")
    same(["retracted"], list(outcomes.values()))


def test_exports_call_a_retracted_run_by_its_reason(folder):
    make_store(folder)
    program(folder, "retract", "store", "--where", "collector=amd-smi")
    rows = csv.DictReader(io.StringIO(program(folder, "export", "store", "--format", "csv").stdout))
    row = {row["run"]: row for row in rows}["qwen_tp2_conc4"]
    same(["0", "retracted", ""], [row[key] for key in ("valid", "reasons", "total_gpu_energy_j")])


def test_what_others_changed_is_left_alone(folder):
    store = make_store(folder)
    aggregate = store / QWEN
    text = aggregate.read_text()
    aggregate.write_text(text.replace("38400.0", "38401.0"))
    outcomes, said = retract(folder, "store", "--where", "collector=amd-smi", status=1)
    same("left_alone", outcomes["agg_qwen_tp2_conc4.json"])
    assert f"store/{QWEN}: not retracted: 'total_gpu_energy_j' is 38401 in the aggregate and 38400.0 in its audit" in said
    same(text.replace("38400.0", "38401.0"), aggregate.read_text())
    # Members that are not ours may change.
    aggregate.write_text(text.replace('"tp": 2', '"tp": 2, "note": "mine"'))
    same("retracted", retract(folder, "store", "--where", "collector=amd-smi")[0]["agg_qwen_tp2_conc4.json"])
    same({"hw": "synthetic", "framework": "synthetic", "tp": 2, "note": "mine", "power_metric_schema_version": 2,
          "power_valid": 0}, json.loads(aggregate.read_text()))


def test_aggregates_without_a_record_are_never_touched(folder):
    store = make_store(folder)
    record_of(store / QWEN).unlink()
    before = tree(store)
    outcomes, _ = retract(folder, "store", "--where", "version=*")
    assert "agg_qwen_tp2_conc4.json" not in outcomes, outcomes
    same(before[QWEN], tree(store)[QWEN])


def test_archives_and_links_are_refused(folder):
    store = make_store(folder)
    subprocess.run(["tar", "-cf", "store.tar", "store"], cwd=folder, check=True)
    before = (folder / "store.tar").read_bytes()
    outcomes, said = retract(folder, "store.tar", "--where", "version=*", status=1)
    same({"left_alone", "not_valid"}, set(outcomes.values()))
    assert "files in archives are not replaced: unpack the archive" in said, said
    same(before, (folder / "store.tar").read_bytes())
    # A link that leads out of the store.
    outside = folder / "outside.json"
    (store / QWEN).rename(outside)
    (store / QWEN).symlink_to(outside)
    text = outside.read_text()
    outcomes, said = retract(folder, "store", "--where", "collector=amd-smi", status=1)
    same("left_alone", outcomes["agg_qwen_tp2_conc4.json"])
    assert "leads out of store" in said, said
    same(text, outside.read_text())


def test_a_retraction_that_was_cut_off_is_completed(folder):
    store = make_store(folder)
    record = record_of(store / QWEN)
    published = record.read_bytes()
    program(folder, "retract", "store", "--where", "collector=amd-smi")
    retracted = tree(store)
    record.write_bytes(published)  # the aggregate was written, the record was not
    same("retracted", retract(folder, "store", "--where", "collector=amd-smi")[0]["agg_qwen_tp2_conc4.json"])
    same(retracted, tree(store))


def test_wrong_conditions_are_named(folder):
    make_store(folder)
    for words, message in (
            ([], "--where is required"), (["--where", "colector=x"], "unknown key 'colector': did you mean collector?"),
            (["--where", "collector"], "expected KEY=VALUE, got 'collector'"),
            (["--where", "collector="], "expected KEY=VALUE, got 'collector='")):
        assert message in program(folder, "retract", "store", *words, status=2).stderr, words
    assert "no such" in program(folder, "retract", "nowhere", "--where", "version=*", status=2).stderr.lower()


# ---- backfill --undo


def undo(folder, *words, status=0):
    done = program(folder, "backfill", "--undo", "report.jsonl", *words, status=status)
    return counts(done.stdout), done.stderr


def test_undo_gives_the_store_back(folder):
    store = make_store(folder)
    original = tree(DATA / "store")
    patched = tree(store)
    text = program(folder, "backfill", "--undo", "report.jsonl", "--dry-run").stdout
    same(patched, tree(store))
    assert f"store/{QWEN}: total_gpu_energy_j: 38400.0 -> absent\n" in text, text
    assert "power_validation_qwen_tp2_conc4.json: would be removed\n" in text, text
    same(({"runs": 3, "removed": 3}, ""), undo(folder))
    same(original, tree(store))
    same(({"runs": 3, "undone_before": 3}, ""), undo(folder))
    same(original, tree(store))


def test_undo_restores_any_layout_of_an_aggregate(folder):
    texts = ['{"tp": 2}', '{"tp":2}\n', '{\n\t"tp": 2\n}\n', '{\r\n  "tp": 2\r\n}\r\n', '{ }', '{}', '{\n}\n',
             '  {"a": [1, {"power_valid": 3}],\n   "tp": 2 }  \n', '{"tp": 2, "größe": "\\u00e9", "x": 1e3}']
    for i, text in enumerate(texts):
        shutil.copytree(DATA / "store" / "power_audit_llama_tp2_conc8", folder / f"store{i}" / "power_audit_llama_tp2_conc8")
        aggregate = folder / f"store{i}" / LLAMA
        aggregate.write_bytes(text.encode())
        program(folder, "backfill", f"store{i}", "--report", f"{i}.jsonl")
        same(1, json.loads(aggregate.read_text())["power_valid"])
        program(folder, "backfill", "--undo", f"{i}.jsonl")
        same(text.encode(), aggregate.read_bytes())


def test_undo_brings_earlier_numbers_back(folder):
    shutil.copytree(DATA / "store", folder / "store")
    aggregate = folder / "store" / LLAMA
    theirs = ('{\n  "tp": 2,\n  "power_valid": 1, "avg_power_w": 640.00, "total_gpu_energy_j": 3.84e4,\n'
              '  "power_audit": {"source": "theirs",\n "n": 1},\n  "end": true\n}\n')
    aggregate.write_text(theirs)
    record_of(aggregate).write_text("{}\n")
    program(folder, "backfill", "store", "--report", "report.jsonl")
    now = json.loads(aggregate.read_text())
    assert now["power_metric_schema_version"] == 2 and "power_audit" not in now, now
    before = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines() if LLAMA in line][0]["before"]
    same({"members": {"power_valid": 1, "avg_power_w": 640.0, "total_gpu_energy_j": 38400.0,
                      "power_audit": {"source": "theirs", "n": 1}}, "record": True}, before)
    counted, said = undo(folder)
    same({"runs": 3, "removed": 2, "restored": 1}, counted)
    same("aggregate-power: warning: 1 of them had an earlier audit record, which the pass replaced and which is lost\n",
         said)
    same(json.loads(theirs), json.loads(aggregate.read_text()))
    # What was spelled on one line, in a place that is still there, is back to the byte.
    assert '"power_valid": 1, "avg_power_w": 640.00, "total_gpu_energy_j": 3.84e4,' in aggregate.read_text()
    assert not record_of(aggregate).exists()


def test_undo_leaves_what_was_changed_since(folder):
    store = make_store(folder)
    (store / QWEN).write_text((store / QWEN).read_text().replace('"tp": 2', '"tp": 4'))
    record = record_of(store / LLAMA)
    content = json.loads(record.read_text())
    content["note"] = "keep"
    record.write_text(json.dumps(content, indent=2))
    (store / GAP).unlink()
    before = tree(store)
    counted, said = undo(folder, status=1)
    same({"runs": 3, "changed": 2, "missing": 1}, counted)
    assert f"store/{QWEN}: changed: the aggregate was changed since\n" in said, said
    assert f"store/{LLAMA}: changed: its audit record was changed since\n" in said, said
    assert f"store/{GAP}: missing: no such file" in said, said
    same(before, tree(store))


def test_undo_leaves_what_a_later_pass_or_a_retraction_wrote(folder):
    store = make_store(folder)
    program(folder, "retract", "store", "--where", "collector=amd-smi")
    program(folder, "backfill", "store", "--max-sample-gap", "10", "--only", "llama_tp2_conc16")  # now it is valid
    same(1, json.loads((store / GAP).read_text())["power_valid"])
    before = tree(store)
    counted, _ = undo(folder, status=1)
    same({"runs": 3, "removed": 1, "changed": 2}, counted)
    after = tree(store)
    same({name: before[name] for name in before if "llama_tp2_conc8" not in name},
         {name: after[name] for name in after if "llama_tp2_conc8" not in name})
    same(tree(DATA / "store")[LLAMA], after[LLAMA])


def test_undo_of_two_passes_in_one_report_goes_back_to_the_first(folder):
    store = make_store(folder)
    program(folder, "backfill", "store", "--max-sample-gap", "10", "--report", "report.jsonl")
    counted, said = undo(folder)
    same({"runs": 3, "removed": 3}, counted)
    same("", said)
    same(tree(DATA / "store"), tree(store))


def test_an_undo_that_was_cut_off_is_completed(folder):
    store = make_store(folder)
    record = record_of(store / QWEN)
    written = record.read_bytes()
    undo(folder)
    record.write_bytes(written)  # the aggregate was written, the record was not removed
    same({"runs": 3, "removed": 1, "undone_before": 2}, undo(folder)[0])
    same(tree(DATA / "store"), tree(store))


def changed_report(folder, change, name="changed.jsonl"):
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    for line in lines:
        change(line)
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_undo_stays_in_the_current_folder(folder):
    """Whatever a report names outside of it is a message, unless an option allows it."""
    store = make_store(folder)
    work = folder / "work"
    (work / "in").mkdir(parents=True)
    (work / "link").symlink_to(store)
    (work / "in" / "agg.json").symlink_to(store / QWEN)
    (work / "in" / "up").symlink_to("../..")
    patched = tree(store)
    names = {"absolute": lambda name: str(folder / name), "up": lambda name: f"../{name}", "in and up": lambda name: f"in/../../{name}",
             "through a link": lambda name: name.replace("store/", "link/", 1), "through a link up": lambda name: f"in/up/{name}",
             "of the system": lambda name: f"/proc/self/cwd/../{name}"}
    for what, named in names.items():
        report = changed_report(folder, lambda line, named=named: line.update(aggregate=named(line["aggregate"])))
        done = program(work, "backfill", "--undo", report, status=1)
        same({"runs": 3, "failed": 3}, counts(done.stdout))
        same(3, done.stderr.count(f"leads out of {work}, to {store}/"))
        same(3, done.stderr.count("allow it with --follow-links or --artifacts\n"))
        same(patched, tree(store))
    report = changed_report(folder, lambda line: line.update(aggregate="in/agg.json"))
    same({"runs": 1, "failed": 1}, counts(program(work, "backfill", "--undo", report, status=1).stdout))
    same(patched, tree(store))
    for words, name in ((["--artifacts", store], "absolute"), (["--artifacts", "../store"], "up"), (["--follow-links"], "through a link up")):
        report = changed_report(folder, lambda line, name=name: line.update(aggregate=names[name](line["aggregate"])))
        done = program(work, "backfill", "--undo", report, "--dry-run", *words)
        same(3, counts(done.stdout)["removed"])
    same(3, program(work, "backfill", "--undo", report, "--artifacts", "in", status=1).stderr.count("leads out of"))
    same({"runs": 3, "removed": 3}, counts(program(work, "backfill", "--undo", report, "--artifacts", store).stdout))
    same(tree(DATA / "store"), tree(store))


def test_undo_removes_no_record_elsewhere(folder):
    store = make_store(folder)
    (store / "power_audit_llama_tp2_conc8" / "power_validation_x").mkdir()
    patched = tree(store)
    report = changed_report(folder, lambda line: line.update(run="x/../../bmk_qwen_tp2_conc4/power_validation_qwen_tp2_conc4"))
    done = program(folder, "backfill", "--undo", report, status=1)
    same({"runs": 3, "failed": 3}, counts(done.stdout))
    same(3, done.stderr.count("failed: its run is not the name of a run\n"))
    same(patched, tree(store))


def test_undo_brings_back_only_what_the_pass_replaced(folder):
    """A report that others can write must not put numbers where the pass found none, or others."""
    forged = {"power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": 1e9, "power_audit": {"source": "x"}}
    shutil.copytree(DATA / "store", folder / "store")
    aggregate = folder / "store" / LLAMA
    text = aggregate.read_text()
    for theirs in ({}, {"avg_power_w": 640.0}, {"power_valid": 1, "avg_power_w": 640.0, "total_gpu_energy_j": 38400.0}):
        aggregate.write_text(json.dumps({"tp": 2} | theirs, indent=2))
        before = json.loads(aggregate.read_text())
        program(folder, "backfill", "store", "--force", "--report", "report.jsonl")
        patched = tree(folder / "store")
        changes = [forged, theirs | {"avg_power_w": 640.5}, theirs | {"joules_per_output_token": 0.001}, {"power_valid": 1}]
        for members in changes if theirs else changes[:3]:
            for had_record in (True, False):
                def change(line, members=members, had_record=had_record):
                    if line["run"] == "llama_tp2_conc8":
                        line["before"] = {"members": members, "record": had_record}
                report = changed_report(folder, change)
                done = program(folder, "backfill", "--undo", report, "--dry-run", status=1)
                same(1, counts(done.stdout)["changed"])
                assert f"store/{LLAMA}: changed: its audit record does not say that the members" in done.stderr, done.stderr
                same(patched, tree(folder / "store"))
        program(folder, "backfill", "--undo", "report.jsonl")
        same(before, json.loads(aggregate.read_text()))
        (folder / "report.jsonl").unlink()
    aggregate.write_text(text)


def test_undo_of_two_passes_brings_back_what_was_before_each(folder):
    """The record of the second also knows what was before the first."""
    shutil.copytree(DATA / "store", folder / "store")
    aggregate = folder / "store" / GAP
    aggregate.write_text(json.dumps({"tp": 2, "power_valid": 1, "avg_power_w": 500.0}, indent=2))
    original = json.loads(aggregate.read_text())
    program(folder, "backfill", "store", "--report", "1.jsonl")
    first = json.loads(aggregate.read_text())
    same(0, first["power_valid"])
    program(folder, "backfill", "store", "--max-sample-gap", "10", "--report", "2.jsonl")
    same(1, json.loads(aggregate.read_text())["power_valid"])
    replaced = json.loads(record_of(aggregate).read_text())["computed_from"]["patched"]["replaced"]
    same(1, len(replaced))  # the first pass left no valid power
    saved = tree(folder / "store")
    (folder / "report.jsonl").write_text((folder / "1.jsonl").read_text() + (folder / "2.jsonl").read_text())
    for report, wanted in (("2.jsonl", first), ("report.jsonl", original)):
        program(folder, "backfill", "--undo", report)
        same(wanted, json.loads(aggregate.read_text()))
        for name, content in saved.items():
            (folder / "store" / name).write_bytes(content)
    # Another pass that changes nothing leaves the record as it is.
    program(folder, "backfill", "store", "--max-sample-gap", "10", "--force")
    same(saved, tree(folder / "store"))


def test_undo_takes_a_report_and_nothing_else(folder):
    make_store(folder)
    (folder / "other.jsonl").write_text('{"run": "x"}\n')
    (folder / "broken.jsonl").write_text('{"run": "x"\n')
    for words, message in ((["nothing.jsonl"], "nothing.jsonl"), (["other.jsonl"], "other.jsonl:1: there is no 'outcome'"),
                           (["broken.jsonl"], "broken.jsonl:1: 1:"),
                           (["report.jsonl", "store"], "STORE has no effect beside --undo"),
                           (["report.jsonl", "--force"], "--force has no effect beside --undo")):
        assert message in program(folder, "backfill", "--undo", *words, status=2).stderr, words
    assert "STORE is required" in program(folder, "backfill", status=2).stderr


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
