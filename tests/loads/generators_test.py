#!/usr/bin/env python3
"""The results of all load generators, read by `inspect`, `measure` and the default command.

Numbers by hand: two GPUs, each at 500 W from 07:20:30 to 07:21:30 (1788852030 to 1788852090) and at 120 W before
and after, sampled each second: 1000 J a second in the load, 240 J outside of it.

usage: tests/loads/generators_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import gzip
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402  (beside the folders that share it)

RESULTS = ROOT / "testdata" / "generators"
START = 1788852030
MONOTONIC = 353399.7  # of the same instant, in the results

# What each sample is of; where its window comes from; start and end after START; joules; requests, tokens in and out.
# The joules are 1000 W x the seconds of the window within the load + 240 W x those outside + at the lm_eval edge
# (START + 60 to 60.5, falling from 1000 W to 620 W) 0.5 x (1000 + 620) / 2 W.
EXACT = {
    "aiperf.json": ("AIPerf", 0.1, 59.8, 59700, (2, 2048, 256)),
    "aiperf_requests.jsonl": ("AIPerf requests", 0.1, 1.4, 1300, (1, 1024, 128)),
    "guidellm.json": ("guidellm", 1, 59, 58000, (2, 2048, 256)),
    "mlperf_log_detail.txt": ("MLPerf LoadGen", 0, 60, 60000, (4000, None, 511998)),  # 8533.3 x 60
    "perf_analyzer.json": ("Perf Analyzer", 0.1, 1.4, 1300, (1, None, None)),
    "guidellm.yaml": ("guidellm", 1, 59, 58000, (2, 2048, 256)),
    "ml_energy.json": ("ML.ENERGY", 0, 60, 60000, (2, 2048, 256)),
    # Ends at 07:20:59 and at 09:21:30 +02:00, after 29 s and 30 s; the second prompt was in the cache.
    "ollama.jsonl": ("Ollama", 0, 60, 60000, (2, None, 256)),  # the second prompt was in the cache
}
SESSION = {
    "inference_benchmarker.json": ("inference-benchmarker", 0, 60, 60000, (3, 3072, 384)),  # with the warm-up
    # 29 s at 240 W, edges of one second from 240 W to 1000 W and back, 60 s at 1000 W, 9 s at 240 W.
    "llm_d.json": ("llm-d benchmark report", -30, 70, 29 * 240 + 620 + 60000 + 620 + 9 * 240, (None, None, None)),
    "lm_eval.json": ("lm-evaluation-harness", 0.5, 60.5, 59500 + 405, (None, None, None)),
    "llm_d.yaml": ("llm-d benchmark report", -30, 70, 29 * 240 + 620 + 60000 + 620 + 9 * 240, (2, 2048, 256)),  # 2 x 1024 and 128
}
# The duration, and the true joules: in the load of 60 s lie 59.8 s of it.
ESTIMATED = {
    "vllm.json": ("vLLM", 59.8, (2, 2048, 256)),
    "vllm_2025.json": ("vLLM", 59.8, (2, 2048, 256)),
    "tensorrt_llm.json": ("TensorRT-LLM", 59.8, (2, 2048, 256)),
    "llmperf.json": ("LLMPerf", 60, (4, 2200, 600)),  # 4 x 550 and 4 x 150
}
TIMELESS = {
    "sglang.jsonl": "SGLang", "genai_bench.json": "genai-bench", "genai_perf.json": "GenAI-Perf",
    "inference_perf.json": "inference-perf", "llmperf_responses.json": "LLMPerf", "torchbench.json": "torchbench",
    "trtllm_bench.json": "trtllm-bench", "trtllm_bench_requests.json": "trtllm-bench",
    "evalscope.json": "evalscope", "evalscope_2025.json": "evalscope", "evalscope_requests.json": "evalscope",
    "evalscope.db": "evalscope", "vllm_throughput.json": "vllm bench throughput", "vllm_latency.json": "vllm bench latency",
    "sglang_offline.jsonl": "SGLang", "sglang_one_batch.jsonl": "SGLang", "sglang_one_batch_server.jsonl": "SGLang",
    "optimum_benchmark.json": "optimum-benchmark", "optimum_benchmark_report.json": "optimum-benchmark",
    "lmdeploy.csv": "LMDeploy", "lmdeploy_2024.csv": "LMDeploy", "tgi_benchmark.md": "text-generation-benchmark",
    "perf_analyzer.csv": "Perf Analyzer", "llm_d_0_1.json": "llm-d",
}
# Of those above, what is read beside a given window: the duration, and requests, tokens in and out.
COUNTS = {
    "sglang.jsonl": (59.8, (2, 2048, 256)), "genai_bench.json": (59.8, (2, 2048, 256)), "trtllm_bench.json": (59.8, (2, 2048, 256)),
    "trtllm_bench_requests.json": (1.3, (1, 1024, 128)),
    "genai_perf.json": (2 / 0.033, (2, 2048, 256)), "inference_perf.json": (2 / 0.033, (2, 2048, 256)),
    "llmperf_responses.json": (0, (1, 550, 150)), "torchbench.json": (0, (None, None, None)),
    "evalscope.json": (60, (3, 3072, 384)), "evalscope_2025.json": (60, (3, 3072, 384)),  # 3 x 1024 and 3 x 128
    "evalscope_requests.json": (59.8, (2, 2048, 256)), "evalscope.db": (0, (None, None, None)),
    "vllm_throughput.json": (60, (2, None, None)), "vllm_latency.json": (60, (None, None, None)),  # 3 x 20 s
    "sglang_offline.jsonl": (60, (2, 2048, 256)), "sglang_one_batch.jsonl": (60, (2, 2048, 256)),
    "sglang_one_batch_server.jsonl": (60, (2, 2048, 250)),  # one stopped early: 250, not 2 x 128
    "optimum_benchmark.json": (0, (None, None, None)), "optimum_benchmark_report.json": (0, (None, None, None)),
    "lmdeploy.csv": (60, (2, 2048, 256)),
    "lmdeploy_2024.csv": (60, (2, 2048, 256)),  # 2 / 2.000 a minute; (38.4 - 4.267) x 60 and 4.267 x 60
    "tgi_benchmark.md": (0, (None, None, None)), "perf_analyzer.csv": (0, (None, None, None)),
    "llm_d_0_1.json": (60, (2, 2048, 256)),
}
NAMES = {"llmperf_responses.json": "LLMPerf responses", "trtllm_bench_requests.json": "trtllm-bench requests",
         "aiperf_gpu_telemetry.jsonl": "AIPerf GPU telemetry", "llama_bench.json": "llama-bench",
         "evalscope_2025.json": "evalscope until 1.6", "evalscope_requests.json": "evalscope requests",
         "evalscope.db": "evalscope database", "sglang_offline.jsonl": "SGLang offline", "sglang_one_batch.jsonl": "SGLang one batch",
         "sglang_one_batch_server.jsonl": "SGLang one batch server", "lmdeploy_2024.csv": "LMDeploy until 2024",
         "perf_analyzer.csv": "Perf Analyzer table", "llm_d_0_1.json": "llm-d benchmark report 0.1",
         "inference_perf_requests.json": "inference-perf requests", "llama_bench.jsonl": "llama-bench lines",
         "vllm.pytorch.json": "PyTorch's benchmark database"}
INFERENCEX = {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + 60, "duration": 60, "completed": 2,
              "total_input_tokens": 2048, "total_output_tokens": 256, "max_concurrency": 2, "tp": 2}
ZSTD = shutil.which("zstd")
JQ = shutil.which("jq")
COUNT_REASONS = {"invalid_successful_query_count", "invalid_input_token_count", "invalid_output_token_count"}


def near(wanted, found, what="", most=1e-3):
    assert found is not None and abs(wanted - found) <= most, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


def sample(name, **changes):
    """The text of a sample whose top-level members are changed; None removes one."""
    members = json.loads((RESULTS / name).read_text()) | changes
    return json.dumps({key: value for key, value in members.items() if value is not None or key not in changes})


def clocks(at, epoch=0.0, monotonic=0.0, boot="b"):
    """A pair of clocks `at` seconds after START; one of them may be off."""
    return {"epoch_s": START + at + epoch, "monotonic_s": MONOTONIC + at + monotonic, "boot_id": boot}


class Folder(running.Folder):
    def __init__(self, path):
        super().__init__(path)
        self.record_power()

    def record_power(self, first=-130, last=190, watts=lambda second: 500 if 0 <= second <= 60 else 120):
        rows = (f"{START + second},{gpu},{watts(second)}\n"
                for second in range(first, last) for gpu in (0, 1))
        (self.path / "gpu_metrics.csv").write_text("timestamp,gpu,power_w\n" + "".join(rows))

    def context(self, **members):
        (self.path / "gpu_metrics_context.json").write_text(json.dumps(members))

    def wrap(self, first, last):
        self.context(window={"start_unix": START + first, "end_unix": START + last})

    def put(self, text, name="result.json"):
        """A result; returns its name."""
        (self.path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def put_sample(self, name):
        shutil.copy(RESULTS / name, self.path / name)
        return name

    def runs(self, result, *words):
        self.call("measure", result, "gpu_metrics.csv", "--json", *words)
        return json.loads(self.out)["runs"] if self.out else []

    def measure(self, result, *words):
        runs = self.runs(result, *words)
        assert len(runs) == 1, f"{len(runs)} runs: {self.err}"
        return runs[0]

    def aggregate(self, result, *words, before='{"tp": 2}'):
        """The aggregate and the record of the default command."""
        (self.path / "agg.json").write_text(before)
        self.call("--csv", "gpu_metrics.csv", "--bench-result", result, "--agg-result", "agg.json",
                  "--schema-version", "2", "--validation-result", "record.json", *words)
        if self.status == 2:
            return {}, {}
        return json.loads((self.path / "agg.json").read_text()), json.loads((self.path / "record.json").read_text())

    def refused(self, result, *words):
        """Asserts that nothing is published, and returns the reasons."""
        keys, record = self.aggregate(result, *words)
        same({"tp", "power_metric_schema_version", "power_valid"}, set(keys), self.err)
        same(0, keys["power_valid"])
        return record["reasons"]

    def published(self, result, *words):
        keys, record = self.aggregate(result, *words)
        same(1, keys.get("power_valid"), self.err)
        return keys, record


def check_counts(run, counts):
    for key, per, count in zip(("completed_requests", "input_tokens", "output_tokens"),
                               ("joules_per_successful_query", "joules_per_input_token", "joules_per_output_token"),
                               counts):
        same(count, run.get(key), key)
        if count is None:
            assert per not in run, f"{per} without {key}"
        else:
            near(run["total_gpu_energy_j"] / count, run[per], per, 1e-5)


def check_window(run, source, first, last):
    same(source, run["window_source"], run["details"])
    near(START + first, run["window"]["start_unix"])
    near(START + last, run["window"]["end_unix"])


# ---- Each sample

def test_every_sample_is_tested(folder):
    same({path.name for path in RESULTS.iterdir()}, set(EXACT) | set(SESSION) | set(ESTIMATED) | set(TIMELESS) | set(NAMES))


def test_inspect_names_the_generator(folder):
    names = {name: row[0] for table in (EXACT, SESSION, ESTIMATED) for name, row in table.items()}
    for name, generator in (names | TIMELESS | NAMES).items():
        folder.call("inspect", str(RESULTS / name), "--json")
        same(1 if name == "vllm.pytorch.json" else 0, folder.status, name)
        if name == "aiperf_gpu_telemetry.jsonl":  # it is a recording
            same("aiperf-gpu-telemetry", json.loads(folder.out)["schema"])
        else:
            same(generator, json.loads(folder.out)["result_of"], name)


def test_exact_windows(folder):
    for name, (generator, first, last, joules, counts) in EXACT.items():
        run = folder.measure(folder.put_sample(name))
        same((0, True, generator), (folder.status, run["valid"], run["generator"]), name)
        check_window(run, "exact", first, last)
        near(joules, run["total_gpu_energy_j"], name)
        check_counts(run, counts)
        if None in counts:  # the default command needs all of them
            missing = set(folder.refused(name))
            assert missing and missing <= COUNT_REASONS, missing
        else:
            keys, record = folder.published(name)
            near(joules, keys["total_gpu_energy_j"], name)
            near(joules / counts[2], keys["joules_per_output_token"], name, 1e-5)
            same("exact", record["computed_from"]["window_source"], name)


def test_whole_sessions(folder):
    for name, (generator, first, last, joules, counts) in SESSION.items():
        run = folder.measure(folder.put_sample(name))
        same((0, generator), (folder.status, run["generator"]), name)
        check_window(run, "session", first, last)
        near(joules, run["total_gpu_energy_j"], name)
        check_counts(run, counts)
        for words in ([], ["--window", "estimated"], ["--window", "wrapped"]):
            same("window_not_exact", folder.refused(name, *words)[0], name)


def test_estimated_windows(folder):
    for name, (generator, duration, counts) in ESTIMATED.items():
        run = folder.measure(folder.put_sample(name))
        same((0, generator, "estimated"), (folder.status, run["generator"], run["window_source"]), name)
        truth = 1000 * duration
        assert run["energy_j_low"] - 1e-3 <= truth <= run["energy_j_high"] + 1e-3, (name, run)
        near(truth, run["total_gpu_energy_j"], name, truth / 1000)
        near(duration, run["duration_s"], name)
        check_counts(run, counts)
        same(["window_not_exact"], folder.refused(name), name)
        keys, record = folder.published(name, "--window", "estimated")
        near(truth, keys["total_gpu_energy_j"], name, truth / 1000)
        same("estimated", record["computed_from"]["window_source"], name)
        low, high = (record["metric_intervals"]["total_gpu_energy_j"][end] for end in ("low", "high"))
        assert low - 1e-3 <= truth <= high + 1e-3, (name, low, high)


def test_no_times_no_number(folder):
    for name, generator in TIMELESS.items():
        run = folder.measure(folder.put_sample(name))
        same((1, False, None), (folder.status, run["valid"], run["window"]), name)
        assert generator in run["details"] and "total_gpu_energy_j" not in run, run
        for words in ([], ["--window", "estimated"], ["--window", "wrapped"]):
            same("invalid_benchmark_window", folder.refused(name, *words)[0], name)
            assert generator in folder.err, folder.err


def test_counts_beside_a_given_window(folder):
    same(set(TIMELESS), set(COUNTS))
    for name, (duration, counts) in COUNTS.items():
        folder.call("inspect", str(RESULTS / name), "--json")
        near(duration, json.loads(folder.out)["benchmarks"][0]["duration_s"], name)
        run = folder.measure(folder.put_sample(name), "--start", str(START), "--end", f"+{duration or 60}s")
        same((0, True), (folder.status, run["valid"]), name)
        check_counts(run, counts)


def test_wrapped_without_a_duration(folder):
    """The command took as long as the load, or its energy is asked for as a whole."""
    folder.wrap(0, 60)
    for name, (duration, counts) in COUNTS.items():
        if duration != 60 or None in counts:
            continue
        run = folder.measure(folder.put_sample(name))
        check_window(run, "wrapped", 0, 60)
        near(60000, folder.published(name)[0]["total_gpu_energy_j"], name)


def test_files_that_are_not_results(folder):
    for name in ("aiperf_gpu_telemetry.jsonl", "vllm.pytorch.json"):
        folder.put_sample(name)
        same(["invalid_benchmark_result"], folder.measure(name)["reasons"])
        same(["invalid_benchmark_result"], folder.refused(name))


# ---- The same file in other spellings

def reordered(value, order):
    if isinstance(value, dict):
        return {key: reordered(value[key], order) for key in order(list(value))}
    return [reordered(item, order) for item in value] if isinstance(value, list) else value


def documents(text):
    text = text.strip()
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:].strip()


def spellings(path):
    """The file as its generator writes it, and as editors, shells and archives leave it."""
    data = path.read_bytes()
    yield "as it is", data, ""
    yield "gzip", gzip.compress(data), ".gz"
    if ZSTD:
        yield "Zstandard", subprocess.run([ZSTD, "-q", "-c"], input=data, capture_output=True, check=True).stdout, ".zst"
    if path.suffix == ".db":
        return
    yield "a byte-order mark", b"\xef\xbb\xbf" + data, ""
    yield "UTF-16", data.decode().encode("utf-16"), ""
    yield "CRLF", data.replace(b"\n", b"\r\n"), ""
    if path.suffix not in (".json", ".jsonl"):
        return
    if JQ:
        yield "jq -S", subprocess.run([JQ, "-S", "."], input=data, capture_output=True, check=True).stdout, ""
    for what, order in (("sorted", sorted), ("backwards", lambda keys: keys[::-1]), ("from the middle", lambda keys: keys[1::2] + keys[::2])):
        yield what, "\n".join(json.dumps(reordered(value, order)) for value in documents(data.decode())).encode(), ""


def what_is_read(folder, name):
    return [{key: run.get(key) for key in ("generator", "valid", "reasons", "window", "window_source", "total_gpu_energy_j",
                                           "completed_requests", "failed_requests", "input_tokens", "output_tokens")}
            for run in folder.runs(name)]


def test_recordings_of_generators_stay_recordings_in_every_spelling(folder):
    for what, data, end in spellings(RESULTS / "aiperf_gpu_telemetry.jsonl"):
        for name in ("gpu_telemetry.jsonl", "renamed"):
            folder.call("inspect", folder.put(data, name + end), "--json")
            same("aiperf-gpu-telemetry", json.loads(folder.out).get("schema"), f"{what} {name}: {folder.out[:200]}")


def test_every_row_in_every_spelling(folder):
    read = set()
    for path in sorted(RESULTS.iterdir()):
        folder.call("inspect", str(path), "--json")
        document = json.loads(folder.out)
        read.add(document.get("result_of", "AIPerf GPU telemetry"))
        wanted = None
        for what, data, end in spellings(path):
            name = folder.put(data, path.name + end)
            found = what_is_read(folder, name)
            assert found, f"{path.name} {what}: {folder.err}"
            wanted = wanted or found
            same(wanted, found, f"{path.name} {what}")
            (folder.path / name).unlink()
    rows = [line.strip() for line in folder.call("help", "generators").out.split("What is read")[1].split("The window that")[0].split("\n")
            if line.startswith("  ") and not line.startswith("   ")]
    own = {"InferenceX's form", "AIPerf profile"}  # the default command and `agentic` have tests of their own
    same(set(rows) - own, read & set(rows))
    same(set(), read - set(rows))


def test_inferencexs_form_in_every_spelling(folder):
    """contract.md B.2 reads it as Python does: any order, no byte-order mark."""
    for order in (sorted, reversed, list):
        near(60000, folder.published(folder.put(json.dumps(reordered(INFERENCEX, lambda keys: list(order(keys))))))[0]["total_gpu_energy_j"])
    near(60000, folder.published(folder.put(gzip.compress(json.dumps(INFERENCEX).encode()), "r.json.gz"))[0]["total_gpu_energy_j"])
    same(["invalid_benchmark_result"], folder.refused(folder.put("\ufeff" + json.dumps(INFERENCEX))))


def test_long_lists_before_the_marks(folder):
    """20 MB of texts, which sorted keys put before `num_prompts` and `tokenizer_id`."""
    texts = ["x" * 1000] * 20000
    for name, generator in (("vllm.json", "vLLM"), ("tensorrt_llm.json", "TensorRT-LLM"), ("sglang.jsonl", "SGLang")):
        members = json.loads(sample(name, generated_texts=texts))
        folder.put(json.dumps(dict(sorted(members.items()))))
        run = folder.measure("result.json", "--start", str(START), "--duration", "59.8")
        same((generator, 256), (run["generator"], run["output_tokens"]), name)


def test_llama_bench(folder):
    """A test starts in the second of its `test_time` or later: all of the load's power is the same."""
    runs = folder.runs(folder.put_sample("llama_bench.json"))
    same(["estimated"] * 2, [run["window_source"] for run in runs])
    same([["insufficient_power_samples"], []], [run["reasons"] for run in runs])  # no reading in 0.1 s
    near(1000 * 2.56, runs[1]["total_gpu_energy_j"])
    check_counts(runs[1], (2, None, 256))


def test_rates_that_contradict_the_counts(folder):
    """7,680 tokens in 60 s are 128 each second; ten times as many are a contradiction."""
    window = ("--start", str(START), "--end", "+60s")
    for tokens, is_right in ((7680, True), (76800, False)):
        offline = {"backend": "engine", "successful_requests": 60, "total_latency": 60.0, "total_input_tokens": 61440,
                   "total_output_tokens": tokens, "last_gen_throughput": 4.3, "request_throughput": 1.0,
                   "input_throughput": 1024.0, "output_throughput": 128.0}
        report = {"engine": {"model": "org/m"}, "world_info": {"world_size": 1},
                  "request_info": {"num_requests": 60, "avg_input_length": 1024.0, "avg_output_length": tokens / 60},
                  "performance": {"total_latency_ms": 60000.0, "request_throughput_req_s": 1.0,
                                  "system_output_throughput_tok_s": 128.0}}
        for result in (offline, report):
            warnings = folder.measure(folder.put(json.dumps(result)), *window)["warnings"]
            same(0 if is_right else 1, len([text for text in warnings if "contradicts itself" in text]), warnings)
    throughput = {"elapsed_time": 60.0, "num_requests": 60, "total_num_tokens": 69120, "requests_per_second": 5.0, "tokens_per_second": 1152.0}
    assert any("is 300 requests, 'num_requests' 60" in text
               for text in folder.measure(folder.put(json.dumps(throughput)), *window)["warnings"])


# ---- Several benchmarks

def several(*rates):
    return "".join(sample("sglang.jsonl", request_rate=rate) + "\n" for rate in rates)


def test_selection(folder):
    folder.put(several(1.0, 4.0, "inf"), "s.jsonl")
    words = ["--start", str(START), "--end", "+60s"]
    for choice, number in (("1", 1), ("2", 2), ("last", 3), ("request_rate=4", 2), ("request_rate=4.0", 2),
                           ("request_rate=inf", 3)):
        run = folder.measure("s.jsonl", "--select", choice, *words)
        same(f"{number}:", run["benchmark"].split()[0], choice)
        keys, _ = folder.published("s.jsonl", "--select", choice, *words)
        near(60000, keys["total_gpu_energy_j"], choice)
    for choice in ("4", "request_rate=9", "nothing=1", "sglang=1"):
        same([], folder.runs("s.jsonl", "--select", choice))
        same(2, folder.status)
        same(["benchmark_not_selected"], folder.refused("s.jsonl", "--select", choice))
        assert "request_rate=4.0" in folder.err, folder.err
    for choice in ("0", "-1", "x", "1.5", "=", "=4", "request_rate", ""):
        same(2, folder.call("measure", "s.jsonl", "gpu_metrics.csv", "--select", choice).status, choice)
        same(({}, {}), folder.aggregate("s.jsonl", "--select", choice), choice)


def test_several_without_a_choice(folder):
    folder.put(several(1.0, 4.0), "s.jsonl")
    same(2, len(folder.runs("s.jsonl")))
    same(2, len(folder.runs("s.jsonl", "--select", "all")))
    same(({}, {}), folder.aggregate("s.jsonl", "--select", "all"), "one aggregate takes one benchmark")
    for words in ([], ["--select", "max_concurrency=2"]):
        same(["benchmark_not_selected"], folder.refused("s.jsonl", *words))
        assert "2 benchmarks" in folder.err, folder.err
    for label in ("1: request_rate=1.0", "2: request_rate=4.0"):
        folder.refused("s.jsonl")
        assert label in " ".join(folder.err.split()), folder.err


def test_what_is_given_is_of_one_benchmark(folder):
    folder.put(several(1.0, 4.0), "s.jsonl")
    for words in (["--start", str(START), "--end", "+60s"], ["--output-tokens", "5"]):
        same([], folder.runs("s.jsonl", *words))
        same(2, folder.status)
        assert "--select" in folder.err, folder.err


def test_appended_results(folder):
    name = folder.put(sample("vllm.json", date="20260908-081131", total_output_tokens=99) + "\n" + sample("vllm.json"))
    runs = folder.runs(name)
    same([None, 256], [run.get("output_tokens") for run in runs], "the first one is of an earlier hour")
    near(59800, runs[1]["total_gpu_energy_j"], most=60)
    same(["window_not_exact"], folder.refused(name, "--select", "1", "--window", "estimated"))
    near(59800, folder.published(name, "--select", "last", "--window", "estimated")[0]["total_gpu_energy_j"], most=60)


# ---- Damaged and odd files

def test_truncated_and_with_garbage(folder):
    for path in sorted(RESULTS.iterdir()):
        if path.suffix not in (".json", ".jsonl", ".txt"):
            continue  # only JSON shows where it ends
        text = path.read_text()
        for end, damaged in (("cut", text[:-8]), ("garbage", text + "garbage")):
            if (path.name, end) == ("mlperf_log_detail.txt", "garbage"):
                continue  # a log also holds lines of others
            for run in folder.runs(folder.put(damaged, path.name)):
                same((1, ["invalid_benchmark_result"], None),
                     (folder.status, run["reasons"], run.get("total_gpu_energy_j")), f"{path.name} {end}")
            assert "invalid_benchmark_result" in folder.refused(path.name), f"{path.name} {end}"
            same(damaged, (folder.path / path.name).read_text(), "the file is left as it is")


def test_compressed(folder):
    packed = gzip.compress((RESULTS / "guidellm.json").read_bytes())
    run = folder.measure(folder.put(packed, "g.json.gz"))
    near(58000, run["total_gpu_energy_j"])
    near(58000, folder.published("g.json.gz")[0]["total_gpu_energy_j"])
    folder.put(packed[:-12], "g.json.gz")
    same([], folder.runs("g.json.gz"))
    same(2, folder.status)
    same(["invalid_benchmark_result"], folder.refused("g.json.gz"))


def test_the_last_of_duplicate_keys_counts(folder):
    text = sample("vllm.json")[:-1]
    same(7, folder.measure(folder.put(text + ', "total_output_tokens": 7}'))["output_tokens"])
    run = folder.measure(folder.put(text + ', "duration": {"a": 1}}'))
    same(None, run["window"])
    run = folder.measure(folder.put(text + ', "duration": null}'))
    same(None, run["window"])


def test_numbers_that_are_none(folder):
    for value in (math.nan, math.inf, -1, True, [60], {"a": 60}, "sixty", "nan", "1e999"):
        run = folder.measure(folder.put(sample("vllm.json", duration=value)))
        same((False, None), (run["valid"], run["window"]), repr(value))
        run = folder.measure(folder.put(sample("vllm.json", total_output_tokens=value)))
        same((None, None), (run.get("output_tokens"), run.get("joules_per_output_token")), repr(value))
        reasons = folder.refused(folder.put(sample("vllm.json", total_output_tokens=value)), "--window", "estimated")
        same(["invalid_output_token_count"], reasons, repr(value))
    for value in (256.5, 0, 1e300):
        reasons = folder.refused(folder.put(sample("vllm.json", total_output_tokens=value)), "--window", "estimated")
        same(["invalid_output_token_count"], reasons, repr(value))
    for text in ("NaN", "null", "true", '"1788852089"'):
        text = (RESULTS / "guidellm.json").read_text().replace('"end_time": 1788852089.0, "dur', f'"end_time": {text}, "dur')
        run = folder.measure(folder.put(text))
        same('"1788852089"' in text, run["valid"], text[-120:])


def test_numbers_in_strings(folder):
    run = folder.measure(folder.put(sample("vllm.json", duration="59.8", completed="2", total_output_tokens="256")))
    near(59800, run["total_gpu_energy_j"], most=60)
    check_counts(run, (2, 2048, 256))


def test_counts_that_are_no_counts(folder):
    text = (RESULTS / "inference_benchmarker.json").read_text()
    run = folder.measure(folder.put(text.replace('"failed_requests": 0', '"failed_requests": null')))
    same(None, run.get("failed_requests"))
    run = folder.measure(folder.put(text.replace('"successful_requests": 2', '"successful_requests": 1e300')))
    same(None, run.get("completed_requests"))
    run = folder.measure(folder.put(sample("llmperf.json", results_number_output_tokens_mean=1e300)))
    same(None, run.get("output_tokens"))


# ---- Results that state their window

def late(members):
    """The same members behind 240 kB of what vLLM writes before them."""
    head = {"date": "20260908-092131", "backend": "vllm", "model_id": "m", "tokenizer_id": "t", "num_prompts": 2}
    arrays = ", ".join(f'"{name}": [{",".join(["1.5"] * 20000)}]' for name in ("input_lens", "ttfts", "output_lens"))
    rest = dict(members)
    duration = rest.pop("duration")
    return (json.dumps(head)[:-1] + f', "duration": {json.dumps(duration)}, {arrays}, ' + json.dumps(rest)[1:])


def test_a_stated_window_may_come_late(folder):
    for change in ({}, {"completed": True}, {"completed": 0}, {"completed": 10**30}, {"duration": "60"}, {"duration": 30},
                   {"duration": math.nan}, {"benchmark_end_time_unix": START - 5}, {"benchmark_end_time_unix": "x"},
                   {"benchmark_end_time_unix": math.inf}, {"total_output_tokens": 256.0}, {"total_input_tokens": None},
                   {"benchmark_start_time_unix": None}, {"tp": 3}):
        members = INFERENCEX | {"num_prompts": 2} | change
        gpus = ["--expected-num-gpus", "auto"]
        answers = []
        for text in (json.dumps(members), late(members)):
            keys, record = folder.aggregate(folder.put(text), *gpus, before="{}")
            for gone in ("created_at_unix", "inputs"):
                record.pop(gone, None)
            for gone in ("inputs", "input_files"):
                record["computed_from"].pop(gone, None)
            answers.append((keys, record))
        same(answers[0], answers[1], change)
        same(1 if not change else 0, answers[0][0]["power_valid"], change)


def test_a_late_stated_window_has_no_source_of_its_own(folder):
    _, record = folder.published(folder.put(late(INFERENCEX)))
    assert "window_source" not in record["computed_from"], record


def test_damaged_late_results(folder):
    text = late(INFERENCEX)
    for damaged in (text[:-1], text + "x", text + "\n{"):
        same(["invalid_benchmark_result"], folder.refused(folder.put(damaged)))
    for several_of_them in (text + "\n{}", text + "\n" + text):
        same(["benchmark_not_selected"], folder.refused(folder.put(several_of_them)))
    same(["benchmark_duration_mismatch"], folder.refused(folder.put(text[:-1] + ', "duration": 30}')))


# ---- Monotonic clocks

def test_tied(folder):
    """Requests from MONOTONIC to + 59.8 s."""
    folder.context(clock_pairs=[clocks(-100), clocks(150)])
    run = folder.measure(folder.put_sample("vllm.json"))
    check_window(run, "tied", 0, 59.8)
    near(59800, run["total_gpu_energy_j"])
    keys, record = folder.published("vllm.json")
    near(59800, keys["total_gpu_energy_j"])
    same("tied", record["computed_from"]["window_source"])
    run = folder.measure(folder.put_sample("trtllm_bench_requests.json"))
    # 353399.7 to 353401.0
    check_window(run, "tied", 0, 1.3)
    near(1300, run["total_gpu_energy_j"])


def test_tied_begins_when_vllm_does(folder):
    """`duration` runs from before the first request, which waits for its turn, to the end of the last."""
    folder.context(clock_pairs=[clocks(0)])
    run = folder.measure(folder.put(sample("vllm.json", start_times=[MONOTONIC + 9, MONOTONIC + 58.4])))
    check_window(run, "tied", 0, 59.8)


def test_clocks_that_do_not_tie(folder):
    name = folder.put_sample("vllm.json")
    for what, pairs in {
            "none": [],
            "no list": {"epoch_s": START},
            "no numbers": [{"epoch_s": "now", "monotonic_s": None}],
            "another boot": [clocks(-100), clocks(150, boot="c")],
            "set": [clocks(-100), clocks(150, epoch=3)],
            "set by less": [clocks(-100), clocks(150, epoch=-0.4)],
            "set and set back": [clocks(-100), clocks(20, epoch=3600), clocks(150)],
            "another machine's, ahead": [clocks(-100, monotonic=-5000), clocks(150, monotonic=-5000)],
            "another machine's, behind": [clocks(-100, monotonic=5000), clocks(150, monotonic=5000)],
            "ends after the stamp": [clocks(-100, monotonic=-30), clocks(150, monotonic=-30)]}.items():
        folder.context(clock_pairs=pairs)
        same(["window_not_exact"], folder.refused(name), what)
        same("estimated", folder.measure(name)["window_source"], what)


def test_requests_that_do_not_span_the_load(folder):
    folder.context(clock_pairs=[clocks(-100), clocks(150)])
    for what, change in {
            "the last one failed": {"latencies": [1.3, 0], "errors": ["", "timeout"], "completed": 1, "failed": 1},
            "fewer starts": {"start_times": [MONOTONIC]},
            "fewer latencies": {"latencies": [1.3]},
            "the end is missing": {"latencies": [1.3, None]}}.items():
        name = folder.put(sample("vllm.json", **change))
        failed = ["benchmark_failed"] * (what == "the last one failed")
        same(["window_not_exact", *failed], folder.refused(name), what)
        near(59800, folder.measure(name)["total_gpu_energy_j"], what, 60)


# ---- Commands that the recorder ran

def test_wrapped(folder):
    folder.wrap(0, 60)
    for name in ("sglang.jsonl", "genai_bench.json", "trtllm_bench.json"):
        folder.put_sample(name)
    folder.put(sample("vllm.json", date="20260908-092130"), "vllm.json")  # while the command ran
    for name in ("sglang.jsonl", "genai_bench.json", "trtllm_bench.json", "vllm.json"):
        run = folder.measure(name)
        check_window(run, "wrapped", 0, 60)
        near(60000, run["total_gpu_energy_j"], name)
        keys, record = folder.published(name)
        near(60000, keys["total_gpu_energy_j"], name)
        same("wrapped", record["computed_from"]["window_source"], name)


def test_a_command_longer_than_the_load(folder):
    folder.wrap(-100, 100)
    # 240 W for 99 + 39 s, two edges of 620 J, 60 s at 1000 W.
    joules = 138 * 240 + 1240 + 60000
    for name in ("sglang.jsonl", "genai_bench.json"):
        run = folder.measure(folder.put_sample(name))
        same("estimated", run["window_source"], name)
        near(60000, run["total_gpu_energy_j"], name, 400)
        assert not any("set-up" in warning for warning in run["warnings"]), run["warnings"]
        same(["window_not_exact"], folder.refused(name), name)
        near(60000, folder.published(name, "--window", "estimated")[0]["total_gpu_energy_j"], name, 400)
        near(joules, folder.published(name, "--window", "wrapped")[0]["total_gpu_energy_j"], name)
        out = subprocess.run([PROGRAM, "measure", name], cwd=folder.path, capture_output=True, text=True).stdout
        assert "estimated: a duration, placed by the power inside the recorded command, give or take" in " ".join(out.split()), out


def test_a_command_whose_power_does_not_show_the_load(folder):
    """59 s of 60.5 s in which the power is up for 60 s: anywhere in it, so all is within 2 %; 30 s of them are not known."""
    folder.wrap(0.5, 61)
    name = folder.put_sample("sglang.jsonl")
    text = (folder.path / name).read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    for length, is_known in ((59, True), (30, False)):
        lines[-1]["duration"] = length
        (folder.path / name).write_text(json.dumps(lines[-1]) + "\n")
        folder.wrap(*((0.5, 61) if is_known else (-20, 61)))
        run = folder.runs(name)[0]
        same(is_known, run["valid"], length)
        if is_known:
            near(1000 * length, run["total_gpu_energy_j"], name, 400)
            continue
        same(["window_not_exact"], run["reasons"])
        assert "its energy is between" in run["details"], run["details"]
        assert "aggregate-power-monitor" not in run["details"] + " ".join(run["remedies"]), run
        assert folder.published(name, "--window", "wrapped")[0]["total_gpu_energy_j"] > 60000


def test_a_command_with_two_loads_of_one_length(folder):
    """Each of 60 s at 500 W a GPU, or the second one at 300 W: then which of them is meant is not known."""
    folder.wrap(-20, 150)
    name = folder.put_sample("sglang.jsonl")
    for watts in (500, 300):
        folder.record_power(watts=lambda second, w=watts: 500 if 0 <= second <= 60 else w if 75 <= second <= 135 else 120)
        run = folder.runs(name)[0]
        same(watts == 500, run["valid"], watts)
        if watts == 500:
            near(60000, run["total_gpu_energy_j"], watts, 400)
            continue
        same(["window_not_exact"], run["reasons"])
        assert "its energy is between" in run["details"], run["details"]
        same(["window_not_exact"], folder.refused(name, "--window", "estimated"))


def test_a_load_of_unknown_length_may_be_shorter_than_the_command(folder):
    for first, last in ((0, 60), (-100, 100)):
        folder.wrap(first, last)
        name = folder.put_sample("llmperf_responses.json")
        same(["window_not_exact"], folder.refused(name))
        run = folder.measure(name)
        assert run["window_source"] != "wrapped" or any("set-up" in text for text in run["warnings"]), run
    # Phases of 2.5 s and 57 s are less than 200 s, and as long as a command of 60 s, to 1 %.
    name = folder.put_sample("inference_benchmarker.json")
    same(["window_not_exact"], folder.refused(name))
    folder.wrap(0, 60)
    near(60000 / 384, folder.published(name)[0]["joules_per_output_token"])


def test_a_command_that_ran_another_load(folder):
    folder.wrap(0, 60)
    # Of two results without times only the last one can be the command's.
    name = folder.put(several(1.0, 4.0))
    same([False, True], [run["valid"] for run in folder.runs(name)])
    same(["invalid_benchmark_window"], folder.refused(name, "--select", "1"))
    near(60000, folder.published(name, "--select", "last")[0]["total_gpu_energy_j"])
    # A stamp that lies outside of the command, in any time zone.
    name = folder.put(sample("vllm.json", date="20260908-091131"))
    same(["window_not_exact"], folder.refused(name))
    folder.wrap(-100, 100)
    same(["invalid_benchmark_window"], folder.refused(folder.put(several(1.0, 4.0)), "--select", "2", "--window", "wrapped"))


def test_a_context_that_says_nothing(folder):
    for text in ("", "{", "[]", '{"window": []}', '{"window": {"start_unix": 5}}', '{"clock_pairs": 5}',
                 f'{{"window": {{"start_unix": {START + 60}, "end_unix": {START}}}}}',
                 f'{{"window": {{"start_unix": "{START}", "end_unix": "{START + 60}"}}}}',
                 f'{{"window": {{"start_unix": NaN, "end_unix": {START + 60}}}}}'):
        (folder.path / "gpu_metrics_context.json").write_text(text)
        same(["invalid_benchmark_window"], folder.refused(folder.put_sample("sglang.jsonl")), text)


# ---- Local times

LOCAL = {"min_request_timestamp": None, "max_response_timestamp": None}


def test_local_times(folder):
    name = folder.put(sample("aiperf.json", **LOCAL))
    keys, record = folder.published(name, "--timezone", "+02:00")
    near(60000, keys["total_gpu_energy_j"])
    same("exact", record["computed_from"]["window_source"])
    assert folder.aggregate(name, "--timezone", "+03:00")[0]["power_valid"] == 0
    # Nothing states the zone: a load of any time of the day would fit in some offset.
    same(["window_not_exact"], folder.refused(name))
    keys, record = folder.published(name, "--window", "estimated")
    near(60000, keys["total_gpu_energy_j"])
    same("estimated", record["computed_from"]["window_source"])
    other = folder.put(sample("aiperf.json", start_time="2026-09-08T14:05:30", end_time="2026-09-08T14:06:30", **LOCAL))
    same(["window_not_exact"], folder.refused(other))


# ---- What the caller states

def test_given(folder):
    name = folder.put_sample("sglang.jsonl")
    for words in (["--start", str(START), "--end", str(START + 60)], ["--start", f"{START}000", "--end", f"{START + 60}000"],
                  ["--start", "2026-09-08T07:20:30Z", "--end", "+60s"], ["--start", str(START), "--end", "+1m"],
                  ["--start", "2026-09-08T09:20:30+02:00", "--duration", "60000ms"],
                  ["--end", "2026-09-08T07:21:30.000Z", "--duration", "60"]):
        run = folder.measure(name, *words)
        check_window(run, "given", 0, 60)
        near(60000, run["total_gpu_energy_j"], words)
        keys, record = folder.published(name, *words)
        near(60000, keys["total_gpu_energy_j"], words)
        same("given", record["computed_from"]["window_source"])
    run = folder.measure(name, "--end", str(START + 60))  # its duration is 59.8 s
    check_window(run, "given", 0.2, 60)
    run = folder.measure(name, "--start", str(START), "--duration", "60", "--output-tokens", "1000")
    near(60, run["joules_per_output_token"])


def test_given_without_a_result(folder):
    folder.call("measure", "--start", str(START), "--end", "+60s", "--telemetry", "gpu_metrics.csv", "--json")
    run = json.loads(folder.out)["runs"][0]
    near(60000, run["total_gpu_energy_j"])
    assert not any(key.startswith("joules_per") for key in run), run


def test_one_token_for_each_request(folder):
    """A client that counts responses."""
    for members, warns in (({"random_output_len": 600}, True), ({"random_output_len": 1}, False), ({}, False),
                           ({"random_output_len": 600, "total_output_tokens": 600}, False)):
        run = folder.measure(folder.put(json.dumps(INFERENCEX | {"completed": 5, "total_output_tokens": 5} | members)))
        same(warns, any("counted responses" in text for text in run["warnings"]), members)


def test_contradictions(folder):
    name = folder.put_sample("sglang.jsonl")
    at = str(START)
    for words in (["--start", at, "--end", str(START + 60), "--duration", "10"], ["--duration", "10"], ["--end", "+60s"],
                  ["--start", at, "--end", "+60s", "--duration", "10"], ["--start", at, "--duration", "10", "--end", "+60s"],
                  ["--start", "2026-09-08T09:20:30", "--end", "+60s"], ["--start", "nan", "--end", "+60s"],
                  ["--start", at, "--duration", "0"], ["--start", at, "--duration", "-5"], ["--start", at, "--end", "+"]):
        same([], folder.runs(name, *words))
        same(2, folder.status, words)
        same(({}, {}), folder.aggregate(name, *words), words)
    same(["invalid_benchmark_window"], folder.refused(name, "--start", str(START + 60), "--end", at))


def test_a_given_window_needs_the_counts(folder):
    """A result whose window is bad still has counts, or lacks them."""
    words = ["--start", str(START), "--end", "+60s"]
    members = {key: value for key, value in INFERENCEX.items() if key != "benchmark_start_time_unix"}
    keys, _ = folder.published(folder.put(json.dumps(members)), *words)
    near(60000 / 256, keys["joules_per_output_token"])
    del members["total_output_tokens"]
    same(["invalid_output_token_count"], folder.refused(folder.put(json.dumps(members)), *words))
    near(60, folder.published("result.json", *words, "--output-tokens", "1000")[0]["joules_per_output_token"])
    same(COUNT_REASONS, set(folder.refused(folder.put('{"a": 1}'), *words)))
    same(["invalid_benchmark_result"], folder.refused(folder.put('{"a": '), *words))


# ---- Files that `measure` writes

def test_out(folder):
    folder.measure(folder.put_sample("guidellm.json"), "--out", "new.json")
    near(58000, json.loads((folder.path / "new.json").read_text())["total_gpu_energy_j"])
    folder.measure("guidellm.json", "--out", "new.json")
    same(0, folder.status, "its own file may be written again")


def test_out_leaves_other_files(folder):
    folder.put_sample("guidellm.json")
    folder.aggregate("guidellm.json")
    for name in ("agg.json", "guidellm.json", "gpu_metrics.csv", "record.json"):
        before = (folder.path / name).read_bytes()
        same([], folder.runs("guidellm.json", "--out", name), name)
        same(2, folder.status, name)
        same(before, (folder.path / name).read_bytes(), name)


def test_out_claims_what_window_accepts(folder):
    """By the rules of the default command."""
    def out(name, *words):
        folder.call("measure", name, "gpu_metrics.csv", "--json", "--out", "new.json", *words)
        return json.loads((folder.path / "new.json").read_text())
    vllm = folder.put_sample("vllm.json")
    for words in ([], ["--window", "exact"], ["--window", "wrapped"]):
        same(0, out(vllm, *words)["power_valid"], words)
        same(0, folder.aggregate(vllm, *words)[0]["power_valid"], words)
    same(0, out(vllm)["power_valid"])
    assert "window_not_exact (--out new.json: the window is an estimate; --window estimated accepts that)" in folder.err
    near(folder.published(vllm, "--window", "estimated")[0]["total_gpu_energy_j"],
         out(vllm, "--window", "estimated")["total_gpu_energy_j"])
    session = folder.put_sample("lm_eval.json")
    for words in ([], ["--window", "estimated"], ["--window", "wrapped"]):
        same(0, out(session, *words)["power_valid"], words)
    sglang = folder.put_sample("sglang.jsonl")
    folder.wrap(-10, 65)  # 5 s longer than the load at the end, 10 s at the start
    same(0, out(sglang)["power_valid"])
    near(60000, out(sglang, "--window", "estimated")["total_gpu_energy_j"], most=400)
    near(60000 + 15 * 240 + 2 * 380, out(sglang, "--window", "wrapped")["total_gpu_energy_j"])
    folder.wrap(0, 60)  # as long as the load
    near(60000, out(sglang)["total_gpu_energy_j"])


# ---- The number of GPUs

def test_idle_gpus(folder):
    """Two of four GPUs draw 80 W beside 500 W: 16 %."""
    rows = (f"{START + second},{gpu},{(500 if 0 <= second <= 60 else 120) if gpu < 2 else 80}\n"
            for second in range(-130, 190) for gpu in range(4))
    (folder.path / "gpu_metrics.csv").write_text("timestamp,gpu,power_w\n" + "".join(rows))
    name = folder.put_sample("guidellm.json")
    warning = ("idle_gpus_counted: the mean power of 2, 3 is below 40 % of the busiest GPU's 500 W, and all of them count: if the run used "
               "only 0, 1, pass --gpus 0,1")
    run = folder.measure(name)
    assert warning in run["warnings"], run["warnings"]
    near(58 * (1000 + 160), run["total_gpu_energy_j"])
    for words, warnings in (["--gpus", "0,1"], []), (["--expected-num-gpus", "4"], [warning]):
        same(warnings, [line for line in folder.measure(name, *words)["warnings"] if "--gpus" in line], words)
    near(58000, folder.measure(name, "--gpus", "0,1")["total_gpu_energy_j"])
    # 4 x 320 samples; the means over the whole recording: 120 + 380 x 61 / 320 = 192.4 W, and 80 W is 42 % of it.
    folder.call("inspect", "gpu_metrics.csv")
    assert "idle_device" not in folder.out, folder.out
    text = (folder.path / "gpu_metrics.csv").read_text().replace(",80\n", ",60\n")
    (folder.path / "gpu_metrics.csv").write_text(text)
    folder.call("inspect", "gpu_metrics.csv")
    assert "warning: idle_device: the mean power of 2, 3 is below 40 %" in folder.out, folder.out
    folder.call("--csv", "gpu_metrics.csv", "--bench-result", name, "--agg-result", "agg.json", "--expected-num-gpus", "2")
    folder.aggregate(name, "--expected-num-gpus", "2")
    assert "choose them with --gpus" in folder.err, folder.err


def test_gpus_that_results_name(folder):
    cases = [({"world_size": 2}, 2), ({"tensor_parallel_size": 2}, 2), ({"tensor_parallel_size": "2"}, 2),
             ({"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, 4), ({"world_size": 4, "tensor_parallel_size": 2}, 4)]
    for keys, gpus in cases:
        for base in ("vllm.json", "aiperf.json"):
            run = folder.measure(folder.put(sample(base, **keys)), "--expected-num-gpus", "auto")
            same([] if gpus == 2 else ["expected_gpu_count_mismatch"], run["reasons"], (base, keys))
        if isinstance(keys.get("tensor_parallel_size"), str):
            continue  # InferenceX's numbers are numbers
        own = {key: value for key, value in INFERENCEX.items() if key != "tp"} | keys
        run = folder.measure(folder.put(json.dumps(own)), "--expected-num-gpus", "auto")
        same([] if gpus == 2 else ["expected_gpu_count_mismatch"], run["reasons"], keys)
    run = folder.measure(folder.put(sample("aiperf.json")), "--expected-num-gpus", "auto")
    same(["invalid_expected_gpu_count"], run["reasons"])


# ---- What to do, in the generator's terms

def test_remedies_of_other_generators(folder):
    run = folder.measure(folder.put_sample("sglang.jsonl"))
    remedy, = run["remedies"]
    assert "benchmark_start_time_unix" not in remedy and "--start and --end" in remedy, remedy
    folder.refused(folder.put_sample("perf_analyzer.json"))
    assert "total_input_tokens" not in folder.err and "--input-tokens N" in folder.err, folder.err
    own = {key: value for key, value in INFERENCEX.items() if not key.startswith("benchmark_")}
    folder.refused(folder.put(json.dumps(own)))
    assert "benchmark_start_time_unix" in folder.err, folder.err


def test_the_duration_of_a_summary(folder):
    """benchmark_duration is 59.7 s."""
    times = {"min_request_timestamp": None, "max_response_timestamp": None, "start_time": None, "end_time": None}
    name = folder.put(sample("aiperf.json", **times))
    run = folder.measure(name, "--start", str(START))
    check_window(run, "given", 0, 59.7)
    near(59700, run["total_gpu_energy_j"])
    name = folder.put(sample("aiperf.json", benchmark_duration={"unit": "ms", "avg": 59700}, **times))
    check_window(folder.measure(name, "--start", str(START)), "given", 0, 59.7)


# ---- What only seems to fit

def test_monotonic_times_of_another_machine(folder):
    """A clock that is 90 s off fits the stamp of the end in some zone, but not in the recording's."""
    vllm = folder.put_sample("vllm.json")
    folder.context(timestamp_timezone="+02:00", clock_pairs=[clocks(-100), clocks(150)])
    check_window(folder.measure(vllm), "tied", 0, 59.8)
    for off in (-90, 90, 900):
        folder.context(timestamp_timezone="+02:00",
                       clock_pairs=[clocks(-100, monotonic=off), clocks(150, monotonic=off)])
        same(["window_not_exact"], folder.refused(vllm), off)
    # Without a stamp, the times must lie between the readings of the clocks.
    requests = folder.put_sample("trtllm_bench_requests.json")
    folder.context(clock_pairs=[clocks(-100), clocks(-50)])
    same(["invalid_benchmark_window"], folder.refused(requests))


def test_a_stale_result_beside_a_command(folder):
    folder.context(timestamp_timezone="+02:00", window={"start_unix": START, "end_unix": START + 60})
    result = folder.put(sample("vllm_2025.json", date="20260908-092130"))
    near(60000, folder.published(result)[0]["total_gpu_energy_j"])
    for date in ("20250908-092130", "20260908-093630", "20260908-082130"):
        same(["window_not_exact"], folder.refused(folder.put(sample("vllm_2025.json", date=date))), date)


def test_a_command_that_failed(folder):
    result = folder.put(sample("sglang.jsonl", duration=60))
    for status, is_valid in ((0, 1), (1, 0), (137, 0)):
        folder.context(window={"start_unix": START, "end_unix": START + 60}, exit_status=status)
        keys, _ = folder.aggregate(result)
        same(is_valid, keys["power_valid"], status)
    near(60000, folder.measure(result)["total_gpu_energy_j"])
    assert any("status 137" in warning for warning in folder.measure(result)["warnings"])


def test_results_that_are_not_of_a_measurement(folder):
    log = (RESULTS / "mlperf_log_detail.txt").read_text()
    tokens = ["--input-tokens", "1000"]
    folder.published(folder.put(log, "log.txt"), *tokens)
    invalid = log.replace('"VALID"', '"INVALID"')
    same(["invalid_benchmark_result"], folder.refused(folder.put(invalid, "log.txt"), *tokens))
    near(60000, folder.measure("log.txt")["total_gpu_energy_j"])
    cancelled = folder.put(sample("aiperf.json", was_cancelled=True))
    same(["invalid_benchmark_result"], folder.refused(cancelled))
    sweep = json.loads((RESULTS / "guidellm.json").read_text())
    day = 86400
    sweep["benchmarks"][0]["requests"]["successful"] = [
        {"request_start_time": START + day, "request_end_time": START + day + 1, "prompt_tokens": 1,
         "output_tokens": 1}]
    same(["invalid_benchmark_result"], folder.refused(folder.put(json.dumps(sweep))))


def test_a_log_is_read_in_pieces(folder):
    """Lines that begin at each place around the end of a piece (64 KiB), between lines of other programs."""
    log = (RESULTS / "mlperf_log_detail.txt").read_text().rstrip("\n")
    lines = log.split("\n")
    for shift in range(0, len(lines[0]) + 20, 3):
        filler = "x" * (65536 - 1 - shift) + "\n"
        other = "another program's line, with :::MLLOG {\n:::MLLO\n\n"
        text = filler + other.join(line + "\n" for line in lines[:-1]) + lines[-1]
        result = folder.put(":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"5\"}\n" + text, "log.txt")
        near(60000, folder.measure(result)["total_gpu_energy_j"], shift)


def test_a_given_start_keeps_the_stated_end(folder):
    result = folder.put(json.dumps(INFERENCEX))
    run = folder.measure(result, "--start", str(START + 10))
    check_window(run, "given", 10, 60)
    near(50000, run["total_gpu_energy_j"])
    check_window(folder.measure(result, "--end", str(START + 20)), "given", 0, 20)


def test_copies_of_a_recording(folder):
    shutil.copy(folder.path / "gpu_metrics.csv", folder.path / "copy.csv")
    result = folder.put(json.dumps(INFERENCEX))
    for other in ("gpu_metrics.csv", "copy.csv", "./copy.csv"):
        same(2, folder.call("measure", result, "gpu_metrics.csv", other).status, other)


def test_hostile_files(folder):
    """Deep nesting takes little memory, and a request may take no time."""
    folder.put("[" * 60000)
    same(1, folder.call("measure", "result.json", "gpu_metrics.csv").status)
    line = json.loads((RESULTS / "aiperf_requests.jsonl").read_text())
    line["metadata"]["request_end_ns"] = line["metadata"]["request_start_ns"]
    folder.call("inspect", folder.put(json.dumps(line)))
    assert "at most 0 in flight" in folder.out, folder.out
    key = json.dumps(INFERENCEX).replace("benchmark_start", "benchmark\\u005fstart")
    near(60000, folder.published(folder.put(key))[0]["total_gpu_energy_j"])
    late = json.loads(sample("vllm_2025.json", errors=["", ""] + [""] * 20000)) | INFERENCEX
    text = json.dumps(late).replace("benchmark_start", "benchmark\\u005fstart")
    near(60000, folder.published(folder.put(text))[0]["total_gpu_energy_j"])


def test_gpus_in_turn_are_not_one(folder):
    """Rows without an id, 0.25 s apart, of GPUs at 100 W, 300 W, 500 W and 700 W in turn; and of one at 500 W."""
    rows = {4: lambda i: (100, 300, 500, 700)[i % 4], 1: lambda i: 500 + i % 3}
    for gpus, watts in rows.items():
        text = "timestamp,power_w\n" + "".join(f"{START - 40 + i / 4},{watts(i)}\n" for i in range(600))
        (folder.path / "gpu_metrics.csv").write_text(text)
        keys, record = folder.aggregate(folder.put(json.dumps(INFERENCEX)), "--expected-num-gpus", "1")
        same(1 if gpus == 1 else 0, keys["power_valid"], (gpus, record["reasons"]))


# ---- What a new user meets

def test_a_recording_that_is_missing(folder):
    (folder.path / "gpu_metrics.csv").unlink()
    for name in list(EXACT) + list(SESSION) + list(ESTIMATED) + list(TIMELESS):
        run = folder.measure(folder.put_sample(name))
        same((2, ["telemetry_file_missing"]), (folder.status, run["reasons"]), name)
        assert "total_gpu_energy_j" not in run, run
        assert "telemetry_file_missing" in folder.refused(name), name
    folder.call("measure", "--start", str(START), "--end", "+60s", "--telemetry", "gpu_metrics.csv")
    same(2, folder.status)
    (folder.path / "gpu_metrics.csv").write_text("timestamp,gpu,power_w\n")
    same(["no_usable_power_samples"], folder.measure("vllm_2025.json")["reasons"])


def test_a_load_that_the_power_does_not_show(folder):
    """Flat power: all places remain, if the recording covers them; else there is no estimate."""
    flat = lambda first, last: "timestamp,gpu,power_w\n" + "".join(
        f"{START + second},{gpu},{500 + gpu}\n" for second in range(first, last) for gpu in (0, 1))
    result = folder.put_sample("vllm_2025.json")
    (folder.path / "gpu_metrics.csv").write_text(flat(-60, 120))
    run = folder.measure(result)
    near(1001 * 59.8, run["total_gpu_energy_j"], most=0.01)
    assert run["energy_j_low"] <= 1001 * 59.8 + 0.01 and run["window_half_width_s"] > 20, run
    (folder.path / "gpu_metrics.csv").write_text(flat(-5, 120))
    same(["window_not_exact"], folder.measure(result)["reasons"])
    same(["window_not_exact"], folder.refused(result, "--window", "estimated"))


def test_a_command_shorter_than_the_load(folder):
    folder.wrap(0, 8)
    result = folder.put_sample("sglang.jsonl")
    same(["invalid_benchmark_window"], folder.measure(result)["reasons"])
    same(["invalid_benchmark_window"], folder.refused(result, "--window", "wrapped"))


def test_a_result_of_ones_own_without_times(folder):
    own = {key: value for key, value in INFERENCEX.items() if not key.startswith("benchmark_")}
    result = folder.put(json.dumps(own))
    same(["invalid_benchmark_window"], folder.refused(result))
    folder.wrap(0, 60)
    keys, record = folder.published(result)
    near(60000, keys["total_gpu_energy_j"])
    same("wrapped", record["computed_from"]["window_source"])
    folder.wrap(-10, 65)
    same(["invalid_benchmark_window"], folder.refused(result))
    near(60000 + 15 * 240 + 2 * 380, folder.published(result, "--window", "wrapped")[0]["total_gpu_energy_j"])


# ---- Failed requests, by the counts of each generator

def requests_of_aiperf(good, bad, **metadata):
    lines = [{"metadata": {"request_start_ns": START * 10**9, "request_end_ns": (START + 60) * 10**9,
                           "benchmark_phase": "profiling", "x_request_id": f"r{i}", **metadata},
              "metrics": {} if i >= good else {"input_sequence_length": {"value": 10}, "output_sequence_length": {"value": 5}},
              "error": {"code": 500} if i >= good else None} for i in range(good + bad)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def failing(good, bad):
    """Results of `good` requests that succeeded and `bad` ones that did not: name, text, and the window's words."""
    given = ["--start", str(START), "--end", "+60s"]
    stamps = {"min_request_timestamp": {"avg": START * 1e9}, "max_response_timestamp": {"avg": (START + 60) * 1e9}}
    yield "AIPerf lines", requests_of_aiperf(good, bad), []
    yield "AIPerf summary", json.dumps({
        "input_config": {}, "benchmark_duration": {"unit": "sec", "avg": 60}, "request_latency": {"unit": "ms"}, **stamps,
        "request_count": {"avg": good}, "error_request_count": {"avg": bad}, "total_isl": {"avg": 10 * good},
        "total_osl": {"avg": 5 * good}}), []
    yield "guidellm", json.dumps({"metadata": {"guidellm_version": "0.6.0"}, "benchmarks": [{
        "start_time": START, "end_time": START + 60, "duration": 60, "requests": {"successful": []}, "metrics": {
            "request_totals": {"successful": good, "errored": bad, "incomplete": 0},
            "prompt_token_count": {"successful": {"total_sum": 10 * good}},
            "output_token_count": {"successful": {"total_sum": 5 * good}}}}]}), []
    times = {"timestamp": START * 10**9, "response_timestamps": [(START + 60) * 10**9]}
    yield "Perf Analyzer", json.dumps({"experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": [
        times | ({"response_timestamps": []} if i >= good else {}) for i in range(good + bad)]}]}), \
        ["--input-tokens", "10", "--output-tokens", "5"]
    lengths = {"prompt_len": {"mean": 10}, "output_len": {"mean": 5}}
    yield "inference-perf", json.dumps({"load_summary": {}, "failures": {"count": bad}, "successes": {
        "count": good, "throughput": {"requests_per_sec": good / 60}, **lengths}}), given
    yield "genai-bench", json.dumps({"aggregated_metrics": {
        "run_duration": 60, "num_completed_requests": good, "num_error_requests": bad,
        "stats": {"num_input_tokens": {"sum": 10 * good}, "num_output_tokens": {"sum": 5 * good}}}}), given
    yield "LLMPerf", json.dumps({
        "results_num_completed_requests": good, "results_num_requests_started": good + bad, "results_number_errors": bad,
        "results_num_completed_requests_per_min": good, "results_number_input_tokens_mean": 10,
        "results_number_output_tokens_mean": 5, "timestamp": START + 60}), given
    yield "LLMPerf responses", json.dumps([{"end_to_end_latency_s": 1, "number_input_tokens": 10, "number_output_tokens": 5,
                                            "error_code": None if i < good else 500} for i in range(good + bad)]), given


def test_failed_requests_of_every_generator(folder):
    # 3 of 60 are 5 %, 3 of 59 are more.
    for name, text, words in failing(57, 3):
        folder.published(folder.put(text), *words)
        run = folder.measure("result.json", *words)
        same(3, run["failed_requests"], name)
        assert not any("failed" in warning for warning in run["warnings"]), (name, run["warnings"])
    for name, text, words in failing(56, 3):
        same(["benchmark_failed"], folder.refused(folder.put(text), *words), name)
        run = folder.measure("result.json", *words)
        assert run["valid"] and "the benchmark failed: 3 of 59 requests failed, at most 5 % may" in run["warnings"], (name, run)
        record = folder.published("result.json", *words, "--accept", "benchmark_failed")[1]
        same([], record["reasons"], name)


def test_failed_requests_that_only_a_summary_counts(folder):
    summary = json.loads(next(text for name, text, words in failing(9, 1) if name == "AIPerf summary"))
    del summary["error_request_count"]
    summary["error_summary"] = [{"count": 2, "error_details": {"code": 500}}, {"count": 1}]
    same(3, folder.measure(folder.put(json.dumps(summary)))["failed_requests"])
    summary = json.loads(next(text for name, text, words in failing(9, 1) if name == "LLMPerf"))
    summary["results_num_requests_started"] = 12
    same(3, folder.measure(folder.put(json.dumps(summary)), "--start", str(START), "--end", "+60s")["failed_requests"])
    folder.call("inspect", "result.json")
    assert "benchmark_failed: 3 of 12 requests failed" in folder.out, folder.out


def total_and_success(good, total):
    """Results that state how many were sent and how many succeeded, and no failures: name and text."""
    each = {"Avg Input Tokens": 10, "Avg Output Tokens": 5}
    yield "evalscope", {"Test Duration (s)": 60, "Total Requests": total, "Success Requests": good, **each}
    yield "evalscope 2025", {"Time taken for tests (s)": 60, "Total requests": total, "Succeed requests": good,
                             "Average input tokens per request": 10, "Average output tokens per request": 5}
    sums = {"num_input_tokens": {"sum": 10 * good}, "num_output_tokens": {"sum": 5 * good}}
    of_all = {"run_duration": 60, "num_completed_requests": good, "num_error_requests": 0, "stats": sums}
    yield "genai-bench", {"aggregated_metrics": of_all | {"num_requests": total}}
    yield "genai-bench codes", {"aggregated_metrics": of_all | {"error_codes_frequency": {"500": total - good - 1, "429": 1}}}
    yield "inference-perf", {"load_summary": {"count": total}, "successes": {
        "count": good, "throughput": {"requests_per_sec": good / 60}, "prompt_len": {"mean": 10}, "output_len": {"mean": 5}}}
    yield "LLMPerf", {"results_num_completed_requests": good, "results_num_requests_started": total,
                      "results_num_completed_requests_per_min": good, "results_number_input_tokens_mean": 10,
                      "results_number_output_tokens_mean": 5}
    yield "guidellm", {"metadata": {"guidellm_version": "0.6.0"}, "benchmarks": [{
        "duration": 60, "requests": {"successful": []}, "metrics": {
            "request_totals": {"successful": good, "total": total},
            "prompt_token_count": {"successful": {"total_sum": 10 * good}},
            "output_token_count": {"successful": {"total_sum": 5 * good}}}}]}
    yield "inference-benchmarker", {"config": {"max_vus": 2}, "results": [{
        "executor_type": "ConstantVUs", "total_requests": total, "successful_requests": good, "failed_requests": 0,
        "total_tokens_sent": 10 * good, "total_tokens": 5 * good}]}
    stamps = {"min_request_timestamp": {"avg": START * 1e9}, "max_response_timestamp": {"avg": (START + 60) * 1e9}}
    yield "AIPerf", {
        "input_config": {}, "benchmark_duration": {"unit": "sec", "avg": 60}, "request_latency": {"unit": "ms"}, **stamps,
        "request_count": {"avg": good}, "error_request_count": {"avg": 0}, "error_summary": [{"count": total - good}],
        "total_isl": {"avg": 10 * good}, "total_osl": {"avg": 5 * good}}


def test_failures_that_only_a_total_states(folder):
    given = ["--start", str(START), "--end", "+60s"]
    for name, content in total_and_success(57, 60):  # 5 %
        folder.published(folder.put(json.dumps(content)), *given)
        same(3, folder.measure("result.json", *given)["failed_requests"], name)
    for name, content in total_and_success(56, 59):
        same(["benchmark_failed"], folder.refused(folder.put(json.dumps(content)), *given), name)
    for name, content in total_and_success(60, 60):
        if name != "genai-bench codes":
            same(0, folder.measure(folder.put(json.dumps(content)), *given).get("failed_requests", 0), name)


def test_requests_that_aiperf_cancelled_itself_do_not_make_a_run_fail(folder):
    """As in a run of agents. They have no tokens, and what they drew counts."""
    text = requests_of_aiperf(54, 0) + requests_of_aiperf(6, 0, was_cancelled=True).replace('"r', '"c')
    run = folder.measure(folder.put(text))
    same((6, True, 54), (run["failed_requests"], run["valid"], run["completed_requests"]))
    words = "AIPerf cancelled 6 of 60 requests itself: what they drew counts in the joules of the others"
    same([words], [one for one in run["warnings"] if "cancelled" in one])
    same([], folder.published("result.json")[1]["reasons"])
    text = requests_of_aiperf(54, 6)
    same(["benchmark_failed"], folder.refused(folder.put(text)))


def test_requests_that_the_end_cut_off_count_half(folder):
    """guidellm cuts off what is under way at the end of a fixed time."""
    def result(*ends):
        return json.dumps({"metadata": {"guidellm_version": "0.6.0"}, "benchmarks": [{
            "start_time": START, "end_time": START + 60, "duration": 60, "metrics": {
                "request_totals": {"successful": 96, "errored": 0, "incomplete": len(ends)},
                "prompt_token_count": {"successful": {"total_sum": 960}},
                "output_token_count": {"successful": {"total_sum": 480}}},
            "requests": {"successful": [], "incomplete": [{"request_end_time": START + end} for end in ends]}}]})
    folder.published(folder.put(result(*[60] * 10)))  # 5 of 101
    same(["benchmark_failed"], folder.refused(folder.put(result(*[60] * 12))))  # 6 of 102
    same(["benchmark_failed"], folder.refused(folder.put(result(*[30] * 6))))  # 6 of 102, cancelled


# ---- Energy and tokens of the same span

def guidellm_of(requests, **benchmark):
    """The measured part is from START to START + 60; requests are (start, first token, end, tokens out)."""
    listed = [{"request_id": f"r{i}", "request_start_time": START + start, "request_end_time": START + end,
               "time_to_first_token_ms": 1000 * (first - start), "prompt_tokens": 100, "output_tokens": out}
              for i, (start, first, end, out) in enumerate(requests)]
    counts = {"request_totals": {"successful": len(requests), "errored": 0, "incomplete": 0},
              "prompt_token_count": {"successful": {"total_sum": 100 * len(requests)}},
              "output_token_count": {"successful": {"total_sum": sum(one[3] for one in requests)}}}
    return json.dumps({"metadata": {"guidellm_version": "0.6.0"}, "benchmarks": [{
        "start_time": START, "end_time": START + 60, "duration": 60, "metrics": counts, "requests": {"successful": listed},
        "scheduler_metrics": {"request_start_time": START - 20, "request_end_time": START + 80}} | benchmark]})


def test_tokens_of_requests_that_overlap_the_window(folder):
    # From -10 to 10, first token at 0: none of its input, all of its output. From 50 to 70, first token at 50: half.
    run = folder.measure(folder.put(guidellm_of([(-10, 0, 10, 300), (10, 12, 40, 200), (50, 50, 70, 100)])))
    same((2, 200, 550), (run["completed_requests"], run["input_tokens"], run["output_tokens"]))
    near(60000 / 550, run["joules_per_output_token"])
    assert any("550 of 600 output tokens are counted" in warning for warning in run["warnings"]), run["warnings"]
    near(60000 / 550, folder.published("result.json")[0]["joules_per_output_token"])
    # Inside, nothing is said.
    run = folder.measure(folder.put(guidellm_of([(0, 1, 20, 300), (20, 21, 60, 300)])))
    same((2, 600, []), (run["completed_requests"], run["output_tokens"], run["warnings"]))
    # A list that is a sample: half of the requests.
    text = json.loads(guidellm_of([(0, 0, 20, 300), (50, 50, 70, 100)]))
    text["benchmarks"][0]["metrics"]["request_totals"]["successful"] = 4
    text["benchmarks"][0]["metrics"]["output_token_count"]["successful"]["total_sum"] = 800
    run = folder.measure(folder.put(json.dumps(text)))
    same((700, True), (run["output_tokens"], run.get("counts_are_approximate")))
    # No list at all: requests ran for 20 s before and after the window of 60 s, and made up to 40/60 of its tokens there.
    text["benchmarks"][0]["requests"] = {}
    stated = {"warmup_duration": 15, "cooldown_duration": 5}  # 20/60
    for outside, percent in ({}, "67"), (stated | {"scheduler_metrics": {}}, "33"):
        report = json.loads(json.dumps(text))
        report["benchmarks"][0] |= outside
        run = folder.measure(folder.put(json.dumps(report)))
        near(60000, run["total_gpu_energy_j"])
        assert run["valid"] and not any(key.startswith("joules_per") for key in run), run
        assert any(f"too low by up to {percent} %" in warning for warning in run["warnings"]), run["warnings"]
        same(["invalid_benchmark_result"], folder.refused("result.json"))
    # 3 s of 60 are 5 %, which is published with its bound.
    text["benchmarks"][0] |= {"scheduler_metrics": {}, "warmup_duration": 2, "cooldown_duration": 1}
    run = folder.measure(folder.put(json.dumps(text)))
    near(60000 / 800, run["joules_per_output_token"])
    assert any("too low by up to 5 %" in warning for warning in run["warnings"]), run["warnings"]
    folder.published("result.json")


def test_genai_bench_leaves_requests_out_of_its_sums(folder):
    each = {"num_input_tokens": 100, "num_output_tokens": 50, "error_code": None}
    def result(summed, listed, completed=10):
        return json.dumps({"aggregated_metrics": {
            "run_duration": 60, "num_completed_requests": completed, "num_error_requests": 0, "stats": {
                "num_input_tokens": {"sum": 100 * summed, "mean": 100}, "num_output_tokens": {"sum": 50 * summed, "mean": 50}}},
            "individual_request_metrics": [each] * listed})
    given = ["--start", str(START), "--end", "+60s"]
    run = folder.measure(folder.put(result(6, 10)), *given)
    same((1000, 500), (run["input_tokens"], run["output_tokens"]))
    near(120, folder.published("result.json", *given)[0]["joules_per_output_token"])
    run = folder.measure(folder.put(result(6, 0)), *given)
    assert run["valid"] and "output_tokens" not in run and "joules_per_output_token" not in run, run
    same({"invalid_input_token_count", "invalid_output_token_count"}, set(folder.refused("result.json", *given)))
    same((500, []), (folder.measure(folder.put(result(10, 0)), *given)["output_tokens"], folder.runs("result.json", *given)[0]["warnings"]))


def test_requests_that_are_listed_twice(folder):
    once = requests_of_aiperf(10, 0)
    run = folder.measure(folder.put(once + once))
    same((10, 50), (run["completed_requests"], run["output_tokens"]))
    assert any("10 requests are listed twice" in warning for warning in run["warnings"]), run["warnings"]
    same(20, folder.measure(folder.put(once + once.replace('"r', '"s')))["completed_requests"])
    without_ids = once.replace("x_request_id", "x_other")
    same(20, folder.measure(folder.put(without_ids + without_ids))["completed_requests"])


def in_a_row(count, one):
    """One request each second, on the second: as of a coarse clock."""
    return [one(i) for i in range(count)]


def lists_without_ids():
    """Twelve requests of five output tokens, one after the other: name, the text of such a list, and the window's words."""
    def aiperf(requests):
        return "".join(json.dumps(one) + "\n" for one in requests)
    tied = ["--start", str(START), "--end", "+12s"]
    yield "inference-perf", json.dumps, lambda i: {
        "start_time": 5000 + i, "end_time": 5001 + i, "info": {"input_tokens": 10, "output_tokens": 5}, "error": None}, tied
    yield "evalscope", json.dumps, lambda i: {
        "start_time": 5000 + i, "completed_time": 5001 + i, "prompt_tokens": 10, "completion_tokens": 5, "success": 1}, tied
    yield "Ollama", aiperf, lambda i: {
        "model": "m", "created_at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(START + 1 + i))}.000000000Z", "done": True,
        "total_duration": 10**9, "prompt_eval_count": 10, "eval_count": 5, "eval_duration": 5 * 10**8}, []
    yield "LLMPerf", json.dumps, lambda i: {
        "ttft_s": 0.1 + i / 128, "end_to_end_latency_s": 1 + i / 64, "number_input_tokens": 10, "number_output_tokens": 5,
        "error_code": None}, tied
    yield "AIPerf", aiperf, lambda i: {
        "metadata": {"request_start_ns": (START + i) * 10**9, "request_end_ns": (START + 1 + i) * 10**9,
                     "benchmark_phase": "profiling"},
        "metrics": {"input_sequence_length": {"value": 10}, "output_sequence_length": {"value": 5}}, "error": None}, []


def test_lists_that_have_every_request_twice(folder):
    for name, text, one, words in lists_without_ids():
        once = in_a_row(12, one)
        folder.published(folder.put(text(once)), *words)
        run = folder.measure("result.json", *words)
        same((12, 60), (run["completed_requests"], run["output_tokens"]), name)
        for twice in (once + once, [each for each in once for _ in range(2)], once * 3):
            same(["invalid_benchmark_result"], folder.refused(folder.put(text(twice)), *words), name)
            run = folder.measure("result.json", *words)
            assert any("give a file that lists each request once" in warning for warning in run["warnings"]), (name, run)
            assert run["valid"] and not any(key.startswith("joules_per") for key in run), (name, run)
        folder.published(folder.put(text(once * 8)), *words)  # batches of eight
        same(96, folder.measure("result.json", *words)["completed_requests"], name)


def test_requests_of_aiperf_with_one_place_in_the_load(folder):
    """A copy may have other ids; the session and the turn are the same."""
    once = "".join(requests_of_aiperf(1, 0, session_num=i, turn_index=0).replace('"r0"', f'"r{i}"') for i in range(10))
    placed_again = "".join(requests_of_aiperf(1, 0, session_num=50 + i, turn_index=0).replace('"r0"', f'"r{i}"') for i in range(10))
    for copy in (once, once.replace('_id": "r', '_id": "s'), once.replace("x_request_id", "x_other"), placed_again):
        run = folder.measure(folder.put(once + copy))
        same((10, 50), (run["completed_requests"], run["output_tokens"]))


def test_output_tokens_of_aiperf_that_contradict_themselves(folder):
    """60 requests of 5 tokens; of 2 answers of 60 none is counted, or the server counted 2, 7 or 25 for each."""
    lines = [json.loads(line) for line in requests_of_aiperf(60, 0).splitlines()]
    for usage, words in ((None, None), (5, None), (7, None), (25, "'metrics.usage_completion_tokens.value' is 1500"), (2, "is 120:")):
        for line in lines:
            line["metrics"]["usage_completion_tokens"] = {"value": usage, "unit": "tokens"}
        run = folder.measure(folder.put("".join(json.dumps(line) + "\n" for line in lines)))
        same((60, 300, True), (run["completed_requests"], run["output_tokens"], run["valid"]))
        found = [text for text in run["warnings"] if "contradicts itself" in text]
        same(1 if words else 0, len(found), run["warnings"])
        assert not words or words in found[0], found
    lines = [json.loads(line) for line in requests_of_aiperf(300, 0).splitlines()]
    for empty, is_warned in ((3, False), (4, True), (100, True)):  # more than one of a hundred
        for line in lines[:empty]:
            line["metrics"]["output_sequence_length"]["value"] = 0
        warnings = folder.measure(folder.put("".join(json.dumps(line) + "\n" for line in lines)))["warnings"]
        same(is_warned, any(f"{empty} of 300 successful requests have no output tokens" in text for text in warnings), warnings)


def test_totals_of_a_list_with_its_repeats(folder):
    """Four requests, of which each is listed and counted twice: 4 of 150 tokens are 600, and 60000 J / 600."""
    report = json.loads(guidellm_of([(15 * i, 15 * i + 1, 15 * i + 15, 150) for i in range(4)]))
    benchmark = report["benchmarks"][0]
    benchmark["requests"]["successful"] *= 2
    benchmark["metrics"] = {"request_totals": {"successful": 8, "errored": 0, "incomplete": 0, "total": 8},
                            "prompt_token_count": {"successful": {"total_sum": 800}},
                            "output_token_count": {"successful": {"total_sum": 1200}}}
    run = folder.measure(folder.put(json.dumps(report)))
    same((4, 400, 600), (run["completed_requests"], run["input_tokens"], run["output_tokens"]))
    near(60000 / 600, run["joules_per_output_token"])


def test_arrays_of_vllm_that_are_there_twice(folder):
    given = ["--start", str(START), "--end", "+60s"]
    for start_s in (5000, 5000.1234567):
        def result(times, completed):
            starts = [start_s + 5 * i for i in range(12)] * times
            return sample("vllm.json", duration=60, completed=completed, num_prompts=completed, total_input_tokens=10 * completed,
                          total_output_tokens=5 * completed, start_times=starts, latencies=[5.0] * len(starts))
        folder.published(folder.put(result(1, 12)), *given)
        same(["invalid_benchmark_result"], folder.refused(folder.put(result(2, 24)), *given))
        folder.published(folder.put(result(2, 12)), *given)  # the counts have each request once


def test_a_given_window_of_another_length(folder):
    half = ["--start", str(START), "--end", "+30s"]
    own = INFERENCEX | {"benchmark_start_time_unix": None, "benchmark_end_time_unix": None}
    for text in (sample("sglang.jsonl", duration=60), json.dumps(INFERENCEX), json.dumps(own)):
        same(["benchmark_duration_mismatch"], folder.refused(folder.put(text), *half))
        run = folder.measure("result.json", *half)
        near(30000, run["total_gpu_energy_j"])
        assert run["valid"] and not any(key.startswith("joules_per") for key in run), run
        assert any("the load took 60.000 s" in warning for warning in run["warnings"]), run["warnings"]
        near(60000 / 7, folder.published("result.json", "--start", str(START), "--end", "+60s", "--input-tokens", "9",
                                         "--output-tokens", "7", "--requests", "1")[0]["joules_per_output_token"])
        folder.published("result.json", *half, "--input-tokens", "9", "--output-tokens", "7", "--requests", "1")
    # In milliseconds it is the same length.
    folder.published(folder.put(sample("sglang.jsonl", duration=30000)), *half)
    # The requests are listed: what they did in the window counts.
    run = folder.measure(folder.put(guidellm_of([(0, 0, 60, 600), (0, 0, 20, 100), (40, 40, 60, 100)])), *half)
    same((1, 400), (run["completed_requests"], run["output_tokens"]))
    near(30000 / 400, folder.published("result.json", *half)[0]["joules_per_output_token"])


def listed_loads():
    """Files that list the requests of a load from START to START + 60, with 60 output tokens."""
    yield guidellm_of([(i, i, i + 1, 1) for i in range(60)])
    yield "".join(requests_of_aiperf(60, 0))
    yield "".join(ollama_answer(i) for i in range(60))


def ollama_answer(i):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + i + 1))
    return json.dumps({"model": "m", "created_at": at, "done": True, "done_reason": "stop", "total_duration": 10**9,
                       "prompt_eval_count": 100, "eval_count": 1, "eval_duration": 10**9}) + "\n"


def test_a_given_window_that_reaches_beyond_the_requests(folder):
    """20 s of it are idle: their energy is nobody's."""
    for text in listed_loads():
        folder.put(text)
        for start, length in ((-20, 80), (0, 80), (-10, 80), (-20, 60), (30, 50), (-15, 105)):
            given = ["--start", str(START + start), "--end", f"+{length}s"]
            assert "benchmark_duration_mismatch" in folder.refused("result.json", *given), (start, length)
            run = folder.measure("result.json", *given)
            assert not any(key.startswith("joules_per") for key in run), run
            assert any("of the given window, which has" in warning for warning in run["warnings"]), run["warnings"]
        for start, length in ((0, 60), (15, 30)):  # all of it, and half
            run = folder.measure("result.json", "--start", str(START + start), "--end", f"+{length}s")
            assert "joules_per_output_token" in run, run


def test_a_given_window_and_the_phases_of_a_session(folder):
    """Of inference-benchmarker: 7,680 tokens in phases of 20 s and 30 s, in a session of 60 s."""
    def session(*phases_s):
        phases = [{"id": "throughput", "executor_type": "ConstantVUs", "config": {}, "total_requests": 30, "successful_requests": 30,
                   "failed_requests": 0, "total_tokens": 3840, "total_tokens_sent": 30720, "duration_ms": 1000 * one} for one in phases_s]
        return json.dumps({"config": {"max_vus": 2}, "results": phases, "start_time": "2026-09-08T07:20:30Z",
                           "end_time": "2026-09-08T07:21:30Z", "system": {"hostname": "h"}})
    def per_token(start, length):
        run = folder.measure("result.json", "--start", str(START + start), "--end", f"+{length}s")
        return run.get("joules_per_output_token")
    folder.put(session(60))
    same((None, None), (per_token(10, 30), per_token(-10, 90)))
    near(60000 / 3840, per_token(0, 60))
    folder.put(session(20, 30))
    same((None, None), (per_token(10, 30), per_token(-10, 90)))
    near(60000 / 7680, per_token(0, 60))
    near(55000 / 7680, per_token(5, 55))


# ---- Two files of one load

def test_the_counts_beside_perf_analyzers_times(folder):
    times = {"timestamp": START * 10**9, "response_timestamps": [(START + 60) * 10**9]}
    folder.put(json.dumps({"experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": [times] * 4}]}),
               "profile.json")
    def means(requests):
        folder.put(json.dumps({"input_config": {}, "request_latency": {"unit": "ms"}, "request_count": {"avg": requests},
                               "input_sequence_length": {"avg": 100}, "output_sequence_length": {"avg": 25}}),
                   "profile_genai_perf.json")
    means(4)
    run = folder.measure("profile.json")
    same((400, 100, True), (run["input_tokens"], run["output_tokens"], run["counts_are_approximate"]))
    near(600, folder.published("profile.json")[0]["joules_per_output_token"])
    same(100, folder.measure("profile_genai_perf.json")["output_tokens"], "by either name")
    means(5)  # of another load
    assert "output_tokens" not in folder.measure("profile.json")


def test_aiperfs_summary_beside_its_requests(folder):
    """The phase is longer than the load."""
    folder.put(requests_of_aiperf(10, 0), "profile_export.jsonl")
    folder.put(json.dumps({"input_config": {}, "benchmark_duration": {"unit": "sec", "avg": 60}, "request_latency": {"unit": "ms"},
                           "request_count": {"avg": 10}, "start_time": "2026-09-08T07:20:20+00:00",
                           "end_time": "2026-09-08T07:21:40+00:00"}), "profile_export_aiperf.json")
    for name in ("profile_export.jsonl", "profile_export_aiperf.json"):
        check_window(folder.measure(name), "exact", 0, 60)
    (folder.path / "profile_export.jsonl").unlink()
    run = folder.measure("profile_export_aiperf.json")  # 80 s in which the load took 60 s
    same("estimated", run["window_source"])
    near(60000, run["total_gpu_energy_j"], most=400)
    assert any("may be longer than its load" in warning for warning in run["warnings"]), run["warnings"]
    same("window_not_exact", folder.refused("profile_export_aiperf.json")[0])


def test_aiperfs_summary_and_requests_are_of_one_run(folder):
    """AIPerf states its own duration to the nanosecond; a failed request may be under way longer."""
    summary = {"input_config": {}, "request_latency": {"unit": "ms"}, "request_count": {"avg": 10}}
    late = json.loads(requests_of_aiperf(0, 1))
    late["metadata"] |= {"request_start_ns": (START - 20) * 10**9, "request_end_ns": (START + 90) * 10**9}
    folder.put(requests_of_aiperf(30, 0) + json.dumps(late) + "\n", "profile_export.jsonl")
    for seconds, reasons in ((60, []), (60.09, []), (60.2, ["benchmark_duration_mismatch"]), (30, ["benchmark_duration_mismatch"])):
        folder.put(json.dumps(summary | {"benchmark_duration": {"unit": "sec", "avg": seconds}}), "profile_export_aiperf.json")
        for name in ("profile_export.jsonl", "profile_export_aiperf.json"):
            run = folder.measure(name)
            same(reasons, run["reasons"], (name, seconds))
            if reasons:
                same(reasons, folder.refused(name))
                continue
            check_window(run, "exact", 0, 60)
            near(60000, folder.published(name)[0]["total_gpu_energy_j"])


def test_ml_energy_states_its_times(folder):
    run = folder.measure(folder.put(json.dumps({
        "model_id": "org/model", "num_gpus": 2, "duration": 60.0, "completed": 2, "num_prompts": 2, "total_input_tokens": 20,
        "total_output_tokens": 10, "timeline": {"benchmark_start_time": START, "benchmark_end_time": START + 60}})))
    check_window(run, "exact", 0, 60)
    same(("ML.ENERGY", "org/model"), (run["generator"], run["model"]))
    check_counts(run, (2, 20, 10))


def test_ml_energys_counts(folder):
    run = folder.measure(folder.put_sample("ml_energy.json"))
    assert any("40000.0 J, 200.0000 J per token, for its steady state of 40.000 s" in warning for warning in run["warnings"]), run
    folder.call("inspect", "ml_energy.json")
    assert "59900.0 J stated" in folder.out, folder.out  # 30000 + 29900
    members = json.loads(sample("ml_energy.json", num_prompts=20, completed=19))
    same(1, folder.measure(folder.put(json.dumps(members)))["failed_requests"])
    same(["benchmark_failed"], folder.refused(folder.put(json.dumps(members | {"completed": 18}))))
    folder.put(json.dumps(members["timeline"]["power"]), "power.json")
    same("zeus-timeline", json.loads(folder.call("inspect", "power.json", "--json").out)["schema"])


def test_evalscope_is_tied(folder):
    folder.context(clock_pairs=[clocks(-100), clocks(150)])
    run = folder.measure(folder.put_sample("evalscope_requests.json"))
    check_window(run, "tied", 0, 59.8)
    check_counts(run, (2, 2048, 256))
    folder.refused(folder.put_sample("evalscope.db"))
    assert "sqlite3 -json" in folder.err and "from result" in folder.err, folder.err


def test_ollamas_answers(folder):
    lines = (RESULTS / "ollama.jsonl").read_text().splitlines()
    run = folder.measure(folder.put(lines[1]))  # without streaming it is one object
    check_window(run, "exact", 0, 29)
    same((1, 1024, 128), tuple(run[key] for key in ("completed_requests", "input_tokens", "output_tokens")))
    run = folder.measure(folder.put("\n".join(lines[:3])))  # the last one broke off
    same((1, 29.0), (run["completed_requests"], round(run["duration_s"], 3)))
    same(["invalid_benchmark_window"], [code for code in folder.measure(folder.put(lines[0]))["reasons"]])
    run = folder.measure(folder.put("\n".join([*lines, '{"error": "out of memory"}'])))
    same((2, 1), (run["completed_requests"], run["failed_requests"]))


def test_a_model_that_ollama_loads_in_the_window(folder):
    def answer(end, **more):
        return json.dumps({"model": "m", "created_at": f"2026-09-08T07:{end}Z", "done": True, "done_reason": "stop",
                           "total_duration": 30_000_000_000, "eval_count": 128, "eval_duration": 9_000_000_000} | more)
    for loading, share in ((20_000_000_000, "20.0 s of the 60.0 s for the model to load (33 %)"), (1_100_000_000, None)):
        lines = [answer("21:00", prompt_eval_count=100, load_duration=loading), answer("21:30", prompt_eval_count=100, load_duration=20_000_000)]
        run = folder.measure(folder.put("\n".join(lines)))
        check_window(run, "exact", 0, 60)
        found = [one for one in run["warnings"] if "to load" in one]
        same(share is not None, bool(found), found)
        assert share is None or share in found[0], found
    # A count that is absent is not 0.
    check_counts(folder.measure(folder.put("\n".join([answer("21:00", prompt_eval_count=100), answer("21:30")]))), (2, None, 256))
    run = folder.measure("result.json", "--start", str(START), "--end", "+30s")
    assert "joules_per_input_token" not in run, run


def test_batches_that_stopped_early_or_were_cached(folder):
    given = ["--start", str(START), "--end", "+60s"]
    for change, tokens in (({"total_output_tokens": None}, None), ({"total_output_tokens": None, "num_early_stopped": 0}, 256), ({}, 250)):
        run = folder.measure(folder.put(sample("sglang_one_batch_server.jsonl", **change)), *given)
        same((2048, tokens), (run["input_tokens"], run.get("output_tokens")), change)
    run = folder.measure(folder.put(sample("sglang_one_batch_server.jsonl", cache_hit_rate=0.5)), *given)
    assert any("50 % of the prompts' tokens were in SGLang's cache" in warning for warning in run["warnings"]), run


def test_rows_and_lines_that_were_appended(folder):
    """Each is a benchmark; the last one is the command's."""
    header, row = (RESULTS / "lmdeploy.csv").read_text().splitlines()
    folder.put("\n".join([header, row.replace("inf", "1.0"), row]) + "\n", "l.csv")
    folder.wrap(0, 60)
    same([False, True], [run["valid"] for run in folder.runs("l.csv")])
    near(60000, folder.published("l.csv", "--select", "last")[0]["total_gpu_energy_j"])
    near(60000, folder.measure("l.csv", "--select", "request_rate=1", "--start", str(START), "--end", "+60s")["total_gpu_energy_j"])


# ---- YAML

def llm_d(**times):
    """The sample with other times and another tool; None leaves one out."""
    text = (RESULTS / "llm_d.yaml").read_text()
    for key, value in times.items():
        line = next(line for line in text.split("\n") if line.strip().startswith(f"{key}:"))
        blanks = line[:len(line) - len(line.lstrip())]
        text = text.replace(line + "\n", "" if value is None else f"{blanks}{key}: {value}\n")
    return text


def test_a_folder_with_a_report(folder):
    (folder.path / "run").mkdir()
    folder.put_sample("llm_d.yaml")
    for name in ("llm_d.yaml", "gpu_metrics.csv"):
        (folder.path / name).rename(folder.path / "run" / name)
    same("session", json.loads(folder.call("measure", "run", "--json").out)["runs"][0]["window_source"])


def test_a_report_without_its_scenario(folder):
    """llm-d leaves out the members that it does not have."""
    report = llm_d().split("\nscenario:")[0] + "\nversion: '0.2'\n"
    run = folder.measure(folder.put(report, "r.yaml"))
    same(("llm-d benchmark report", 2, 2048, 256),
         tuple(run[key] for key in ("generator", "completed_requests", "input_tokens", "output_tokens")))


def test_llm_ds_windows(folder):
    exact = {"tool": "guidellm", "start": "'2026-09-08T07:20:30Z'", "end": "'2026-09-08T07:21:30Z'", "duration": "PT1M0S"}
    check_window(folder.measure(folder.put(llm_d(**exact), "r.yaml")), "exact", 0, 60)
    near(60000, folder.published("r.yaml")[0]["total_gpu_energy_j"])
    for change in ({"tool": "inference-perf"}, {"duration": "PT40S"}, {"duration": None}):  # the harness's
        same("session", folder.measure(folder.put(llm_d(**(exact | change)), "r.yaml"))["window_source"], change)
        same("window_not_exact", folder.refused("r.yaml")[0])
    # vLLM's date, one second after the end in +02:00.
    vllm = {"tool": "vllm-benchmark", "start": None, "end": "'2026-09-08T09:21:31Z'", "duration": "PT59.8S"}
    run = folder.measure(folder.put(llm_d(**vllm), "r.yaml"))
    same("estimated", run["window_source"])
    near(59800, run["total_gpu_energy_j"], most=60)
    same(["window_not_exact"], folder.refused("r.yaml"))


def test_yaml_that_is_not_read_is_named(folder):
    text = (RESULTS / "llm_d.yaml").read_text()
    for what, damaged, words in (
            ("an anchor", text.replace("uid: u", "uid: &a u"), "anchor"), ("a tag", text.replace("uid: u", "uid: !!str u"), "a tag"),
            ("an open quote", text.replace("'0.2'", "'0.2"), "without an end"), ("an open bracket", text.replace("{}", "{a: ["), "not closed"),
            ("two documents", text + "---\na: 1\n", "second document"), ("a wrong indent", text.replace("  time:", " time:"), "wrong indent"),
            ("another program's", "a: 1\nb: 2\n", "help generators")):
        run = folder.measure(folder.put(damaged, "r.yaml"))
        same(["invalid_benchmark_result"], run["reasons"], what)
        assert words in run["details"], (what, run["details"])
        same(["invalid_benchmark_result"], folder.refused("r.yaml"), what)


def test_yaml_that_people_write(folder):
    text = """\
# a report
--- # written by hand
version: '0.2'   # unquoted it is a number
run: {uid: "u\\u0041", time: {start: 2026-09-08T07:20:00Z, end: 2026-09-08T07:21:40Z, duration: PT59.8S}}
scenario:
  stack: [ {a: 1}, 'b, ]' ]
  load:
    native:
      script: |
        run: nothing
        - here
      folded: >-
        one

        two
      ? x
      : y
results:
    request_performance:
        aggregate:
            requests: {total: 3,
                failures: 1, input_length: {mean: 1e+3}, output_length: {mean: 128.0}}
"""
    run = folder.measure(folder.put(text.replace("      ? x\n      : y\n", ""), "r.yaml"))
    same(("session", 2, 2000, 256, 1), tuple(run[key] for key in ("window_source", "completed_requests", "input_tokens", "output_tokens",
                                                                "failed_requests")))
    assert "a complex key" in folder.measure(folder.put(text, "r.yaml"))["details"]


# ---- What measure writes

def test_the_configuration_is_written(folder):
    run = folder.measure(folder.put(sample("sglang.jsonl", max_concurrency=16)), "--start", str(START))
    same((4, 16), (run["request_rate"], run["conc"]))
    folder.call("measure", "result.json", "gpu_metrics.csv", "--start", str(START), "--out", "out.json")
    written = json.loads((folder.path / "out.json").read_text())
    same(("given", 4, 16, 1), (written["window_source"], written["request_rate"], written["conc"], written["power_valid"]))


def test_out_agrees_with_what_is_printed(folder):
    result = folder.put_sample("vllm.json")
    for words, status in ((["--window", "estimated"], 0), ([], 1)):
        folder.call("measure", result, "gpu_metrics.csv", "--out", "out.json", *words)
        same(status, folder.status)
        same(1 - status, json.loads((folder.path / "out.json").read_text())["power_valid"])
        same(status == 0, "\nvalid         yes" in folder.out, folder.out)


def test_numbers_that_would_be_written_as_zero(folder):
    for key, code in (("total_output_tokens", "invalid_output_token_count"), ("total_input_tokens", "invalid_input_token_count"),
                      ("completed", "invalid_successful_query_count")):
        # 60,000 J over 10^12.
        reasons = folder.refused(folder.put(json.dumps(INFERENCEX | {key: 10**12})))
        assert code in reasons, (key, reasons)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
