// Reads the CSVs of a power-limit sweep.
#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/timestamp.h"
#include "core/energy/curve.h"
#include "core/energy/recording_summary.h"
#include "core/model/units.h"
#include "decide/recommend/recommend.h"

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

// ---- Divides rows into stretches and integrates them.

namespace {

constexpr std::string_view kOutlierRules[] = {"none", "zscore", "mad"};
constexpr double kMostDeviations = 3;
constexpr double kGapSteps = 10;
constexpr std::size_t kMostBlocks = 10;

// One row, as far as the arithmetic needs it.
struct RowPoint {
  double unix_s = 0;
  double power_w = 0;
  double tokens_per_s = 0;
};

struct RowStretch {
  std::size_t limit = 0;  // index of its group
  std::vector<RowPoint> points;
};

double median_of_steps(const std::vector<SweepRow>& rows, const std::vector<std::size_t>& limits) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double step_s = rows[i].unix_s - rows[i - 1].unix_s;
    if (limits[i] == limits[i - 1] && step_s > 0) steps.push_back(step_s);
  }
  return quantile_of(std::move(steps), 0.5);
}

std::vector<RowStretch> stretches_of(const SweepRows& all, const std::vector<std::size_t>& limits,
                                     bool has_total) {
  const double most_step_s = kGapSteps * median_of_steps(all.rows, limits);
  std::vector<RowStretch> stretches;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const SweepRow& row = all.rows[i];
    const bool goes_on =
        i > 0 && limits[i] == limits[i - 1] && row.unix_s - all.rows[i - 1].unix_s <= most_step_s;
    if (!goes_on) stretches.push_back({limits[i], {}});
    stretches.back().points.push_back(
        {row.unix_s, has_total ? row.total_power_w : row.gpu_power_w, row.tokens_per_s});
  }
  return stretches;
}

// What is left out lies further from the middle than three times the spread.
struct RateRange {
  double middle = 0;
  double most_off = 0;  // 0: there is no spread, and nothing is left out

  bool has(double rate) const { return most_off == 0 || std::abs(rate - middle) < most_off; }
};

RateRange usual_rates(std::vector<double> rates, RowOutliers outliers) {
  if (outliers == RowOutliers::none || rates.empty()) return {};
  std::ranges::sort(rates);
  const auto count = static_cast<double>(rates.size());
  if (outliers == RowOutliers::mad) {
    const double median = quantile_of(rates, 0.5);
    auto off = mapped<double>(rates, [&](const double rate) { return std::abs(rate - median); });
    return {median, kMostDeviations * 1.4826 * quantile_of(std::move(off), 0.5)};
  }
  LongSum sum;
  for (const double rate : rates) sum.add(rate);
  const double mean = sum.value() / count;
  LongSum squares;
  for (const double rate : rates) squares.add((rate - mean) * (rate - mean));
  const double sigma = std::sqrt(squares.value() / count);
  return {mean, sigma > 1e-12 * std::abs(mean) ? kMostDeviations * sigma : 0};
}

// The tokens between each two neighbours, and what else there is to add up.
std::vector<LimitPiece> segments_of(std::span<const RowPoint> points, bool is_cumulative) {
  std::vector<LimitPiece> segments;
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i) {
    steps.push_back(points[i].unix_s - points[i - 1].unix_s);
  }
  // A load that logs its mean rate began one step before its first row.
  const double began_s =
      is_cumulative && !points.empty() ? points[0].unix_s - quantile_of(steps, 0.5) : 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const RowPoint& a = points[i - 1];
    const RowPoint& b = points[i];
    const double step_s = steps[i - 1];
    const double tokens = is_cumulative ? b.tokens_per_s * (b.unix_s - began_s) -
                                              a.tokens_per_s * (a.unix_s - began_s)
                                        : step_s * (a.tokens_per_s + b.tokens_per_s) / 2;
    segments.push_back({step_s * (a.power_w + b.power_w) / 2, step_s, tokens});
  }
  return segments;
}

LimitPiece sum_of(std::span<const LimitPiece> parts) {
  LongSum energy_j, time_s, work;
  for (const LimitPiece& part : parts) {
    energy_j.add(part.energy_j);
    time_s.add(*part.time_s);
    work.add(part.work);
  }
  return {energy_j.value(), time_s.value(), work.value()};
}

std::vector<LimitPiece> blocks_of(std::span<const LimitPiece> segments) {
  const std::size_t count = std::min(kMostBlocks, segments.size());
  std::vector<LimitPiece> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * segments.size() / count;
    blocks.push_back(sum_of(segments.subspan(from, (i + 1) * segments.size() / count - from)));
  }
  return blocks;
}

// Counts the limit as not in force if more than a twentieth of the rows report another one.
std::optional<double> limit_in_force(double limit_w, const std::vector<double>& reported) {
  if (reported.empty()) return std::nullopt;
  const auto others =
      std::ranges::count_if(reported, [&](double one) { return !is_same_limit(limit_w, one); });
  if (static_cast<double>(others) <= 0.05 * static_cast<double>(reported.size())) {
    return quantile_of(reported, 0.5);
  }
  return *std::ranges::max_element(
      reported, {}, [&](double one) { return std::pair(std::abs(one - limit_w), one); });
}

double mean_of(std::vector<double> values) {
  std::ranges::sort(values);
  LongSum sum;
  for (const double value : values) sum.add(value);
  return sum.value() / static_cast<double>(values.size());
}

// What is measured of a limit's rows, whatever stretch they are in.
void note_rows(const SweepRows& all, const std::vector<std::size_t>& limits, std::size_t index,
               std::optional<double> gpus, LimitGroup& group) {
  std::vector<double> reported, gpu_powers;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const SweepRow& row = all.rows[i];
    if (limits[i] != index) continue;
    if (row.in_force_w > 0) reported.push_back(row.in_force_w);
    const double gpu_power_w = row.gpu_power_w >= 0 ? row.gpu_power_w
                               : gpus               ? row.total_power_w / *gpus
                                                    : kNoNumber;
    if (gpu_power_w >= 0) gpu_powers.push_back(gpu_power_w);
  }
  group.limit_in_force_w = limit_in_force(group.limit_w, reported);
  group.is_confirmed = group.limit_in_force_w.has_value();
  if (!gpu_powers.empty()) group.gpu_power_w = mean_of(std::move(gpu_powers));
  group.why = limit_fault(group.limit_w, group.limit_in_force_w, group.gpu_power_w);
  if (!group.why.empty()) group.state = LimitState::limit_not_in_force;
}

LimitGroup group_of(double limit_w, std::size_t index, std::vector<RowStretch> stretches,
                    const RowRules& rules) {
  LimitGroup group{.limit_w = limit_w};
  std::vector<double> rates;
  for (const RowStretch& stretch : stretches) {
    if (stretch.limit != index) continue;
    for (const RowPoint& point : stretch.points) rates.push_back(point.tokens_per_s);
  }
  const RateRange usual = usual_rates(std::move(rates), rules.outliers);
  std::vector<LimitPiece> segments;
  std::vector<double> ratios;
  for (RowStretch& stretch : stretches) {
    if (stretch.limit != index) continue;
    group.outliers += std::erase_if(
        stretch.points, [&](const RowPoint& point) { return !usual.has(point.tokens_per_s); });
    group.n += stretch.points.size();
    for (const RowPoint& point : stretch.points) {
      if (point.tokens_per_s > 0) ratios.push_back(point.power_w / point.tokens_per_s);
    }
    const auto parts = segments_of(stretch.points, rules.is_cumulative);
    if (const LimitPiece piece = sum_of(parts); *piece.time_s > 0) group.pieces.push_back(piece);
    append(segments, parts);
  }
  group.blocks = blocks_of(segments);
  if (!ratios.empty()) group.mean_joules_per_token = mean_of(std::move(ratios));
  return group;
}

// How many GPUs a total is of, by what one of them draws.
std::optional<double> gpus_of(const SweepRows& rows, bool has_total) {
  if (!has_total) return 1;
  std::vector<double> counts;
  for (const SweepRow& row : rows.rows) {
    if (row.gpu_power_w > 0) counts.push_back(row.total_power_w / row.gpu_power_w);
  }
  if (counts.empty()) return std::nullopt;
  return std::max(1.0, std::round(quantile_of(std::move(counts), 0.5)));
}

}  // namespace

std::optional<RowOutliers> row_outliers(std::string_view name) {
  const auto found = std::ranges::find(kOutlierRules, name);
  if (found == std::end(kOutlierRules)) return std::nullopt;
  return static_cast<RowOutliers>(found - std::begin(kOutlierRules));
}

std::string_view name(RowOutliers outliers) {
  return kOutlierRules[static_cast<std::size_t>(outliers)];
}

LimitScenario scenario_of_rows(const SweepRows& rows, const RowRules& rules) {
  LimitScenario scenario{.name = rows.scenario, .has_tokens = true, .is_of_rows = true};
  const bool has_total = have_total_power(rows);
  scenario.gpus = gpus_of(rows, has_total);
  const std::vector<double> distinct =
      distinct_limits(mapped<double>(rows.rows, &SweepRow::limit_w));
  std::vector<std::size_t> limits;
  for (const SweepRow& row : rows.rows) limits.push_back(limit_index(distinct, row.limit_w));
  const std::vector<RowStretch> stretches = stretches_of(rows, limits, has_total);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    LimitGroup group = group_of(distinct[i], i, stretches, rules);
    note_rows(rows, limits, i, scenario.gpus, group);
    scenario.groups.push_back(std::move(group));
  }
  return scenario;
}

}  // namespace aggregate_power
