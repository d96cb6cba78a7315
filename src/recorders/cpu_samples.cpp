// The CPU power samples of a package.
#include "recorders/cpu_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/text/csv.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "base/text/utf8.h"

namespace aggregate_power {
namespace {

constexpr std::array<std::string_view, 11> kHeader = {
    "schema_version", "timestamp_unix", "hostname", "source", "sensor",       "socket_id",
    "power_w",        "cpu_rail_w",     "soc_w",    "dram_w", "total_power_w"};
constexpr std::array<std::string_view, 8> kHeaderV1 = {
    "schema_version", "timestamp_unix", "hostname", "source",
    "sensor",         "socket_id",      "power_w",  "total_power_w"};
static_assert(kHeader.size() <= kMaxWantedColumns);

constexpr std::size_t kHeadBytes = 4096;

// A finite number from zero on; of a time, from anywhere on.
std::optional<double> finite(std::string_view cell, bool may_be_negative) {
  const std::optional<double> value = python_float(cell);
  if (!value || !std::isfinite(*value) || (*value < 0 && !may_be_negative)) return std::nullopt;
  return value;
}

// A rail may be blank.
bool read_rail(std::string_view cell, std::optional<double>& watts) {
  watts.reset();
  if (cell.empty()) return true;
  watts = finite(cell, false);
  return watts.has_value();
}

class Reader {
 public:
  Reader(ByteSource& source, const std::function<void(const CpuSample&)>& take)
      : source_(source), take_(take) {}

  Reasons read() {
    const std::string head = read_up_to(source_, kHeadBytes);
    version_ = has_header(head, kHeader) ? 2 : has_header(head, kHeaderV1) ? 1 : 0;
    if (version_ == 0) {
      const std::string_view line = std::string_view(head).substr(0, head.find_first_of("\r\n"));
      reasons_.add(Reason::cpu_samples_header_mismatch,
                   line.empty() ? "there is none" : fmt::format("it is '{}'", printable(line)));
      return reasons_;
    }
    CsvReader csv(source_, head, CsvBlanks::kept);
    select(csv, cells());
    try {
      csv.next_batch(1);  // the header
      for (auto rows = csv.next_batch(); !rows.empty(); rows = csv.next_batch()) {
        if (!take_rows(rows)) return reasons_;
      }
      if (csv.dropped_nuls() > 0) reasons_.add(Reason::cpu_samples_malformed, "it has a NUL");
    } catch (const CsvError& error) {
      ++row_;
      note(error.what());
    }
    return reasons_;
  }

 private:
  static void select(CsvReader& csv, std::size_t cells) {
    std::array<std::size_t, kHeader.size()> columns;
    std::iota(columns.begin(), columns.end(), 0);
    csv.select(std::span(columns).first(cells), cells);
  }

  static bool has_header(std::string_view head, std::span<const std::string_view> names) {
    MemorySource source(head);
    CsvReader csv(source, "", CsvBlanks::kept);
    select(csv, names.size());
    const auto rows = csv.next_batch(1);
    return !rows.empty() && rows[0].cell_count == names.size() &&
           std::ranges::equal(names, std::span(rows[0].cells).first(names.size()));
  }

  std::size_t cells() const { return version_ == 1 ? kHeaderV1.size() : kHeader.size(); }

  // False: what follows cannot be read either.
  bool take_rows(std::span<const CsvRow> rows) {
    for (const CsvRow& row : rows) {
      ++row_;
      if (!std::ranges::all_of(std::span(row.cells).first(cells()), is_utf8)) {
        note("bytes that are no UTF-8");
        return false;
      }
      if (read_row(row)) {
        take_(sample_);
      } else {
        note("");
      }
    }
    return true;
  }

  bool read_row(const CsvRow& row) {
    if (row.cell_count != cells()) return false;
    const auto& cells = row.cells;
    const auto unix_s = finite(cells[1], true);
    const auto socket_id = python_int(cells[5]);
    const auto power_w = finite(cells[6], false);
    const bool has_names = !cells[2].empty() && !cells[3].empty() && !cells[4].empty();
    if (python_int(cells[0]) != version_ || !unix_s || !has_names || !socket_id || *socket_id < 0 ||
        !power_w) {
      return false;
    }
    sample_.unix_s = *unix_s;
    sample_.hostname = cells[2];
    sample_.source = cells[3];
    sample_.sensor = cells[4];
    sample_.socket_id = *socket_id;
    sample_.power_w = *power_w;
    return version_ == 1 ||
           (read_rail(cells[7], sample_.cpu_rail_w) && read_rail(cells[8], sample_.soc_w));
  }

  void note(std::string_view what) {
    reasons_.add(Reason::cpu_samples_malformed,
                 fmt::format("row {} behind the header{}{}", row_, what.empty() ? "" : ": ", what));
  }

  ByteSource& source_;
  const std::function<void(const CpuSample&)>& take_;
  int version_ = 0;
  Reasons reasons_;
  CpuSample sample_;
  std::uint64_t row_ = 0;  // behind the header
};

}  // namespace

Reasons read_cpu_samples(ByteSource& source, const std::function<void(const CpuSample&)>& take) {
  return Reader(source, take).read();
}

}  // namespace aggregate_power
