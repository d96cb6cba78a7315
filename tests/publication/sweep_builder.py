"""A published sweep made from a few numbers: artifacts, audit records, aggregates and the manifest.

What is published is worked out here: watts times seconds by hand, digests by hashlib, JSON by json.

* `solo`: one node, two GPUs at 500 W and 300 W for 10 s: 8,000 J.
* `agent`: agents on one node, one AMD GPU at 400 W for 10 s: 4,000 J; its raw result is not retained.
* `pair`: a package of two nodes at two concurrencies: two prefill GPUs at 400 W and two decode GPUs at
  300 W for 60 s (84,000 J) and for 10 s (14,000 J).
* `whole`: a package of two nodes whose four GPUs do both, at 350 W for 60 s: 84,000 J.
"""
import copy
import datetime
import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multinode"))
from package_builder import PIN, Gpu, Load, Package, write_json  # noqa: E402  (beside the tests that share it)

START = 1_700_000_000
HEAD = "ab" * 20
TOPOLOGY_KEYS = [
    "disagg", "is_multinode", "num_gpus", "num_prefill_gpu", "num_decode_gpu", "tp", "pp", "dcp_size",
    "pcp_size", "ep", "dp_attention", "prefill_tp", "prefill_pp", "prefill_dcp_size",
    "prefill_pcp_size", "prefill_dp_attention", "prefill_ep", "prefill_num_workers", "decode_tp",
    "decode_pp", "decode_dcp_size", "decode_pcp_size", "decode_dp_attention", "decode_ep",
    "decode_num_workers"]


def fingerprint(name):
    return hashlib.sha256(name.encode()).hexdigest()


def metrics_of(joules, seconds, counts, roles=None):
    """The seven metrics, and three for each role of (joules, GPUs)."""
    gpus = len(joules)
    total = sum(joules.values())
    completed, given, written = counts
    metrics = {"avg_power_w": total / seconds / gpus, "avg_total_gpu_power_w": total / seconds,
               "total_gpu_energy_j": total, "joules_per_successful_query": total / completed,
               "joules_per_input_token": total / given, "joules_per_output_token": total / written,
               "joules_per_total_token": total / (given + written)}
    for role, tokens, what in (("prefill", given, "input"), ("decode", written, "output")):
        ours = [energy for gpu, energy in joules.items() if (roles or {}).get(gpu) == role]
        if ours:
            metrics |= {f"{role}_gpu_energy_j": sum(ours),
                        f"{role}_avg_power_w": sum(ours) / seconds / len(ours),
                        f"{role}_joules_per_{what}_token": sum(ours) / tokens}
    return metrics


def rounded_row(metrics):
    return {key: round(value, 3 if key.endswith(("_w", "_j")) else 6)
            for key, value in metrics.items()}


def layout(prefix, tp, workers=None, gpus=None):
    """A kind of worker as an aggregate says it; without workers there is no layout."""
    fields = {f"{prefix}tp": tp, f"{prefix}pp": 1, f"{prefix}dcp_size": 1, f"{prefix}pcp_size": 1,
              f"{prefix}ep": tp, f"{prefix}dp_attention": False}
    if prefix:
        fields |= {f"{prefix}num_workers": workers, f"num_{prefix}gpu": gpus}
    return fields


class Point:
    """One published point: `files` are relative to the sweep; `record` and `aggregate` are dicts."""

    def __init__(self, name, run, conc, row, aggregate, record, paths):
        self.name = name
        self.run = run
        self.conc = conc
        self.row = row
        self.aggregate = aggregate
        self.record = record
        self.aggregate_path, self.record_path = paths
        self.devices = []   # (node, uuid, role, key of the record)
        self.evidence = []  # paths, besides those two
        self.agentic = False

    def published(self, root):
        files = sorted({self.aggregate_path, self.record_path, *self.evidence},
                       key=lambda path: path.split("/"))
        row, record = self.aggregate, self.record
        topology = {key: row[key] for key in TOPOLOGY_KEYS if key in row}
        topology["num_gpus"] = row.get("num_gpus", len(self.devices))
        return {
            "config_key": self.name,
            "identity": {
                "model": row["infmax_model_prefix"], "hardware": row["hw"],
                "framework": row["framework"], "precision": row["precision"],
                "recipe_fingerprint": row["recipe_fingerprint"],
                "benchmark_type": "agentic_traces" if self.agentic else "single_turn",
                "isl": None if self.agentic else row["isl"],
                "osl": None if self.agentic else row["osl"], "concurrency": row["conc"]},
            "topology": topology,
            "measurement_window": {key: record["benchmark_window"][key]
                                   for key in ("start_time_unix", "end_time_unix")},
            "devices": [{"node": node, "gpu_uuid": uuid, "role": role,
                         "energy_j": record["per_gpu_energy_j"][key]}
                        for node, uuid, role, key in self.devices],
            "artifacts": [{"path": path, "sha256": digest(root / path), "validation_state": "valid"}
                          for path in files]}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def base_row(name, conc, **more):
    return {"exp-name": name, "model-prefix": "qwen", "model": "Qwen/Qwen", "runner": "h100",
            "framework": "sglang", "precision": "fp8", "recipe-fingerprint": fingerprint(name),
            "conc": conc, "require-power": True, "disagg": False} | more


def base_aggregate(name, conc, multinode, **more):
    return {"infmax_model_prefix": "qwen", "hw": "h100", "framework": "sglang", "precision": "fp8",
            "recipe_fingerprint": fingerprint(name), "conc": conc, "isl": 1024, "osl": 1024,
            "disagg": False, "is_multinode": multinode, "tput": 1234.5} | more


def window_of(start, seconds, counts):
    return {"start_time_unix": float(start), "end_time_unix": float(start + seconds),
            "reported_duration_s": float(seconds), "integration_duration_s": float(seconds),
            "completed": counts[0], "total_input_tokens": counts[1],
            "total_output_tokens": counts[2]}


def record_of(result, window, joules, metrics, **more):
    return {"schema_version": 1, "power_valid": True, "reasons": [], "benchmark_result": result,
            "benchmark_window": window, "expected_gpu_count": len(joules),
            "observed_gpu_count": len(joules), **more, "per_gpu_energy_j": joules,
            "metrics": {key: round(value, 6) for key, value in metrics.items()}}


def raw_result(conc, window):
    return {"max_concurrency": conc, "duration": window["reported_duration_s"],
            "benchmark_start_time_unix": window["start_time_unix"],
            "benchmark_end_time_unix": window["end_time_unix"],
            **{key: window[key]
               for key in ("completed", "total_input_tokens", "total_output_tokens")}}


def csv_of(watts, seconds, start=START - 2):
    """nvidia-smi's rows, one for each second and GPU, in UTC; `watts` by index."""
    lines = ["timestamp, index, power.draw [W]"]
    for second in range(seconds + 5):
        stamp = datetime.datetime.fromtimestamp(start + second, datetime.timezone.utc)
        lines += [f"{stamp:%Y/%m/%d %H:%M:%S}.000, {index}, {power:.2f} W"
                  for index, power in watts.items()]
    return "\n".join(lines) + "\n"


class Sweep:
    def __init__(self, root, points=("solo", "agent", "pair", "whole")):
        self.root = root
        self.points = []
        self.matrix = {"single_node": {}, "multi_node": {}}
        for name in points:
            getattr(self, f"add_{name}")()
        self.more = {}
        self.write()

    def path(self, path):
        return self.root / path

    def file(self, path, content):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def json(self, path, value):
        self.file(path, json.dumps(value, indent=1))

    # ---- The points

    def add_row(self, topology, scenario, row):
        self.matrix[topology].setdefault(scenario, []).append(row)

    def add_solo(self, name="solo", conc=8, watts=None, seconds=10):
        watts = watts or {0: 500.0, 1: 300.0}
        run, counts = f"{name}_conc{conc}", (5, 8000, 1000)
        joules = {str(index): power * seconds for index, power in watts.items()}
        metrics = metrics_of(joules, seconds, counts)
        window = window_of(START, seconds, counts)
        audit = f"power_audit_{run}"
        row = base_row(name, conc, tp=len(watts), ep=len(watts))
        aggregate = base_aggregate(name, conc, False, **layout("", len(watts)),
                                   power_metric_schema_version=2, power_valid=1,
                                   **rounded_row(metrics))
        point = Point(name, run, conc, row, aggregate,
                      record_of(f"/workspace/{run}.json", window, joules, metrics),
                      (f"bmk_{run}/agg_{run}.json", f"{audit}/power_validation_{run}.json"))
        point.devices = [("node-a", f"GPU-{name}-{index}", "aggregate", str(index))
                         for index in watts]
        self.file(f"{audit}/gpu_metrics.csv", csv_of(watts, seconds))
        self.file(f"{audit}/power_node.txt", "node-a\n")
        self.file(f"{audit}/gpu_metrics_identity.csv", "index, uuid\n" + "".join(
            f"{index}, GPU-{name}-{index}\n" for index in watts))
        self.json(f"{audit}/{run}.json", raw_result(conc, window))
        point.evidence = [f"{audit}/{file}" for file in
                          ("gpu_metrics.csv", "power_node.txt", "gpu_metrics_identity.csv")]
        self.add_row("single_node", "1k1k", row)
        self.points.append(point)

    def add_agent(self):
        counts, joules = (3, 6000, 900), {"0": 4000.0}
        metrics = metrics_of(joules, 10, counts)
        row = base_row("agent", [1], tp=1, ep=1, **{"scenario-type": "agentic-coding",
                                                     "num-gpus": 1, "runner": "mi300x"})
        aggregate = base_aggregate("agent", 1, False, **layout("", 1), num_gpus=1,
                                   power_metric_schema_version=2, power_valid=1,
                                   **rounded_row(metrics)) | {"hw": "mi300x"}
        del aggregate["isl"], aggregate["osl"]
        point = Point("agent", "agent", 1, row, aggregate,
                      record_of("results/agentic_power_window.json", window_of(START, 10, counts),
                                joules, metrics),
                      ("bmk_agentic_agent/agent.json", "agentic_agent/results/power_validation.json"))
        point.agentic = True
        point.devices = [("node-x", "uuid-x", "aggregate", "0")]
        folder = "agentic_agent/results"
        self.file(f"{folder}/gpu_metrics.csv", csv_of({0: 400.0}, 10))
        self.file(f"{folder}/power_node.txt", "node-x")
        self.json(f"{folder}/gpu_metrics_devices.json", [{"gpu": 0, "uuid": "uuid-x"}])
        point.evidence = [f"{folder}/{file}" for file in
                          ("gpu_metrics.csv", "power_node.txt", "gpu_metrics_devices.json")]
        self.add_row("single_node", "agentic", row)
        self.points.append(point)

    def add_package(self, name, package, disagg, tp):
        audit = f"power_audit_{name}"
        package.write(self.root / audit)
        for made in ("run.json", "agg_run.json"):
            (self.root / audit / made).unlink()
        by_role = {}
        for gpu in package.gpus:
            by_role.setdefault(gpu.role, []).append(gpu)
        prefill = by_role.get("prefill", by_role.get("agg", []))
        decode = by_role.get("decode", [])
        workers = [{"num-worker": len(gpus) // tp, "tp": tp, "ep": tp} for gpus in (prefill, decode)]
        row = base_row(name, [load.concurrency for load in package.loads], disagg=disagg,
                       prefill=workers[0], decode=workers[1], **{"node-count": 2})
        for load in package.loads:
            self.add_load(name, package, load, row, disagg, tp, (len(prefill), len(decode)))
        self.add_row("multi_node", "1k1k", row)

    def add_load(self, name, package, load, row, disagg, tp, gpus):
        audit, counts = f"power_audit_{name}", (10, 30000, 6000)
        seconds = load.end - load.start
        joules = {f"{gpu.host}/{gpu.uuid}": gpu.watts * seconds for gpu in package.gpus}
        roles = {f"{gpu.host}/{gpu.uuid}": gpu.role for gpu in package.gpus}
        metrics = metrics_of(joules, seconds, counts, roles)
        run = f"{name}_cfg_conc{load.concurrency}_gpus_4"
        window = window_of(load.start, seconds, counts)
        selected = {"window_file": f"windows/{load.stem}.json",
                    "result_path": f"{load.folder}/{load.stem}.json", "benchmark_type": load.kind,
                    "concurrency": load.concurrency, "start_time_unix": load.start,
                    "end_time_unix": load.end, "duration": seconds}
        record = record_of(f"{run}.json", window, joules, metrics, failures=[],
                           selected_window=selected, per_gpu_role=roles,
                           producer={"producer_git_commit": PIN,
                                     "expected_producer_git_commit": PIN})
        aggregate = base_aggregate(
            name, load.concurrency, True, **layout("prefill_", tp, gpus[0] // tp, gpus[0]),
            **layout("decode_", tp if gpus[1] else 0, gpus[1] // tp, gpus[1]), disagg=disagg,
            power_metric_schema_version=2, power_valid=1, **rounded_row(metrics))
        point = Point(name, run, load.concurrency, row, aggregate, record,
                      (f"bmk_{name}/agg_{run}.json", f"{audit}/power_validation_{run}.json"))
        point.devices = [(gpu.host, gpu.uuid, "aggregate" if gpu.role == "agg" else gpu.role,
                          f"{gpu.host}/{gpu.uuid}") for gpu in package.gpus]
        self.json(f"{audit}/{run}.json", load.result())
        point.evidence = self.package_files(audit)
        self.points.append(point)

    def package_files(self, audit):
        power = self.root / audit / "LOGS" / "power"
        return [str(path.relative_to(self.root)) for path in power.rglob("*") if path.is_file()]

    def add_pair(self):
        self.add_package("pair", Package(loads=[Load(4, 1000.0, 1060.0), Load(16, 1100.0, 1110.0)]),
                         True, 2)

    def add_whole(self):
        gpus = [Gpu(host, index, "agg", 350.0) for host in ("node-1", "node-2") for index in (0, 1)]
        self.add_package("whole", Package(gpus=gpus, loads=[Load(4, 1000.0, 1060.0)]), False, 2)

    # ---- On disk

    def point(self, name, conc=None):
        return next(point for point in self.points
                    if point.name == name and conc in (None, point.conc))

    @property
    def description(self):
        return {"head": HEAD, "run-id": 123, "run-attempt": 2, "full-sweep": False,
                "matrix": self.matrix, **self.more}

    def expected(self):
        """The manifest, as it must be."""
        manifest = copy.deepcopy(self.description)
        manifest["schema-version"] = 2
        manifest.setdefault("publication", {"mode": "incremental", "replacement_scope": []})
        by_row = {}
        for point in self.points:
            by_row.setdefault((point.name, point.conc), point)
        order = [(row["exp-name"], conc) for rows in self.matrix.values() for scenario in rows.values()
                 for row in scenario
                 for conc in (row["conc"] if isinstance(row["conc"], list) else [row["conc"]])]
        manifest["points"] = [by_row[name].published(self.root) for name in order]
        return manifest

    def write(self):
        """Aggregates, records, description and manifest, as the points now are."""
        for point in self.points:
            self.json(point.aggregate_path, point.aggregate)
            self.json(point.record_path, point.record)
        self.publish()

    def publish(self):
        """Description and manifest, of the files as they now are."""
        self.json("sweep.json", self.description)
        self.file("sweep_manifest.json", json.dumps(self.expected(), indent=2) + "\n")

    def listed(self):
        return sorted({artifact["path"] for point in self.expected()["points"]
                       for artifact in point["artifacts"]})
