#!/usr/bin/env python3
"""Good work: --slo, and --quality, --accuracy and --questions.

Expected values are by hand: two GPUs of 100 W each, a window of 40 s, 8000 J.

usage: tests/runs/good_work_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, Folder, run_tests, same  # noqa: E402

START = 1777118400  # 2026-04-25T12:00:00Z


def near(wanted, found, tolerance=1e-6, what=""):
    running.near(wanted, found, tolerance, what)


class Run(Folder):
    """The window is from 10 s to 50 s; requests are (start, first token, end, tokens[, phase[, error]])."""

    def __init__(self, folder, watts=100, completed=10, tokens=100):
        self.path = pathlib.Path(folder)
        self.path.mkdir(exist_ok=True)
        rows = ["timestamp, index, power.draw [W]"]
        for at in range(61):
            stamp = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(START + at))
            rows += [f"{stamp}, {gpu}, {watts:.3f} W" for gpu in (0, 1)]
        self.write("gpu_metrics.csv", "\n".join(rows) + "\n")
        self.result(completed, tokens)

    def result(self, completed, tokens, **more):
        return self.write("run.json", {"benchmark_start_time_unix": START + 10, "benchmark_end_time_unix": START + 50,
                                       "duration": 40, "completed": completed, "total_input_tokens": 10 * completed,
                                       "total_output_tokens": tokens, **more})

    def requests(self, requests, name="profile_export.jsonl"):
        lines = []
        for i, (start, first, end, tokens, *rest) in enumerate(requests):
            phase, error = (rest + ["profiling", None])[:2] if rest else ("profiling", None)
            metrics = {"input_sequence_length": {"value": 10}, "output_sequence_length": {"value": tokens}}
            if first is not None:
                metrics["time_to_first_token"] = {"value": round((first - start) * 1e3, 6)}
            lines.append({"metadata": {"x_request_id": f"r{i}", "benchmark_phase": phase,
                                       "request_start_ns": round((START + start) * 1e9),
                                       "request_end_ns": round((START + end) * 1e9)},
                          "metrics": metrics, "error": error})
        return self.write(name, "".join(json.dumps(line) + "\n" for line in lines))

    def measure(self, *words, requests="profile_export.jsonl"):
        listed = ("--requests", requests) if requests else ()
        self.call("measure", "run.json", "gpu_metrics.csv", "--json", "--timezone", "UTC", *listed, *words)
        assert self.out, self.err
        self.run = json.loads(self.out)["runs"][0]
        return self.run.get("good_work")


def ten(late=(), tokens=10, first=0.2, late_first=1.0):
    """One after the other, 4 s each."""
    return [(10 + 4 * i, 10 + 4 * i + (late_first if i in late else first), 14 + 4 * i, tokens) for i in range(10)]


def test_ten_requests_of_which_three_are_late(folder):
    run = Run(folder)
    run.requests(ten(late=(2, 5, 7)))
    good = run.measure("--slo", "ttft=500ms")
    same((10, 7, 3, 0, 0), tuple(good[f"{key}requests"] for key in ("", "good_", "late_", "failed_", "unknown_")))
    same(False, good["holds"])
    near(0.7, good["slo_attainment"])
    near(0.396775, good["slo_attainment_low"], 1e-5)  # Wilson: (0.7 + 3.8415/20 -+ 1.96 * 0.17494) / 1.38415
    near(0.892209, good["slo_attainment_high"], 1e-5)
    same(70, good["good_output_tokens"])
    near(7 / 40, good["goodput_requests_per_s"])
    near(70 / 40, good["goodput_output_tokens_per_s"])
    near(8000 / 7, good["joules_per_good_request"])
    near(8000 / 70, good["joules_per_good_output_token"])
    near(3 * 4 * 200 / 8000, good["missed_energy_share"])
    low, high = (run.run["uncertainty"]["total_gpu_energy_j"][key] for key in ("low", "high"))
    near(low / 70, good["joules_per_good_output_token_low"], 1e-4)
    near(high / 70, good["joules_per_good_output_token_high"], 1e-4)
    assert good["missed_energy_share_low"] <= 0.3 <= good["missed_energy_share_high"], good


def test_the_text_says_the_same(folder):
    run = Run(folder)
    run.requests(ten(late=(2, 5, 7)))
    run.call("measure", "run.json", "gpu_metrics.csv", "--timezone", "UTC", "--requests", "profile_export.jsonl",
             "--slo", "ttft=500ms")
    text = " ".join(run.out.split())
    for words in ("7 of 10 requests are good, 70.0 % (39.7 to 89.2), 3 late", "0.1750 good requests/s",
                  "J per good output token", "of the energy for requests that missed it"):
        assert words in text, run.out


def test_all_of_the_table_is_of_one_energy(folder):
    """What is published is 0.2 % less than the estimate: joules stand in the middle of their intervals."""
    done = subprocess.run([PROGRAM, "measure", "vllm_detailed.json", "--slo", "ttft=500ms", "--accuracy", "0.5", "--questions",
                           "1000", "--pue", "2", "--json"], cwd=ROOT / "testdata" / "results", capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    run = json.loads(done.stdout)["runs"][0]
    whole = run["uncertainty"]["total_gpu_energy_j"]
    estimate, published = whole["estimate"], whole["published"]
    assert abs(estimate / published - 1) > 1e-3, whole
    good = run["good_work"]
    near(estimate / good["good_requests"], good["joules_per_good_request"])
    near(estimate / good["good_output_tokens"], good["joules_per_good_output_token"])
    for key in ("low", "high"):
        near(whole[key] / good["good_requests"], good[f"joules_per_good_request_{key}"])
    near(estimate / run["completed_requests"] / 0.5, run["correct_answers"]["joules_per_correct_answer"])
    near(2 * published, run["facility"]["facility_energy_j"])  # as published, beside the published energy
    done = subprocess.run([PROGRAM, "measure", "vllm_detailed.json", "--slo", "ttft=500ms", "--accuracy", "0.5", "--questions",
                           "1000", "--pue", "2"], cwd=ROOT / "testdata" / "results", capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    text = " ".join(done.stdout.split())
    tokens = run["output_tokens"]
    for words in (f"facility {2 * estimate:.1f} J", f"{estimate / 60:.2f} W each GPU, {estimate / 30:.2f} W together",
                  f"{tokens / estimate:.4g} output tokens per joule", f"{tokens / estimate:.4g} output tokens/s per W of GPU",
                  f"{estimate / run['completed_requests'] / 0.5:.0f} J per correct answer"):
        assert words in text, (words, done.stdout)


def test_all_good_is_the_energy_of_all(folder):
    run = Run(folder)
    run.requests(ten())
    good = run.measure("--slo", "ttft=0.5s,tpot=1s,e2e=10s")
    same(True, good["holds"])
    near(run.run["joules_per_output_token"], good["joules_per_good_output_token"])
    near(0, good["missed_energy_share"])


def test_a_percentage_of_the_requests(folder):
    run = Run(folder)
    run.requests(ten(late=(2, 5, 7)))
    for limits, holds in (("p70:ttft=500ms", True), ("p71:ttft=500ms", False), ("p70:ttft=500ms,e2e=1s", False)):
        same(holds, run.measure("--slo", limits)["holds"], limits)
    good = run.measure("--slo", "p70:ttft=500ms")
    same(7, good["good_requests"], "a request is good by the limit, whatever the percentage")


def test_time_per_output_token(folder):
    run = Run(folder)
    run.requests(ten(tokens=11, first=1.0))  # (4 - 1) / 10
    same(10, run.measure("--slo", "tpot=300ms")["good_requests"])
    same(0, run.measure("--slo", "tpot=299ms")["good_requests"])
    run.requests([(10 + 4 * i, 13 + 4 * i, 14 + 4 * i, 1 if i else 2) for i in range(10)])
    same(9, run.measure("--slo", "tpot=1ms")["good_requests"], "one token has no time per token")


def test_texts_that_are_no_limits(folder):
    run = Run(folder)
    run.requests(ten())
    for text, words in (("ttft=500", "500 has no unit: write ttft=500ms"), ("500ms", "expected limits such as"),
                        ("ttft=-5ms", "above 0"), ("ttft=0ms", "above 0"), ("ttft=5us", "ms or s"),
                        ("ttft=", "above 0"), ("itl=30ms", "tpot"), ("ttft=1s,ttft=2s", "twice"),
                        ("p0:ttft=1s", "percentage"), ("p101:ttft=1s", "percentage"), ("90:ttft=1s", "expected"),
                        ("", "expected")):
        run.call("measure", "run.json", "gpu_metrics.csv", "--slo", text)
        assert run.status == 2 and words in run.err, (text, run.err)


def test_the_sign_of_a_wrong_unit(folder):
    run = Run(folder)
    run.requests(ten())
    run.measure("--slo", "ttft=500s")
    assert any("no request can miss it: is the unit right?" in line for line in run.run["warnings"]), run.run["warnings"]
    run.measure("--slo", "ttft=5ms")
    assert any("the fastest took 200.0 ms: is the unit right?" in line for line in run.run["warnings"]), run.run["warnings"]
    run.measure("--slo", "ttft=500ms")
    assert not any("unit" in line for line in run.run["warnings"]), run.run["warnings"]
    run.requests(ten(first=0.0002))
    run.measure("--slo", "ttft=500ms")
    assert any("the slowest request took 0.2000 ms, so none could miss it" in line for line in run.run["warnings"]), run.run["warnings"]


def test_failures_warm_ups_and_others_that_never_are_good(folder):
    run = Run(folder, completed=8)
    requests = ten()
    requests[3] = (*requests[3], "profiling", {"code": 500})
    requests[4] = (*requests[4], "warmup", None)
    run.requests(requests)
    good = run.measure("--slo", "e2e=10s")
    same((9, 8, 0, 1, 1), tuple(good[key] for key in ("requests", "good_requests", "late_requests",
                                                      "failed_requests", "warm_up_requests")))
    near(8 / 9, good["slo_attainment"])
    near(800 / 8000, good["missed_energy_share"], what="what the failed one used; the warm-up is not of the load")


def test_not_streamed(folder):
    run = Run(folder)
    run.requests([(start, end, end, tokens) for start, _, end, tokens in ten()])
    good = run.measure("--slo", "ttft=500ms")
    same("not_streamed", good["refused"])
    assert "joules_per_good_request" not in good, good
    same(10, run.measure("--slo", "e2e=5s")["good_requests"])


def test_no_first_token(folder):
    run = Run(folder)
    run.requests([(start, None, end, tokens) for start, _, end, tokens in ten()])
    for limits in ("ttft=500ms", "tpot=30ms", "e2e=5s,ttft=1s"):
        same("no_first_token", run.measure("--slo", limits)["refused"], limits)
    same(10, run.measure("--slo", "e2e=5s")["good_requests"])


def test_times_that_cannot_be(folder):
    run = Run(folder)
    requests = ten()
    requests[0] = (10, 9, 14, 10)   # the first token before the start
    requests[1] = (14, 19, 18, 10)  # and after the end
    run.requests(requests)
    good = run.measure("--slo", "ttft=500ms")
    same((8, 2), (good["good_requests"], good["unknown_requests"]))
    assert any("2 requests succeeded and lack a time" in line for line in run.run["warnings"]), run.run["warnings"]
    same(False, good["holds"])
    requests[2] = (18, 18, 22, 10)  # no first token at all, as 0 says
    run.requests(requests)
    same((7, 3), tuple(run.measure("--slo", "ttft=500ms")[f"{key}_requests"] for key in ("good", "unknown")))
    good = run.measure("--slo", "e2e=10s")
    same((9, 1), (good["good_requests"], good["unknown_requests"]), "an end before the first token")


def test_a_list_of_another_run(folder):
    run = Run(folder)
    for requests in (ten()[:9], ten() + [(50, 50.1, 50.2, 10)]):
        run.requests(requests)
        good = run.measure("--slo", "e2e=5s")
        same("list_is_of_other_requests", good["refused"])
        assert "the result states 10" in good["why"], good
    run.result(1000, 1000)
    run.requests([(10 + i / 25, 10 + i / 25, 10.04 + i / 25, 1) for i in range(999)])
    same(999, run.measure("--slo", "e2e=5s")["good_requests"])
    assert any("999 successful requests, and the result states 1000" in line for line in run.run["warnings"])


def test_requests_outside_the_window_and_repeated_ones(folder):
    run = Run(folder)
    run.requests([(0, 0.1, 4, 10), *ten(), (52, 52.1, 56, 10)])
    good = run.measure("--slo", "e2e=5s")
    same((10, 2), (good["requests"], good["outside_requests"]))
    name = run.requests(ten())
    run.write(name, 2 * (run.path / name).read_text())
    same(10, run.measure("--slo", "e2e=5s")["requests"], "listed twice")


def test_tokens_at_the_edge_of_the_window(folder):
    run = Run(folder, completed=11)
    run.requests([(2, 2, 18, 16), *ten()])  # half of its 16 s are before the window
    near(100 + 8, run.measure("--slo", "e2e=20s")["good_output_tokens"])


def test_no_list(folder):
    run = Run(folder)
    run.result(10, 100, p99_ttft_ms=400, mean_ttft_ms=100)
    good = run.measure("--slo", "ttft=500ms", requests=None)
    same("no_list_of_requests", good["refused"])
    assert run.status == 0 and any("no_list_of_requests" in line for line in run.run["warnings"]), run.out


def vllm(run, starts, requests, **more):
    result = {"date": "20260425-120050", "backend": "vllm", "model_id": "org/model", "tokenizer_id": "m",
              "num_prompts": 10, "duration": 40, "completed": 10, "total_input_tokens": 100,
              "total_output_tokens": 100, "input_lens": [10] * 10, "output_lens": [r[3] for r in requests],
              "ttfts": [r[1] - r[0] for r in requests], "itls": [[r[2] - r[1]] for r in requests],
              "errors": [""] * 10, **more}
    if starts:
        result["start_times"] = [5000 + r[0] for r in requests]
    return run.write("vllm.json", result)


def test_vllm_with_and_without_starts(folder):
    run = Run(folder)
    for starts in (True, False):
        vllm(run, starts, ten(late=(2, 5, 7)))
        files = ("run.json", "--requests", "vllm.json") if starts else \
            ("vllm.json", "--start", START + 10, "--end", START + 50)
        run.call("measure", files[0], "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo", "ttft=500ms", *files[1:])
        good = json.loads(run.out)["runs"][0]["good_work"]
        same((7, 3, 70), (good["good_requests"], good["late_requests"], good["good_output_tokens"]), run.err)
        same(starts, good["missed_energy_share"] is not None, "only requests with times share the energy")


SPAN = ("--start", START + 10, "--end", START + 50, "--json", "--timezone", "UTC")


def good_of(run, name, *words):
    run.call("measure", name, "gpu_metrics.csv", *(words or SPAN), "--slo", "ttft=500ms")
    return json.loads(run.out)["runs"][0]["good_work"]


def test_a_list_that_is_shorter_than_its_file_states(folder):
    run = Run(folder)
    for starts in (True, False):
        vllm(run, starts, ten()[:5])
        good = good_of(run, "vllm.json")
        same("list_is_of_other_requests", good["refused"])
        assert "lists 5 successful requests and states 10" in good["why"], good


def test_a_list_without_times_of_day_in_a_window_of_another_length(folder):
    run = Run(folder)
    half = ("--start", START + 10, "--end", START + 30, "--json", "--timezone", "UTC")
    trt = [{"id": i, "num_input_tokens": 10, "num_output_tokens": 10, "start_timestamp": round((5000 + r[0]) * 1e9),
            "first_token_timestamp": round((5000 + r[1]) * 1e9), "end_timestamp": round((5000 + r[2]) * 1e9)}
           for i, r in enumerate(ten())]
    run.write("trt.json", trt)
    same(10, good_of(run, "trt.json")["good_requests"])
    run.write("micros.json", [one | {key: value // 1000 for key, value in one.items() if "stamp" in key} for one in trt])
    vllm(run, False, ten())
    for name, words, took in (("trt.json", half, "40.000"), ("micros.json", SPAN, "0.040"), ("vllm.json", half, "40.000")):
        good = good_of(run, name, *words)
        same("list_is_of_other_requests", good["refused"], name)
        assert f"took {took} s, and the given window" in good["why"], good


def test_tokens_that_trtllm_bench_calls_errors(folder):
    run = Run(folder)
    run.write("trt.json", [
        {"id": i, "num_input_tokens": 10, "num_output_tokens": 10, "error_tokens": 10 if i == 4 else 0,
         "start_timestamp": round((5000 + r[0]) * 1e9), "first_token_timestamp": round((5000 + r[1]) * 1e9),
         "end_timestamp": round((5000 + r[2]) * 1e9)} for i, r in enumerate(ten())])
    good = good_of(run, "trt.json")
    same((9, 1), (good["good_requests"], good["failed_requests"]))


def test_the_unit_beside_a_latency_of_aiperf(folder):
    """0.2 s is good and 1 s is late, in whichever unit they are stated."""
    run = Run(folder)
    name = run.requests(ten(late=(2, 5, 7)))
    lines = [json.loads(line) for line in (run.path / name).read_text().splitlines()]
    for unit, factor in (("s", 1e-3), ("sec", 1e-3), ("seconds", 1e-3), ("ms", 1), ("milliseconds", 1), (None, 1), ("us", 1e3), ("microseconds", 1e3),
                         ("ns", 1e6), ("nanoseconds", 1e6), ("ticks", 1)):
        for line, request in zip(lines, ten(late=(2, 5, 7))):
            line["metrics"]["time_to_first_token"] = {"value": 1e3 * factor * (request[1] - request[0])} | ({"unit": unit} if unit else {})
        run.write(name, "".join(json.dumps(line) + "\n" for line in lines))
        good = run.measure("--slo", "ttft=500ms")
        if unit == "ticks":
            same("no_first_token", good["refused"], "a unit that is not known")
        else:
            same((7, 3), (good["good_requests"], good["late_requests"]), unit)


def test_failures_of_vllm_without_texts(folder):
    """Of ten entries three have neither a latency nor a token: they failed, and they are listed."""
    run = Run(folder)
    for errors in ({"errors": [""] * 10}, {"errors": None}):
        requests = [r if i not in (1, 3, 5) else (r[0], r[0], r[0], 0) for i, r in enumerate(ten())]
        vllm(run, True, requests, completed=7, failed=3, total_input_tokens=70, total_output_tokens=70,
             latencies=[r[2] - r[0] for r in requests], **errors)
        good = good_of(run, "vllm.json")
        same((10, 7, 3, 0), tuple(good[f"{key}requests"] for key in ("", "good_", "failed_", "unknown_")))


def test_llmperf_and_sglang_say_how_long(folder):
    run = Run(folder)
    run.write("x_individual_responses.json", [
        {"error_code": None, "ttft_s": r[1] - r[0], "end_to_end_latency_s": r[2] - r[0], "number_output_tokens": r[3],
         "number_input_tokens": 10} for r in ten(late=(1,))])
    span = ("--start", START + 10, "--end", START + 50, "--json", "--timezone", "UTC")
    run.call("measure", "x_individual_responses.json", "gpu_metrics.csv", "--slo", "ttft=500ms,tpot=1s", *span)
    same(9, json.loads(run.out)["runs"][0]["good_work"]["good_requests"])
    run.write("sglang.jsonl", json.dumps({
        "backend": "sglang", "dataset_name": "random", "sharegpt_output_len": None, "duration": 40, "completed": 10,
        "total_input_tokens": 100, "total_output_tokens": 100, "total_output_tokens_retokenized": 100,
        "ttfts": [r[1] - r[0] for r in ten(late=(1, 2))], "itls": [[r[2] - r[1]] for r in ten(late=(1, 2))],
        "input_lens": [10] * 10, "output_lens": [10] * 10, "errors": [""] * 10}))
    run.call("measure", "sglang.jsonl", "gpu_metrics.csv", "--slo", "ttft=500ms", *span)
    same(8, json.loads(run.out)["runs"][0]["good_work"]["good_requests"])


def test_genai_bench_in_both_units(folder):
    run = Run(folder)
    span = ("--start", START + 10, "--end", START + 50, "--json", "--timezone", "UTC")
    for unit, factor in (("s", 1), ("ms", 1000), (None, 1), ("us", 1e6)):
        result = {"aggregated_metrics": {"scenario": "D(10,10)", "num_concurrency": 1, "run_duration": 40, "num_error_requests": 1,
                                         "num_completed_requests": 9, "num_requests": 10,
                                         "stats": {"num_input_tokens": {"sum": 90.0}, "num_output_tokens": {"sum": 90.0}}},
                  "individual_request_metrics": [
                      {"ttft": factor * (r[1] - r[0]), "e2e_latency": factor * (r[2] - r[0]), "num_input_tokens": 10,
                       "num_output_tokens": 10, "error_code": None} for r in ten(late=(1,))[:9]]
                  + [{"ttft": None, "e2e_latency": None, "num_input_tokens": None, "num_output_tokens": None, "error_code": 500}]}
        if unit:
            result["_time_unit"] = unit
        run.write("genai.json", result)
        run.call("measure", "genai.json", "gpu_metrics.csv", "--slo", "ttft=500ms,tpot=1s,e2e=5s", *span)
        good = json.loads(run.out)["runs"][0]["good_work"]
        if unit == "us":
            same("no_list_of_requests", good["refused"], "a unit that is not known")
        else:
            same((8, 1, 1), (good["good_requests"], good["late_requests"], good["failed_requests"]), unit)
            near(8000 / 8, good["joules_per_good_request"])
            same(None, good["missed_energy_share"], "it does not say when they ran")


def test_ml_energy_says_how_long(folder):
    run = Run(folder)
    result = json.loads((ROOT / "testdata" / "generators" / "ml_energy.json").read_text())
    result["timeline"].update({"benchmark_start_time": START + 10, "benchmark_end_time": START + 50})
    result.update({"completed": 9, "num_prompts": 10, "duration": 40, "total_input_tokens": 90, "total_output_tokens": 90})
    result["results"] = [{"input_len": 10, "output_len": 10, "latency": r[2] - r[0], "ttft": r[1] - r[0], "itl": [0.1],
                          "success": i != 9, "error": "" if i != 9 else "timeout"} for i, r in enumerate(ten(late=(1,)))]
    run.write("ml_energy.json", result)
    run.call("measure", "ml_energy.json", "gpu_metrics.csv", "--slo", "ttft=500ms,tpot=1s", "--json", "--timezone", "UTC")
    good = json.loads(run.out)["runs"][0]["good_work"]
    same((8, 1, 1), (good["good_requests"], good["late_requests"], good["failed_requests"]), run.out)


def test_inference_perf_in_both_forms(folder):
    run = Run(folder)
    for newer in (False, True):
        requests = []
        for start, first, end, tokens in ten(late=(1,)):
            of_answer = {"output_tokens": tokens, "output_token_times": [5000 + first, 5000 + end]}
            info = {"request_metrics": {"text": {"input_tokens": 10}}, "response_metrics": of_answer} if newer else \
                {"input_tokens": 10, **of_answer}
            requests.append({"start_time": 5000 + start, "end_time": 5000 + end, "request": "", "response": "",
                             "info": info, "error": None})
        run.write("list.json", requests)
        same(9, run.measure("--slo", "ttft=500ms,tpot=1s", requests="list.json")["good_requests"], newer)


def test_what_the_generator_says_itself(folder):
    run = Run(folder)
    vllm(run, True, ten(late=(2, 5, 7)), **{"request_goodput:": 0.2})
    span = ("--start", START + 10, "--end", START + 50, "--json", "--timezone", "UTC", "--slo", "ttft=500ms")
    run.call("measure", "vllm.json", "gpu_metrics.csv", *span)
    warnings = json.loads(run.out)["runs"][0]["warnings"]
    assert any("vLLM states 0.2000 good requests per second" in w and "0.1750" in w for w in warnings), warnings
    vllm(run, True, ten(late=(2, 5, 7)), **{"request_goodput:": 0.175})
    run.call("measure", "vllm.json", "gpu_metrics.csv", *span)
    assert "states 0.17" not in run.out, run.out


def test_what_genai_perf_and_inference_perf_say_themselves(folder):
    """Seven of ten in 40 s are 0.175 good requests per second."""
    run = Run(folder)
    summary = {"request_throughput": {"unit": "requests/sec", "avg": 0.25}, "request_latency": {"unit": "ms", "avg": 4000.0},
               "request_count": {"unit": "count", "avg": 10.0}, "output_sequence_length": {"unit": "tokens", "avg": 10.0},
               "input_sequence_length": {"unit": "tokens", "avg": 10.0}, "input_config": {}}
    run.write("profile_export.json", {"experiments": [{"experiment": {"mode": "concurrency", "value": 1}, "requests": [
        {"timestamp": round((START + r[0]) * 1e9), "response_timestamps": [round((START + r[1]) * 1e9), round((START + r[2]) * 1e9)]}
        for r in ten(late=(2, 5, 7))]}]})
    for goodput, agrees in ((0.175, True), (0.2, False), (-1.0, True), (None, True)):
        more = {} if goodput is None else {"request_goodput": {"unit": "requests/sec", "avg": goodput}}
        run.write("profile_export_genai_perf.json", {**summary, **more})
        run.call("measure", "profile_export.json", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo", "ttft=500ms")
        found = json.loads(run.out)["runs"][0]
        same(7, found["good_work"]["good_requests"], run.out)
        same(agrees, not any("good requests per second" in line for line in found["warnings"]), (goodput, found["warnings"]))
    run.requests(ten(late=(2, 5, 7)))
    for goodput, agrees in ((0.175, True), (0.2, False)):
        run.write("stage.json", {
            "load_summary": {"count": 10}, "failures": {"count": 0},
            "successes": {"count": 10, "throughput": {"requests_per_sec": 0.25}, "prompt_tokens": {"total": 100.0},
                          "output_tokens": {"total": 100.0}, "goodput_metrics": {"goodput_percentage": 70.0, "request_goodput": goodput}}})
        run.call("measure", "stage.json", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo", "ttft=500ms", "--requests",
                 "profile_export.jsonl", "--start", START + 10, "--end", START + 50)
        found = json.loads(run.out)["runs"][0]
        same(agrees, not any("good requests per second" in line for line in found["warnings"]), found["warnings"])


def test_what_aiperf_and_loadgen_say_themselves(folder):
    run = Run(folder)
    run.requests(ten(late=(2, 5, 7)))
    stamps = {"min_request_timestamp": {"unit": "ns", "avg": (START + 10) * 1e9},
              "max_response_timestamp": {"unit": "ns", "avg": (START + 50) * 1e9}}
    for good, agrees in ((7, True), (9, False)):
        run.write("profile_export_aiperf.json", {
            "request_count": {"unit": "requests", "avg": 10}, "request_latency": {"unit": "ms", "avg": 4000},
            "benchmark_duration": {"unit": "sec", "avg": 40}, "total_osl": {"unit": "tokens", "avg": 100},
            "total_isl": {"unit": "tokens", "avg": 100}, "good_request_count": {"unit": "requests", "avg": good},
            "goodput": {"unit": "requests/sec", "avg": good / 40}, **stamps, "input_config": {}, "error_summary": []})
        run.call("measure", "profile_export_aiperf.json", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo",
                 "ttft=500ms")
        found = json.loads(run.out)["runs"][0]
        same(7, found["good_work"]["good_requests"], run.out)
        same(agrees, not any("states 9.000 good requests" in line for line in found["warnings"]), found["warnings"])

    def logged(key, value):
        return f":::MLLOG {json.dumps({'key': key, 'value': value, 'time_ms': 1.0, 'namespace': 'mlperf::logging'})}\n"

    for met, agrees in ((False, True), (True, False)):
        run.write("mlperf_log_detail.txt", "".join(logged(key, value) for key, value in (
            ("loadgen_version", "5.0"), ("power_begin", "04-25-2026 12:00:10.000"), ("power_end", "04-25-2026 12:00:50.000"),
            ("effective_scenario", "Server"), ("effective_test_mode", "PerformanceOnly"), ("result_validity", "VALID"),
            ("result_perf_constraints_met", met), ("result_query_count", 10), ("result_tokens_per_second", 2.5))))
        run.call("measure", "mlperf_log_detail.txt", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo",
                 "ttft=500ms", "--requests", "profile_export.jsonl")
        found = json.loads(run.out)["runs"][0]
        same(7, found["good_work"]["good_requests"], run.out)
        same(agrees, not any("its own constraints were met" in line for line in found["warnings"]), found["warnings"])
    run.call("measure", "mlperf_log_detail.txt", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo", "ttft=500ms")
    good = json.loads(run.out)["runs"][0]["good_work"]
    same("no_list_of_requests", good["refused"])
    assert "--requests" in good["why"], good


def lists_of_generators(run):
    """By the row of 'help generators': the file that is given and what it is measured with."""
    requests = ten(late=(2, 5, 7))
    counts = {"duration": 40, "completed": 10, "total_input_tokens": 100, "total_output_tokens": 100}
    arrays = {"input_lens": [10] * 10, "output_lens": [10] * 10, "ttfts": [r[1] - r[0] for r in requests],
              "itls": [[r[2] - r[1]] for r in requests], "errors": [""] * 10}

    def ns(seconds, since=START):
        return round((since + seconds) * 1e9)

    def made(name):
        return json.loads((ROOT / "testdata" / "generators" / name).read_text())

    run.requests(requests)
    aiperf = made("aiperf.json") | {"start_time": None, "end_time": None, "request_count": {"unit": "requests", "avg": 10.0},
                                    "total_isl": {"unit": "tokens", "avg": 100.0}, "total_osl": {"unit": "tokens", "avg": 100.0},
                                    "benchmark_duration": {"unit": "sec", "avg": 40.0}}
    run.write("profile_export_aiperf.json", {key: value for key, value in aiperf.items() if "timestamp" not in key and value})
    analyzer = run.path / "analyzer"
    analyzer.mkdir()
    (analyzer / "profile_export.json").write_text(json.dumps(made("perf_analyzer.json") | {"experiments": [{
        "experiment": {"mode": "concurrency", "value": 1}, "window_boundaries": [ns(10), ns(50)], "requests": [
            {"timestamp": ns(r[0]), "request_inputs": {}, "response_timestamps": [ns(r[1]), ns(r[2])], "response_outputs": []}
            for r in requests]}]}))
    (analyzer / "profile_export_genai_perf.json").write_text(json.dumps(made("genai_perf.json") | {
        "request_count": {"unit": "count", "avg": 10.0}, "request_throughput": {"unit": "requests/sec", "avg": 0.25}}))
    guidellm = made("guidellm.json")
    of_guidellm = guidellm["benchmarks"][0]
    of_guidellm.update(start_time=START + 10, end_time=START + 50, duration=40)
    of_guidellm["metrics"]["request_totals"].update(successful=10, total=10)
    of_guidellm["requests"]["successful"] = [
        {"request_start_time": START + r[0], "request_end_time": START + r[2], "time_to_first_token_ms": 1e3 * (r[1] - r[0]),
         "request_latency": r[2] - r[0], "prompt_tokens": 10, "output_tokens": 10} for r in requests]
    ml_energy = made("ml_energy.json") | counts | {"num_prompts": 10, "results": [
        {"input_len": 10, "output_len": 10, "latency": r[2] - r[0], "ttft": r[1] - r[0], "itl": [0.1], "success": True, "error": ""}
        for r in requests]}
    ml_energy["timeline"].update(benchmark_start_time=START + 10, benchmark_end_time=START + 50)
    ollama = "".join(json.dumps({
        "model": "m:8b", "created_at": time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(START + r[2])), "response": "",
        "done": True, "done_reason": "stop", "total_duration": ns(4, 0), "load_duration": 0, "prompt_eval_count": 10,
        "prompt_eval_duration": ns(r[1] - r[0], 0), "eval_count": 10, "eval_duration": ns(r[2] - r[1], 0)}) + "\n" for r in requests)
    return {
        "AIPerf profile": ("profile_export_aiperf.json", ()), "AIPerf": ("profile_export_aiperf.json", ()),
        "AIPerf requests": ("profile_export.jsonl", ()), "vLLM": (vllm(run, True, requests), SPAN[:4]),
        "SGLang": (run.write("sglang.jsonl", json.dumps(counts | arrays | {
            "backend": "sglang", "dataset_name": "random", "sharegpt_output_len": None, "total_output_tokens_retokenized": 100})), SPAN[:4]),
        "TensorRT-LLM": (run.write("trt.json", made("tensorrt_llm.json") | counts | arrays | {
            "num_prompts": 10, "e2els": [r[2] - r[0] for r in requests]}), SPAN[:4]),
        "trtllm-bench requests": (run.write("trt_requests.json", [
            {"id": i, "num_input_tokens": 10, "num_output_tokens": 10, "start_timestamp": ns(r[0], 5000),
             "first_token_timestamp": ns(r[1], 5000), "end_timestamp": ns(r[2], 5000)} for i, r in enumerate(requests)]), SPAN[:4]),
        "GenAI-Perf": ("analyzer/profile_export_genai_perf.json", SPAN[:4]), "Perf Analyzer": ("analyzer/profile_export.json", ()),
        "LLMPerf responses": (run.write("x_individual_responses.json", [
            {"error_code": None, "ttft_s": r[1] - r[0], "end_to_end_latency_s": 4, "number_output_tokens": 10, "number_input_tokens": 10}
            for r in requests]), SPAN[:4]),
        "guidellm": (run.write("benchmarks.json", guidellm), ()),
        "inference-perf requests": (run.write("list.json", [
            {"start_time": 5000 + r[0], "end_time": 5000 + r[2], "request": "", "response": "", "error": None, "info": {
                "input_tokens": 10, "output_tokens": 10, "output_token_times": [5000 + r[1], 5000 + r[2]]}} for r in requests]), SPAN[:4]),
        "genai-bench": (run.write("genai.json", {
            "aggregated_metrics": {"scenario": "D(10,10)", "num_concurrency": 1, "run_duration": 40, "num_error_requests": 0,
                                   "num_completed_requests": 10, "num_requests": 10,
                                   "stats": {"num_input_tokens": {"sum": 100.0}, "num_output_tokens": {"sum": 100.0}}},
            "individual_request_metrics": [{"ttft": r[1] - r[0], "e2e_latency": 4, "num_input_tokens": 10, "num_output_tokens": 10,
                                            "error_code": None} for r in requests]}), SPAN[:4]),
        "ML.ENERGY": (run.write("ml_energy.json", ml_energy), ()), "Ollama": (run.write("ollama.jsonl", ollama), ()),
        "evalscope requests": (run.write("evalscope.json", [
            {"start_time": 5000 + r[0], "completed_time": 5000 + r[2], "first_chunk_latency": r[1] - r[0], "prompt_tokens": 10,
             "completion_tokens": 10, "success": 1} for r in requests]), SPAN[:4])}


def test_each_row_of_the_table_of_latencies(folder):
    """'help generators' says which latencies a list has, and whether its requests share the energy: of each row, ten
    requests, of which 3 have 1 s to the first token and 0.333 s per output token, 7 have 0.2 s and 0.422 s; all take 4 s."""
    run = Run(folder)
    run.call("help", "generators")
    text = re.sub(r"\n {6}(?! )(?!file:|window:|latencies)", " ", run.out)
    table = dict(re.findall(r"(?m)^  (\S.*)\n(?:      .*\n)*?      latencies of its requests: (?!none)(.*)$", text))
    lists = lists_of_generators(run)
    same(set(table), set(lists))
    for row, (name, words) in lists.items():
        for limit, kept in (("ttft=500ms", 7), ("tpot=400ms", 3), ("e2e=3900ms", 0), ("e2e=4100ms", 10)):
            run.call("measure", name, "gpu_metrics.csv", "--json", "--timezone", "UTC", "--slo", limit, *words)
            assert run.out, (row, run.err)
            found = json.loads(run.out)["runs"][0]
            good = found["good_work"]
            if limit[:limit.index("=")] not in table[row]:
                assert good["refused"], (row, limit, good)
                continue
            same((None, kept), (good["refused"], good.get("good_requests")), f"{row} {limit}: {good['why']} {found['details']}")
            same("without the share" not in table[row], good["missed_energy_share"] is not None, f"{row}: {table[row]}")


# ---- Correct answers

def test_a_thousand_questions(folder):
    run = Run(folder)
    run.measure("--accuracy", "0.731", "--questions", "1000", requests=None)
    correct = run.run["correct_answers"]
    near(0.702670, correct["accuracy_low"], 1e-5)   # Wilson: (0.731 + 0.0019207 -+ 0.0275517) / 1.0038415
    near(0.757562, correct["accuracy_high"], 1e-5)
    near(800 / 0.731, correct["joules_per_correct_answer"])
    joules = 800
    low, high = (run.run["uncertainty"]["total_gpu_energy_j"][key] / 10 for key in ("low", "high"))
    down = math.hypot(math.log(joules / low), math.log(correct["accuracy_high"] / 0.731))
    up = math.hypot(math.log(high / joules), math.log(0.731 / correct["accuracy_low"]))
    near(800 / 0.731 * math.exp(-down), correct["joules_per_correct_answer_low"], 1e-3)
    near(800 / 0.731 * math.exp(up), correct["joules_per_correct_answer_high"], 1e-3)


def quality(run, text, *words, name="quality.json"):
    run.write(name, text)
    run.call("measure", "run.json", "gpu_metrics.csv", "--json", "--timezone", "UTC", "--quality", name, *words)
    return json.loads(run.out)["runs"][0]["correct_answers"] if run.out else None


def test_forms_of_evaluations(folder):
    run = Run(folder)
    harness = {"results": {"gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.75, "exact_match,flexible-extract": 0.8}},
               "n-samples": {"gsm8k": {"original": 1319, "effective": 200}}, "model_name": "org/model"}
    found = quality(run, harness)
    same((0.75, 200, "org/model"), (found["accuracy"], found["questions"], found["model"]))
    found = quality(run, {"results": {"mmlu": {"acc,none": 0.5}, "a": {"acc,none": 0.5}, "b": {"acc,none": 0.7}},
                          "group_subtasks": {"mmlu": ["a", "b"]},
                          "n-samples": {"a": {"effective": 100}, "b": {"effective": 300}}})
    near(0.65, found["accuracy"])
    same(400, found["questions"], "a group does not count twice")
    found = quality(run, {"results": {"gsm8k": {"exact_match,strict-match": 0.7}, "arc": {"acc,none": 0.5, "acc_norm,none": 0.6}},
                          "n-samples": {"gsm8k": {"effective": 100}, "arc": {"effective": 300}}})
    near((70 + 150) / 400, found["accuracy"], 1e-12, "each task by its own metric")
    same((400, "2 tasks, exact_match,strict-match and acc,none"), (found["questions"], found["of"]))
    found = quality(run, {"name": "r", "dataset_name": "mmlu", "model_name": "m", "score": 0.7,
                          "metrics": [{"name": "mean_acc", "score": 0.7, "num": 50}]})
    same((0.7, 50), (found["accuracy"], found["questions"]))
    found = quality(run, {"schema_version": 2, "dataset_name": "gsm8k", "model_name": "m", "num": 100, "metrics": [
        {"identity": {"name": "accuracy", "aggregation": "mean"}, "num": 100, "score": 0.7}]})
    same((0.7, 100), (found["accuracy"], found["questions"]))
    for count in ("num-samples", "gen_num"):
        found = quality(run, f"{{'exact_match': 90.1, 'tokens_per_sample': 684.68, '{count}': 8313}}\n\nhash=0123\n", name="accuracy.txt")
        near(0.901, found["accuracy"])
        same(8313, found["questions"])
    found = quality(run, "accuracy=76.000%, good=38, total=50\n", name="accuracy.txt")
    same((0.76, 50), (found["accuracy"], found["questions"]))
    lines = [{"spec": {"completion_fns": ["m"]}}, {"sample_id": "a", "type": "match", "data": {"correct": True}},
             {"sample_id": "b", "type": "match", "data": {"correct": False}},
             {"sample_id": "b", "type": "match", "data": {"correct": False}}, {"final_report": {"accuracy": 0.5}}]
    found = quality(run, "\n".join(map(json.dumps, lines)), name="log.jsonl")
    same((0.5, 2), (found["accuracy"], found["questions"]), "a sample counts once")


def test_evaluations_that_are_refused(folder):
    run = Run(folder)
    for text, words in (({"results": {"t": {"rouge1,none": 0.4}}, "n-samples": {"t": {"effective": 5}}}, "no metric of it counts correct answers"),
                        ({"results": {"t": {"acc,none": 0.4}}}, "does not say how many questions"),
                        ({"results": {"t": {"acc,none": 40}}, "n-samples": {"t": {"effective": 5}}}, "from 0 to 1"),
                        ("{'rouge1': 44.4, 'gen_num': 24576}", "--accuracy and --questions"),
                        ("{'exact_match': 90.1}", "'num-samples'"),
                        ("{'exact_match': 901, 'num-samples': 10}", "from 0 to 100"),
                        ({"results": {"t": {"acc,none": 0.4}}, "n-samples": {"t": {"effective": 5}},
                          "higher_is_better": {"t": {"acc": False}}}, "less is better"),
                        ("nothing", "expected results"),
                        ([{"seq_id": 0, "qsl_idx": 1, "data": "00"}], "raw answers"),
                        ('{"sample_id": "a", "correct": 1}\n{"sample_id": "a", "correct": 0}\n', "both correct"),
                        ('{"correct": 0.5}\n{"correct": 1}\n', "expected true or false")):
        same(None, quality(run, text), str(text))
        assert run.status == 2 and words in run.err, (text, run.err)


def test_a_share_that_so_many_questions_cannot_give(folder):
    """7 of 10 is 0.7, 7.342 of 10 are no answers; 1 of 3 may be rounded to 0.333."""
    run = Run(folder)
    for share, questions, is_possible in ((0.7, 10, True), (0.7342, 10, False), (0.333, 3, True), (0.33, 3, True),
                                          (0.3, 3, True), (0.4, 3, False), (0.731, 1000, True), (968 / 1319, 1319, True), (0.7342, 1319, False)):
        harness = {"results": {"t": {"acc,none": share}}, "n-samples": {"t": {"effective": questions}}}
        same(is_possible, quality(run, harness) is not None, (share, questions))
        run.call("measure", "run.json", "gpu_metrics.csv", "--accuracy", share, "--questions", questions)
        same(is_possible, run.status == 0, (share, run.err))
        assert is_possible or "no whole number" in run.err, run.err
    mean = {"results": {"t": {"pass@1,none": 0.7342}}, "n-samples": {"t": {"effective": 10}}}
    assert quality(run, mean) is not None, run.err  # of several answers to each question


def test_questions_without_an_answer_are_not_answered_correctly(folder):
    """0.7 of 70 are 49, and 30 of 100 failed: 0.49, and 800 J each are 800 / 0.49 J per correct answer."""
    run = Run(folder)
    report = {"schema_version": 2, "dataset_name": "gsm8k", "model_name": "m",
              "metrics": [{"identity": {"name": "accuracy", "aggregation": "mean"}, "num": 70, "score": 0.7}]}
    for summary, accuracy, questions in (({"requested": 100, "succeeded": 70, "errored": 30}, 0.49, 100),
                                         ({"requested": 100, "succeeded": 70, "errored": 0, "incomplete": True}, 0.49, 100),
                                         ({"requested": 100, "errored": 30}, 0.49, 100),
                                         ({"requested": 70, "succeeded": 40, "errored": 30}, 0.7, 70),
                                         ({"requested": 210, "succeeded": 210, "errored": 0}, 0.7, 70),
                                         ({"requested": 100, "succeeded": 60, "errored": 40}, None, None),
                                         ({"requested": 100, "succeeded": 100, "errored": 0}, None, None)):
        found = quality(run, report | {"execution_summary": summary})
        if accuracy is None:
            assert found is None and "its metric is of 70" in run.err, (summary, run.err)
            continue
        near(accuracy, found["accuracy"], 1e-12, summary)
        near(800 / accuracy, found["joules_per_correct_answer"], 1e-6, summary)
        same(questions, found["questions"], summary)
        same(questions == 100, "30 of 100 questions have an error" in run.out, summary)
    right, wrong = [{"sample_id": i, "correct": i < 6} for i in range(6)], [{"sample_id": i, "correct": False} for i in (6, 7)]
    for failed in ([{"sample_id": i, "error": "timeout"} for i in (8, 9)],
                   [{"sample_id": i, "type": "sampling", "data": {"prompt": "p"}} for i in (5, 8, 9)],
                   [{"error": "timeout"}, {"type": "error", "data": {"message": "timeout"}}],
                   [{"correct": None}, {"data": {"is_correct": None}}]):
        for lines in (right + wrong + failed, failed + right + wrong):
            found = quality(run, "\n".join(map(json.dumps, lines)), name="log.jsonl")
            same((0.6, 10), (found["accuracy"], found["questions"]), failed)
            assert "2 of 10 questions have an error" in run.out, run.out
    same(None, quality(run, "\n".join(map(json.dumps, failed)), name="log.jsonl"), "no verdict at all")


def test_the_primary_metric_of_a_report(folder):
    run = Run(folder)

    def named(name, score, aggregation="mean", **dimensions):
        return {"identity": {"name": name, "aggregation": aggregation, "dimensions": dimensions}, "num": 100, "score": score}

    metrics = [named("format_accuracy", 0.98), named("accuracy", 0.9, "pass_at_k", k=5), named("accuracy", 0.7),
               named("tool_calls_match", 0.6) | {"semantics": {"semantic_id": "quality.accuracy.ratio"}}, named("rouge", 0.4)]
    for at, accuracy in enumerate((0.98, None, 0.7, 0.6, None)):
        found = quality(run, {"dataset_name": "d", "model_name": "m", "metrics": metrics,
                              "primary_metric_identity": metrics[at]["identity"]})
        same(accuracy, found and found["accuracy"], metrics[at])
        assert found or "its primary metric" in run.err, run.err
    for first in ("pass_rate_accel", "pass@10"):
        found = quality(run, {"dataset_name": "d", "metrics": [{"name": first, "num": 100, "score": 0.9},
                                                               {"name": "AverageAccuracy", "num": 100, "score": 0.7}]})
        same(0.7, found["accuracy"], first)


def test_quality_of_another_model(folder):
    run = Run(folder)
    harness = {"results": {"t": {"acc,none": 0.5}}, "n-samples": {"t": {"effective": 4}},
               "config": {"model_args": "pretrained=org/Model,dtype=auto"}}
    assert quality(run, harness, "--set", "model=/models/model/") is not None, run.err
    same(None, quality(run, harness, "--set", "model=org/other"))
    assert run.status == 2 and "org/Model" in run.err and "org/other" in run.err, run.err
    for key in ("model", "pretrained"):
        in_object = harness | {"config": {"model": "local-completions", "model_args": {key: "org/Model", "dtype": "auto"}}}
        assert quality(run, in_object, "--set", "model=/models/model/") is not None, run.err
        same(None, quality(run, in_object, "--set", "model=org/other"))
        assert run.status == 2 and "org/Model" in run.err, run.err
    quality(run, harness)
    assert "does not name its model" in run.out, run.out


def test_a_new_aggregate_has_what_was_asked(folder):
    """8000 J, 7 good requests of 10, 70 good tokens; 731 of 1,000 answers; and what verify, patch and retract make of it."""
    for name, words in (("listed", ("--requests", "profile_export.jsonl")), ("own", ())):
        run = Run(pathlib.Path(folder) / name)
        run.requests(ten(late=(2, 5, 7)))
        run.write("quality.json", {"results": {"t": {"acc,none": 0.731}}, "n-samples": {"t": {"effective": 1000}}})
        run.call("measure", "run.json" if words else "profile_export.jsonl", "gpu_metrics.csv", "--slo", "ttft=500ms",
                 "--quality", "quality.json", "--out", "agg_run.json", "--json", *words)
        same(0, run.status, run.err)
        aggregate = json.loads((run.path / "agg_run.json").read_text())
        same("ttft=500ms", aggregate["slo"])
        for key, value in (("slo_attainment", 0.7), ("goodput_requests_per_s", 7 / 40), ("goodput_output_tokens_per_s", 70 / 40),
                           ("joules_per_good_request", 8000 / 7), ("joules_per_good_output_token", 8000 / 70),
                           ("missed_energy_share", 0.3), ("accuracy", 0.731), ("accuracy_questions", 1000),
                           ("joules_per_correct_answer", 800 / 0.731)):
            near(value, aggregate[key], 1e-3, key)
        record = json.loads((run.path / "power_validation_agg_run.json").read_text())
        same((10, 7, 3), tuple(record["good_work"][key] for key in ("requests", "good_requests", "late_requests")))
        near(0.702670, record["correct_answers"]["accuracy_low"], 1e-5)
        same("agg_run.json", str(record["computed_from"]["aggregate"]))
        assert "quality.json" in record["computed_from"]["inputs"], record["computed_from"]
        run.call("verify", "agg_run.json")
        same(0, run.status, run.out)
    # One configuration: accuracy is no setting, and its questions are known.
    run.call("recommend", ".", "--slo", "ttft=500ms", "--quality-key", "accuracy", "--json")
    near(0.702670, json.loads(run.out)["fronts"][0]["points"][0]["numbers"][2]["low"], 1e-5)
    for name, other in (("agg_run.json", ("0.731", "0.931")), ("power_validation_agg_run.json", ('"late_requests": 3', '"late_requests": 2')),
                        ("quality.json", ("0.731", "0.732"))):
        text = (run.path / name).read_text()
        run.write(name, text.replace(*other))
        run.call("verify", "agg_run.json")
        assert run.status == 1 and name in run.out, (name, run.out)
        run.write(name, text)
    keys = set(aggregate)
    run.call("retract", ".", "--where", "collector=*")
    left = set(json.loads((run.path / "agg_run.json").read_text()))
    same(set(), {key for key in left if "good" in key or "slo" in key or "correct" in key}, keys)
    run.write("agg_run.json", aggregate)
    run.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--timezone", "UTC",
             "--expected-num-gpus", 2)
    left = json.loads((run.path / "agg_run.json").read_text())
    same((8000.0, None, None), (left["total_gpu_energy_j"], left.get("joules_per_good_request"), left.get("accuracy")), run.err)
    run.call("measure", "run.json", "gpu_metrics.csv", "--out", "agg_roles.json", "--role", "prefill=0", "--role", "decode=1")
    assert "--role" in run.err and "not written" in run.err, run.err


def test_what_a_refused_run_writes_of_good_work(folder):
    run = Run(folder)
    run.requests(ten())
    run.measure("--slo", "ttft=500ms", "--accuracy", "0.5", "--questions", 10, "--expected-num-gpus", 3, "--out", "agg_run.json")
    same(1, run.status, run.err)
    aggregate = json.loads((run.path / "agg_run.json").read_text())
    same((0, None, None), tuple(aggregate.get(key) for key in ("power_valid", "slo_attainment", "accuracy")))
    record = json.loads((run.path / "power_validation_agg_run.json").read_text())
    same((10, None, None), (record["good_work"]["good_requests"], record["good_work"]["joules_per_good_request"],
                            record["correct_answers"]["joules_per_correct_answer"]))
    run.call("verify", "agg_run.json")
    same(0, run.status, run.out)


# ---- Several runs

def two_runs(folder):
    """At 100 W a GPU 3 of 10 are late; at 150 W none is."""
    base = pathlib.Path(folder)
    for name, watts, late in (("slow", 100, (2, 5, 7)), ("fast", 150, ())):
        run = Run(base / name, watts=watts)
        run.requests(ten(late=late))
        run.call("measure", "profile_export.jsonl", "gpu_metrics.csv", "--timezone", "UTC", "--out", "agg_run.json",
                 "--set", f"conc={1 if late else 2}", "--set", "accuracy=0.7")
        same(0, run.status, run.err)
    return run


def repeats(folder, side, late_of_each, **more):
    """Runs of one configuration on other days, with the numbers of late requests in each."""
    for i, late in enumerate(late_of_each):
        run = Run(pathlib.Path(folder) / f"{side}{i}", watts=100 + i + 3 * (side == "new"))  # no two are copies
        run.requests(ten(late=range(late)))
        run.call("measure", "profile_export.jsonl", "gpu_metrics.csv", "--timezone", "UTC", "--out", "agg_run.json",
                 *(f"--set={key}={value}" for key, value in more.items()))
        same(0, run.status, run.err)
    run.path = pathlib.Path(folder)
    return run


def test_a_repeat_without_good_requests_decides_nothing(folder):
    run = repeats(folder, "base", (1, 2, 3))
    repeats(folder, "new", (4, 10, 5))
    sides = ("base0", "base1", "base2", "--with", "new0", "new1", "new2")
    for metric, value in (("joules_per_good_request", "infinite"), ("joules_per_good_output_token", "infinite"),
                          ("goodput_requests_per_s", "0"), ("slo_attainment", "0")):
        run.call("compare", *sides, "--slo", "ttft=500ms", "--metric", metric, "--json")
        same(3, run.status, run.err)
        found, = json.loads(run.out)["comparisons"]
        same(("insufficient", None, None), (found["verdict"], found["change"], found["new"]["mean"]), metric)
        for words in ("new1/agg_run.json", f"it has no good request, so its {metric} is {value}"):
            assert words in found["lack"], (metric, found["lack"])
        assert found["base"]["mean"] > 0, found
    run.call("compare", "new0", "new1", "new2", "--slo", "ttft=500ms", "--metric", "joules_per_good_request", "--json")
    side, = json.loads(run.out)["summaries"]
    same(None, side["mean"], "the repeats of one side alone")
    assert "it has no good request" in str(side["excluded"]), side
    run.call("recommend", "new0", "new1", "new2", "--slo", "ttft=500ms")
    assert "infinite (a run has no good request)" in run.out, run.out
    run.call("recommend", "new0", "new1", "new2", "--slo", "ttft=500ms", "--json")
    same(None, json.loads(run.out)["fronts"][0]["points"][0]["joules_per_good_output_token"])
    run.call("compare", *sides, "--slo", "ttft=500ms", "--metric", "joules_per_output_token", "--json")
    assert json.loads(run.out)["comparisons"][0]["change"] is not None, run.out


def test_the_energy_that_missed_the_objective(folder):
    run = repeats(folder, "base", (3,))
    repeats(folder, "new", (0,))
    run.call("compare", "base0", "--with", "new0", "--slo", "ttft=500ms", "--json")
    found, = json.loads(run.out)["comparisons"]
    base, new = found["base"]["missed_energy_share"], found["new"]["missed_energy_share"]
    near(3 * 4 * 200 / 8000, base["value"], 1e-3)
    near(0, new["value"])
    assert base["low"] < 0.3 < base["high"] < 0.5, base
    run.call("compare", "base0", "--with", "new0", "--slo", "ttft=500ms")
    assert "30.00 % (" in run.out and "of the energy for requests that missed it" in run.out, run.out
    (run.path / "base0" / "gpu_metrics.csv").unlink()
    run.call("compare", "base0", "--with", "new0", "--slo", "ttft=500ms", "--json")
    assert "missed_energy_share" not in json.loads(run.out)["comparisons"][0]["base"], "the recording is gone"


def test_a_table_names_few_ties_and_the_json_all(folder):
    """Six configurations of three repeats of 100 to 102 W, and one of 103 to 105 W: as compare tells each pair apart."""
    for conc in range(1, 7):
        repeats(folder, f"side{conc}_", (0, 0, 0), conc=conc)
    run = repeats(folder, "new", (0, 0, 0), conc=7)
    run.call("recommend", ".", "--slo", "ttft=500ms", "--json")
    front, = json.loads(run.out)["fronts"]
    points = {point["name"]: point for point in front["points"]}
    same(7, len(points))
    places = {f"conc={conc}": [f"side{conc}_{i}" for i in range(3)] for conc in range(1, 7)} | {"conc=7": [f"new{i}" for i in range(3)]}
    for name, other in (("conc=1", "conc=2"), ("conc=1", "conc=7"), ("conc=7", "conc=6")):
        run.call("compare", *places[name], "--with", *places[other], "--match-by", "gpu_count", "--metric", "joules_per_output_token", "--json")
        assert run.out, run.err
        found, = json.loads(run.out)["comparisons"]
        same(found["change_low"] <= 0 <= found["change_high"], other in points[name]["ties"], (name, other))
        same(other in points[name]["ties"], name in points[other]["ties"])
    same({f"conc={conc}" for conc in range(2, 7)}, set(points["conc=1"]["ties"]) - {"conc=7"})
    run.call("recommend", ".", "--slo", "ttft=500ms")
    assert "its energy ties with conc=1; conc=2; conc=3 and 2 others" in run.out, run.out


def test_qualities_that_cannot_be_told_apart(folder):
    """Of 1,000 questions 0.9 is 0.880 to 0.917 and 0.6 is 0.569 to 0.630; 0.731 is 0.703 to 0.758, 0.729 about the same."""
    for case, a, b, fronts in (("apart", 0.9, 0.6, [True, False]), ("tie", 0.731, 0.729, [True, True])):
        at = pathlib.Path(folder) / case
        at.mkdir()
        repeats(at, "a", (0,), conc=1, accuracy=a)
        run = repeats(at, "b", (0,), conc=2, accuracy=b)
        run.call("recommend", ".", "--slo", "ttft=500ms", "--quality-key", "accuracy", "--questions", "1000", "--json")
        front, = json.loads(run.out)["fronts"]
        same(["joules_per_output_token", "p99_ttft_s", "accuracy"], front["keys"])
        points = {point["numbers"][2]["value"]: point for point in front["points"]}
        same(fronts, [points[a]["front"], points[b]["front"]], case)
        same([case == "tie"] * 2, [bool(points[each]["ties_by_number"][2]) for each in (a, b)], case)
        same([True, True], [bool(points[each]["ties"]) for each in (a, b)], "the energies tie")
        run.call("recommend", ".", "--slo", "ttft=500ms", "--quality-key", "accuracy", "--questions", "1000")
        same(case == "tie", "its accuracy ties with" in run.out, run.out)
        run.call("recommend", ".", "--slo", "ttft=500ms", "--quality-key", "accuracy")
        assert "every difference counts" in run.out + run.err, run.err
        same(case == "apart", "its accuracy ties with" in run.out or case == "apart")
    near(0.702670, points[0.731]["numbers"][2]["low"], 1e-5)
    near(0.757562, points[0.731]["numbers"][2]["high"], 1e-5)
    at = pathlib.Path(folder) / "stated"
    at.mkdir()
    run = repeats(at, "a", (0,), conc=1, accuracy=0.731, accuracy_questions=1000)
    run.call("recommend", ".", "--slo", "ttft=500ms", "--quality-key", "accuracy", "--json")
    near(0.702670, json.loads(run.out)["fronts"][0]["points"][0]["numbers"][2]["low"], 1e-5)


def test_roles_by_good_token(folder):
    """GPU 0 prefills at 100 W and GPU 1 decodes at 100 W, for 40 s: 4000 J each, over 70 good tokens."""
    run = Run(folder)
    run.requests(ten(late=(2, 5, 7)))
    run.measure("--slo", "ttft=500ms", "--role", "prefill=0", "--role", "decode=1")
    prefill, decode = run.run["roles"]
    for role, name in ((prefill, "prefill"), (decode, "decode")):
        same((name, 1), (role["role"], role["gpus"]))
        near(4000, role["energy_j"])
        near(100, role["avg_power_w"])
        near(4000 / 70, role["joules_per_good_output_token"])
        near(role["energy_j_low"] / 70, role["joules_per_good_output_token_low"], 1e-4)
        assert role["energy_j_low"] < 4000 < role["energy_j_high"], role
    run.measure("--role", "prefill=0-1", requests=None)
    near(8000, run.run["roles"][0]["energy_j"])
    same(None, run.run["roles"][0]["joules_per_good_output_token"])
    for words, text in ((("prefill=0",), "no role"), (("prefill=0", "decode=0-1"), "named twice"), (("prefill=0-2",), "no GPU 2"),
                        (("cook=0",), "cook"), (("prefill",), "--role")):
        run.call("measure", "run.json", "gpu_metrics.csv", "--json", *(f"--role={word}" for word in words))
        assert run.status == 2 and text in run.err, (words, run.err)
    run.call("measure", "run.json", "gpu_metrics.csv", "--role", "prefill=0", "--role", "decode=1", "--slo", "ttft=500ms",
             "--requests", "profile_export.jsonl")
    assert "prefill, 1 GPU: 4000 J (" in run.out and "57.14 J" in run.out.replace("\n", " "), run.out


def test_roles_of_published_runs_by_good_token(folder):
    """3000 J of prefill and 5000 J of decode over 70 and 80 good tokens."""
    for i, late in enumerate((3, 2)):
        run = repeats(pathlib.Path(folder), f"r{i}", (late,))
        aggregate = run.path / f"r{i}0" / "agg_run.json"
        record = run.path / f"r{i}0" / "power_validation_agg_run.json"
        for path, place in ((aggregate, lambda json: json), (record, lambda json: json["metrics"])):
            content = json.loads(path.read_text())
            place(content).update(prefill_gpu_energy_j=3000.0, decode_gpu_energy_j=5000.0)
            path.write_text(json.dumps(content))
    for role, joules in (("prefill", 3000), ("decode", 5000)):
        run.call("compare", "r00", "--with", "r10", "--slo", "ttft=500ms", "--metric", f"{role}_joules_per_good_output_token", "--json")
        found, = json.loads(run.out)["comparisons"]
        near(joules / 70, found["base"]["mean"], 1e-3)
        near(joules / 80, found["new"]["mean"], 1e-3)
        near(70 / 80 - 1, found["change"], 1e-3)
        assert found["base"]["low"] < joules / 70 < found["base"]["high"], found["base"]
    run.call("report", "r00", "--out", "page.html", "--slo", "ttft=500ms")
    page = (run.path / "page.html").read_text()
    assert "prefill J/good output token" in page and "decode J/good output token" in page, page[-3000:]


def test_compare_by_good_tokens(folder):
    run = two_runs(folder)
    run.path = pathlib.Path(folder)
    run.call("compare", "slow", "--with", "fast", "--match-by", "accuracy", "--slo", "ttft=500ms", "--json")
    found = json.loads(run.out)
    same("joules_per_good_output_token", found["metric"])
    near(12000 / 100 / (8000 / 70) - 1, found["comparisons"][0]["change"], 1e-3)
    run.call("compare", "slow", "--metric", "joules_per_good_request")
    assert run.status == 2 and "--slo" in run.err, run.err


def test_the_price_of_an_objective(folder):
    run = two_runs(folder)
    run.path = pathlib.Path(folder)
    run.call("recommend", ".", "--slo", "ttft=500ms", "--json")
    front, = json.loads(run.out)["fronts"]
    slow, fast = front["points"]
    same((False, True), (slow["holds"], fast["holds"]))
    same((True, True), (slow["front"], fast["front"]))
    same(1, front["cheapest_that_holds"])
    near((12000 - 8000) / 100, front["price"]["value"], 1e-3)
    near(1.0, slow["numbers"][1]["value"], what="99 % of ten is the slowest")
    run.call("recommend", ".", "--slo", "p70:ttft=500ms", "--json")
    front, = json.loads(run.out)["fronts"]
    same((0, 0), (front["cheapest_that_holds"], front["price"]["value"]))
    run.call("recommend", ".", "--slo", "ttft=1ms")
    assert run.status == 1 and "no configuration keeps the objective" in run.out, run.out


def test_good_work_on_the_page(folder):
    run = repeats(folder, "base", (3,))
    run.call("report", "base0", "--out", "page.html", "--slo", "ttft=500ms")
    page = (run.path / "page.html").read_text()
    for words in ("good requests (%)", ">70.0", "J/good output token", "energy that missed (%)", "30.0", "Objective ttft=500ms"):
        assert words in page, words
    run.call("report", "base0", "--out", "page.html")
    assert "good output token" not in (run.path / "page.html").read_text()


def test_the_power_of_phases_on_the_page(folder):
    run = Run(folder)
    run.measure(requests=None)
    measured = json.loads(run.out)
    measured["runs"][0]["phase_energy"] = {
        "model": "states", "prefill": {"watts": 312.0, "standard_error": 5.0}, "decode": {"watts": 188.0, "standard_error": 2.0}}
    run.write("measured.json", measured)
    run.call("report", "measured.json", "--out", "page.html")
    page = (run.path / "page.html").read_text()
    assert "prefill W" in page and "312.0 (302.2 to 321.8)" in page and "188.0 (184.1 to 191.9)" in page, page[-4000:]
    run.call("export", "measured.json", "--format", "jsonl")
    same(0, run.status, run.err)
    assert "prefill_power_w" not in run.out, run.out


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
