#!/usr/bin/env python3
"""Gross and net energy: idle power from a plateau, a stretch of the recording, or given watts.

Expected values are sums by hand: of GPUs that draw whole watts, a reading a second.

usage: tests/runs/idle_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import near, run_tests, same  # noqa: E402

START = 1788852000  # 2026-09-08T07:20:00Z
LENGTH = 60


def load(before, after):
    """500 W and 400 W in the window, from a second before it to a second after it."""
    def watts(second, gpu):
        if -1 <= second <= LENGTH + 1:
            return 500 - 100 * gpu
        return (before if second < 0 else after) + 10 * gpu
    return watts


GROSS_J = (500 + 400) * LENGTH


class Folder(running.Folder):
    def recording(self, watts, first_s=-30, last_s=LENGTH + 30):
        """A row a second for each of two GPUs."""
        rows = ["timestamp,index,power.draw [W]"]
        rows += [f"{START + s},{gpu},{watts(s, gpu)}" for s in range(first_s, last_s + 1) for gpu in (0, 1)]
        (self.path / "gpu.csv").write_text("\n".join(rows) + "\n")
        (self.path / "run.json").write_text(json.dumps({
            "benchmark_start_time_unix": START, "benchmark_end_time_unix": START + LENGTH,
            "duration": LENGTH, "completed": 6, "total_input_tokens": 8000,
            "total_output_tokens": 1000}))
        (self.path / "agg_run.json").write_text("{}")

    def run(self, *words, status=0):
        self.call("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", 2, "--validation-result", "record.json", *words)
        same(status, self.status, self.err)

    def record(self, *words):
        self.run(*words)
        return self.json("record.json")

    def aggregate(self):
        return self.json("agg_run.json")

    def idle(self, *words):
        record = self.record(*words)
        same(["idle", "computed_from"], list(record)[-2:])
        return record["idle"]


def check_net(idle, watts, uncertainty_w):
    """Of watts and their uncertainties by GPU, which add linearly."""
    for gpu in (0, 1):
        near(watts[gpu], idle["per_gpu"][str(gpu)]["watts"])
        near(uncertainty_w[gpu], idle["per_gpu"][str(gpu)]["standard_uncertainty"])
    near(sum(watts), idle["total"]["watts"])
    near(sum(uncertainty_w), idle["total"]["standard_uncertainty"])
    idle_j, net_j = sum(watts) * LENGTH, GROSS_J - sum(watts) * LENGTH
    uncertainty_j = sum(uncertainty_w) * LENGTH
    same({"value": GROSS_J, "standard_uncertainty": None}, idle["gross_energy_j"])  # without --uncertainty
    near(idle_j, idle["idle_energy_j"]["value"])
    near(uncertainty_j, idle["idle_energy_j"]["standard_uncertainty"])
    unknown = {"standard_uncertainty": None, "low": None, "high": None}
    near(net_j, idle["net_energy_j"]["value"])
    same(unknown, {key: idle["net_energy_j"][key] for key in unknown})
    for key, count in [("joules_per_output_token_net", 1000), ("joules_per_total_token_net", 9000),
                       ("joules_per_successful_query_net", 6)]:
        near(net_j / count, idle[key]["value"])
        same(unknown, {name: idle[key][name] for name in unknown})


def no_numbers(idle, reason):
    same([False, [reason]], [idle["available"], idle["reasons"]])
    same({"available", "reasons", "source", "start_unix", "end_unix"}, set(idle))


def test_a_plateau_before_the_load_is_preferred(folder):
    folder.recording(load(80, 70))
    idle = folder.idle("--idle", "auto")
    same([True, [], "before_load"], [idle["available"], idle["reasons"], idle["source"]])
    # From the recording's first reading to 2 s before the window.
    same([START - 30, START - 2], [idle["start_unix"], idle["end_unix"]])
    check_net(idle, [80, 90], [0, 0])
    assert "idle 170.00 W together (before_load, 28.0 s); net 43800.00 J above 10200.00 J" in folder.out, folder.out


def test_another_load_before_the_load_is_not_idle(folder):
    """A server that is busy at 200 W each before the load, and idle after it."""
    folder.recording(load(200, 70))
    idle = folder.idle("--idle", "auto")
    same("after_load", idle["source"])
    check_net(idle, [70, 80], [0, 0])


def test_another_load_is_not_idle_where_little_is_recorded_after_it(folder):
    """200 W each before the load; the recording ends 10 s after it, at 70 W: too short for a plateau."""
    folder.recording(load(200, 70), last_s=LENGTH + 10)
    no_numbers(folder.idle("--idle", "auto"), "other_load")
    assert "those of other work" in folder.out + folder.err or "other_load" in folder.err, folder.err
    # An idle stretch before the other load counts.
    folder.recording(lambda s, gpu: 72 if s < -28 else load(200, 70)(s, gpu), first_s=-50, last_s=LENGTH + 10)
    idle = folder.idle("--idle", "auto")
    same(["before_load", START - 50], [idle["source"], idle["start_unix"]])
    check_net(idle, [72, 72], [0, 0])
    # 10 % more is no other load.
    folder.recording(load(77, 70), last_s=LENGTH + 10)
    same("before_load", folder.idle("--idle", "auto")["source"])


def test_another_job_beside_the_load_is_not_idle(folder):
    """200 W for two minutes before the load and after it, and 70 W earlier: nothing near the load shows that."""
    def recording(early_w, watts):
        folder.recording(lambda s, gpu: early_w if s < -150 else load(watts, watts)(s, gpu), first_s=-180, last_s=LENGTH + 120)
        return folder.idle("--idle", "auto")
    no_numbers(recording(70, 200), "other_load")
    # Of 500 W, 90 W more may be a model that is loaded: a warning.
    idle = recording(60, 150)
    check_net(idle, [150, 160], [0, 0])
    assert "and was steady at 60 W elsewhere in the recording" in folder.err, folder.err
    recording(60, 80)  # an ordinary loaded model
    assert "elsewhere in the recording" not in folder.err, folder.err


def test_the_uncertainty_is_that_of_block_means(folder):
    # 20 s before the load to 2 s before it: nine blocks of 2 s. A drift of 1 W in 2 s, of both GPUs.
    def watts(s, gpu):
        return load(80 + (s + 20) // 2, 70)(s, gpu)
    folder.recording(watts, first_s=-20)
    idle = folder.idle("--idle", "auto")
    # The last reading, at 2 s before it and of 89 W, is in the last block, with 88 W and 88 W.
    blocks = [80 + i for i in range(8)] + [(88 + 88 + 89) / 3]
    mean = sum(blocks) / 9
    # Student's t of 95 % for eight degrees of freedom is 2.306004135204166.
    sigma = 2.306004135204166 / 1.96 * math.sqrt(sum((block - mean) ** 2 for block in blocks) / 8 / 9)
    check_net(idle, [mean, mean + 10], [sigma, sigma])


def test_a_plateau_after_the_load_only(folder):
    folder.recording(load(80, 70), first_s=-8)
    idle = folder.idle("--idle", "auto")
    same("after_load", idle["source"])
    same([START + LENGTH + 5, START + LENGTH + 30], [idle["start_unix"], idle["end_unix"]])
    check_net(idle, [70, 80], [0, 0])


def test_without_a_plateau_there_are_no_numbers(folder):
    folder.recording(load(80, 70), first_s=-8, last_s=LENGTH + 8)
    idle = folder.idle("--idle", "auto", "--extended")
    no_numbers(idle, "no_plateau")
    same([None, None, None], [idle["source"], idle["start_unix"], idle["end_unix"]])
    assert "no net energy: no_plateau: record 15 s without load" in folder.err, folder.err
    assert "net_gpu_energy_j" not in folder.aggregate()


def test_a_load_is_no_plateau(folder):
    # 60 % of the mean of the second GPU, 400 W, is 240 W.
    folder.recording(load(230, 230))
    no_numbers(folder.idle("--idle", "auto"), "no_plateau")


def test_zero_watts_are_no_idle_power(folder):
    folder.recording(lambda s, gpu: load(0, 70)(s, 0))
    same("after_load", folder.idle("--idle", "auto")["source"])


def test_one_gpu_without_a_plateau(folder):
    folder.recording(lambda s, gpu: 450 if gpu == 1 and -40 < s < 0 else load(80, 70)(s, gpu))
    same("after_load", folder.idle("--idle", "auto")["source"])


def test_a_given_stretch(folder):
    # 60 W from 300 s before the load, in the first 50 s.
    folder.recording(lambda s, gpu: 60 + gpu if s <= -250 else load(80, 70)(s, gpu), first_s=-300)
    for stretch in [f"{START - 300}:{START - 260}", "+0:+40", f"+0:{START - 260}",
                    "2026-09-08T07:15:00Z:2026-09-08T07:15:40Z",
                    "2026-09-08T09:15:00+02:00:2026-09-08T07:15:40+00:00",
                    f"+0:-{LENGTH + 30 + 260}"]:
        idle = folder.idle("--idle", stretch)
        same(["given_window", START - 300, START - 260],
             [idle["source"], idle["start_unix"], idle["end_unix"]], stretch)
        check_net(idle, [60, 61], [0, 0])
    idle = folder.idle("--idle=-20:-5")
    same(START + LENGTH + 10, idle["start_unix"])
    check_net(idle, [70, 80], [0, 0])


def test_a_given_stretch_that_says_nothing(folder):
    folder.recording(load(80, 70))
    no_numbers(folder.idle("--idle", "+0:+35"), "overlaps_load")
    no_numbers(folder.idle("--idle", "+20:+5"), "ends_before_it_begins")
    no_numbers(folder.idle("--idle", "+5:+12"), "too_few_readings")  # 7 s
    no_numbers(folder.idle("--idle", f"{START - 60}:{START - 20}"), "too_few_readings")  # 30 s are missing
    assert "the stretch needs 10 s and 10 readings" in folder.err, folder.err


def test_given_watts(folder):
    folder.recording(load(80, 70), first_s=-2)
    check_net(folder.idle("--idle", "85"), [85, 85], [0, 0])
    for text in ["85+-3", "85±3"]:
        idle = folder.idle("--idle", text)
        same(["given_watts", None], [idle["source"], idle["start_unix"]])
        check_net(idle, [85, 85], [3, 3])
    no_numbers(folder.idle("--idle", "450"), "idle_not_below_load")


def test_the_keys_of_the_aggregate_come_and_go(folder):
    folder.recording(load(80, 70))
    folder.run("--extended")
    plain = folder.aggregate()
    folder.run("--extended", "--idle", "auto")
    same([*plain, "net_gpu_energy_j", "joules_per_output_token_net"], list(folder.aggregate()))
    near(43800, folder.aggregate()["net_gpu_energy_j"])
    near(43.8, folder.aggregate()["joules_per_output_token_net"])
    folder.run("--extended")
    same(plain, folder.aggregate())
    folder.run("--extended", "--idle", "auto")
    folder.run("--idle", "auto")
    assert "net_gpu_energy_j" not in folder.aggregate(), "only with --extended"


def test_the_contract_stays(folder):
    folder.recording(load(80, 70))
    plain = folder.record("--uncertainty", "--gpu", "H100")
    aggregate = (folder.path / "agg_run.json").read_bytes()
    record = folder.record("--uncertainty", "--gpu", "H100", "--idle", "auto")
    same(aggregate, (folder.path / "agg_run.json").read_bytes())
    same(["idle", "uncertainty", "computed_from"], list(record)[-3:])
    record.pop("idle")
    same("auto", record["computed_from"]["options"].pop("idle"))
    same(plain, record)


def test_the_net_interval_holds_gross_and_idle_energy_together(folder):
    """Of two GPUs with 3 W each over 60 s: 360 J, beside what the gross energy is known to."""
    folder.recording(load(80, 70))
    record = folder.record("--uncertainty", "--gpu", "H100", "--idle", "85+-3")
    gross, idle = record["uncertainty"]["total_gpu_energy_j"], record["idle"]
    assert gross["standard_uncertainty"] > 500, gross
    same(gross["standard_uncertainty"], idle["gross_energy_j"]["standard_uncertainty"])
    same(360, idle["idle_energy_j"]["standard_uncertainty"])
    both = math.hypot(gross["standard_uncertainty"], 360)
    for key, share in (("net_energy_j", 1), ("joules_per_output_token_net", 1 / 1000), ("joules_per_successful_query_net", 1 / 6)):
        near((GROSS_J - 10200) * share, idle[key]["value"])
        near(both * share, idle[key]["standard_uncertainty"])
        for end, sign in (("low", -1), ("high", 1)):
            near((gross["estimate"] - 10200 + sign * 1.96 * both) * share, idle[key][end])
    folder.call("verify", "record.json")
    same(0, folder.status, folder.out + folder.err)


def test_a_run_that_is_not_valid(folder):
    folder.recording(load(80, 70), last_s=LENGTH - 20)
    no_numbers(folder.idle("--idle", "85"), "power_not_valid")


def test_verify_computes_it_again(folder):
    folder.recording(load(80, 70))
    for text in ["auto", "85±3", "+0:+20"]:
        folder.run("--extended", "--idle", text)
        folder.call("verify", "record.json")
        same(0, folder.status, folder.out + folder.err)
    record = folder.json("record.json")
    record["idle"]["net_energy_j"]["value"] += 1
    (folder.path / "record.json").write_text(json.dumps(record))
    folder.call("verify", "record.json")
    assert folder.status != 0 and "idle.net_energy_j" in folder.out + folder.err, folder.out + folder.err


def test_what_is_none_of_these(folder):
    folder.recording(load(80, 70))
    for text in ["often", "-5", "0", "85+-x", "85+--1", "nan", "5:10", "2026-09-08T07:15:00:+5", "+1:", ":"]:
        folder.run(f"--idle={text}", status=2)
        assert f"got '{text}'" in folder.err, folder.err
    folder.call("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--idle", "auto")
    same(2, folder.status)
    assert "--idle: expected schema 2" in folder.err, folder.err


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
