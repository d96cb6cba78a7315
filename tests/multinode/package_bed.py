"""Runs of `aggregate-power multinode` on built packages, and what must hold of them."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import patching  # noqa: E402  (beside the tests that share it)
from package_builder import PIN, Package, write_csv

WHOLE = ["avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j",
         "joules_per_successful_query", "joules_per_input_token", "joules_per_output_token",
         "joules_per_total_token"]
PREFILL = ["prefill_gpu_energy_j", "prefill_avg_power_w", "prefill_joules_per_input_token"]
DECODE = ["decode_gpu_energy_j", "decode_avg_power_w", "decode_joules_per_output_token"]
ALL_RECORD_KEYS = {
    "august": [
        "schema_version", "power_valid", "reasons", "failures", "telemetry_source",
        "benchmark_result", "benchmark_window", "selected_window", "integration_method",
        "producer", "expected_gpu_count", "observed_gpu_count", "per_gpu_role",
        "per_gpu_max_sample_gap_s", "per_gpu_energy_j", "metrics", "computed_from"],
    "october": [
        "schema_version", "power_valid", "reasons", "failures", "telemetry_source",
        "benchmark_result", "benchmark_window", "selected_window", "package_integrity_valid",
        "window_validations", "integration_method", "producer", "expected_gpu_count",
        "observed_gpu_count", "per_gpu_role", "per_gpu_max_sample_gap_s", "per_gpu_energy_j",
        "metrics", "gap_dialect", "gap_energy_bound_j", "computed_from"]}
# 1400 W for 60 s, 10 queries, 30000 tokens in, 6000 out.
METRICS = {
    "avg_power_w": 350.0, "avg_total_gpu_power_w": 1400.0, "total_gpu_energy_j": 84000.0,
    "joules_per_successful_query": 8400.0, "joules_per_input_token": 2.8,
    "joules_per_output_token": 14.0, "joules_per_total_token": 2.333333,
    "prefill_gpu_energy_j": 48000.0, "prefill_avg_power_w": 400.0,
    "prefill_joules_per_input_token": 1.6, "decode_gpu_energy_j": 36000.0,
    "decode_avg_power_w": 300.0, "decode_joules_per_output_token": 6.0}
VERDICT = {"power_metric_schema_version": 2, "power_valid": 1}

# Which version of the original judges: the tests run by both, unless they say otherwise.
contract = "october"


def is_october():
    return contract == "october"


def record_keys():
    return ALL_RECORD_KEYS[contract]


def cpu_key():
    return "cpu" if is_october() else "cpu_power"


class Bed:
    """A package in a folder of its own."""

    def __init__(self, folder, package=None):
        self.folder = folder
        self.package = package or Package()
        self.package.write(folder)
        self.logs = folder / "LOGS"
        self.power = self.logs / "power"
        self.windows = self.power / "windows"
        self.manifest = self.power / "manifest.json"
        self.samples = self.power / "samples.csv"
        self.bench = folder / "run.json"
        self.aggregate = folder / "agg_run.json"
        self.record_path = folder / "power_validation_run.json"
        self.window = self.windows / f"{self.package.loads[0].stem}.json"

    def run(self, *more, gpus=(2, 2), agg=None, pin=PIN, environment=None, **options):
        arguments = ["multinode", "--compat", contract, "--power-dir", "LOGS/power", "--logs-root", "LOGS",
                     "--bench-result", "run.json", "--agg-result", "agg_run.json"]
        if gpus is not None:
            arguments += ["--prefill-gpus", str(gpus[0]), "--decode-gpus", str(gpus[1])]
        if agg is not None:
            arguments += ["--aggregate-gpus", str(agg)]
        if pin is not None:
            arguments += ["--expected-producer-sha", pin]
        return self.plain(*arguments, *more, environment=environment, **options)

    def plain(self, *arguments, environment=None, folder=None, **options):
        done = patching.run(arguments, folder or self.folder, environment=environment, **options)
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        return done

    @property
    def record(self):
        return strictly_parsed(self.record_path)

    @property
    def row(self):
        return strictly_parsed(self.aggregate)

    def lines(self, change):
        """Gives the lines of samples.csv behind the header, as lists of cells, to `change`."""
        header, *lines = self.samples.read_bytes().decode().split("\r\n")
        write_csv(self.samples, [[header], *change([line.split(",") for line in lines[:-1]])])


def strictly_parsed(path):
    """Strict JSON: without NaN and Infinity."""
    return json.loads(path.read_text(), parse_constant=lambda word: 1 / 0)


def differences(what, found, expected):
    return [] if found == expected else [f"{what}: {found!r}, expected {expected!r}"]


def is_valid(bed, metrics=None, **run):
    """The faults of a run that must be valid; in the aggregate just these metrics, in order."""
    before = json.loads(bed.aggregate.read_text())
    metrics = METRICS if metrics is None else metrics
    done = bed.run("--require-power", *run.pop("more", ()), **run)
    if done.returncode != 0:
        return [f"status {done.returncode}: {done.err}"]
    kept = {key: value for key, value in before.items() if key not in METRICS}
    return [*differences("aggregate", bed.row, kept | VERDICT | metrics),
            *differences("reasons", bed.record["reasons"], []),
            *differences("power_valid", bed.record["power_valid"], True),
            *differences("failures", bed.record["failures"], [])]


def is_void(bed, reasons, failures=(), **run):
    """The faults of a run that must not be valid, in both modes; `failures` are among those that
    its record tells."""
    more = run.pop("more", ())
    before = json.loads(bed.aggregate.read_text())
    inputs = patching.contents(bed.logs) if bed.logs.exists() else {}
    faults = []
    for status, mode in ((0, ()), (1, ("--require-power",))):
        bed.record_path.unlink(missing_ok=True)
        done = bed.run(*more, *mode, **run)
        faults += differences("status", done.returncode, status)
        faults += differences("stdout", done.out, "")
        if not done.err.startswith(f"aggregate-power: power not valid: {reasons[0]}"):
            faults.append(f"stderr: {done.err!r}")
        faults += [f"not said: {reason}" for reason in reasons if reason not in done.err]
    kept = {key: value for key, value in before.items() if key not in METRICS}
    record = bed.record
    faults += differences("aggregate", bed.row, kept | VERDICT | {"power_valid": 0})
    faults += differences("reasons", record["reasons"], list(reasons))
    faults += differences("power_valid", record["power_valid"], False)
    faults += differences("metrics", record["metrics"], {})
    faults += [f"no failure tells {text!r}: {record['failures']}" for text in failures
               if not any(text in failure for failure in record["failures"])]
    if (patching.contents(bed.logs) if bed.logs.exists() else {}) != inputs:
        faults.append("the package was changed")
    return faults


class Ground:
    """Gives each test fresh folders."""

    def __init__(self, root):
        self.root = root
        self.count = 0

    def bed(self, package=None):
        self.count += 1
        folder = self.root / str(self.count)
        folder.mkdir()
        return Bed(folder, package)


def main(tests, wanted, contracts=("october", "august")):
    """Runs the tests, or those that are named, by the rules of both contracts; each adds its
    checks."""
    global contract
    checks = patching.Checks()
    with patching.fresh_folder("multinode") as root:
        ground = Ground(root)
        for contract in contracts:
            print(f"--compat {contract}:")
            for test in tests:
                if not wanted or test.__name__ in wanted:
                    test(ground, checks)
    return checks.end()
