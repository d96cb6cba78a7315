// Reads the rows of `cpu/samples.csv`.
#include "packages/cpu_samples.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "packages/strict_table.h"

namespace aggregate_power {
namespace {

constexpr std::array<std::string_view, 11> kCpuHeader = {
    "schema_version", "timestamp_unix", "hostname", "source", "sensor",       "socket_id",
    "power_w",        "cpu_rail_w",     "soc_w",    "dram_w", "total_power_w"};
constexpr std::array<std::string_view, 8> kCpuHeaderV1 = {
    "schema_version", "timestamp_unix", "hostname", "source",
    "sensor",         "socket_id",      "power_w",  "total_power_w"};
static_assert(kCpuHeader.size() <= kMaxWantedColumns);
constexpr TableVersion kCpuVersions[] = {{2, kCpuHeader}, {1, kCpuHeaderV1}};

// A finite number from zero on; a time may also be negative.
std::optional<double> finite_number(std::string_view cell, bool may_be_negative) {
  const std::optional<double> value = python_float(cell);
  if (!value || !std::isfinite(*value) || (*value < 0 && !may_be_negative)) return std::nullopt;
  return value;
}

// A rail may be blank.
bool read_rail(std::string_view cell, std::optional<double>& watts) {
  watts.reset();
  if (cell.empty()) return true;
  watts = finite_number(cell, false);
  return watts.has_value();
}

// Returns false if the row is malformed.
bool read_row(const StrictTable& table, const CsvRow& row, CpuSample& sample) {
  if (table.shape_fault(row) != nullptr) return false;
  const auto& cells = row.cells;
  const auto unix_s = finite_number(cells[1], true);
  const auto socket_id = python_int(cells[5]);
  const auto power_w = finite_number(cells[6], false);
  const bool has_names = !cells[2].empty() && !cells[3].empty() && !cells[4].empty();
  if (!unix_s || !has_names || !socket_id || *socket_id < 0 || !power_w) return false;
  sample.unix_s = *unix_s;
  sample.hostname = cells[2];
  sample.source = cells[3];
  sample.sensor = cells[4];
  sample.socket_id = *socket_id;
  sample.power_w = *power_w;
  return table.version() == 1 ||
         (read_rail(cells[7], sample.cpu_rail_w) && read_rail(cells[8], sample.soc_w));
}

}  // namespace

Reasons read_cpu_samples(ByteSource& source, const std::function<void(const CpuSample&)>& take) {
  Reasons reasons;
  StrictTable table(source, kCpuVersions);
  if (table.version() == 0) {
    const std::string_view line = table.first_line();
    reasons.add(Reason::cpu_samples_header_mismatch,
                line.empty() ? "it is missing" : fmt::format("it is '{}'", printable(line)));
    return reasons;
  }
  std::uint64_t number = 0;
  const auto malformed = [&](std::string_view what) {
    reasons.add(Reason::cpu_samples_malformed, row_fault(number, what));
  };
  CpuSample sample;
  try {
    for (auto rows = table.next_batch(); !rows.empty(); rows = table.next_batch()) {
      for (const CsvRow& row : rows) {
        ++number;
        if (!table.is_text(row)) {
          malformed("bytes that are not UTF-8");
          return reasons;
        }
        if (read_row(table, row, sample)) {
          take(sample);
        } else {
          malformed("");
        }
      }
    }
  } catch (const CsvError& error) {
    ++number;
    malformed(error.what());
    return reasons;
  }
  if (table.had_nul()) reasons.add(Reason::cpu_samples_malformed, "it contains a NUL byte");
  return reasons;
}

}  // namespace aggregate_power
