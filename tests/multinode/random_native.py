"""Random native packages: whole ones, and ones with a few things wrong."""
import datetime
import json
import random

import native_model

BASE = 1_800_000_000  # 2027-01-15 08:00:00 UTC
REVISION = "c0" * 20
KEYS = ["seed"] * 4 + ["row", "agentx-row", "all", "all"]


class RandomNode:
    def __init__(self, die, rank, role, run):
        self.folder, self.vendor = f"node-{rank}", run.vendor
        count = die.choice([1, 1, 2, 3])
        indices = die.sample(range(8), count)
        self.manifest = {
            "schema_version": 1, "collector": "inferencex-native-smi", "vendor": self.vendor, "node": f"host-{rank}",
            "rank": rank, "role": role, "selected_gpu_indices": indices, "expected_num_nodes": run.count,
            "job_id": "77", "collector_revision": REVISION, "clock_source": "utc_ntp", "clock_synchronized": True,
            "clock_observation": {"ntp": "yes"}, "collection_start_unix": BASE, "lifecycle": "complete",
            "collection_end_unix": BASE + run.last, "collector_exit_code": 0}
        self.names = [(index, f"GPU-{rank}-{index}") for index in sorted({*indices, *die.sample(range(8), 1)})]
        self.names_at_end = list(self.names)
        self.rows = []  # time, index, power
        for step in range(int(run.last / run.interval) + 1):
            for index, _ in self.names:
                at = BASE + step * run.interval
                self.rows.append([at, str(index), f"{die.uniform(60, 900):.2f}"])
        self.files = {}  # instead of what is made of the others; None: there is none

    def table(self):
        if self.vendor == "amd":
            lines = ["timestamp,gpu,socket_power"] + [f"{at},{gpu},{power}" for at, gpu, power in self.rows]
        else:
            lines = ["timestamp, index, power.draw [W]"]
            for at, gpu, power in self.rows:
                text = at if isinstance(at, str) else datetime.datetime.fromtimestamp(
                    at, datetime.timezone.utc).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
                is_number = power.replace(".", "").isdigit()
                lines.append(f"{text}, {gpu}, {power}{' W' if is_number else ''}")
        return "\n".join(lines) + "\n"

    def identity(self, names):
        if self.vendor == "amd":
            return json.dumps({"gpu_data": [{"gpu": index, "asic": {"x": 1}, "uuid": uuid} for index, uuid in names]})
        return "index, uuid\n" + "".join(f"{index}, {uuid}\n" for index, uuid in names)

    def contents(self):
        begin, end = native_model.IDENTITIES[self.vendor]
        return {"manifest.json": json.dumps({key: value for key, value in self.manifest.items() if value is not ...}),
                "gpu_metrics.csv": self.table(), begin: self.identity(self.names),
                end: self.identity(self.names_at_end)} | self.files


class RandomNative:
    def __init__(self, seed, count=None):
        self.die = die = random.Random(f"native {seed}")
        self.interval = die.choice([0.5, 1, 1, 1, 2])
        self.vendor = die.choice(["nvidia", "nvidia", "amd"])
        self.length = die.choice([10, 30, 60, 60])
        self.start = 4 + die.choice([0, 0, 0.25, round(die.random(), 3)])
        self.last = self.start + self.length + 5
        self.count = die.choice([1, 2, 2, 3])
        roles = die.choice([["aggregate"], ["prefill", "decode"], ["decode"]])
        self.nodes = [RandomNode(die, rank, roles[rank % len(roles)], self) for rank in range(self.count)]
        counts = dict.fromkeys(native_model.ROLES, 0)
        for node in self.nodes:
            counts[node.manifest["role"]] += len(node.manifest["selected_gpu_indices"])
        self.options = native_model.Options(*counts.values(), keys=die.choice(KEYS), required=die.random() < 0.5)
        start, end = BASE + self.start, BASE + self.start + self.length
        self.result = {"benchmark_start_time_unix": start, "benchmark_end_time_unix": end, "duration": end - start,
                       "completed": die.randint(1, 500), "total_input_tokens": die.randint(1, 10 ** 6),
                       "total_output_tokens": die.randint(1, 10 ** 5)}
        self.aggregate = '{"hw": "h200"}'
        self.notes = []
        for fault in die.choices(FAULTS, k=count if count is not None else die.choice([0, 0, 1, 1, 1, 2])):
            self.notes.append(fault.__name__)
            fault(self)

    def write(self, folder):
        power = folder / "LOGS" / "native_power"
        power.mkdir(parents=True)
        for node in self.nodes:
            (power / node.folder).mkdir()
            for name, text in node.contents().items():
                if text is not None:
                    (power / node.folder / name).write_text(text)
        (folder / "run.json").write_text(json.dumps(self.result))
        if self.aggregate is not None:
            (folder / "agg_run.json").write_text(self.aggregate)

    def arguments(self):
        options = self.options
        given = ["multinode", "--power-dir", "LOGS/native_power", "--bench-result", "run.json", "--agg-result",
                 "agg_run.json", "--keys", options.keys]
        if options.prefill or options.decode or not options.aggregate:
            given += ["--prefill-gpus", str(options.prefill), "--decode-gpus", str(options.decode)]
        given += ["--aggregate-gpus", str(options.aggregate)] if options.aggregate else []
        # Random readings may look like no sensor's, and random loads like none.
        given += ["--accept", "gpu_identity_conflict,several_gpus_in_one_series,same_sensor,readings_repeat,"
                  "stuck_sensor,load_outside_window,clock_offset_suspected"]
        return given + ["--require-power"] * options.required


# ---- What may be wrong

def a_node(run):
    return run.die.choice(run.nodes)


def a_gpu(run):
    """A node, and the rows of one of its GPUs that count."""
    node = a_node(run)
    index = str(run.die.choice(node.manifest["selected_gpu_indices"]
                               if isinstance(node.manifest.get("selected_gpu_indices"), list)
                               and node.manifest["selected_gpu_indices"] else [0]))
    return node, [row for row in node.rows if row[1] == index]


def set_in(*choices):
    def member(run):
        change = run.die.choice(choices)
        a_node(run).manifest |= change
        run.notes.append(repr(change)[:80])
    return member


collector = set_in({"lifecycle": "collecting"}, {"lifecycle": "failed"}, {"lifecycle": ...}, {"collector_exit_code": 1},
                   {"collector_exit_code": None}, {"collector_exit_code": ...}, {"collector_exit_code": "0"})
clock = set_in({"clock_synchronized": False}, {"clock_synchronized": 1}, {"clock_synchronized": ...},
               {"clock_source": "ntp"}, {"clock_source": None})
collected = set_in({"collection_end_unix": BASE + 9}, {"collection_start_unix": BASE + 4.9}, {"collection_start_unix": "0"},
                   {"collection_end_unix": None}, {"collection_end_unix": BASE}, {"collection_start_unix": ...},
                   {"collection_end_unix": ...}, {"collection_start_unix": 10 ** 310}, {"collection_start_unix": True})
identity_of_run = set_in({"job_id": "78"}, {"job_id": ""}, {"job_id": 77}, {"job_id": ...}, {"collector_revision": "d0"},
                         {"collector_revision": None}, {"node": ""}, {"node": "host-0"}, {"node": 5}, {"node": ...})
shape = set_in({"schema_version": 2}, {"schema_version": "1"}, {"schema_version": 1.0}, {"collector": "dcgm"}, {"rank": -1},
               {"rank": 7}, {"rank": True}, {"rank": "0"}, {"rank": ...}, {"role": "agg"}, {"role": None}, {"role": ...},
               {"expected_num_nodes": 0}, {"expected_num_nodes": 9}, {"expected_num_nodes": "2"}, {"expected_num_nodes": ...},
               {"role": "prefill"}, {"role": "aggregate"}, {"role": "decode"})
selection = set_in({"selected_gpu_indices": []}, {"selected_gpu_indices": [0, 0]}, {"selected_gpu_indices": ["0"]},
                   {"selected_gpu_indices": [99]}, {"selected_gpu_indices": [-1]}, {"selected_gpu_indices": [True]},
                   {"selected_gpu_indices": None}, {"selected_gpu_indices": ...}, {"selected_gpu_indices": {"0": 1}},
                   {"vendor": "intel"}, {"vendor": ...}, {"vendor": None})


def a_file(run):
    node = a_node(run)
    name = run.die.choice(list(node.contents()))
    is_table = name.endswith(".csv")
    text = run.die.choice([None, None, *(["", "x\n", "index\n0\n", "index,uuid\n", "index,uuid\n0,N/A\n", "index,uuid\nx,u\n",
                                          "index,uuid\n0,u\n0,v\n", "UUID, INDEX\nu,0\n", "gpu,uuid\n0,u\n",
                                          "gpu,index,uuid\n9,0,u\n"] if is_table else
                                         ["{", "[]", "5", '{"GPU": 0, "UUID": "u"}', '{"gpu": 9, "index": 0, "uuid": 5}',
                                          '{"gpu": 0, "uuid": null}', '[{"gpu": "0", "uuid": "u"}]',
                                          '[{"gpu": 0, "uuid": "u"}, {"gpu": 1, "uuid": "u"}]', '{"a": [[{"gpu": 0, "uuid": "u"}]]}'])])
    node.files[name] = text
    run.notes.append(f"{name}: {text!r}")


def a_changed_gpu(run):
    node = a_node(run)
    i = run.die.randrange(len(node.names))
    index = node.names[i][0]
    if run.die.random() < 0.5 and len(node.names) > 1:
        del node.names_at_end[i:i + 1]
    else:
        node.names_at_end[i:i + 1] = [(index, "GPU-other")]


def one_gpu_of_two_nodes(run):
    other, node = run.nodes[0], run.nodes[-1]
    if other is not node:
        index = node.names[0][0]
        node.names[0] = node.names_at_end[0] = (index, other.names[0][1])


def gap(run):
    _, rows = a_gpu(run)
    begin = BASE + run.start + run.die.uniform(-5, run.length)
    size = run.die.choice([2, 3, 4, 5, 6, 7, 9])
    for row in rows:
        if not isinstance(row[0], str) and begin < row[0] < begin + size:
            row[1] = "gone"
    drop(run)


def drop(run):
    for node in run.nodes:
        node.rows = [row for row in node.rows if row[1] != "gone"]


def an_edge_missing(run):
    _, rows = a_gpu(run)
    is_early = run.die.random() < 0.5
    for row in rows:
        if (row[0] <= BASE + run.start) if is_early else (row[0] >= BASE + run.start + run.length):
            row[1] = "gone"
    drop(run)


def all_rows_missing(run):
    for row in a_gpu(run)[1]:
        row[1] = "gone"
    drop(run)


def blank_cells(run):
    _, rows = a_gpu(run)
    for row in run.die.sample(rows, min(run.die.choice([1, 1, 2, 3, 5]), len(rows))):
        row[2] = run.die.choice(["N/A", "[N/A]", "", "-5.00", "0.00"])


def blank_at_the_edges(run):
    _, rows = a_gpu(run)
    for row in rows:
        if not BASE + run.start <= row[0] <= BASE + run.start + run.length:
            row[2] = run.die.choice([row[2], row[2], "0.00", "N/A"])


def a_bad_stamp(run):
    _, rows = a_gpu(run)
    inside = [row for row in rows if BASE + run.start < row[0] < BASE + run.start + run.length]
    if inside:
        run.die.choice(inside)[0] = "yesterday"


def unknown_gpu(run):
    node = a_node(run)
    for row in run.die.sample(node.rows, min(2, len(node.rows))):
        node.rows.append([row[0], "9", row[2]])


def shuffled_rows(run):
    run.die.shuffle(a_node(run).rows)


def benchmark(run):
    run.result |= run.die.choice([{"completed": 0}, {"total_input_tokens": None}, {"total_output_tokens": 1.5},
                                  {"duration": run.length + 5}, {"duration": 0}, {"benchmark_end_time_unix": None},
                                  {"num_prompts": 1000}])


def counts_of_gpus(run):
    setattr(run.options, run.die.choice(native_model.ROLES), run.die.choice([0, 1, 2, 7]))


def no_aggregate(run):
    run.aggregate = run.die.choice([None, "{", "[]"])


def a_node_missing(run):
    if len(run.nodes) > 1:
        run.nodes.remove(a_node(run))


FAULTS = [gap, gap, gap, blank_cells, blank_cells, blank_cells, blank_at_the_edges, an_edge_missing, all_rows_missing,
          a_bad_stamp, unknown_gpu, shuffled_rows, collector, clock, collected, identity_of_run, shape, shape, selection,
          a_file, a_file, a_changed_gpu, one_gpu_of_two_nodes, benchmark, counts_of_gpus, no_aggregate, a_node_missing]
