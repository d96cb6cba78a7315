// Reads the rows of a CSV of layers.
#include "generators/layer_intervals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/csv.h"
#include "base/text/python_number.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::array<std::string_view, 3> kLayerColumns = {"layer_name", "start_time", "end_time"};

std::array<std::size_t, 3> layer_columns(const std::vector<std::string>& header,
                                         const std::string& path) {
  std::array<std::size_t, 3> columns{};
  for (std::size_t i = 0; i < kLayerColumns.size(); ++i) {
    const auto found = std::ranges::find(header, kLayerColumns[i]);
    if (found == header.end()) {
      const bool has_kernels = std::ranges::find(header, "kernel_name") != header.end();
      throw Error(fmt::format(
          "{}: it has no column '{}'{}", path, kLayerColumns[i],
          has_kernels
              ? ": a profile of kernels has no times; give the trace that it came from"
              : ": expected a trace of torch.profiler, or a CSV of layers as GPUPP writes"));
    }
    columns[i] = static_cast<std::size_t>(found - header.begin());
  }
  return columns;
}

double time_of(std::string_view cell, std::string_view column, std::uint64_t row,
               const std::string& path) {
  const std::optional<double> unix_s = nearest_double(strip(cell));
  if (unix_s && *unix_s >= kFirstAbsoluteUnixS && *unix_s < 1e11) return *unix_s;
  throw Error(fmt::format("{}: row {} after the header: '{}' is not a Unix time: '{}'", path, row,
                          column, printable(cell)));
}

// Adds a run of a layer to its iteration.
void add_to_iteration(GpuTrace& trace, std::vector<std::int64_t>& runs,
                      const TraceInterval& layer) {
  if (layer.name >= runs.size()) runs.resize(layer.name + 1);
  const Window run{layer.start_s, layer.end_s};
  const auto [known, is_new] = trace.iterations.try_emplace(runs[layer.name]++, run);
  if (is_new) return;
  known->second.start_unix_s = std::min(known->second.start_unix_s, run.start_unix_s);
  known->second.end_unix_s = std::max(known->second.end_unix_s, run.end_unix_s);
}

}  // namespace

GpuTrace read_layer_intervals(ByteSource& source, const std::string& path) {
  const std::string head = read_up_to(source, kHeadBytes);
  const std::vector<CsvTextRow> rows = split_csv(head, 1, head.size() < kHeadBytes);
  if (rows.empty()) throw Error(fmt::format("{}: it has no header", path));
  GpuTrace trace{.path = path, .time_base = "Unix seconds", .names = {}};
  const auto columns = layer_columns(rows.front().cells, path);
  CsvReader reader(source, head);
  reader.select(columns, rows.front().cells.size());
  reader.skip(rows.front().end);
  std::vector<std::int64_t> runs;  // so far, by name
  std::uint64_t number = 0;
  for (auto batch = reader.next_batch(); !batch.empty(); batch = reader.next_batch()) {
    for (const CsvRow& row : batch) {
      ++number;
      if (row.blank) continue;
      const double start_unix_s = time_of(row.cells[1], kLayerColumns[1], number, path);
      const double end_unix_s = time_of(row.cells[2], kLayerColumns[2], number, path);
      if (end_unix_s < start_unix_s) {
        throw Error(
            fmt::format("{}: row {} after the header: it ends before it begins", path, number));
      }
      if (trace.host_ranges.size() == 0) {
        trace.origin_s = static_cast<std::int64_t>(std::floor(start_unix_s));
      }
      const auto origin_s = static_cast<double>(trace.origin_s);
      const TraceInterval layer{start_unix_s - origin_s, end_unix_s - origin_s,
                                trace.names.number(strip(row.cells[0])), 0};
      trace.host_ranges.add(layer);
      add_to_iteration(trace, runs, layer);
    }
  }
  if (trace.host_ranges.size() == 0) throw Error(fmt::format("{}: it has no row", path));
  return trace;
}

}  // namespace aggregate_power
