// Reads the samples of each GPU, and finds those that belong to the rows of tokens.
#include "decide/recommend/recommend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/timestamp.h"
#include "recorders/recording.h"

namespace aggregate_power {
namespace {

// What a sample says, in the order of the columns.
enum SampleValue {
  kTemperature,
  kFanSpeed,
  kMemoryUsed,
  kPowerDraw,
  kGpuUtilization,
  kMemoryUtilization,
  kPowerLimit
};
constexpr std::size_t kSampleValues = 7;
constexpr std::size_t kFirstSampleColumn = 2;  // in kSweepColumns
constexpr std::size_t kTotalColumn = 10;
// Of a table without the sweep tool's columns, columns that tell GPUs apart.
constexpr std::string_view kGpuColumns[] = {"gpu", "gpu_id", "gpu_index", "index", "device"};

struct GpuSample {
  double unix_s = 0;
  std::array<double, kSampleValues> values = {kNoNumber, kNoNumber, kNoNumber, kNoNumber,
                                              kNoNumber, kNoNumber, kNoNumber};
};

// By GPU, sorted by time.
struct GpuSamples {
  std::map<std::string, std::vector<GpuSample>> of_gpu;
  std::optional<Zone> zone;  // of the recordings, for the tokens' stamps
};

// ---- Recordings that the sweep tool wrote: its columns say more than a power.

bool is_sweep_recording(const SweepTable& table) {
  return has_columns(table, {"timestamp", "power_draw"}) &&
         (table.column("gpu_utilization") || table.column("power_limit"));
}

void add_table(const SweepTable& table, const Zone& zone, GpuSamples& samples) {
  StampParser stamps(zone);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto stamp = stamps.parse(table.cell(row, "timestamp"));
    GpuSample sample{stamp ? stamp->unix_s : kNoNumber};
    for (std::size_t i = 0; i < kSampleValues; ++i) {
      sample.values[i] = sweep_number(table.cell(row, kSweepColumns[kFirstSampleColumn + i]));
    }
    if (!stamp || !(sample.values[kPowerDraw] >= 0)) continue;
    std::string gpu = "0";
    for (const std::string_view column : kGpuColumns) {
      if (table.column(column)) {
        gpu = table.cell(row, column);
        break;
      }
    }
    samples.of_gpu[gpu].push_back(sample);
  }
}

// ---- Recordings of any recorder

void add_recording(const std::string& path, const RecordingOptions& options, GpuSamples& samples) {
  const Recording recording(path, options.zone, options.columns);
  if (!recording.faults().empty()) throw Error(recording.faults().text());
  std::map<std::uint32_t, std::vector<GpuSample>> found;
  const auto take = [&](const Batch& batch) {
    const auto& [readings, states] = batch;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (readings[i].kind != Reading::Kind::power) continue;
      GpuSample sample{readings[i].unix_s};
      sample.values[kPowerDraw] = readings[i].watts;
      if (!states.empty()) {
        sample.values[kTemperature] = states[i][GpuQuantity::temperature_c];
        sample.values[kMemoryUsed] = states[i][GpuQuantity::memory_used_mb];
        sample.values[kGpuUtilization] = states[i][GpuQuantity::utilization_pct];
        sample.values[kPowerLimit] = states[i][GpuQuantity::power_limit_w];
      }
      found[readings[i].device].push_back(sample);
    }
  };
  std::string fault;
  const Telemetry telemetry =
      read_whole(recording, {.take = take,
                             .begin = [](const Telemetry&) { return kAllGpuQuantities; },
                             .may_use_threads = false,
                             .fault = &fault});
  const SeriesFacts& facts = telemetry.facts();
  if (!facts.has_times() || !facts.has_power()) fault = facts.reasons.text();
  if (!fault.empty()) throw Error(fmt::format("{}: {}", printable_path(path), fault));
  for (auto& [device, list] : found) {
    auto& all = samples.of_gpu[telemetry.devices()[device]];
    append(all, list);
  }
  if (!samples.zone) samples.zone = telemetry.zone();
}

double mean_of_known(std::span<const GpuSample> some, std::size_t value) {
  std::vector<double> known;
  for (const GpuSample& sample : some) {
    if (!std::isnan(sample.values[value])) known.push_back(sample.values[value]);
  }
  if (known.empty()) return kNoNumber;
  std::ranges::sort(known);  // a sum depends on the order
  return std::accumulate(known.begin(), known.end(), 0.0) / static_cast<double>(known.size());
}

// Sorted by time. Of several samples with one stamp none is the last one.
std::vector<GpuSample> with_mean_of_equal_stamps(std::vector<GpuSample> samples) {
  std::ranges::stable_sort(samples, {}, &GpuSample::unix_s);
  std::vector<GpuSample> means;
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    while (end < samples.size() && samples[end].unix_s == samples[begin].unix_s) ++end;
    GpuSample& mean = means.emplace_back(samples[begin]);
    if (end == begin + 1) continue;
    for (std::size_t value = 0; value < kSampleValues; ++value) {
      mean.values[value] = mean_of_known(std::span(samples).subspan(begin, end - begin), value);
    }
  }
  return means;
}

GpuSamples read_samples(const JoinRequest& request) {
  GpuSamples samples;
  const Zone zone = request.recording.zone.value_or(Zone::fixed(0));
  for (const std::string& path : request.samples) {
    std::optional<SweepTable> table;
    try {
      table = read_sweep_table(path);
    } catch (const Error&) {  // it is no CSV: perhaps another recording
    }
    if (table && is_sweep_recording(*table)) {
      add_table(*table, zone, samples);
      if (!samples.zone) samples.zone = zone;
    } else {
      add_recording(path, request.recording, samples);
    }
  }
  for (auto& [gpu, list] : samples.of_gpu) {
    list = with_mean_of_equal_stamps(std::move(list));
  }
  if (samples.of_gpu.empty()) {
    throw Error(fmt::format("{}: has no samples of a GPU's power",
                            printable_path(request.samples.front())));
  }
  return samples;
}

// ---- The join

// The values of the GPUs that state them; NaN if none does.
double combined(const std::vector<GpuSample>& gpus, SampleValue value) {
  std::vector<double> known;
  for (const GpuSample& gpu : gpus) {
    if (!std::isnan(gpu.values[value])) known.push_back(gpu.values[value]);
  }
  if (known.empty()) return kNoNumber;
  if (value == kPowerLimit) return *std::ranges::max_element(known);
  return std::accumulate(known.begin(), known.end(), 0.0) / static_cast<double>(known.size());
}

std::string cell_text(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

// The sweep tool's columns, without the loss, then what else `tokens` has.
std::vector<std::string> joined_columns(const SweepTable& tokens) {
  std::vector<std::string> columns(std::begin(kSweepColumns), std::end(kSweepColumns) - 1);
  for (const std::string& column : *tokens.columns) {
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  return columns;
}

std::vector<std::string> joined_cells(const SweepTable& tokens, std::size_t row,
                                      const std::vector<std::string>& columns,
                                      const std::vector<GpuSample>& gpus) {
  std::vector<std::string> cells;
  for (const std::string& column : columns) cells.emplace_back(tokens.cell(row, column));
  const auto fill = [&](std::size_t column, double value) {
    if (cells[column].empty()) cells[column] = cell_text(value);
  };
  for (std::size_t i = 0; i < kSampleValues; ++i) {
    fill(kFirstSampleColumn + i, combined(gpus, static_cast<SampleValue>(i)));
  }
  fill(kTotalColumn, summed(gpus, [](const GpuSample& gpu) { return gpu.values[kPowerDraw]; }));
  return cells;
}

// For each row of tokens the samples that belong to it: one of each GPU, or none.
std::vector<std::vector<GpuSample>> samples_of_rows(const std::vector<double>& times_unix_s,
                                                    const GpuSamples& samples, double tolerance_s) {
  std::vector<std::vector<GpuSample>> found(times_unix_s.size());
  for (const auto& [gpu, list] : samples.of_gpu) {
    const auto last =
        last_before(times_unix_s, mapped<double>(list, &GpuSample::unix_s), tolerance_s);
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (last[i]) found[i].push_back(list[*last[i]]);
    }
  }
  for (auto& gpus : found) {
    if (gpus.size() < samples.of_gpu.size()) gpus.clear();
  }
  return found;
}

void join_table(const SweepTable& tokens, const GpuSamples& samples, double tolerance_s,
                JoinedRows& joined) {
  StampParser stamps(*samples.zone);
  std::vector<std::size_t> rows;
  std::vector<double> times_unix_s;
  for (std::size_t row = 0; row < tokens.rows.size(); ++row) {
    const auto stamp = stamps.parse(tokens.cell(row, "timestamp"));
    stamp ? rows.push_back(row) : static_cast<void>(++joined.unreadable);
    if (stamp) times_unix_s.push_back(stamp->unix_s);
  }
  joined.tokens += tokens.rows.size();
  const auto found = samples_of_rows(times_unix_s, samples, tolerance_s);
  SweepTable table{.path = tokens.path};
  const std::vector<std::string> columns = joined_columns(tokens);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found[i].empty()) {
      ++joined.out_of_tolerance;
    } else {
      table.rows.push_back(joined_cells(tokens, rows[i], columns, found[i]));
    }
  }
  table.columns = std::make_shared<const std::vector<std::string>>(columns);
  joined.tables.push_back(std::move(table));
}

}  // namespace

std::vector<std::optional<std::size_t>> last_before(std::span<const double> times_unix_s,
                                                    std::span<const double> samples_unix_s,
                                                    double tolerance_s) {
  std::vector<std::optional<std::size_t>> found;
  for (const double unix_s : times_unix_s) {
    const auto after = std::ranges::upper_bound(samples_unix_s, unix_s);
    const bool has_one = after != samples_unix_s.begin() && unix_s - *(after - 1) <= tolerance_s;
    const auto index = static_cast<std::size_t>(after - samples_unix_s.begin());
    found.push_back(has_one ? std::optional(index - 1) : std::nullopt);
  }
  return found;
}

JoinedRows join_tokens(const JoinRequest& request) {
  std::vector<SweepTable> tables;
  for (const std::string& path : request.tokens) {
    tables.push_back(read_sweep_table(path));
    if (has_columns(tables.back(), {"timestamp", "tokens_per_sec"})) continue;
    throw Error(
        fmt::format("{}: expected the columns timestamp and tokens_per_sec", printable_path(path)));
  }
  const GpuSamples samples = read_samples(request);
  JoinedRows joined;
  for (const auto& [gpu, list] : samples.of_gpu) joined.gpus.push_back(gpu);
  for (const SweepTable& table : tables) join_table(table, samples, request.tolerance_s, joined);
  return joined;
}

}  // namespace aggregate_power
