#!/usr/bin/env python3
"""The unit of bare numbers in the power column, on every command that reads telemetry.

Numbers by hand: one GPU at 500 W, window 10 s: 5000 J. Unless a test says otherwise the recording holds
500000 in a column of watts: milliwatts that nothing says.

usage: tests/commands/power_unit_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import load_result, run_tests, same  # noqa: E402

START = 1_800_000_000
RUN = load_result(START, START + 10)
HOSTS = ["multinode", "--host", "a=gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json"]


def csv(*cells, power="power_w"):
    """Each second from -1 to 11, a row of each GPU."""
    return f"timestamp,gpu,{power}\n" + "".join(
        f"{START + second},{gpu},{cell}\n" for second in range(-1, 12) for gpu, cell in enumerate(cells))


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("gpu_metrics.csv", csv("500000"))
        self.write("run.json", json.dumps(RUN))
        self.write("agg_run.json", '{"tp": 1}')

    def run(self, *words, gpus=("--schema-version", "2"), csv="gpu_metrics.csv", **options):
        return self.call("--csv", csv, "--bench-result", "run.json", "--agg-result", "agg_run.json", *gpus, *words,
                         **options)

    @property
    def watts(self):
        return self.json("agg_run.json").get("avg_power_w")

    @property
    def record(self):
        return self.json("power_validation_run.json")


def test_a_bare_number_counts_what_is_said(folder):
    for cell, unit in (("500000", "mW"), ("500", "W"), ("0.5", "kW")):
        for header in ("power_w", "power", "power.draw [W]", "power_mw", "power (kW)"):
            folder.write("gpu_metrics.csv", csv(cell, power=header))
            folder.run("--power-unit", unit)
            same((500.0, unit), (folder.watts, folder.record["computed_from"]["power_unit"]), f"{header} {unit}")


def test_schema_1(folder):
    folder.run("--power-unit", "mW", gpus=())
    same(500.0, folder.watts)


def test_a_cell_keeps_the_unit_it_states(folder):
    folder.write("gpu_metrics.csv", csv("500 W", "0.5 kW", "500000 mW", "500000", power="power_mw"))
    same(500.0, folder.run("--power-unit", "mW").watts, folder.err)
    # Without the option a cell that contradicts its header is no reading.
    folder.run()
    same(["invalid_power_sample"], folder.record["reasons"])


def test_the_record_says_the_unit_without_the_option_too(folder):
    for header, cell, unit in (("power_w", "500", "W"), ("power", "500", "W"), ("power_mw", "500000", "mW"),
                               ("power (kW)", "0.5", "kW")):
        folder.write("gpu_metrics.csv", csv(cell, power=header))
        folder.run()
        same((500.0, unit), (folder.watts, folder.record["computed_from"]["power_unit"]), header)
    folder.write("gpu_metrics.csv", "timestamp,gpu\n1,1\n")
    folder.run()
    same(None, folder.record["computed_from"]["power_unit"])


def test_other_columns_of_power_have_it_too(folder):
    """rocm-smi has the number in one of two columns."""
    names = "Average Graphics Package Power,Current Socket Graphics Package Power"
    rows = csv("500000,", "N/A,500000").replace("gpu,power_w", f"device,{names}")
    folder.write("gpu_metrics.csv", rows)
    same(500.0, folder.run("--power-unit", "mW").watts, folder.err)


def test_standard_input(folder):
    same(500.0, folder.run("--power-unit", "mW", csv="-", input=csv("500000")).watts)


def test_hosts(folder):
    folder.call(*HOSTS, "--power-unit", "mW")
    same((500.0, "mW"), (folder.watts, folder.record["computed_from"]["hosts"]["a"]["power_unit"]), folder.err)


def test_agentic(folder):
    folder.write("aiperf_artifacts/profile_export_aiperf.json",
                 json.dumps({"start_time": START, "end_time": START + 10}))
    folder.write("aiperf_artifacts/profile_export.jsonl", json.dumps(
        {"metrics": {"input_sequence_length": 8, "output_sequence_length": 1}}) + "\n")
    folder.call("agentic", "--result-dir", ".", "--agg-result", "agg_run.json", "--power-unit", "mW")
    same(500.0, folder.watts, folder.err)


def test_inspect(folder):
    folder.call("inspect", "gpu_metrics.csv", "--power-unit", "mW", "--json")
    told = json.loads(folder.out)
    same(("mW", 500.0, []), (told["power_unit"], told["devices"][0]["mean_w"], told["warnings"][1:]))
    for words, line in ((("--power-unit", "mW"), "unit       mW (from --power-unit)\n"),
                        ((), "unit       W (from the column's name)\n")):
        folder.call("inspect", "gpu_metrics.csv", *words)
        assert line in folder.out, folder.out
    folder.write("gpu_metrics.csv", csv("500", power="power"))
    assert "unit       W (the default)\n" in folder.call("inspect", "gpu_metrics.csv").out, folder.out


def is_refused(folder, detail, record="power_validation_run.json"):
    record = folder.json(record)
    same((False, ["implausible_power"], {}), (record["power_valid"], record["reasons"], record["metrics"]), folder.err)
    assert f"power not valid: implausible_power ({detail})" in folder.err, folder.err
    same({"tp": 1, "power_metric_schema_version": 2, "power_valid": 0}, folder.json("agg_run.json"))
    return record


def test_milliwatts_that_nothing_says(folder):
    """The Zeus monitor's 32349.6 mW, read as watts."""
    folder.write("gpu_metrics.csv", csv("32349.6", "400"))
    detail = "GPU 0: a mean of 32349.6 W; milliwatts? pass --power-unit mW"
    record = is_refused(folder.run(), detail)
    same({"0": ["implausible_power"]}, record["device_issues"])
    same(1, folder.run("--require-power").status)
    assert "implausible_power: no GPU draws that: state the unit of bare numbers" in folder.err, folder.err
    folder.write("gpu_metrics.csv", csv("32349.6", "32349.6"))
    folder.write("agg_run.json", '{"tp": 2}')
    folder.run("--power-unit", "mW")
    same((32.35, ""), (folder.watts, folder.err))


def test_schema_1_refuses_it_too(folder):
    folder.run(gpus=())
    same({"tp": 1}, folder.json("agg_run.json"))
    assert "implausible_power (GPU 0: a mean of 500000 W; milliwatts? pass --power-unit mW)" in folder.err, folder.err
    same(1, folder.run("--require-power", gpus=()).status)
    # One of 99 GPUs: the mean of all is 5545.5 W.
    folder.write("gpu_metrics.csv", csv("500000", *["550"] * 98))
    folder.run(gpus=())
    same({"tp": 1}, folder.json("agg_run.json"))
    # Without a device column the rows of one stamp are the GPUs.
    folder.write("gpu_metrics.csv", csv("500000").replace("gpu,", "x,"))
    folder.run(gpus=())
    same({"tp": 1}, folder.json("agg_run.json"))
    assert "implausible_power (per GPU a mean of 500000 W; milliwatts? pass --power-unit mW)" in folder.err, folder.err


def test_three_kilowatts_are_the_limit(folder):
    folder.write("gpu_metrics.csv", csv("3000"))
    same(3000.0, folder.run().watts, folder.err)
    same(3000.0, folder.run(gpus=()).watts, folder.err)
    assert "implausible_watts: a mean of 3000 W per GPU" in folder.err, folder.err
    folder.write("gpu_metrics.csv", csv("3000.5"))
    is_refused(folder.run(), "GPU 0: a mean of 3000.5 W; milliwatts? pass --power-unit mW if the GPU draws as little as 3 W")
    folder.write("gpu_metrics.csv", csv("0.5"))
    same(0.5, folder.run().watts, folder.err)
    assert "implausible_watts: a mean of 0.5 W per GPU" in folder.err, folder.err


def test_only_the_window_counts(folder):
    """A spike next to it is nobody's mean; one inside it, at one of 11 stamps, counts up to 3 kW."""
    lines = csv("500").splitlines()
    for spike, watts in ((2900, 500 + (2900 - 500) / 10), (90450, None)):
        folder.write("gpu_metrics.csv", "\n".join([*lines[:7], f"{START + 5},0,{spike}", *lines[8:], f"{START + 13},0,1e9"]))
        same(watts, folder.run().watts, folder.err)


def test_a_given_unit_may_be_wrong_too(folder):
    folder.write("gpu_metrics.csv", csv("500"))
    is_refused(folder.run("--power-unit", "kW"), "GPU 0: a mean of 500000 W; watts? pass --power-unit W")


def test_microwatts(folder):
    folder.write("gpu_metrics.csv", csv("500000000"))
    is_refused(folder.run(), "GPU 0: a mean of 5e+08 W; microwatts? pass --power-unit uW")


def test_no_unit_fits(folder):
    folder.write("gpu_metrics.csv", csv("5e13"))
    is_refused(folder.run(), "GPU 0: a mean of 5e+13 W; --power-unit has no unit that fits")


def test_hosts_refuse_it_too(folder):
    is_refused(folder.call(*HOSTS), "a: GPU 0: a mean of 500000 W; milliwatts? pass --power-unit mW")


def test_inspect_says_it(folder):
    folder.call("inspect", "gpu_metrics.csv", "--json")
    same(["implausible_power: device 0 has a mean of 500000 W; milliwatts? pass --power-unit mW"],
         json.loads(folder.out)["warnings"][1:], folder.err)


def backfill(folder, *options):
    (folder.path / "report.jsonl").unlink(missing_ok=True)
    folder.call("backfill", "store", "--report", "report.jsonl", *options)
    return folder.json("report.jsonl")["outcome"], folder.json("store/r/agg_r.json").get("avg_power_w")


def test_backfill(folder):
    """The unit is part of what a run was computed with."""
    folder.write("store/r/gpu_metrics.csv", csv("500000"))
    folder.write("store/r/r.json", json.dumps(RUN))
    folder.write("store/r/agg_r.json", '{"tp": 1}')
    same(("not_valid", None), backfill(folder))
    same(["implausible_power"], folder.json("report.jsonl")["reasons"])
    same(("patched", 500.0), backfill(folder, "--power-unit", "mW"), folder.err)
    record = folder.json("store/r/power_validation_r.json")
    same(("mW", "mW"), (record["computed_from"]["power_unit"], record["computed_from"]["options"]["power_unit"]))
    same(("unchanged", 500.0), backfill(folder, "--power-unit", "mW"))
    folder.write("store/r/gpu_metrics.csv", csv("500"))
    same(("patched", 500.0), backfill(folder))
    assert "power_unit" not in folder.json("store/r/power_validation_r.json")["computed_from"]["options"]
    same(("unchanged", 500.0), backfill(folder))
    same(("patched", 0.5), backfill(folder, "--power-unit", "mW"))
    same(("patched", 500.0), backfill(folder))


def test_wrong_use(folder):
    for words in (["--power-unit", "MW"], ["--power-unit", "watts"], ["--power-unit", ""]):
        folder.run(*words)
        same(2, folder.status, words)
        assert "--power-unit: expected uW, mW, W or kW, got" in folder.err, folder.err
    # A package states its unit itself.
    folder.call("multinode", "--aggregate-gpus", "1", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--power-unit", "mW")
    same(2, folder.status)
    assert "--power-unit: is for --host or --nodes, not for a dcgm-power package" in folder.err, folder.err
    folder.call("agentic", "--result-dir", ".", "--agg-result", "agg_run.json", "--power-dir", "p", "--power-unit", "W")
    same(2, folder.status)
    same({"tp": 1}, folder.json("agg_run.json"))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
