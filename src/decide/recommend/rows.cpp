// Reads the CSVs of a power-limit sweep.
#include "decide/recommend/sweep_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/csv.h"
#include "base/text/encoding.h"
#include "base/text/python_number.h"
#include "base/text/timestamp.h"
#include "base/text/characters.h"
#include "core/model/beyond_measure.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostSweepBytes = std::size_t{512} << 20;
constexpr std::ptrdiff_t kMostSweepCells = 5'000'000;  // some 100 bytes of memory each
// Columns whose cells say what the load was.
constexpr std::string_view kLoadColumns[] = {"scenario", "workload", "mode", "task", "phase"};

// The words of "trainRun2_stats.csv": "train", "run", "stats", "csv".
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_lower = c >= 'a' && c <= 'z';
    if (!is_upper && !is_lower) words.emplace_back();
    if (is_upper && was_lower) words.emplace_back();
    if (is_upper || is_lower) words.back() += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
    was_lower = is_lower;
  }
  return words;
}

// "training" or "inference" if a text is about one of them, else empty.
std::string load_named_in(std::string_view text) {
  constexpr std::string_view kTrainingWords[] = {"train", "training", "trainer"};
  constexpr std::string_view kInferenceWords[] = {"infer", "inference", "inferencing"};
  const std::vector<std::string> words = words_in(text);
  const auto has_one_of = [&](std::span<const std::string_view> known) {
    return std::ranges::find_first_of(words, known) != words.end();
  };
  if (has_one_of(kTrainingWords)) return kTraining;
  if (has_one_of(kInferenceWords)) return kInference;
  return {};
}

std::string load_of_row(const SweepTable& table, std::size_t row) {
  for (const std::string_view column : kLoadColumns) {
    if (std::string load = load_named_in(table.cell(row, column)); !load.empty()) return load;
  }
  if (std::string load = load_named_in(last_name(table.path)); !load.empty()) return load;
  return table.column("loss") ? kTraining : kInference;
}

SweepRow sweep_row(const SweepTable& table, std::size_t row, StampParser& stamps) {
  SweepRow one{.columns = table.columns, .cells = table.rows[row]};
  const auto stamp = stamps.parse(table.cell(row, "timestamp"));
  one.unix_s = stamp ? stamp->unix_s : kNoNumber;
  one.tokens_per_s = sweep_number(table.cell(row, "tokens_per_sec"));
  one.in_force_w = sweep_number(table.cell(row, "power_limit"));
  one.limit_w = sweep_number(table.cell(row, "max_watt"));
  if (!(one.limit_w > 0)) one.limit_w = one.in_force_w;
  one.gpu_power_w = sweep_number(table.cell(row, "power_draw"));
  one.total_power_w = sweep_number(table.cell(row, "total_power_draw"));
  return one;
}

bool is_usable(const SweepRow& row) {
  const bool has_power = row.gpu_power_w >= 0 || row.total_power_w >= 0;
  return std::isfinite(row.unix_s) && row.tokens_per_s >= 0 && row.limit_w > 0 && has_power;
}

SweepRows& rows_of(const std::string& scenario, std::vector<SweepRows>& all) {
  const auto found = std::ranges::find(all, scenario, &SweepRows::scenario);
  if (found != all.end()) return *found;
  return all.emplace_back(SweepRows{.scenario = scenario});
}

// NaN has an order here, or rows without a total would have none.
std::array<double, 6> numbers_of(const SweepRow& row) {
  const auto known = [](double value) { return std::isnan(value) ? -1 : value; };
  return {row.unix_s,
          row.limit_w,
          known(row.tokens_per_s),
          known(row.gpu_power_w),
          known(row.total_power_w),
          known(row.in_force_w)};
}

std::strong_ordering order_of(const SweepRow& a, const SweepRow& b) {
  const auto numbers = numbers_of(a);
  const auto others = numbers_of(b);
  if (numbers < others) return std::strong_ordering::less;
  if (others < numbers) return std::strong_ordering::greater;
  return std::tie(a.cells, *a.columns) <=> std::tie(b.cells, *b.columns);
}

bool ends_cell(char c) { return c == ',' || c == ';' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::optional<std::size_t> SweepTable::column(std::string_view name) const {
  const auto found = std::ranges::find(*columns, name);
  if (found == columns->end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns->begin());
}

std::string_view SweepTable::cell(std::size_t row, std::string_view name) const {
  const auto index = column(name);
  return index ? strip(rows[row][*index]) : std::string_view();
}

SweepTable read_sweep_table(const std::string& path) {
  const auto source = as_utf8(decompressed(open_source(path), path));
  const std::string text = read_up_to(*source, kMostSweepBytes + 1);
  const std::string shown = printable_path(path);
  if (text.size() > kMostSweepBytes) {
    throw Error(fmt::format("{}: more than 512 MiB: divide the file", shown));
  }
  if (std::ranges::count_if(text, ends_cell) > kMostSweepCells) {
    throw Error(fmt::format(
        "{}: has more than 5,000,000 cells, the most that such a file may have: divide it", shown));
  }
  SweepTable table{.path = path};
  try {
    std::vector<CsvTextRow> rows = split_csv(text, text.size() + 1, true);
    std::erase_if(rows, [](const CsvTextRow& row) { return row.blank; });
    if (rows.empty()) throw Error(fmt::format("{}: is empty", shown));
    std::vector<std::string> columns;
    for (const std::string& cell : rows[0].cells) columns.push_back(lower_ascii(strip(cell)));
    for (std::size_t i = 1; i < rows.size(); ++i) {
      rows[i].cells.resize(columns.size());
      table.rows.push_back(std::move(rows[i].cells));
    }
    table.columns = std::make_shared<const std::vector<std::string>>(std::move(columns));
  } catch (const CsvError& error) {
    throw Error(fmt::format("{}: {}", shown, error.what()));
  }
  return table;
}

bool has_columns(const SweepTable& table, std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(names,
                             [&](std::string_view name) { return table.column(name).has_value(); });
}

double sweep_number(std::string_view cell) {
  std::string_view number = strip(cell);
  if (number.ends_with('W')) number = strip(number.substr(0, number.size() - 1));
  const auto value = python_float(number);
  return value && !is_beyond_measure(*value) ? *value : kNoNumber;
}

void add_sweep_rows(const SweepTable& table, const std::string& scenario, const Zone& zone,
                    std::vector<SweepRows>& all) {
  StampParser stamps(zone);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    SweepRows& rows = rows_of(scenario.empty() ? load_of_row(table, i) : scenario, all);
    SweepRow row = sweep_row(table, i, stamps);
    if (is_usable(row)) {
      rows.rows.push_back(std::move(row));
    } else {
      ++rows.unusable;
    }
  }
}

bool have_total_power(const SweepRows& rows) {
  return std::ranges::all_of(rows.rows, [](const SweepRow& row) { return row.total_power_w >= 0; });
}

void settle_rows(SweepRows& rows) {
  if (!have_total_power(rows)) {
    rows.unusable +=
        std::erase_if(rows.rows, [](const SweepRow& row) { return !(row.gpu_power_w >= 0); });
  }
  std::ranges::sort(rows.rows,
                    [](const SweepRow& a, const SweepRow& b) { return order_of(a, b) < 0; });
  const auto same = [](const SweepRow& a, const SweepRow& b) { return order_of(a, b) == 0; };
  const auto first = std::unique(rows.rows.begin(), rows.rows.end(), same);
  rows.repeated += static_cast<std::size_t>(rows.rows.end() - first);
  rows.rows.erase(first, rows.rows.end());
}

}  // namespace aggregate_power
