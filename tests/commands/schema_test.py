#!/usr/bin/env python3
"""Checks 'aggregate-power schema': every output validates against its schema, and no damaged one does.

* The outputs are those of tests/outputs: the golden cases, the examples on testdata, packages of every dialect and a
  store; and the commands below, for what these do not ask for. Debian's python3-jsonschema validates them.
* Each is damaged in turn: a member is gone or is of another type, a member or a word is unknown, a verdict is reversed.
* A schema that changes without a new version fails: see VERSIONS.
* The examples of the help page: SQL by DuckDB, if npm can install it; Python, if there is pandas.

usage: tests/commands/schema_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import collections
import copy
import functools
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT / "tests", ROOT / "tests" / "outputs"):
    sys.path.insert(0, str(folder))
sys.path.append("/usr/lib/python3/dist-packages")  # another Python than Debian's
import outputs  # noqa: E402
from jsonschema import Draft202012Validator  # noqa: E402
from running import PROGRAM, duckdb_rows, load_result, run_tests, size  # noqa: E402

DATA = ROOT / "testdata"
SOURCES = ROOT / "src" / "schemas"
PAGE = (ROOT / "src" / "help" / "schemas.md").read_text()

# The SHA-256 of what each version demands: without descriptions, and without the words that the program's own tables
# list (these may become more). The lines of versions stay for ever. If a schema changes: end its title, the `const` of
# its member `schema` and what the program writes with the next number, and add the line that the test prints.
VERSIONS = {
    "aggregate-power/record-3": "3350b53b639b1b64bd640d659da0353114e359f71dd2c3bdd7f27cf31d35c198",
    "aggregate-power/aggregate-2": "e17e17d7b3b2af9ec2c79ff2518a2e9aeba5f2e768266f6e70cf8ffb1aa0b79b",
    "aggregate-power/verify-2": "6161c931f3cf5d75445c8aa9f17a06822037914180d1956a219e0cb26a43023c",
    "aggregate-power/calibration-1": "9dab16b92ad55855e9036cd174e341f37e12130449cfc5ec12272a2273d2bc1a",
    "aggregate-power/calibration-2": "b9f2c59a61343e2da1cf71704430bb0a9fbf06ce0ddaa43700cf01a01e675914",
    "aggregate-power/measure-1": "9b1bea8c57a71223372a1e465812c90529b8867649f7a7e8f4ac45cba74cd34b",
    "aggregate-power/windows-1": "ee60a25ba8b46d8bfd4151ae50e055e6c7db2b71407544325d7bd0b0701f6306",
    "aggregate-power/processes-1": "637d81e072300b18d7859f5376a566ec8ea3196efb8bba35fd8dfcd959be68d1",
    "aggregate-power/attribution-1": "7079f9520ca8f3a7259d4a676ccb1f31c6e24271a9720c8d0afc1e15c6ccb989",
    "aggregate-power/attribution-change-1": "a5530b056e44d33bfe235cc7c9e5e47b0dfd06dd7c8883b66390c541c8662535",
    "aggregate-power/requests-1": "f1f7dc022136e810ef59ef59d1f0d9d1d2b44aa0112901ae747880aa907fe915",
    "aggregate-power/plot-1": "2166a7f7402b807d1d513157f9c708999b0862d10504783e234ba8d7d836e31a",
    "aggregate-power/aggregate-1": "ce8d615d0b230edb595f2ec5863926044ea3a690d2267321ed82308aba08cbc6",
    "aggregate-power/record-1": "e1745e23af988aade6d4f376bf45e4b97545957cf0599ee4a92e37ec469789da",
    "aggregate-power/record-2": "ee16caac5bb96d3894dfc210696ab4b51130fa37f1090b87f9d0b23534eef3c7",
    "aggregate-power/report-1": "ed9d21bf28d557c669c58094244e611631386eaf36a4b8c51e8a32bf2cce8a27",
    "aggregate-power/backfill-1": "669f6524b29fe85df34cc36888aa30ba524d35d2ae72b226cf6afdd52f1ad0ae",
    "aggregate-power/compare-1": "a15c5da150723937137921f990c9b8a26de1109489cd11676716ee57b5ec92df",
    "aggregate-power/compare-2": "85578e30eaacc64eebda60838b806fdc6e8b7720d088bea204606c6e50f6ceea",
    "aggregate-power/plan-1": "1f34283b40733ca3f3d5d906131bc9b7938467f00fcb08532036bfb3115b9675",
    "aggregate-power/recommend-1": "ce396e11b95eb355f6ad92ec7dd4c05ba98bd7119b6feb6908637ba5cf37d4a5",
    "aggregate-power/recommend-2": "8b0d015384d7b3ce002c33d47a78607f16260cb447b9b70985ffe98945b0c130",
    "aggregate-power/retract-1": "fa908266d4f29a29799e62d3db471649d1a94ffc5ce640b2866532247a47c522",
    "aggregate-power/verify-1": "1bd385428e35d9658189ae207ef3519497a21849f9f3796eef392360923b9d99",
    "aggregate-power/bundle-1": "faee63825dccefde3c11a2628b8b156d8b1d290324d8860958485b555f1a65de",
    "aggregate-power/doctor-1": "60a03b137f4f6b321e038a4c3ffcad90b17cf4eebfa1fecb95799c1ef2bda043",
    "aggregate-power/measure-2": "f7180b9bf9f15bca478aec30599a1b64014373b8c7d8ad31ebf7ae87ecc50f2e",
    "aggregate-power/recommend-2": "8b0d015384d7b3ce002c33d47a78607f16260cb447b9b70985ffe98945b0c130",
    "aggregate-power/export-1": "f6926e63055dd4d39b45848e2dd163cde413d9710abbb5a63b22d4c2d1a762ad",
}

# Commands for members that the examples of tests/outputs do not have, in copies of folders of testdata.
COMMANDS = {
    "results rates=rates": (
        "measure vllm_detailed.json --json --phases --idle auto --price rates/tariff.csv --currency EUR --carbon 380",
        "measure vllm_detailed.json --json --per-request requests.jsonl --share tokens",
        "measure vllm_detailed.json --json --slo p50:ttft=500ms,e2e=90s --accuracy 0.731 --questions 1000",
        "measure vllm.json --json --slo ttft=500ms",
        "measure vllm_detailed.json --window estimated --slo p50:ttft=500ms --accuracy 0.731 --questions 1000 --out rates/agg_good.json",
        "measure guidellm.json --json --no-uncertainty",
        "measure vllm.json --json --window estimated --pue 1.3",
        "measure sglang.jsonl --json",
        "measure guidellm.json --json --gpus 7",
        "windows --telemetry gpu_metrics.csv --windows windows.txt --json --uncertainty",
        "windows --telemetry gpu_metrics.csv --windows windows.txt --json --price 0.3 --pue 1.2",
        "plot gpu_metrics.csv --bench-result guidellm.json --select 1 --format json",
        "doctor gpu_metrics.csv --json",
        "doctor --json",
        "plan --gpu-model H100 --detect 1% --json",
        "plan --recording gpu_metrics.csv --gpu-model A100 --margin 2% --json",
    ),
    "runs/h100-counter": (
        "--csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 2 --uncertainty --idle 60 --extended",
        "--csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 2 --max-sample-gap 0.01 --salvage --json",
        "--csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --timezone UTC",
    ),
    "store=store": (
        "backfill store --jobs 1 --report report.jsonl --uncertainty",
        "compare store --with other --json",
        "compare store --self-test --json",
        "compare store --with other --look 2/4 --json",
        "plan store --margin 5% --json",
        "compare store --json",
        "export store --format jsonl --tdp 700 --pue 1.2",
        "recommend store --json",
        "recommend store --json --slo e2e=100s",
        "verify store --json",
        "retract store --where collector=* --json",
        "verify store --json",
    ),
    "traces": (
        "attribute --telemetry gpu_metrics.csv --trace benchmark_result.json.gz --format json --uncertainty --pue 1.2 --price 0.3",
    ),
    "telemetry/aipowermeter telemetry-written/aipowermeter=written": (
        "windows --telemetry two-gpus-psys-sentinel.json --windows bench:written/inference/latency.csv --timezone UTC --per-process --json",
    ),
    "telemetry-written/node-witnesses": (
        "measure run.json gpus.csv --witness pm_counters.log --json",
        "calibrate levels.csv --witness meter.csv --json",
        "calibrate levels.csv --witness meter.csv --out profile.json",
        "measure run.json levels.csv --calibration profile.json --json",
        "windows --telemetry levels.csv --windows bench:run.json --calibration profile.json --json",
        "--csv gpus.csv --bench-result run.json --agg-result agg_run.json --witness pm_counters.log --expected-num-gpus 1",
    ),
}


def program(folder, *words, statuses=(0,)):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"}, timeout=120)
    assert done.returncode in statuses, f"{words}: status {done.returncode}\n{done.stdout[-300:]}{done.stderr}"
    return done.stdout


def same(wanted, found):
    assert wanted == found, f"expected {wanted!r}, got {found!r}"


NAMES = re.findall(r"(?m)^(\S+)", program(ROOT, "schema"))


@functools.cache
def schema(name):
    return json.loads(program(ROOT, "schema", name))


@functools.cache
def validator(name):
    return Draft202012Validator(schema(name))


# ---- The outputs

def kind_of(value, place):
    """The name of the schema of a JSON text that a command printed or wrote; None: it has none."""
    if not isinstance(value, dict):
        return None
    named = re.fullmatch(r"aggregate-power/([a-z-]+)-\d+", str(value.get("schema")))
    if named:
        return named[1]
    if "power_validation" in place or "computed_from" in value:
        return "record"
    if place.endswith("requests.jsonl"):
        return "requests"
    return "aggregate" if re.search(r"(^|/)(agg[^/]*|coding[^/]*)\.json$", place) else None


def values_in(text):
    """The JSON texts of an output of tests/outputs: (where, value)."""
    parts = re.split(r"(?m)^--- (stdout|stderr|file .*)\n", text.replace('"seconds":...', '"seconds":0.5'))
    for place, body in zip(parts[1::2], parts[2::2]):
        lines = body.splitlines() if re.match(r'\{.*\}\n\{|\{"(run|id)":', body) else [body]
        for line in lines:
            try:
                yield place, json.loads(line)
            except ValueError:
                pass


# Aggregates of these had members with names of ours before, of other types, which schema 1 leaves alone.
FOREIGN = re.compile(r"cases/(aggregate-|schema-1-)|agg_others")


def write_meter(folder):
    """Two GPUs at 100, 307 and 713 W in turn, in a node of 1000 W and 1.25 W for each of theirs."""
    def watts(second):
        return (100, 307, 713)[second // 40 % 3]
    (folder / "levels.csv").write_text("timestamp,index,name,power.draw [W]\n" + "".join(
        f"{1777118400 + second},{gpu},NVIDIA H100 80GB HBM3,{watts(second)}\n" for second in range(241) for gpu in (0, 1)))
    (folder / "meter.csv").write_text("timestamp,node_power_w\n" + "".join(
        f"{1777118400 + second},{1000 + 1.25 * (watts(second - 1) + watts(second))}\n" for second in range(1, 241)))


def more_outputs(root):
    def one(number, where, commands):
        folder = outputs.Folder(root, f"schemas/{number}")
        for name in where.split():
            source, _, target = name.partition("=")
            shutil.copytree(DATA / source, folder.path / target, dirs_exist_ok=True)
        if "witnesses" in where:
            (folder.path / "run.json").write_text(json.dumps({
                "benchmark_start_time_unix": 1777118410, "benchmark_end_time_unix": 1777118440, "duration": 30,
                "completed": 6, "total_input_tokens": 8000, "total_output_tokens": 1000}))
            (folder.path / "agg_run.json").write_text("{}")
        if where.startswith("store"):  # outputs.Folder sorts the lines of a backfill
            shutil.copytree(folder.path / "store", folder.path / "other")
            for words in (["--dry-run"], [], []):
                yield "backfill", "--- stdout\n" + program(folder.path, "backfill", "other", "--json", *words)
            for words in ([], ["--redact"]):
                program(folder.path, "bundle", "other", "--out", "other.tar.zst", *words)
                whole = subprocess.run(["zstd", "-dc", "other.tar.zst"], cwd=folder.path, capture_output=True, check=True).stdout
                yield "verify", "--- stdout\n" + program(folder.path, "verify", "other.tar.zst", "--json")
                with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
                    yield "bundle", "--- stdout\n" + tar.extractfile("bundle.json").read().decode()
        if "witnesses" in where:
            write_meter(folder.path)
        folder.settle()
        for command in commands:
            yield folder.output(command.split(), command)
        if where == "traces":
            plain = ["attribute", "--telemetry", "layer_power.csv", "--trace", "layers.csv", "--format", "json"]
            (folder.path / "other.json").write_text(program(folder.path, *plain))
            yield folder.output([*plain, "--with", "other.json"])
        if where.startswith("results"):
            words = ["windows", "--telemetry", "gpu_metrics.csv", "--windows", "windows.txt", "--json"]
            (folder.path / "windows.txt").open("a").write("begin later 1788900000\nend later 1788900001\n")
            (folder.path / "windows.json").write_text(program(folder.path, *words, statuses=(0, 1)))
            yield folder.output(words)
            yield folder.output(["export", "windows.json", "--format", "jsonl"])
    return [functools.partial(one, i, *item) for i, item in enumerate(COMMANDS.items())]


@functools.cache
def all_values():
    """By schema: (where, value) of every output."""
    found = collections.defaultdict(list)
    with outputs.patching.fresh_folder("schemas") as root:
        groups = [more_outputs(root), outputs.examples(root), outputs.cases(root), outputs.store(root),
                  outputs.synthetic_packages(root), outputs.random_packages_of_nodes(root)[::size(1, 5)]]
        for make in (make for group in groups for make in group):
            for name, text in make():
                for place, value in values_in(text):
                    kind = kind_of(value, place)
                    if kind and not (kind == "aggregate" and FOREIGN.search(f"{name} {text.splitlines()[0]}")):
                        found[kind].append((f"{name}: {place}", value))
    return found


def errors_of(name, value):
    def told(error):
        inner = max(error.context, key=lambda each: len(each.absolute_path), default=None)
        return told(inner) if inner else f"{'/'.join(map(str, error.absolute_path))}: {error.message[-200:]}"
    return [told(error) for error in validator(name).iter_errors(value)]


def test_every_output_validates(folder):
    faults = [f"{where}: {error}" for name, values in all_values().items() for where, value in values
              for error in errors_of(name, value)[:1]]
    counts = {name: len(all_values()[name]) for name in NAMES}
    print("outputs that validate:", ", ".join(f"{name} {count}" for name, count in counts.items()))
    assert not faults, f"{len(faults)} outputs do not:\n  " + "\n  ".join(faults[:20])
    same([], [name for name, count in counts.items() if count == 0])


def test_a_record_has_no_member_that_its_schema_lacks(folder):
    """Each row of the table of members; and UUIDs, which no example of testdata has."""
    rows = set(re.findall(r'(?m)^    \{"(\w+)", k', (ROOT / "src" / "core" / "record" / "record_write.cpp").read_text()))
    assert len(rows) > 40, rows
    same(set(), rows - set(schema("record")["properties"]))
    uuids = [f"GPU-{n}f0c1a2b-0000-1111-2222-333344445555" for n in range(2)]
    stamps = [f"2026/09/08 07:20:{second:02}.000, {gpu}, {uuids[gpu]}, 500 W" for second in range(60) for gpu in (0, 1)]
    (folder / "gpu_metrics.csv").write_text("timestamp, index, uuid, power.draw [W]\n" + "\n".join(stamps) + "\n")
    (folder / "run.json").write_text(json.dumps(load_result(1788852005, 1788852045)))
    (folder / "agg_run.json").write_text("{}")
    program(folder, "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
            "--expected-num-gpus", "2", "--uncertainty")
    record = json.loads((folder / "power_validation_run.json").read_text())
    same(uuids, record["gpu_uuids"])
    same([], errors_of("record", record))


def test_outputs_have_what_the_schemas_are_for(folder):
    """Both verdicts, and every object that an option adds."""
    text = {name: [json.dumps(value) for _, value in all_values()[name]] for name in NAMES}
    wanted = {"measure": ('"valid": true', '"valid": false', '"facility"', '"idle"', '"phase_energy"', '"request_energy"',
                          '"uncertainty": {"available": true', '"uncertainty": {"available": false', '"energy_j_low"', '"performance_per_watt"'),
              "record": ('"power_valid": true', '"power_valid": false', '"telemetry_kind"', '"window_validations"', '"hosts"',
                         '"cpu": {', '"cpu_power": {', '"counter_check"', '"witnesses"', '"salvage"', '"retracted"', '"selected_gpus"', '"good_work"', '"correct_answers"'),
              "aggregate": ('"joules_per_good_request"', '"power_valid": 1', '"power_valid": 0', '"power_audit"', '"workers"', '"power_verdicts"', '"total_cpu_energy_j"'),
              "windows": ('"measured": true', '"measured": false', '"energy_j_low"', '"facility"'),
              "compare": ('"comparisons"', '"summaries"', '"self_test"'), "export": ('"kind": "run"', '"kind": "window"'),
              "attribution": ('"energy_j_low"', '"facility"'), "retract": ('"retracted"',), "verify": ('"holds": true', '"holds": false', '"bundled_by": {')}
    same([], [(name, each) for name, words in wanted.items() for each in words if not any(each in one for one in text[name])])


# ---- Damaged outputs

# What these hold is not ours.
OPEN = {"options", "columns", "members", "nodes", "configuration"}
WORDS = {"reasons", "reason_codes", "verdicts", "power_verdicts", "assumptions", "power_invalid_reasons", "refused"}


def places(value, path=()):
    """The paths of all parts of a JSON value that the schemas describe."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        if key not in OPEN:
            yield (*path, key)
            yield from places(part, (*path, key))


def part_at(value, path):
    for key in path:
        value = value[key]
    return value


def damaged(value, path, make):
    value = copy.deepcopy(value)
    make(part_at(value, path[:-1]), path[-1])
    return value


def small_values(name):
    """A few outputs of each schema, the shorter ones of each shape, so that all members occur."""
    by_shape = {}
    for _, value in sorted(all_values()[name], key=lambda each: len(json.dumps(each[1]))):
        if name != "aggregate" or "power_metric_schema_version" in value:
            by_shape.setdefault(tuple(sorted(value)) + tuple(sorted({key for key in value.get("runs", [{}])[0:1] for key in key}
                                                                    if name == "measure" else ())), value)
    return random.Random(1).sample(list(by_shape.values()), min(len(by_shape), size(24, 6)))


def is_ours(name, path):
    """In an aggregate, the other members are the pipeline's."""
    return name != "aggregate" or path[0] in ours()


@functools.cache
def ours():
    keys = set()

    def add(part):
        if isinstance(part, dict):
            keys.update(part.get("properties", ()))
            list(map(add, part.values()))
        elif isinstance(part, list):
            list(map(add, part))
    add(schema("aggregate"))
    return keys


def accepted(change):
    """The damaged parts that no schema refused, as SCHEMA: PATH."""
    missed = set()
    for name in NAMES:
        for value in small_values(name):
            for path in places(value):
                made = change(name, value, path)
                if made is not None and is_ours(name, path) and validator(name).is_valid(made):
                    missed.add(f"{name}: {'/'.join('#' if isinstance(key, int) else key for key in path)}")
    return sorted(missed)


def test_another_type_is_refused(folder):
    def change(name, value, path):
        wrong = {"": [{}]} if isinstance(part_at(value, path), list) else [{}]
        return damaged(value, path, lambda part, key: part.__setitem__(key, wrong))
    same([], accepted(change))


def test_an_unknown_word_is_refused(folder):
    def change(name, value, path):
        if path[-1] not in WORDS or not isinstance(part_at(value, path), list):
            return None
        return damaged(value, path, lambda part, key: part[key].append("no_such_word"))
    same([], accepted(change))


def test_a_missing_member_is_refused(folder):
    """A member that all outputs of a schema have must be there."""
    for name in set(NAMES) - {"aggregate"}:
        values = [value for _, value in all_values()[name]]
        parts = [run for value in values for run in value["runs"]] if name == "measure" else values
        for key in set.intersection(*map(set, parts)):
            first = copy.deepcopy(values[0])
            del (first["runs"][0] if name == "measure" else first)[key]
            assert not validator(name).is_valid(first), f"{name}: '{key}' is not required"


def test_an_unknown_member_is_refused(folder):
    for name in set(NAMES) - {"aggregate"}:
        for value in small_values(name):
            assert not validator(name).is_valid(value | {"no_such_member": 1}), name


def test_a_reversed_verdict_is_refused(folder):
    for name, key in (("measure", "valid"), ("record", "power_valid"), ("aggregate", "power_valid")):
        for _, value in all_values()[name]:
            made = copy.deepcopy(value)
            part = made["runs"][0] if name == "measure" and made["runs"] else made
            if key in part and (name != "aggregate" or "power_metric_schema_version" in part):
                part[key] = type(part[key])(not part[key])
                assert not validator(name).is_valid(made), f"{name}: {json.dumps(value)[:300]}"


# ---- The schemas themselves

def demands(part):
    if isinstance(part, dict):
        return {key: demands(each) for key, each in part.items() if key != "description" or not isinstance(each, str)}
    return [demands(each) for each in part] if isinstance(part, list) else part


def source(name):
    """A schema as it is in src/schemas, where words of the program's tables are named, with the parts that it uses."""
    parts = json.loads((SOURCES / "parts.json").read_text())["$defs"]
    whole = json.loads((SOURCES / f"{name}.json").read_text())
    own = whole.setdefault("$defs", {})
    while missing := set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(whole))) - set(own):
        own.update({each: parts[each] for each in missing})
    assert not (set(json.loads((SOURCES / f"{name}.json").read_text()).get("$defs", ())) & set(parts)), name
    return whole


def test_a_change_needs_a_new_version(folder):
    for name in NAMES:
        text = json.dumps(demands(source(name)), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        title = schema(name)["title"]
        assert VERSIONS.get(title) == digest, \
            f"{title} has changed: give it a new version (see VERSIONS), and add the line\n    \"{title}\": \"{digest}\","


def test_the_schemas_are_schemas(folder):
    same(sorted(path.stem for path in SOURCES.glob("*.json") if path.stem != "parts"), sorted(NAMES))
    for name in NAMES:
        Draft202012Validator.check_schema(schema(name))
        title = schema(name)["title"]
        assert re.fullmatch(rf"aggregate-power/{name}-\d+", title), title
        stated = set(re.findall(r'"const": "(aggregate-power/[^"]*)"', json.dumps(schema(name))))
        assert stated <= {title}, stated
        same(schema(name), json.loads(program(ROOT, "schema", title)))


def test_words_are_those_of_the_program(folder):
    words = json.loads(program(ROOT, "explain", "--json"))
    same([word["code"] for word in words if "meaning" in word], schema("measure")["$defs"]["reason"]["enum"])
    for name in NAMES:
        assert not re.search(r'"enum": "', json.dumps(schema(name))), name


UNITS = {"_w": r"\bW\b", "_j": r"\bJ\b", "_s": r"\bs\b", "_unix": "Unix time", "_wh": "Wh", "_c": "°C", "_pct": "%"}


def test_numbers_have_units(folder):
    def check(part, name):
        is_whole = isinstance(part, dict) and part.get("type") == "object"  # and no condition
        for key, member in part.get("properties", {}).items() if is_whole else ():
            suffix = next((each for each in UNITS if key.endswith(each)), None)
            if suffix and isinstance(member, dict) and "number" in str(member.get("type")):
                assert re.search(UNITS[suffix], member.get("description", "")), f"{name}: {key}: {member}"
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            check(each, name)
    for name in NAMES:
        check(schema(name), name)


def test_wrong_use(folder):
    for words, text in ((["mesure"], "unknown schema 'mesure': did you mean measure?"),
                        (["xyzzy"], "unknown schema 'xyzzy'; 'aggregate-power schema' lists all"),
                        (["parts"], "unknown schema 'parts'")):
        done = subprocess.run([PROGRAM, "schema", *words], capture_output=True, text=True)
        same((2, "", True), (done.returncode, done.stdout, text in done.stderr))


# ---- The examples of the page

def measured_folder(folder):
    shutil.copytree(DATA / "results", folder, dirs_exist_ok=True)
    shutil.copytree(DATA / "store", folder / "artifacts")
    (folder / "measured.json").write_text(program(folder, "measure", "guidellm.json", "--json"))
    (folder / "measured2.json").write_text(program(folder, "measure", "guidellm.json", "--json", "--gpus", "7", statuses=(1,)))
    program(folder, "backfill", "artifacts", "--report", "report.jsonl", "--quiet")
    program(folder, "bundle", "artifacts", "--out", "run.bundle.tar.zst")
    (folder / "verified.json").write_text(program(folder, "verify", "run.bundle.tar.zst", "--json"))
    return folder


def test_sql(folder):
    measured_folder(folder)
    queries = [query for block in re.findall(r"(?ms)^```sql\n(.*?)^```$", PAGE) for query in block.split(";") if query.strip()]
    rows = duckdb_rows(folder, [*queries, "SELECT valid, total_gpu_energy_j FROM 'runs.parquet'",
                                "SELECT outcome, total_gpu_energy_j FROM 'report.parquet' ORDER BY run"])
    if rows is None:
        return
    runs = [run for name in ("measured.json", "measured2.json") for run in json.loads((folder / name).read_text())["runs"]]
    key = str
    same(sorted([[run["valid"], run.get("total_gpu_energy_j")] for run in runs], key=key), sorted(rows[-2], key=key))
    same(2, sum(row == ["patched", 38400.0] for row in rows[-1]))
    same(5, len(rows[-1]))
    # 19200 J each: two runs of two GPUs, written in place.
    same([19200.0] * 4, [row[2] for row in rows[-4]])
    same([["run.bundle.tar.zst", True]], [[row[0], row[4]] for row in rows[-3]])


def test_pandas(folder):
    if importlib.util.find_spec("pandas") is None:
        print("SKIPPED test_pandas: there is no pandas")
        return
    measured_folder(folder)
    names = {}
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(re.search(r"(?ms)^```python\n(.*?)^```$", PAGE)[1], names)  # noqa: S102
    finally:
        os.chdir(here)
    same(len(json.loads((folder / "measured.json").read_text())["runs"]), len(names["runs"]))
    same(2, int((names["energies"]["total_gpu_energy_j"] == 38400.0).sum()))
    same(5, len(names["report"]))


def test_the_check_of_the_page(folder):
    shutil.copytree(DATA / "results", folder, dirs_exist_ok=True)
    (folder / "result.json").write_bytes((folder / "vllm_detailed.json").read_bytes())
    script = re.search(r"(?ms)^```sh\n(aggregate-power schema.*?)^```$", PAGE)[1]
    path = f"{pathlib.Path(PROGRAM).resolve().parent}:{os.environ['PATH']}"
    where = os.pathsep.join(each for each in sys.path if each)
    script = script.replace("python3 ", f"{sys.executable} -W ignore ")
    done = subprocess.run(["sh", "-ec", script], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={"PATH": path, "TZ": "UTC", "PYTHONPATH": where})
    same((0, ""), (done.returncode, done.stdout + done.stderr))


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
