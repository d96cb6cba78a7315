#!/usr/bin/env python3
"""Telemetry that users bring: files that are no CSV, CSVs without a header or without a device column, and
recordings of more GPUs than the run used.

Numbers by hand: GPU g draws 100 * (g + 1) W all the time, in a window of 10 s.

usage: tests/commands/own_telemetry_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import pathlib
import re
import sqlite3
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, load_result, run_tests, same  # noqa: E402

START = 1_800_000_000
RUN = load_result(START, START + 10)
MISSING = ["timestamp_column_missing", "power_column_missing", "gpu_identity_column_missing"]
UUIDS = [f"GPU-5f0c{gpu}a2b-1111-2222-3333-444455556666" for gpu in range(8)]
HEADER = "timestamp,index,power.draw [W]\n"


def rows(gpus=1, ids=None, row="{time},{id},{watts}\n"):
    """Each second from -1 to 11, a row of each GPU."""
    return "".join(row.format(time=START + second, id=(ids or range(gpus))[gpu], watts=100 * (gpu + 1))
                   for second in range(-1, 12) for gpu in range(gpus))


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("run.json", json.dumps(RUN))

    def run(self, *words, csv=None, schema="2", **options):
        self.write("agg_run.json", '{"tp": 1}')
        if csv is not None:
            self.write("gpu_metrics.csv", csv)
        return self.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                         "--schema-version", schema, *words, **options)

    @property
    def total_w(self):
        return self.json("agg_run.json").get("avg_total_gpu_power_w")

    @property
    def record(self):
        return self.json("power_validation_run.json")

    def is_refused(self, reasons, detail=""):
        same(reasons, self.record["reasons"], self.err)
        same({"tp": 1, "power_metric_schema_version": 2, "power_valid": 0}, self.json("agg_run.json"))
        assert detail in self.err, f"\n    expected {detail!r}\n    got      {self.err}"


# ---- What is no CSV

def sqlite(folder):
    path = folder.path / "any.sqlite"
    database = sqlite3.connect(path)
    database.execute("create table power (unix_s real, watts real)")
    database.commit()
    database.close()
    return path.read_bytes()


FOREIGN = {
    "a Prometheus query": json.dumps(
        {"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"gpu": "0"}, "value": [START, "100"]}]}}),
    "metrics as an exporter prints them": "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n"
                                          "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
                                          "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\"} 41\n",
    "JSON lines": f'{{"unix": {START}, "watts": 1}}\n{{"unix": {START + 1}, "watts": 2}}\n',
    "this is JSON": '[{"gpu": 0,\n "watts": 100}]\n',
    "nvidia-smi dmon": "# gpu    pwr  gtemp\n# Idx      W      C\n    0     10     52\n    1     11     50\n",
    "nvidia-smi -q": "\n==============NVSMI LOG==============\n\nAttached GPUs    : 1\n",
    "table of nvidia-smi": "Wed Feb 26 13:50:18 2025\n+-----------+\n| NVIDIA-SMI 560.35.03    CUDA Version: 12.6 |\n",
    "web page": "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n",
    "a binary file": bytes(range(1, 32)) * 20,
    "SQLite": sqlite,
    "nothing but blank lines": "\n\n  \n",
    "row 1 looks like data": rows(2),
}


def test_what_a_file_is_instead(folder):
    for what, content in FOREIGN.items():
        folder.run("--expected-num-gpus", "2", csv=content(folder) if callable(content) else content)
        folder.is_refused(MISSING, what)
        same(None, folder.record["computed_from"]["power_column"])
        folder.call("inspect", "gpu_metrics.csv")
        same(1, folder.status)
        assert what in folder.err, folder.err
        is_binary = what in ("SQLite", "a binary file")
        same(not is_binary and what != "nothing but blank lines", "\nfirst lines\n" in folder.out, folder.out)


def test_a_csv_of_nvidia_smi_without_a_header(folder):
    """Beside a result whose window its power would have to show, too, and in a folder that is named."""
    names = "timestamp, index, name, power.draw [W], utilization.gpu [%], power.limit [W]"
    cells = [(at, gpu, f"{time.strftime('%Y/%m/%d %H:%M:%S', time.gmtime(START + at))}.000, {gpu}, NVIDIA H100 80GB HBM3, "
              f"{(100 * (gpu + 1) if 0 <= at < 30 else 20) + at % 3 / 100:.2f} W, 97 %, 700.00 W") for at in range(-20, 50) for gpu in (0, 1)]
    (folder.path / "runs").mkdir()
    stated = {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + 30}
    for window in (stated, {"date": time.strftime("%Y%m%d-%H%M%S", time.gmtime(START + 31))}):
        result = folder.path / "runs" / "result.json"
        result.write_text(json.dumps({"backend": "vllm", "model_id": "m", "tokenizer_id": "m", "num_prompts": 5, "request_rate": "inf",
                                      "duration": 30, "completed": 5, "total_input_tokens": 100, "total_output_tokens": 1000} | window))
        energy = []
        for header, more in ((names + "\n", []), ("", ["--columns", "timestamp,index,name,power.draw,column5,power.limit"])):
            (folder.path / "runs" / "power.csv").write_text(header + "\n".join(row for _, _, row in cells) + "\n")
            for words in (["runs"], ["runs/result.json", "runs/power.csv"]):
                if more:  # what is said is what to give
                    folder.call("measure", *words, "--json", "--timezone", "UTC")
                    same(["timestamp_column_missing", "power_column_missing"], json.loads(folder.out)["runs"][0]["reasons"][:2], words)
                    assert f"give {' '.join(more)}," in folder.out and "window_not_exact" not in folder.out, folder.out
                folder.call("measure", *words, *more, "--json", "--timezone", "UTC")
                run = json.loads(folder.out)["runs"][0]
                same([], run["reasons"], (words, more))
                energy.append(run["total_gpu_energy_j"])
        assert max(energy) - min(energy) < 1e-6, energy
        assert abs(energy[0] - 30 * 300) < 300, energy  # one second of 300 W, for the edges


def test_json_that_is_taken_for_a_header(folder):
    """Its first line has cells with 'timestamp' and 'power' in them."""
    line = '{{"timestamp": {time}, "gpu": {id}, "power": {watts}}}\n'
    folder.run(csv=rows(row=line))
    folder.is_refused(["power_column_missing", "gpu_identity_column_missing"], "(these are JSON lines, not a CSV: ")
    folder.run("--expected-num-gpus", "1")
    folder.is_refused(["power_column_missing"], "(these are JSON lines, not a CSV: ")
    assert "(these are JSON lines, not a CSV: " in folder.call("inspect", "gpu_metrics.csv").err, folder.err


def test_a_cell_that_is_too_long_does_not_hide_it(folder):
    folder.run(csv='{"status": "success", "data": {"resultType": "vector", "result": "' + "x" * 200_000 + '"}}')
    folder.is_refused(["telemetry_file_unreadable"] if "telemetry_file_unreadable" in folder.err else MISSING,
                      "this is the answer to a Prometheus query")


def test_the_headers_of_the_advice_are_read(folder):
    """What a sentence says to write is read as it is."""
    headers = set(re.findall(r"the header ([a-z_,]+)", (ROOT / "src/recorders/foreign_format.cpp").read_text()))
    same({"timestamp,gpu,power_w", "timestamp,power_mw"}, headers)
    for header in headers:
        row = "{time},{id},100\n" if header.count(",") == 2 else "{time},100000\n"
        folder.run("--expected-num-gpus", "1", csv=header + "\n" + rows(row=row))
        same(100.0, folder.total_w, folder.err)


def test_the_first_lines_are_shown(folder):
    folder.write("a.csv", "Found 1 device\n\nPower: 42.8W\x1b[0m\n" + "x" * 150 + "\nnot shown\n")
    folder.call("inspect", "a.csv")
    assert folder.out.endswith("\nfirst lines\n  Found 1 device\n  Power: 42.8W?[0m\n  " + "x" * 100 + "...\n"), folder.out
    # Of what was read nothing is shown.
    folder.write("a.csv", HEADER + rows())
    assert "first lines" not in folder.call("inspect", "a.csv").out, folder.out


# ---- --columns

def test_names_of_columns(folder):
    for names, text, watts in (
            ("timestamp,index,power.draw", rows(2), 300.0),
            (" timestamp , index , power.draw [W]", rows(2), 300.0),
            ("timestamp,gpu,power_mw", rows(2, row="{time},{id},{watts}000\n"), 300.0),
            ("timestamp,index,,,power.draw,", rows(2, row="{time},{id},7,power,{watts},8\n"), 300.0),
            ("timestamp,index,power.draw", "# started\n\n" + rows(2), 300.0),
            # A comma at each row's end.
            ("timestamp,index,power.draw", rows(2, row="{time},{id},{watts},\n"), 300.0)):
        folder.run("--columns", names, csv=text)
        same(watts, folder.total_w, folder.err)
        same([name.strip() for name in names.split(",")], folder.record["computed_from"]["columns"])
    same({"comment": 1, "blank": 1},
         {cause: count for cause, count in folder.run("--columns", "timestamp,index,power.draw", csv="#\n\n" + rows())
          .record["computed_from"]["skipped"].items() if count})


def test_the_names_decide_like_a_header(folder):
    """The same file is the same with its header."""
    names = "Timestamp, DeviceId, power.draw (W)"
    text = "".join(f"2027-01-15 08:00:{second:02},{gpu},100\n" for second in range(12) for gpu in range(2))
    named = folder.run("--columns", names, csv=text).record["computed_from"]
    named.pop("inputs")  # the files differ
    same((200.0, "xpu-smi-2"), (folder.total_w, named["schema"]), folder.err)
    same(["Timestamp", "DeviceId", "power.draw (W)"], named.pop("columns"))
    headed = folder.run(csv=names + "\n" + text).record["computed_from"]
    headed.pop("inputs")
    same(headed, named)


def test_schema_1_takes_names_too(folder):
    folder.run("--columns", "timestamp,index,power.draw", csv=rows(2), schema="1")
    same(150.0, folder.json("agg_run.json")["avg_power_w"], folder.err)


def test_a_header_is_no_row(folder):
    for header in (HEADER, "timestamp,power.draw [W],index\n", "time,gpu,gpu_power\n", "when,what,howmuch\n",
                   "# comment\n" + HEADER, "some text\n" + HEADER):
        folder.run("--columns", "timestamp,index,power.draw", csv=header + rows(2))
        folder.is_refused(MISSING, "columns_do_not_fit: --columns ")
        folder.run("--columns", "timestamp,index,power.draw", csv=header + rows(2), schema="1")
        same({"tp": 1}, folder.json("agg_run.json"))
    folder.call("inspect", "gpu_metrics.csv", "--columns", "timestamp,index,power.draw")
    same(1, folder.status)
    assert "  columns_do_not_fit: leave out --columns for a file with a header" in folder.err, folder.err
    # The very names are no contradiction.
    folder.run("--columns", "timestamp,index,power.draw [W]", csv=HEADER + rows(2))
    same(300.0, folder.total_w, folder.err)
    # Half-way down it is a row without a time.
    half = rows(2).splitlines(True)
    folder.run("--columns", "timestamp,index,power.draw", csv="".join(half[:8] + [HEADER] + half[8:]))
    folder.is_refused(MISSING, "row 9 is one")


def test_names_that_do_not_fit(folder):
    for names, detail in (
            ("timestamp,power.draw", "--columns names 2 columns, and row 1 has 3"),
            ("timestamp,index,power.draw,temperature", "--columns names 4 columns, and row 1 has 3"),
            ("index,timestamp,power.draw", "--columns names column 2 'timestamp', and row 1 has 'GPU 0' there, which is "
                                           "not a time")):
        folder.run("--columns", names, csv=rows(2, ids=["GPU 0", "GPU 1"]))
        folder.is_refused(MISSING, detail)
    folder.run("--columns", "timestamp,index,temperature", csv=rows(2))
    folder.is_refused(["power_column_missing"])
    folder.run("--columns", "timestamp,index,power.draw", csv="# nothing yet\n")
    folder.is_refused(MISSING, "the file has no row that --columns could name")


def test_longer_rows_further_down(folder):
    text = rows(1).splitlines(True)
    text[6] = text[6].replace("\n", ",900\n")
    folder.run("--columns", "timestamp,index,power.draw", csv="".join(text))
    folder.is_refused(["invalid_power_sample"])


def test_wrong_names(folder):
    for names, message in (("", "--columns: expected names such as timestamp,index,power.draw, got ''"),
                           (",,", "--columns: expected names such as timestamp,index,power.draw, got ',,'"),
                           ("time,power,time", "--columns: 'time' is there twice")):
        folder.run("--columns", names, csv=rows())
        same((2, True), (folder.status, message in folder.err), folder.err)
    folder.call("multinode", "--aggregate-gpus", "1", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--columns", "a,b")
    same((2, True), (folder.status, "--columns: is for --host or --nodes" in folder.err), folder.err)


def test_inspect_takes_names(folder):
    folder.write("a.csv", rows(2))
    folder.call("inspect", "a.csv", "--columns", "timestamp,index,power.draw")
    same(0, folder.status, folder.err)
    assert "columns    timestamp,index,power.draw (from --columns)\n" in folder.out, folder.out
    assert "\n1                          13 " in folder.out, folder.out


def test_hosts_take_names(folder):
    for host in ("a", "b"):
        folder.write(f"nodes/{host}/gpu_metrics.csv", rows(2))
    folder.write("agg_run.json", '{"tp": 1}')
    folder.call("multinode", "--nodes", "nodes", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--columns", "timestamp,index,power.draw")
    same(600.0, folder.total_w, folder.err)


def agentic(folder, *words):
    folder.write("aiperf_artifacts/profile_export_aiperf.json", json.dumps({"start_time": START, "end_time": START + 10}))
    folder.write("aiperf_artifacts/profile_export.jsonl", json.dumps(
        {"metrics": {"input_sequence_length": 8, "output_sequence_length": 1}}) + "\n")
    folder.write("agg_run.json", '{"tp": 1}')
    return folder.call("agentic", "--result-dir", ".", "--agg-result", "agg_run.json", *words)


def test_agentic_takes_names_and_gpus(folder):
    folder.write("gpu_metrics.csv", rows(3))
    agentic(folder, "--columns", "timestamp,index,power.draw", "--gpus", "0,2")
    same((400.0, ["0", "2"]), (folder.total_w, folder.json("power_validation.json")["selected_gpus"]), folder.err)
    same(2, agentic(folder, "--power-dir", "p", "--gpus", "0").status)


def test_backfill_takes_names(folder):
    """They are part of what a run was computed with."""
    def backfill(*options):
        (folder.path / "report.jsonl").unlink(missing_ok=True)
        folder.call("backfill", "store", "--report", "report.jsonl", *options)
        return folder.json("report.jsonl")["outcome"], folder.json("store/r/agg_r.json").get("avg_total_gpu_power_w")

    folder.write("store/r/gpu_metrics.csv", rows(2))
    folder.write("store/r/r.json", json.dumps(RUN))
    folder.write("store/r/agg_r.json", '{"tp": 2}')
    names = ("--columns", "timestamp,index,power.draw")
    same(("not_valid", None), backfill())
    same(("patched", 300.0), backfill(*names), folder.err)
    same("timestamp,index,power.draw", folder.json("store/r/power_validation_r.json")["computed_from"]["options"]["columns"])
    same(("unchanged", 300.0), backfill(*names))
    same(("not_valid", None), backfill())
    assert "columns" not in folder.json("store/r/power_validation_r.json")["computed_from"]["options"]


# ---- --gpus

def test_chosen_gpus(folder):
    for ids, chosen, total, observed in (
            (None, "0-3", 1000, ["0", "1", "2", "3"]),
            (None, "0,2,5-7", 2500, ["0", "2", "5", "6", "7"]),
            (None, "7", 800, ["7"]),
            (UUIDS, "GPU-5f0c3a2b", 400, [UUIDS[3]]),
            (UUIDS, f"{UUIDS[0]},gpu-5F0C1", 300, UUIDS[:2]),
            ([f"card{gpu}" for gpu in range(8)], "0-1,card4", 800, ["card0", "card1", "card4"]),
            ([f"0000:{gpu:02x}:00.0" for gpu in range(8)], "0000:01:00.0,0000:07:00.0", 1000,
             ["0000:01:00.0", "0000:07:00.0"]),
            (["0", "1", *UUIDS[2:]], "0,GPU-5f0c2", 400, ["0", UUIDS[2]])):
        folder.run("--gpus", chosen, "--expected-num-gpus", str(len(observed)), csv=HEADER + rows(8, ids))
        same((total, observed, len(observed)),
             (folder.total_w, folder.record["observed_gpu_ids"], folder.record["expected_gpu_count"]), folder.err)
    same(["0", "GPU-5f0c2"], folder.record["selected_gpus"])
    folder.run(csv=HEADER + rows(8))
    same((3600.0, False), (folder.total_w, "selected_gpus" in folder.record))


def test_schema_1_chooses_too(folder):
    folder.run("--gpus", "1,3", csv=HEADER + rows(4), schema="1")
    same(300.0, folder.json("agg_run.json")["avg_power_w"], folder.err)


def test_the_expected_number_is_that_of_the_chosen(folder):
    folder.run("--gpus", "0-3", "--expected-num-gpus", "8", csv=HEADER + rows(8))
    folder.is_refused(["expected_gpu_count_mismatch"], "4 seen, 8 expected")


def test_faults_of_others_do_not_count(folder):
    """GPU 1 has every fault that a row can have."""
    faults = "".join(f"{time},1,{watts}\n" for time, watts in (
        (START + 1, "[N/A]"), (START + 2, "-5"), (START + 3, "ERR!"), (START - 2, "0"), (START + 3.5, "1e9"),
        ("N/A", "100"), ("[Unknown Error]", "100")))
    text = HEADER + rows(1) + faults
    same({"invalid_timestamp_sample", "invalid_power_sample"}, set(folder.run(csv=text).record["reasons"][:2]))
    folder.run("--gpus", "0", csv=text)
    same((100.0, {}, {}), (folder.total_w, folder.record["boundary_degenerate_rows"], folder.record["device_issues"]),
         folder.err)
    same({}, {cause: count for cause, count in folder.record["computed_from"]["skipped"].items() if count})


def test_faults_of_nobody_count(folder):
    text = HEADER + rows(2)
    for fault, reason in (("Unable to determine the device handle\n", "invalid_timestamp_sample"),
                          ("Error, something\n", "invalid_timestamp_sample"),
                          (f"{START + 3},,100\n", "gpu_identity_missing"),
                          (f"{START + 3},1,100,7\n", "invalid_power_sample"),
                          (f"{START + 3},0,[N/A]\n", "invalid_power_sample"),
                          ("yesterday,0,100\n", "invalid_timestamp_sample")):
        folder.run("--gpus", "0", csv=text + fault)
        folder.is_refused([reason])


def test_names_of_no_gpu(folder):
    for ids, chosen, detail in (
            (None, "0-4", "GPU 4 is not in the recording, which has 0, 1, 2, 3"),
            (None, "GPU-5f0c0a2b", "GPU GPU-5f0c0a2b is not in the recording, which has 0, 1, 2, 3"),
            (UUIDS, "GPU-5f0c0,0", f"GPU 0 is not in the recording, which has {', '.join(UUIDS[:4])}"),
            (UUIDS, "GPU-5f0c", f"GPU GPU-5f0c may be any of {', '.join(UUIDS[:4])}"),
            (["0", "00", "1", "2"], "0", "GPU 0 may be any of 0, 00")):
        for schema in ("2", "1"):
            folder.run("--gpus", chosen, csv=HEADER + rows(4, ids), schema=schema)
            assert f"selected_gpu_missing ({detail})" in folder.err, folder.err
            assert "avg_power_w" not in folder.json("agg_run.json")
    folder.run("--gpus", "0,9", csv=HEADER + rows(4))
    folder.is_refused(["selected_gpu_missing"])
    folder.run("--gpus", "9", csv=HEADER + rows(4))
    folder.is_refused(["selected_gpu_missing", "no_usable_power_samples"],
                      "no_usable_power_samples (of the GPUs that --gpus names)")
    assert "  selected_gpu_missing: name the GPUs of --gpus as the recording does" in folder.err, folder.err
    same(1, folder.run("--gpus", "9", "--require-power", csv=HEADER + rows(4)).status)


def test_a_chosen_gpu_that_was_not_measured(folder):
    """It has rows before the load only."""
    text = HEADER + f"{START - 500},1,200\n" + rows(1)
    same(100.0, folder.run("--gpus", "0", csv=text).total_w, folder.err)
    folder.run("--gpus", "0-1", csv=text)
    folder.is_refused(["selected_gpu_missing"], "(GPU 1 has no power reading in or near the window)")


def test_gpus_of_hosts(folder):
    text = "timestamp,hostname,gpu,power_w\n" + rows(4, ids=["a,0", "a,1", "b,0", "c,2"])
    same(600.0, folder.run("--gpus", "a/1,2", csv=text).total_w, folder.err)
    folder.run("--gpus", "0", csv=text)
    folder.is_refused(["selected_gpu_missing"], "GPU 0 may be any of a/0, b/0")


def test_gpus_need_a_device_column(folder):
    text = "timestamp,power.draw [W]\n" + rows(row="{time},{watts}\n")
    for schema in ("1", "2"):
        folder.run("--gpus", "0", csv=text, schema=schema)
        assert "gpu_identity_column_missing" in folder.err, folder.err
        assert "avg_power_w" not in folder.json("agg_run.json")
    folder.run("--gpus", "0", "--expected-num-gpus", "1", csv=text)
    folder.is_refused(["gpu_identity_column_missing"])


def test_a_long_recording_is_read_by_threads(folder):
    """More than 8 MB: 400 GPUs, of which one in ten counts."""
    chosen = range(3, 400, 10)
    text = HEADER + "".join(f"{START + tick / 100:.2f},{gpu},{gpu + 1}\n"
                            for tick in range(-100, 1101) for gpu in range(400))
    folder.run("--gpus", ",".join(map(str, chosen)), "--expected-num-gpus", "40", csv=text)
    assert len(text) > 9_000_000
    same(sum(gpu + 1 for gpu in chosen), folder.total_w, folder.err)


def test_energy_counters_of_the_chosen(folder):
    """1000 J for each 100 W; snapshots of both GPUs."""
    folder.write("gpu_metrics_energy_start.csv", "gpu,total_energy_consumption\n0,0\n1,0\n")
    folder.write("gpu_metrics_energy_end.csv", "gpu,total_energy_consumption\n0,1200\n1,99999\n")
    check = folder.run("--gpus", "0", csv=HEADER + rows(2)).record["accumulator_check"]
    same((1200.0, 1200.0, True, ["0"]), (check["accumulator_delta_j"], check["integrated_stream_j"],
                                         check["within_tolerance"], check["integrated_gpu_ids"]))


def test_wrong_lists(folder):
    for chosen, message in (("", "--gpus: expected a list such as 0-3,5"), ("3-1", "--gpus: '3-1' begins after its end"),
                            ("0,,1", "--gpus: expected a list such as 0-3,5")):
        folder.run("--gpus", chosen, csv=HEADER + rows())
        same((2, True), (folder.status, message in folder.err), folder.err)
    folder.call("multinode", "--nodes", "n", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--gpus", "0")
    same(2, folder.status)


# ---- One GPU without a device column

ONE = "timestamp,power.draw [W]\n"


def test_one_gpu_needs_no_device_column(folder):
    folder.run("--expected-num-gpus", "1", csv=ONE + rows(row="{time},{watts}\n"))
    same((100.0, ["0"], None), (folder.total_w, folder.record["observed_gpu_ids"],
                                folder.record["computed_from"]["device_column"]), folder.err)
    same("aggregate-power: gpu_metrics.csv: no_device_column: all rows are taken as those of one GPU\n", folder.err)


def test_others_need_one(folder):
    for words in (("--expected-num-gpus", "2"), ()):
        folder.run(*words, csv=ONE + rows(row="{time},{watts}\n"))
        folder.is_refused(["gpu_identity_column_missing"], "(the header has 'timestamp', 'power.draw [W]')")
    folder.run("--expected-num-gpus", "1", "--device-column", "index", csv=ONE + rows(row="{time},{watts}\n"))
    folder.is_refused(["gpu_identity_column_missing"])


def test_rows_of_several_gpus_are_refused(folder):
    apart = "".join(f"{START + second + gpu / 500},{100 * (gpu + 1)}\n" for second in range(-1, 12) for gpu in range(4))
    for text, detail in ((rows(2, row="{time},{watts}\n"), f"two rows have the time {START - 1}.000"),
                         (rows(row="{time},{watts}\n") * 2, f"a row at {START - 1}.000 comes after one at {START + 11}.000"),
                         (apart, "the rows come in groups: ")):
        folder.run("--expected-num-gpus", "1", csv=ONE + text)
        folder.is_refused(["gpu_identity_column_missing"], "rows that name no GPU may be of several: record a column that "
                                                           "identifies the GPU")
        assert detail in folder.err, folder.err
        same((0, {}), (folder.record["observed_gpu_count"], folder.record["per_gpu_energy_j"]))
    # A row without power tells of a second GPU too.
    folder.run("--expected-num-gpus", "1", csv=ONE + rows(row="{time},{watts}\n") + f"{START + 11},[N/A]\n")
    folder.is_refused(["gpu_identity_column_missing"])


def test_names_and_one_gpu_together(folder):
    folder.run("--columns", "timestamp,power.draw", "--expected-num-gpus", "1", csv=rows(row="{time},{watts}\n"))
    same(100.0, folder.total_w, folder.err)


def test_powerjoular(folder):
    """Its times have no leading zeros: hours, minutes and seconds of one digit. 2027-01-15 08:00:00 is the start."""
    def clock(second):
        at = 8 * 3600 + second
        return f"2027-01-15 {at // 3600}:{at // 60 % 60}:{at % 60}.0"

    folder.run("--expected-num-gpus", "1", csv="Date,CPU Utilization,Total Power,CPU Power,GPU Power\n" + "".join(
        f"{clock(second)},0.1,300,50,250\n" for second in range(-1, 12)))
    same((250.0, "GPU Power"), (folder.total_w, folder.record["computed_from"]["power_column"]), folder.err)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
