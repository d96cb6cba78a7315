// The CPU power samples of a package.
#include "aggregate_power/inputs/cpu_samples.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/base/python_csv.h"
#include "aggregate_power/base/python_number.h"

namespace aggregate_power {
namespace {

using Cells = std::vector<std::string>;

const Cells kHeaderV1 = {"schema_version", "timestamp_unix", "hostname", "source",
                         "sensor",         "socket_id",      "power_w",  "total_power_w"};
const Cells kHeaderV2 = {"schema_version", "timestamp_unix", "hostname",     "source",
                         "sensor",         "socket_id",      "power_w",      "cpu_rail_w",
                         "soc_w",          "dram_w",         "total_power_w"};

// A finite number from zero on; of a time, from anywhere on.
std::optional<double> finite(std::string_view cell, bool may_be_negative) {
  const std::optional<double> value = python_float(cell);
  if (!value || !std::isfinite(*value) || (*value < 0 && !may_be_negative)) return std::nullopt;
  return value;
}

// A rail may be blank.
bool read_rail(const std::string& cell, std::optional<double>& watts) {
  watts.reset();
  if (cell.empty()) return true;
  watts = finite(cell, false);
  return watts.has_value();
}

bool read_row(const Cells& cells, int version, CpuSample& sample) {
  if (cells.size() != (version == 1 ? kHeaderV1 : kHeaderV2).size()) return false;
  const auto schema_version = python_int(cells[0]);
  const auto unix_s = finite(cells[1], true);
  const auto socket_id = python_int(cells[5]);
  const auto power_w = finite(cells[6], false);
  const bool has_names = !cells[2].empty() && !cells[3].empty() && !cells[4].empty();
  if (schema_version != version || !unix_s || !has_names || !socket_id || *socket_id < 0 ||
      !power_w) {
    return false;
  }
  sample.unix_s = *unix_s;
  sample.hostname = cells[2];
  sample.source = cells[3];
  sample.sensor = cells[4];
  sample.socket_id = *socket_id;
  sample.power_w = *power_w;
  return version == 1 ||
         (read_rail(cells[7], sample.cpu_rail_w) && read_rail(cells[8], sample.soc_w));
}

}  // namespace

Reasons read_cpu_samples(ByteSource& source, const std::function<void(const CpuSample&)>& take) {
  Reasons reasons;
  PythonCsv csv(source);
  Cells cells;
  std::uint64_t row = 0;
  try {
    csv.next(cells);
    const int version = cells == kHeaderV1 ? 1 : cells == kHeaderV2 ? 2 : 0;
    if (version == 0) {
      reasons.add(Reason::cpu_samples_header_mismatch);
      return reasons;
    }
    CpuSample sample;
    while (csv.next(cells)) {
      ++row;
      if (read_row(cells, version, sample)) {
        take(sample);
      } else {
        reasons.add(Reason::cpu_samples_malformed, fmt::format("row {} behind the header", row));
      }
    }
  } catch (const PythonCsvError& error) {
    reasons.add(Reason::cpu_samples_malformed,
                fmt::format("row {} behind the header: {}", row + 1, error.what()));
  }
  return reasons;
}

}  // namespace aggregate_power
