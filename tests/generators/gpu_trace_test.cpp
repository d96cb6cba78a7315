// Traces as kineto writes them, in small; faults with their messages.
#include "generators/gpu_trace.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "test_util.h"

namespace aggregate_power {
namespace chrome_trace_test {

GpuTrace read(const std::string& text, TraceRanges wanted = TraceRanges::none,
              std::size_t most = test::kWhole) {
  test::StutterSource source(text, most);
  return read_chrome_trace(source, "t.json", wanted);
}

std::string fault_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string event(const std::string& category, const std::string& name, const std::string& more) {
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", {}}})", category, name, more);
}

std::string trace(const std::string& events, const std::string& more = "") {
  return fmt::format(R"({{"traceEvents": [{}]{}}})", events, more);
}

std::vector<TraceInterval> all(IntervalStore& store) {
  std::vector<TraceInterval> intervals;
  store.each([&](const TraceInterval& interval) { intervals.push_back(interval); });
  return intervals;
}

const std::string kKernel =
    event("kernel", "gemm",
          R"("pid": 0, "tid": 7, "ts": 1695835573023613, "dur": 71, "args": {"device": 0})");

TEST(ChromeTrace, PlacesMicrosecondsSince1970) {
  GpuTrace found = read(trace(kKernel));
  EXPECT_EQ(found.origin_s, 1695835573);
  EXPECT_DOUBLE_EQ(found.origin_rest_s, 0.023613);
  const auto events = all(found.devices.at(0).events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].start_s, 0);
  EXPECT_DOUBLE_EQ(events[0].end_s, 71e-6);
  EXPECT_EQ(found.names.names(), std::vector<std::string>{"gemm"});
}

// 1727743122 s + 2413669.097444592 s
TEST(ChromeTrace, AddsTheBaseThatComesAtTheEnd) {
  GpuTrace found = read(trace(
      event("kernel", "triton", R"("pid": 0, "tid": 7, "ts": 2413669097444.592, "dur": 1.76)"),
      R"(, "baseTimeNanoseconds": 1727743122000000000)"));
  EXPECT_EQ(found.origin_s, 1730156791);
  EXPECT_DOUBLE_EQ(found.origin_rest_s, 0.097444592);
  EXPECT_DOUBLE_EQ(all(found.devices.at(0).events)[0].end_s, 1.76e-6);
  EXPECT_EQ(found.time_base, "microseconds since baseTimeNanoseconds");
}

TEST(ChromeTrace, AddsNoBaseToTimesSince1970) {
  EXPECT_EQ(read(trace(kKernel, R"(, "baseTimeNanoseconds": 1695835000000000000)")).origin_s,
            1695835573);
}

TEST(ChromeTrace, CountsLeavesOnly) {
  const GpuTrace found = read(trace(
      event("user_annotation", "ProfilerStep#3", R"("ts": 1695835573000000, "dur": 900000)") + "," +
      event("cpu_op", "aten::linear", R"("ts": 1695835573000100, "dur": 85)") + "," +
      event("cuda_runtime", "cudaLaunchKernel", R"("ts": 1695835573000100, "dur": 5)") + "," +
      kKernel + R"(,{"ph": "f", "cat": "kernel", "name": "flow", "ts": 1695835573000100},)" +
      event("gpu_memcpy", "Memcpy HtoD", R"("pid": 1, "ts": 1695835573000100, "dur": 5)") + "," +
      event("gpu_memset", "Memset",
            R"("pid": 9, "ts": 1695835573000100, "dur": 5, "args": {"device": 1})")));
  EXPECT_EQ(found.devices.size(), 2U);
  EXPECT_EQ(found.devices.at(0).events.size(), 1U);
  EXPECT_EQ(found.devices.at(1).events.size(), 2U);
  ASSERT_EQ(found.iterations.size(), 1U);
  EXPECT_DOUBLE_EQ(found.iterations.at(3).end_unix_s - found.iterations.at(3).start_unix_s, 0.9);
}

TEST(ChromeTrace, ReadsAListWithoutAnObject) {
  EXPECT_EQ(read("[" + kKernel + "]").devices.at(0).events.size(), 1U);
}

TEST(ChromeTrace, ReadsTheSameInAnyPieces) {
  const std::string text =
      trace(kKernel,
            R"(, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}, {"id": 1, "name": "B"}])");
  for (std::size_t most = 1; most < 40; ++most) {
    GpuTrace found = read(text, TraceRanges::none, most);
    EXPECT_EQ(found.devices.at(0).model, "NVIDIA A100");
    EXPECT_DOUBLE_EQ(all(found.devices.at(0).events)[0].end_s, 71e-6);
  }
}

TEST(ChromeTrace, FindsLayersAndAnnotations) {
  const std::string text = trace(kKernel + "," +
                                 event("python_function", "nn.Module: Linear_0",
                                       R"("pid": 5, "tid": 5, "ts": 1695835573000000, "dur": 9)") +
                                 "," +
                                 event("python_function", "train.py(3): f",
                                       R"("pid": 5, "tid": 5, "ts": 1695835573000000, "dur": 99)") +
                                 "," +
                                 event("user_annotation", "prefill",
                                       R"("pid": 5, "tid": 5, "ts": 1695835573000000, "dur": 99)") +
                                 "," +
                                 event("gpu_user_annotation", "decode",
                                       R"("pid": 0, "tid": 7, "ts": 1695835573000000, "dur": 9)"));
  EXPECT_EQ(read(text, TraceRanges::layers).names.names(),
            (std::vector<std::string>{"gemm", "Linear_0"}));
  const GpuTrace annotated = read(text, TraceRanges::annotations);
  EXPECT_EQ(annotated.names.names(), (std::vector<std::string>{"gemm", "prefill", "decode"}));
  EXPECT_EQ(annotated.host_ranges.size(), 1U);
  EXPECT_EQ(annotated.devices.at(0).ranges.size(), 1U);
}

TEST(ChromeTrace, CountsEventsWithoutAUsableTime) {
  const GpuTrace found =
      read(trace(kKernel + "," + event("kernel", "a", R"("pid": 0, "dur": 5)") + "," +
                 event("kernel", "b", R"("pid": 0, "ts": 1695835573023613, "dur": -1)") + "," +
                 event("kernel", "c", R"("pid": 0, "ts": 1e300, "dur": 1)")));
  EXPECT_EQ(found.unusable_events, 3U);
  EXPECT_EQ(found.devices.at(0).events.size(), 1U);
}

TEST(ChromeTrace, SaysWhatIsWrong) {
  EXPECT_EQ(fault_of("{}"), "t.json: it is not a trace of torch.profiler: it has no 'traceEvents'");
  EXPECT_EQ(
      fault_of(trace(event("cpu_op", "aten::mm", R"("ts": 1695835573023613, "dur": 1)"))),
      "t.json: it has no event of a GPU (category kernel, gpu_memcpy or gpu_memset): was it recorded with ProfilerActivity.CUDA?");
  EXPECT_EQ(
      fault_of(trace(event("kernel", "a", R"("pid": 0, "ts": 5.5, "dur": 1)"))),
      "t.json: its times are not since 1970, and no 'baseTimeNanoseconds' says since when: they cannot be placed on a recording");
  EXPECT_EQ(fault_of(trace(event("kernel", "a", R"("ts": 1695835573023613, "dur": 1)"))),
            "t.json: an event of a GPU names no device, neither in 'args' nor as 'pid'");
  const std::string cut = fault_of(R"({"traceEvents": [{"ph": "X", )");
  EXPECT_TRUE(cut.starts_with("t.json:1:30: expected a key in double quotes")) << cut;
}

TEST(LayerIntervals, SaysWhatIsWrong) {
  const auto fault = [](const std::string& text) {
    MemorySource source(text);
    try {
      read_layer_intervals(source, "l.csv");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(""), "l.csv: it has no header");
  EXPECT_EQ(fault("layer_name,start_time,end_time\n"), "l.csv: it has no row");
  EXPECT_EQ(fault("layer_name,start_time,end_time\na,1763508239.5,1763508239.25\n"),
            "l.csv: row 1 after the header: it ends before it begins");
  EXPECT_EQ(fault("layer_name,start_time,end_time\na,1763508239.5,176350"),
            "l.csv: row 1 after the header: 'end_time' is not a Unix time: '176350'");
  EXPECT_EQ(
      fault("kernel_name,exec_id,duration_ms\n"),
      "l.csv: it has no column 'layer_name': a profile of kernels has no times; give the trace that it came from");
}

}  // namespace chrome_trace_test
}  // namespace aggregate_power
