#!/usr/bin/env python3
"""Checks 'aggregate-power export' with the programs that read what it writes.

* prometheus: promtool's lint and the parser of Debian's python3-prometheus-client;
* openmetrics: that client's strict parser; blocks that promtool makes of it, and their samples;
* csv, jsonl: their specifications, read by Python;
* parquet: DuckDB, if its npm package can be installed.

Runs are aggregates and records written here by hand, with numbers that are added in the head: two
GPUs, 4000 J and 6000 J in 10 s, 8000 tokens out.

usage: tests/exports/export_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, duckdb_rows, run_tests  # noqa: E402

sys.path.append("/usr/lib/python3/dist-packages")  # another Python than Debian's
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics  # noqa: E402
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus  # noqa: E402

DATA = ROOT / "testdata"
PROMTOOL = shutil.which("promtool") or ROOT / "build" / "tools" / "promtool"  # scripts/setup.sh puts it there
P = "aggregate_power_"
START = 1788000000.25


def program(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"}, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def export(folder, *words, status=0):
    return program(folder, "export", *words, status=status).stdout


def promtool(folder, *words, text=None):
    done = subprocess.run([PROMTOOL, *map(str, words)], cwd=folder, capture_output=True, text=True, input=text,
                          timeout=120)
    assert done.returncode == 0, f"promtool {words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def same(wanted, found):
    assert wanted == found, f"expected {wanted!r}, got {found!r}"


AGGREGATE = {"hw": "h100", "framework": "vllm", "model": "llama", "precision": "fp8", "tp": 2, "conc": 16,
             "power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": 500.0, "avg_total_gpu_power_w": 1000.0,
             "total_gpu_energy_j": 10000.0, "joules_per_successful_query": 1000.0, "joules_per_input_token": 0.25,
             "joules_per_output_token": 1.25, "joules_per_total_token": 0.208333}
METRICS = {key: value for key, value in AGGREGATE.items() if key.startswith(("avg_", "total_", "joules_"))}


def record(start=START, energies=(4000.0, 6000.0), **more):
    return {"schema_version": 1, "power_valid": True, "reasons": [], "telemetry_source": "gpu_metrics.csv",
            "benchmark_result": "run.json",
            "benchmark_window": {"start_time_unix": start, "end_time_unix": start + 10, "completed": 10,
                                 "total_input_tokens": 40000, "total_output_tokens": 8000},
            "observed_gpu_ids": [str(i) for i in range(len(energies))],
            "per_gpu_energy_j": {str(i): energy for i, energy in enumerate(energies)}, "metrics": METRICS,
            "computed_from": {"tool_version": "0.1.0", "collector": "NVML", "schema": "nvidia-smi", "scope": "gpu"}} | more


def put_run(folder, name="llama", aggregate=None, its_record=None):
    folder.mkdir(parents=True, exist_ok=True)
    aggregate = AGGREGATE if aggregate is None else aggregate
    (folder / f"agg_{name}.json").write_text(json.dumps(aggregate))
    if its_record is not False:
        (folder / f"power_validation_{name}.json").write_text(json.dumps(its_record or record()))
    return folder


def put_invalid(folder, name="bad", reasons=("sampling_gap_exceeded",)):
    put_run(folder, name, {"hw": "h100", "tp": 2, "power_metric_schema_version": 2, "power_valid": 0},
            record(power_valid=False, reasons=list(reasons), metrics={}))


def samples(text, parse=parse_prometheus):
    """By name: the labels and the value of each sample; no series occurs twice at one time."""
    found, seen = {}, set()
    for family in parse(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())), str(sample.timestamp))
            assert key not in seen, f"twice: {key}"
            seen.add(key)
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def value(found, name, **labels):
    values = [value for has, value in found[P + name] if labels.items() <= has.items()]
    assert len(values) == 1, f"{name} {labels}: {values}"
    return values[0]


def write_windows(folder):
    shutil.copytree(DATA / "results", folder / "results")
    text = program(folder / "results", "windows", "--telemetry", "gpu_metrics.csv", "--windows", "windows.txt",
                   "--json").stdout
    (folder / "w.json").write_text(text)
    return json.loads(text)


# ---- Prometheus


def test_prometheus_has_the_numbers_of_a_run(folder):
    put_run(folder)
    text = export(folder, ".", "--format", "prometheus")
    same("", promtool(folder, "check", "metrics", text=text))
    found = samples(text)
    labels = {"run": "llama", "hw": "h100", "framework": "vllm", "model": "llama", "precision": "fp8", "tp": "2",
              "conc": "16", "basis": "measured"}
    same([(labels, 10000.0)], found[P + "energy_joules"])
    same([4000.0, 6000.0], [value(found, "gpu_energy_joules", gpu=gpu) for gpu in "01"])
    same(1000.0, value(found, "mean_power_watts"))
    same(500.0, value(found, "gpu_mean_power_watts"))
    same([1000.0, 0.25, 1.25, 0.208333],
         [value(found, f"energy_per_{what}_joules") for what in ("request", "input_token", "output_token", "token")])
    same([10.0, START, START + 10],
         [value(found, f"run_{what}_seconds") for what in ("duration", "start_time", "end_time")])
    same([2, 10, 40000, 8000, 1], [value(found, name) for name in
                                   ("run_gpus", "completed_requests", "input_tokens", "output_tokens", "run_valid")])
    for line in text.splitlines():  # a finished run does not go on counting
        assert not line.startswith("# TYPE") or line.endswith(" gauge"), line
        assert re.match(r"# (HELP|TYPE) aggregate_power_[a-z0-9_]+ |aggregate_power_[a-z0-9_]+\{", line), line


def test_intervals_are_gauges_of_their_own(folder):
    put_run(folder, its_record=record(uncertainty={"total_gpu_energy_j": {
        "low": 9500.0, "high": 10500.0, "standard_uncertainty": 255.0,
        "repeatability": {"low": 9980.0, "high": 10020.0, "standard_uncertainty": 10.0}}}))
    found = samples(export(folder, ".", "--format", "prometheus"))
    same([10000.0, 9500.0, 10500.0],
         [value(found, f"energy{end}_joules") for end in ("", "_low", "_high")])
    row = next(csv.DictReader(io.StringIO(export(folder, ".", "--format", "csv"))))
    same(["9500.0", "10500.0", "9980.0", "10020.0"], [row["total_gpu_energy_j" + end] for end in (
        "_low", "_high", "_repeatability_low", "_repeatability_high")])


def test_runs_that_are_not_valid_have_no_energy(folder):
    put_invalid(folder, reasons=["sampling_gap_exceeded", "gpu_identity_missing", 'evil"}\n 1', "evil2"])
    put_run(folder / "doubt", "doubt", AGGREGATE | {"total_gpu_energy_j": 9000.0})
    put_run(folder / "alone", "alone", {"tp": 1, "power_valid": 0}, False)
    text = export(folder, ".", "--format", "prometheus")
    same("", promtool(folder, "check", "metrics", text=text))
    assert "joules" not in text and "watts" not in text and "evil" not in text, text
    found = samples(text)
    same({0.0}, {value for _, value in found[P + "run_valid"]})
    same([("alone", "not_stated"), ("bad", "gpu_identity_missing"), ("bad", "sampling_gap_exceeded"),
          ("bad", "unknown_code"), ("doubt", "contradicts_its_record")],
         sorted((labels["run"], labels["reason"]) for labels, _ in found[P + "run_reason"]))


def test_hostile_names_stay_labels(folder):
    put_run(folder, "quo\"te\\back", AGGREGATE | {"model": 'a"b\\c\nd\t' + "x" * 300, "gpu": "H100", "dataset": "größe"})
    (folder / os.fsdecode(b"bytes\xff")).mkdir()
    put_run(folder / os.fsdecode(b"bytes\xff"), "line\nbreak", {"run": "mine", "window": 3, "power_valid": 1,
                                                                "avg_power_w": 500.0}, False)
    for form, parse in (("prometheus", parse_prometheus), ("openmetrics", parse_openmetrics)):
        text = export(folder, ".", "--format", form)
        found = samples(text, parse)
        labels = found[P + "energy_joules"][0][0]
        same('quo"te\\back', labels["run"])
        same('a"b\\c?d?' + "x" * 92 + "...", labels["model"])
        same(["H100", "größe"], [labels["config_gpu"], labels["dataset"]])
        same({"line?break", 'quo"te\\back'}, {labels["run"] for labels, _ in found[P + "run_valid"]})
    same("", promtool(folder, "check", "metrics", text=export(folder, ".", "--format", "prometheus")))
    found = samples(export(folder, ".", "--format", "prometheus", "--labels", "run,window,hw"))
    same("mine", [labels for labels, _ in found[P + "run_valid"] if labels["run"] == "line?break"][0]["config_run"])


def test_runs_with_equal_labels_stay_apart(folder):
    put_run(folder / "monday")
    put_run(folder / "tuesday")
    (folder / "all.json").write_text(json.dumps([AGGREGATE, AGGREGATE, AGGREGATE]))
    found = samples(export(folder, "monday", "tuesday", "all.json", "--format", "prometheus"))
    same(["monday/agg_llama.json", "tuesday/agg_llama.json", "all.json", "all.json #2", "all.json #3"],
         [labels["run"] for labels, _ in found[P + "energy_joules"]])


def test_labels_are_chosen(folder):
    put_run(folder, aggregate=AGGREGATE | {"parallelism": {"tp": 8}})
    found = samples(export(folder, ".", "--format", "prometheus", "--labels", "parallelism.tp,nothing"))
    same({"run": "llama", "parallelism_tp": "8", "basis": "measured"}, found[P + "energy_joules"][0][0])
    error = program(folder, "export", ".", "--format", "csv", "--labels", "a.b,a_b", status=2).stderr
    same("aggregate-power: error: --labels: 'a_b' gives the label a_b a second time\n", error)


# ---- History


def test_openmetrics_loads_into_prometheus(folder):
    put_run(folder / "a")
    put_run(folder / "b", its_record=record(start=START + 86400))
    put_run(folder / "twice", "other")
    put_run(folder / "twice" / "same_time", "other")
    put_run(folder / "timeless", "timeless", None, False)
    done = program(folder, "export", ".", "--format", "openmetrics", "--timestamps", "--out", "past.om")
    same("aggregate-power: warning: 1 of the runs has no time and was left out; the first is timeless: it has no audit "
         "record with a window\n", done.stderr)
    text = (folder / "past.om").read_text()
    assert text.endswith("# EOF\n") and "# UNIT aggregate_power_energy_joules joules\n" in text
    times = {}
    for family in parse_openmetrics(text):
        for sample in family.samples:
            if sample.name == P + "energy_joules":
                times.setdefault(sample.labels["run"], []).append(float(sample.timestamp))
    # One series where the name is the same at different times.
    same({"llama": [START + 10, START + 86410], "twice/agg_other.json": [START + 10],
          "twice/same_time/agg_other.json": [START + 10]}, times)
    promtool(folder, "tsdb", "create-blocks-from", "openmetrics", "past.om", "data")
    (folder / "data" / "wal").mkdir()
    dumped = promtool(folder, "tsdb", "dump", "data")
    found = sorted(re.findall(r'__name__="aggregate_power_energy_joules".* run="llama".*} (\S+) (\d+)', dumped))
    same([("10000", "1788000010250"), ("10000", "1788086410250")], found)
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    same(names, set(re.findall(r'__name__="([a-z0-9_]+)"', dumped)))


def test_timestamps_are_for_openmetrics(folder):
    put_run(folder)
    for form in ("prometheus", "csv", "jsonl"):
        assert "needs --format openmetrics" in program(folder, "export", ".", "--format", form, "--timestamps",
                                                       status=2).stderr
    families = list(parse_openmetrics(export(folder, ".", "--format", "openmetrics")))
    same({None}, {sample.timestamp for family in families for sample in family.samples})


def test_the_examples_of_the_page_are_good_configurations(folder):
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```$", (ROOT / "src" / "help" / "export.md").read_text())
    assert blocks, "no example of prometheus.yml"
    for i, block in enumerate(blocks):
        (folder / f"{i}.yml").write_text(block)
        promtool(folder, "check", "config", f"{i}.yml")


# ---- Rows


def test_csv_has_stable_columns(folder):
    put_run(folder, aggregate=AGGREGATE | {"model": 'a,"b"\r\nc'})
    put_invalid(folder)
    write_windows(folder)
    text = subprocess.run([PROGRAM, "export", "agg_llama.json", "agg_bad.json", "w.json", "--format", "csv"], cwd=folder,
                          capture_output=True, check=True).stdout.decode()
    same(text.count("\n"), text.count("\r\n"))
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    same(["run", "run"] + ["window"] * 5, [row["kind"] for row in rows])
    assert all(None not in row and None not in row.values() for row in rows)
    run, bad, window = rows[0], rows[1], rows[3]
    same(["llama", "1", "", 'a,"b"??c', "16", "10000.0", "1.25", "2", "8000", "10.0"],
         [run[key] for key in ("run", "valid", "reasons", "model", "conc", "total_gpu_energy_j",
                               "joules_per_output_token", "gpus", "output_tokens", "duration_s")])
    same(["0", "sampling_gap_exceeded", ""], [bad[key] for key in ("valid", "reasons", "total_gpu_energy_j")])
    same(["warm-up", "5765.25", "1"], [window[key] for key in ("window", "total_gpu_energy_j", "valid")])
    head = export(folder, "agg_bad.json", "--format", "csv", "--tdp", "auto", "--node-factor", "2").splitlines()[0]
    same(text.splitlines()[0], head)


def test_jsonl_says_which_numbers_are_measured(folder):
    put_run(folder)
    put_invalid(folder)
    windows = write_windows(folder)
    text = export(folder, "agg_llama.json", "agg_bad.json", "w.json", "--format", "jsonl", "--tdp", "auto",
                  "--node-factor", "1.5", "--rack-factor", "1.2", "--pue", "1.1")
    lines = [json.loads(line) for line in text.splitlines()]
    same({"aggregate-power/export-1"}, {line["schema"] for line in lines})
    run, bad, first_window = lines[0], lines[1], lines[2]
    same(METRICS, run["measured"])
    same({"0": 4000.0, "1": 6000.0}, run["gpu_energy_j"])
    rungs = [(rung["boundary"], rung["basis"], rung["energy_j"], rung["power_w"]) for rung in run["boundaries"]]
    wanted = [("gpu", "measured", 10000, 1000), ("node", "modelled", 15000, 1500), ("rack", "modelled", 18000, 1800),
              ("facility", "modelled", 19800, 1980)]
    assert all(a[:2] == b[:2] and math.isclose(a[2], b[2]) and math.isclose(a[3], b[3])
               for a, b in zip(rungs, wanted, strict=True)), rungs
    # 700 W x 2 GPUs x 10 s / 8000 tokens = 1.75 J
    limit = run["limit"]
    same(["modelled", "H100 SXM", 700.0], [limit[key] for key in ("basis", "gpu", "power_limit_w")])
    assert math.isclose(limit["power_to_limit"], 5 / 7) and math.isclose(limit["joules_per_output_token"], 1.75)
    same([{}, [], None, ["sampling_gap_exceeded"]],
         [bad[key] for key in ("measured", "boundaries", "limit", "reasons")])
    same([windows["windows"][0]["energy_j"], "window"], [first_window["measured"]["total_gpu_energy_j"],
                                                         first_window["kind"]])


def test_duckdb_makes_parquet(folder):
    put_run(folder / "runs")
    put_invalid(folder / "runs")
    export(folder, "runs", "--format", "csv", "--out", "runs.csv")
    export(folder, "runs", "--format", "jsonl", "--out", "runs.jsonl")
    queries = re.findall(r"(?ms)^```sql\n(.*?)^```$", (ROOT / "src" / "help" / "export.md").read_text())
    copies = [query for block in queries for query in block.split(";") if "parquet" in query]
    assert len(copies) >= 2, copies
    tables = duckdb_rows(folder, [*copies, "SELECT run, valid, total_gpu_energy_j FROM 'runs.parquet' ORDER BY run",
                                  "SELECT run, measured.total_gpu_energy_j FROM 'runs_full.parquet' ORDER BY run"])
    if tables is None:
        return
    same([["bad", None], ["llama", 10000.0]], [[row[0], row[-1]] for row in tables[-2]])
    same([["bad", None], ["llama", 10000.0]], tables[-1])


# ---- Boundaries and limits


def test_the_worked_example_of_a_rack(folder):
    """InferenceX' documentation, docs/powerx-system-power.md: 18 compute trays of 3000.75 W at the modules; trays,
    switches, conversion and shelf losses; PUE 1.1: 82,395.1 W. Intermediate values are rounded to 0.1 W."""
    modules, trays, switches, conversion, rack_ac = 18 * 3000.75, 11466.0, 4107.6, 1967.8, 74904.6
    same(54013.5, modules)
    assert math.isclose(modules + trays + switches + conversion + 200, 71754.9)  # the rack's DC
    node_factor = (modules + trays + conversion) / modules
    put_run(folder, "rack", AGGREGATE | {"hw": "gb300", "avg_total_gpu_power_w": modules},
            record(metrics=METRICS | {"avg_total_gpu_power_w": modules},
                   computed_from={"collector": "NVML", "scope": "module"}))
    line = json.loads(export(folder, ".", "--format", "jsonl", "--node-factor", node_factor, "--rack-factor",
                             rack_ac / (modules * node_factor), "--pue", "1.1"))
    found = [(rung["boundary"], rung["basis"], round(rung["power_w"], 1)) for rung in line["boundaries"]]
    same([("module", "measured", 54013.5), ("node", "modelled", 67447.3), ("rack", "modelled", 74904.6),
          ("facility", "modelled", 82395.1)], found)


def test_measured_and_modelled_are_never_one_gauge(folder):
    put_run(folder)
    found = samples(export(folder, ".", "--format", "prometheus", "--tdp", "1000", "--node-factor", "1.5", "--pue", "2"))
    same([1000.0, 0.5, 2.5], [value(found, name) for name in (
        "gpu_power_limit_watts", "gpu_power_to_limit_ratio", "provisioned_energy_per_output_token_joules")])
    same([15000.0, 30000.0, 3.75], [value(found, name) for name in (
        "node_energy_joules", "facility_energy_joules", "facility_energy_per_output_token_joules")])
    for name, its in found.items():
        bases = {labels.get("basis") for labels, _ in its}
        same(1, len(bases))
        is_modelled = any(word in name for word in ("node_", "rack_", "facility_", "limit", "provisioned"))
        if "joules" in name or "watts" in name:
            same({"modelled" if is_modelled else "measured"}, bases)


def test_a_node_is_not_multiplied_by_the_factor_of_a_node(folder):
    put_run(folder, its_record=record(computed_from={"scope": "node"}))
    done = program(folder, "export", ".", "--format", "jsonl", "--node-factor", "1.5", "--pue", "1.1")
    assert "--node-factor is not applied" in done.stderr, done.stderr
    same([("node", "measured"), ("facility", "modelled")],
         [(rung["boundary"], rung["basis"]) for rung in json.loads(done.stdout)["boundaries"]])


def test_factors_need_what_is_below_them(folder):
    put_run(folder)
    for words, message in ((["--rack-factor", "1.1"], "--rack-factor"), (["--pue", "0.9"], "from 1 to 100"),
                           (["--node-factor", "0.9"], "expected a number from 1 to 100"),
                           (["--tdp", "lots"], "expected 'auto' or a number of watts"),
                           (["--tdp", "nan"], "expected 'auto' or a number of watts")):
        assert message in program(folder, "export", ".", "--format", "csv", *words, status=2).stderr


def test_limits_by_name(folder):
    """Public limits; a name without a form factor is the board with the highest one."""
    limits = {"h100": 700, "H200-nb": 700, "b200": 1000, "gb200-nvl72": 1200, "gb300": 1400, "mi300x": 750,
              "AMD Instinct MI325X": 1000, "mi355x": 1400, "NVIDIA A100-SXM4-80GB": 400, "NVIDIA A100-PCIE-40GB": 250,
              "NVIDIA H100 PCIe": 350, "NVIDIA H100 80GB HBM3": 700, "Tesla V100-SXM2-16GB": 300, "NVIDIA L40S": 350,
              "NVIDIA L4": 72, "l40": 300}
    for i, name in enumerate(limits):
        put_run(folder / str(i), f"{i:02}", AGGREGATE | {"hw": name})
    put_run(folder / "z", "zz", AGGREGATE | {"hw": "h1000"})
    done = program(folder, "export", *map(str, range(len(limits))), "z", "--format", "jsonl", "--tdp", "auto")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    same(limits, {line["configuration"]["hw"]: line["limit"]["power_limit_w"] for line in lines[:-1]})
    same(None, lines[-1]["limit"])
    same("aggregate-power: warning: no power limit is known of h1000: give --tdp WATTS\n", done.stderr)


# ---- Windows


def test_windows_are_gauges(folder):
    windows = write_windows(folder)["windows"]
    text = export(folder, "w.json", "--format", "openmetrics", "--timestamps")
    found = samples(text, parse_openmetrics)
    for window in windows:
        labels = {"run": "w", "window": window["name"], "number": str(window["number"])}
        same([window["energy_j"], window["own_energy_j"], window["mean_power_w"], 1], [
            value(found, name, **labels) for name in ("window_energy_joules", "window_own_energy_joules",
                                                      "window_mean_power_watts", "window_valid")])
        for gpu in window["gpus"]:
            same(gpu["energy_j"], value(found, "window_gpu_energy_joules", gpu=gpu["gpu"], **labels))


def test_windows_that_were_not_measured_have_no_energy(folder):
    shutil.copytree(DATA / "results", folder / "results")
    (folder / "results" / "late.txt").write_text("begin late +60\nend late +120\n")
    text = program(folder / "results", "windows", "--telemetry", "gpu_metrics.csv", "--windows", "late.txt", "--json",
                   status=1).stdout
    (folder / "w.json").write_text(text)
    text = export(folder, "w.json", "--format", "prometheus")
    same(0.0, value(samples(text), "window_valid"))
    assert "joules" not in text and "watts" not in text, text


def test_a_label_for_each_of_many_windows_is_refused(folder):
    windows = write_windows(folder)
    one = json.dumps(windows["windows"][1])
    head = (folder / "w.json").read_text().split('"windows": [')[0]
    (folder / "many.json").write_text(head + '"windows": [\n' + ",\n".join([one] * 10001) + "\n]\n}\n")
    error = program(folder, "export", "many.json", "--format", "prometheus", status=2).stderr
    assert "has 10001 windows" in error and "use --format csv or jsonl" in error, error
    same(10002, export(folder, "many.json", "--format", "csv").count("\n"))


# ---- AIPowerMeter


def test_aipowermeter_s_gauges_keep_their_names(folder):
    recording = DATA / "telemetry" / "aipowermeter" / "two-gpus-psys-sentinel.json"
    shutil.copy(recording, folder / "power_metrics.json")
    lines = [json.loads(line) for line in recording.read_text().splitlines() if line.startswith("{")]
    last = lines[-1]["metrics"]
    wanted = {"intel_power": last["cpu"]["intel_power"],
              "mem_used_cpu": sum(last["cpu"]["per_process_mem_use_abs"].values()),
              "mem_used_gpu": sum(sum(gpu.values()) for gpu in last["gpu"]["per_gpu_attributable_mem_use"].values()),
              "power_draw_gpu": last["gpu"]["nvidia_draw_absolute"]}
    same(False, "total_cpu_power" in last["cpu"])  # so power_draw_cpu is not known
    text = export(folder, "power_metrics.json", "--format", "prometheus", "--names", "aipowermeter")
    found = samples(text)
    of_processes = {name: its for name, its in found.items() if "process" in its[0][0]}
    same(wanted, {name: its[0][1] for name, its in found.items() if name not in of_processes})
    for name, part in [("per_process_mem_use_abs", "cpu"), ("per_process_mem_use_uss", "cpu"),
                       ("per_process_dram_power", "cpu")]:
        each = last[part][name]
        same(each | {"all": sum(each.values())},
             {labels["process"]: value for labels, value in of_processes[name]})
    same({(gpu, process): value for gpu, its in last["gpu"]["per_gpu_attributable_mem_use"].items()
          for process, value in (its | {"all": sum(its.values())}).items() if its},
         {(labels["gpu"], labels["process"]): value
          for labels, value in of_processes["per_gpu_attributable_mem_use"]})
    assert "# HELP per_process_mem_use_abs memory of a process (pss), in bytes\n" in text
    assert "# HELP power_draw_gpu Power consumed by gpu as given by nvidia-smi\n# TYPE power_draw_gpu gauge\n" in text
    put_run(folder / "runs")
    put_invalid(folder / "runs")
    found = samples(export(folder, "runs", "power_metrics.json", "--format", "openmetrics", "--names", "aipowermeter"),
                    parse_openmetrics)
    same({"llama": 1000.0, "power_metrics": wanted["power_draw_gpu"]},
         {labels["run"]: value for labels, value in found["power_draw_gpu"]})
    error = program(folder, "export", "runs", "--format", "csv", "--names", "aipowermeter", status=2).stderr
    assert "needs --format prometheus or openmetrics" in error


# ---- Files


def test_a_format_that_is_not_written_names_those_that_are(folder):
    put_run(folder)
    for form in ("otlp-json", "zeus", "parquet"):
        error = program(folder, "export", ".", "--format", form, status=2).stderr
        assert "expected prometheus, openmetrics, jsonl or csv" in error and f"got '{form}'" in error, error


OLD = "# HELP aggregate_power_run_valid of an earlier export\n"


def test_out_is_written_in_one_step(folder):
    put_run(folder / "runs")
    out = folder / "textfile" / "power.prom"
    out.parent.mkdir()
    out.write_text(OLD)
    reader = out.open()
    export(folder, "runs", "--format", "prometheus", "--out", out)
    same(OLD, reader.read())  # the old file is whole, under no name
    same(export(folder, "runs", "--format", "prometheus"), out.read_text())
    same(["power.prom"], os.listdir(out.parent))


def begun_export(folder, **more):
    """An export of many runs that has begun to write, over an earlier file."""
    sys.path.insert(0, str(ROOT / "tests" / "growth"))
    import growth_test
    folder.mkdir(exist_ok=True)
    growth_test.store(folder, 3000, 50)
    out = folder / "out" / "power.prom"
    out.parent.mkdir()
    out.write_text(OLD)
    process = subprocess.Popen([PROGRAM, "export", "store", "--format", "prometheus", "--out", out], cwd=folder,
                               stderr=subprocess.PIPE, text=True, **more)
    while process.poll() is None and not any(path.stat().st_size > len(OLD) for path in out.parent.iterdir()):
        time.sleep(0.001)
    return process, out


def left_alone(out):
    """Nothing new is left, once the keeper of what was killed has seen that."""
    until = time.monotonic() + 10
    while len(os.listdir(out.parent)) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    same((["power.prom"], OLD), (os.listdir(out.parent), out.read_text()))


def test_an_export_that_is_killed_leaves_nothing(folder):
    for name, send in (("kill", signal.SIGKILL), ("terminate", signal.SIGTERM), ("interrupt", signal.SIGINT)):
        process, out = begun_export(folder / name)
        process.send_signal(send)
        same(-send, process.wait(60))
        left_alone(out)


def test_a_full_disk_leaves_the_earlier_export(folder):
    def with_small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    process, out = begun_export(folder, preexec_fn=with_small_files)
    same((2, f"aggregate-power: error: {out}: cannot write: File too large\n"), (process.wait(60), process.stderr.read()))
    left_alone(out)


def test_no_input_is_overwritten(folder):
    put_run(folder)
    (folder / "gpu_metrics.csv").write_text("timestamp, power.draw [W]\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in ("agg_llama.json", "power_validation_llama.json", "gpu_metrics.csv"):
        for form in ("prometheus", "jsonl", "csv"):
            error = program(folder, "export", ".", "--format", form, "--out", out, status=2).stderr
            assert f"--out {out}: the file exists and is no earlier export" in error, error
    assert "is read by this export" in program(folder, "export", "agg_llama.json", "--format", "csv", "--out",
                                               "./agg_llama.json", status=2).stderr
    same(before, {path.name: path.read_bytes() for path in folder.iterdir()})
    for _ in range(2):  # an earlier export is replaced
        export(folder, ".", "--format", "csv", "--out", "runs.csv")
    (folder / "elsewhere").mkdir()  # no folder of runs
    other = folder / "elsewhere" / "other.csv"
    for form in ("prometheus", "openmetrics", "jsonl", "csv"):
        other.write_text("precious\n")
        error = program(folder, "export", "agg_llama.json", "--format", form, "--out", other, status=2).stderr
        assert "it is left as it is" in error, error
        same("precious\n", other.read_text())
        other.write_text("")  # as mktemp leaves it
        for _ in range(2):
            export(folder, "agg_llama.json", "--format", form, "--out", other)


def test_nothing_found_writes_nothing(folder):
    (folder / "empty").mkdir()
    (folder / "out.prom").write_text("kept")
    error = program(folder, "export", "empty", "--format", "prometheus", "--out", "out.prom", status=1).stderr
    same("aggregate-power: error: no run was found in empty\n", error)
    same("kept", (folder / "out.prom").read_text())
    error = program(folder, "export", "nowhere", "--format", "csv", status=2).stderr
    assert "nowhere" in error, error
    assert "--format is required" in program(folder, "export", "empty", status=2).stderr


def test_runs_that_nobody_measured_are_measured(folder):
    """As compare does; the numbers are those of measure."""
    for name in ("one", "two"):
        (folder / "runs" / name).mkdir(parents=True)
        for file in ("guidellm.json", "gpu_metrics.csv", "gpu_metrics_context.json"):
            shutil.copy(DATA / "results" / file, folder / "runs" / name)
        measured = json.loads(program(folder, "measure", f"runs/{name}", "--json").stdout)
    done = program(folder, "export", "runs", "--format", "jsonl")
    found = sorted(json.loads(line)["measured"]["total_gpu_energy_j"] for line in done.stdout.splitlines())
    same(sorted(2 * [run["total_gpu_energy_j"] for run in measured["runs"]]), found)
    assert "had not been measured: measured here, and not written" in done.stderr, done.stderr


def test_the_same_inputs_give_the_same_bytes(folder):
    for i in range(20):
        put_run(folder / str(i))
    for form in ("prometheus", "openmetrics", "jsonl", "csv"):
        same(export(folder, ".", "--format", form), export(folder, ".", "--format", form))


def test_archives_and_measure_are_read(folder):
    put_run(folder / "store")
    subprocess.run(["tar", "-czf", "store.tar.gz", "store"], cwd=folder, check=True)
    same(10000.0, value(samples(export(folder, "store.tar.gz", "--format", "prometheus")), "energy_joules"))
    shutil.copytree(DATA / "results", folder / "results")
    measured = program(folder / "results", "measure", "guidellm.json", "--json").stdout
    (folder / "measured.json").write_text(measured)
    found = samples(export(folder, "measured.json", "--format", "prometheus"))
    same([run["total_gpu_energy_j"] for run in json.loads(measured)["runs"]],
         [value for _, value in found[P + "energy_joules"]])


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
