"""Random runs of the program against the reference model; what both must say is in reference.py.

usage: differential_test.py [--runs N] [--seed S]
The program is $AGGREGATE_POWER, or the one in build/. The last line is "N passed, N failed".
A failed run's folder stays behind, with its command line and what differed in it.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multinode"))

import random_runs
import random_stamps
import reference
import salvage_model
import seeds
from running import size

RUNS = size(400, 300)
# The rules that the reference knows. Random readings may look like no sensor's.
AUGUST = ["--compat", "august", "--accept",
          "gpu_identity_conflict,several_gpus_in_one_series,same_sensor,readings_repeat,stuck_sensor,idle_gpus_counted"]
POWER_KEYS = {*reference.METRICS, *reference.ROLE_METRICS, "power_metric_schema_version",
              "power_valid", "power_invalid_reasons"}
METRIC_KEYS_1 = ("avg_power_w", "joules_per_output_token", "joules_per_total_token")


class Spelled(str):
    """A number of a JSON text as it is written there."""


class Members(list):
    """The members of a JSON object in order, repeated ones too."""


def spelled_members(data):
    return json.loads(data.decode(), object_pairs_hook=Members, parse_float=Spelled,
                      parse_int=Spelled, parse_constant=Spelled)


def lay_out(run, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in run.folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, content in run.files.items():
        (folder / name).write_bytes(content)


def environment_of(run):
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"} | run.environment


def expect(run, folder):
    """The reference's outcome. It works in the folder, and in the run's environment."""
    os.chdir(folder)
    environment = environment_of(run)
    os.environ.clear()
    os.environ.update(environment)
    random_stamps.set_zone(run.environment["TZ"])
    silence = open(os.devnull, "w")
    stderr, sys.stderr = sys.stderr, silence
    try:
        return reference.aggregate(run.arguments)
    finally:
        sys.stderr = stderr
        silence.close()
        os.chdir("/")


def same(a, b):
    """Equal to the last digit, whole numbers apart from others."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def compare_members(differences, what, expected, found):
    for key in [*expected, *(key for key in found if key not in expected)]:
        if key not in found:
            differences.append(f"{what}: {key}: expected {expected[key]}, but it is not there")
        elif key not in expected:
            differences.append(f"{what}: {key}: unexpected, {found[key]}")
        elif not same(expected[key], found[key]):
            differences.append(f"{what}: {key}: expected {expected[key]}, got {found[key]}")


def compare_aggregate(differences, run, folder, expected):
    path = folder / run.aggregate
    before = run.files.get(run.aggregate)
    after = path.read_bytes() if path.is_file() else None
    if expected is None:
        if before != after:
            differences.append("aggregate: it should be as it was")
        return
    members = json.loads(after.decode())
    touched = POWER_KEYS if run.schema == 2 else METRIC_KEYS_1
    found = {key: value for key, value in members.items() if key in touched}
    compare_members(differences, "aggregate", expected, found)
    others = [member for member in spelled_members(before) if member[0] not in touched]
    kept = [member for member in spelled_members(after) if member[0] not in touched]
    if others != kept:
        differences.append("aggregate: members that are not ours have changed")
    if sum(1 for key, _ in spelled_members(after) if key in touched) != len(found):
        differences.append("aggregate: one of our members is there twice")


def compare_sidecar(differences, folder, path, expected):
    if expected is None:
        return
    try:
        found = json.loads((folder / path).read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        differences.append(f"sidecar: {error}")
        return
    if [key for key in found if key != "accepted_reasons"] != [*expected, "computed_from"]:
        differences.append(f"sidecar: its keys are {list(found)}")
    found.pop("computed_from", None)
    found.pop("accepted_reasons", None)
    compare_members(differences, "sidecar", expected, found)


def compare_output(differences, expected, result):
    name = "aggregate-power: "
    out, err = result.stdout.decode(), result.stderr.decode(errors="replace")
    line, *others = out.removeprefix(name).splitlines() or [None]  # the original's line, then the interval
    if line != expected.line:
        differences.append(f"stdout: expected {expected.line!r}, got {line!r}")
    if len(others) > 1 or not all(other.startswith(f"{name}energy ") for other in others):
        differences.append(f"stdout: more than the line of the interval: {others}")
    if expected.line is None and not err:
        differences.append("stderr: nothing says why there is no result")
    if result.returncode != expected.status:
        differences.append(f"exit status: expected {expected.status}, got {result.returncode}")


# ---- The same run with --salvage and one of the sets of --keys

PERCENTILES = {f"{name}_{of}power_w" for name in ("p75", "p90") for of in ("", "total_gpu_")}
AUDIT = {"power_invalid_reasons", "power_audit"}
STATES = {"avg_temp_c", "peak_temp_c", "avg_util_pct", "avg_mem_used_mb",
          "output_tokens_per_second_per_gpu_watt", "total_tokens_per_second_per_gpu_watt"}
MAY_HAVE = {"seed": set(), "row": PERCENTILES | AUDIT, "agentx-row": PERCENTILES,
            "all": PERCENTILES | AUDIT | STATES}
OF_SAMPLES = {"sampling_gap_exceeded", "invalid_power_sample"}


def expected_salvage(expected):
    """Nothing for a run that is valid, or has another fault."""
    reasons, found = set(expected.sidecar["reasons"]), expected.integration
    if not reasons or not reasons <= OF_SAMPLES:
        return None
    if set(found.blanks) - set(found.samples):
        return salvage_model.Salvage("nothing")
    times = {gpu: [unix_s for unix_s, _ in samples] for gpu, samples in found.samples.items()}
    return salvage_model.of_series(times, found.blanks, found.start, found.end, found.energies)


def compare_row(differences, keys, expected, before, after):
    ours = POWER_KEYS - AUDIT
    compare_members(differences, f"--keys {keys}", {key: value for key, value in expected.items() if key in ours},
                    {key: value for key, value in after.items() if key in ours})
    added = {key for key in set(after) - set(before) - POWER_KEYS if not key.startswith("salvaged_")}
    if added - MAY_HAVE[keys]:
        differences.append(f"--keys {keys}: {sorted(added - MAY_HAVE[keys])} are not of it")
    if expected["power_valid"] and keys != "seed" and PERCENTILES - set(after):
        differences.append(f"--keys {keys}: {sorted(PERCENTILES - set(after))} are missing")


def compare_salvaged(differences, run, command, folder, seed, expected):
    """Its aggregate and record are those of a first run."""
    keys = list(MAY_HAVE)[seed // 2 % len(MAY_HAVE)]
    before = json.loads((folder / run.aggregate).read_text())
    result = subprocess.run([*command, "--salvage", "--keys", keys], cwd=folder, env=environment_of(run),
                            capture_output=True)
    after = json.loads((folder / run.aggregate).read_text())
    record = json.loads((folder / expected.sidecar_path).read_text())
    if result.returncode != expected.status:
        differences.append(f"--salvage: exit status {result.returncode}: {result.stderr.decode()[:300]}")
    compare_row(differences, keys, expected.power_members, before, after)
    salvage = expected_salvage(expected)
    differences += salvage_model.faults_of_row(keys, record.get("salvage"), after)
    if salvage is None:
        if record.get("salvage"):
            differences.append(f"--salvage: {record['salvage']}")
        return
    names = {gpu: gpu for gpu in salvage.shares}
    differences += salvage_model.faults_of_record(salvage, record.get("salvage"), names)


def differences_of(run, command, folder, seed):
    lay_out(run, folder)
    expected = expect(run, folder)
    result = subprocess.run(command, cwd=folder, env=environment_of(run), capture_output=True)
    differences = []
    compare_output(differences, expected, result)
    compare_aggregate(differences, run, folder, expected.power_members)
    compare_sidecar(differences, folder, expected.sidecar_path, expected.sidecar)
    if not differences and expected.sidecar and expected.power_members and expected.integration:
        compare_salvaged(differences, run, command, folder, seed, expected)
    return differences


def judge(seed, folder):
    """Leaves the folder of a run that differs as it was before the run."""
    run = random_runs.make_run(seed, wild=seed % 2 == 0)
    command = [seeds.PROGRAM, *AUGUST, *run.arguments]
    differences = differences_of(run, command, folder, seed)
    if differences:
        shutil.rmtree(folder)
        lay_out(run, folder)
    settings = [f"{name}={value}" for name, value in run.environment.items()]
    return sorted(run.notes), ["env", *settings, *command], differences


def main():
    given = seeds.seed_options(RUNS).parse_args()
    return seeds.run_seeds("differential", range(given.seed, given.seed + given.runs), judge)


if __name__ == "__main__":
    sys.exit(main())
