// One row for each family of boards.
#include "energy/uncertainty/sensor_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "core/model/code_descriptions.h"

namespace aggregate_power {
namespace {

enum class Vendor { nvidia, amd, intel, unknown };

// Which of NVML's fields a reading is of. The others' sensors have one.
enum class Field { usage, average, instant };

// ---- Sensors

// NVML since Ampere, but not GA100: a mean over 1 s, shown every 100 ms.
constexpr SensorModel kOneSecond = {};
// All of the time, in pieces of 100 ms.
constexpr SensorModel kTenth = {.window_s = 0.1};
// 25 ms of every 100 ms.
constexpr SensorModel kQuarter = {.window_s = 0.025};
constexpr SensorModel kVolta = {.window_s = 0.01, .refresh_s = 0.02};
// A slow first-order response.
constexpr SensorModel kKepler = {
    .window_s = 0.15, .refresh_s = 0.02, .delay_uncertainty_s = 0.03, .window_uncertainty = 0.3};
// Nobody has measured it: NVML says a mean over 1 s.
constexpr SensorModel kBlackwell = {.window_uncertainty = 0.1};
// A Radeon PRO W7700 read 14 to 15 % below a meter (arXiv 2504.17883), whatever the power; of
// others like it nothing is known. Rectangular: what flowed is 0 to 17 % more than the reading.
constexpr SensorAccuracy kRdna3 = {.shared_gain = 0.098, .pivot_w = 0};
// The driver reads the sensor at each call.
constexpr SensorModel kInstinct = {.window_s = 0.02, .refresh_s = 0.001};

struct BoardFamily {
  const char* name;
  Vendor vendor;
  Pattern model;
  // Sensors that may be behind each field, empty: none is honest.
  std::vector<SensorModel> usage;
  std::vector<SensorModel> average;
  std::vector<SensorModel> instant;
  // power.draw can only be trusted to be a mean over 1 s if the driver also offers the average.
  bool usage_is_average_beside = false;
  const char* assumption = nullptr;
  bool counts_module = false;
  bool has_second_dies = false;
  std::optional<SensorAccuracy> accuracy = {};  // where the 19 boards do not stand for it
};

Pattern any_case(const char* text) { return {text, Pattern::Case::either}; }

// The first row that fits counts.
const std::vector<BoardFamily>& families() {
  static const std::vector<BoardFamily> table = {
      {"GH200",
       Vendor::nvidia,
       any_case(R"(.*\bGH200\b.*)"),
       {kOneSecond},
       {kOneSecond},
       {},
       false,
       nullptr,
       true},
      {"Hopper",
       Vendor::nvidia,
       any_case(R"(.*\b(H100|H200|H800|H20|H800L?|Hopper)\b.*)"),
       {kOneSecond},
       {kOneSecond},
       {kQuarter}},
      // About 70 runs at 50 to 100 Hz beside the counter, with steps and square waves
      // (sinkers/gpu-power-lab): a lag of 429 J where a mean over 1 s has 424 J.
      {"B300",
       Vendor::nvidia,
       any_case(R"(.*\bG?B300\b.*)"),
       {kOneSecond},
       {kOneSecond},
       {kTenth, kQuarter}},
      {"Blackwell",
       Vendor::nvidia,
       any_case(R"(.*\b(G?B[12]00|Blackwell|RTX PRO [2-6]\d00)\b.*)"),
       {kBlackwell},
       {kBlackwell},
       {kTenth, kQuarter},
       false,
       "sensor_not_characterised"},
      {"GA100",
       Vendor::nvidia,
       any_case(R"(.*\b(A100|A800|A30X?|GA100|PG5\d\d)\b.*)"),
       {kQuarter},
       {kQuarter},
       {kQuarter}},
      {"Ampere and Ada",
       Vendor::nvidia,
       any_case(
           R"(.*\b((RTX )?(30|40|50)[5-9]0( ?(Ti|D|SUPER|Laptop).*)?|(RTX )?A[2-6]000|RTX [2-6]\d00 (SFF )?Ada.*|A(2|10|10G|10M|16|40)|L4|L40|L40S|L20|L2|Ampere|Ada)\b.*)"),
       {kOneSecond, kTenth},
       {kOneSecond},
       {kTenth},
       true},
      {"Turing",
       Vendor::nvidia,
       any_case(
           R"(.*\b(T4G?|T[46]00|T1000|GTX 16\d0.*|RTX 20[678]0.*|Quadro RTX.*|TITAN RTX|Turing)\b.*)"),
       {kTenth},
       {kTenth},
       {kTenth}},
      {"Pascal and Volta",
       Vendor::nvidia,
       any_case(
           R"(.*\b(P100|P40|P6|P4|V100S?|G[PV]100|TITAN V|TITAN Xp|GTX 10[5-8]0.*|Pascal|Volta)\b.*)"),
       {kVolta},
       {kVolta},
       {kVolta}},
      {"Kepler and Maxwell",
       Vendor::nvidia,
       any_case(R"(.*\b(K(10|20|40|80)[a-z]*|M(4|6|10|40|60)|GTX [679]\d0.*|Kepler|Maxwell)\b.*)"),
       {kKepler},
       {kKepler},
       {kKepler}},
      {"MI250X",
       Vendor::amd,
       any_case(R"(.*\bMI250X?\b.*)"),
       {kInstinct, kOneSecond},
       {},
       {},
       false,
       "amd_filter_undocumented",
       false,
       true},
      {"MI200",
       Vendor::amd,
       any_case(R"(.*\bMI2[01]\d\b.*)"),
       {kInstinct, kOneSecond},
       {},
       {},
       false,
       "amd_filter_undocumented"},
      {"MI300A",
       Vendor::amd,
       any_case(R"(.*\bMI300A\b.*)"),
       {kInstinct, kOneSecond},
       {},
       {},
       false,
       "amd_filter_undocumented"},
      {"MI300 and later",
       Vendor::amd,
       any_case(R"(.*\bMI3\d\d[XP]?\b.*)"),
       {kInstinct},
       {},
       {},
       false,
       "amd_reading_is_a_moment"},
      {"RDNA3",
       Vendor::amd,
       any_case(
           R"(.*\b(W7[5-9]00X?|RX ?7[4-9][05]0( ?(XTX?|GRE|M|S))?|Navi ?3[1-3]|gfx110[0-2]|RDNA ?3)\b.*)"),
       {kInstinct, kOneSecond},
       {},
       {},
       false,
       "rdna3_reads_low",
       false,
       false,
       kRdna3},
      {"MI100 and before",
       Vendor::amd,
       any_case(R"(.*\bMI(25|50|60|100)\b.*)"),
       {kInstinct, kOneSecond},
       {},
       {},
       false,
       "amd_filter_undocumented"},
  };
  return table;
}

// What is possible for a vendor's boards of unknown model.
const BoardFamily& family_of(Vendor vendor) {
  static const BoardFamily nvidia = {"unknown",    Vendor::nvidia,
                                     "",           {kOneSecond, kTenth, kQuarter},
                                     {kOneSecond}, {kTenth, kQuarter}};
  static const BoardFamily amd = {"unknown", Vendor::amd, "",    {kInstinct},
                                  {},        {},          false, "amd_reading_is_a_moment"};
  static const BoardFamily intel = {"unknown", Vendor::intel, "", {kTenth}, {kTenth}, {kTenth}};
  static const BoardFamily other = {"unknown",    Vendor::unknown,
                                    "",           {kOneSecond, kTenth, kQuarter},
                                    {kOneSecond}, {kTenth, kQuarter}};
  switch (vendor) {
    case Vendor::nvidia:
      return nvidia;
    case Vendor::amd:
      return amd;
    case Vendor::intel:
      return intel;
    case Vendor::unknown:
      break;
  }
  return other;
}

const BoardFamily* family_of(std::string_view model) {
  if (model.empty()) return nullptr;  // no pattern matches that
  std::string spaced(model);
  std::ranges::replace(spaced, '_', ' ');
  const auto row = std::ranges::find_if(
      families(), [&](const BoardFamily& candidate) { return candidate.model.matches(spaced); });
  return row == families().end() ? nullptr : &*row;
}

// In lower case, with a dot for each separator: words that are looked for are written like that.
std::string dotted_name(std::string_view name) {
  std::string dotted = lower_ascii(name);
  std::ranges::replace_if(
      dotted, [](char c) { return c == '_' || c == '-' || c == ' '; }, '.');
  return dotted;
}

bool has_any(std::string_view dotted, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return dotted.find(word) != dotted.npos; });
}

Vendor vendor_of(const Sensor& sensor) {
  for (const std::string& text : {dotted_name(sensor.collector), dotted_name(sensor.name)}) {
    if (has_any(text, {"amd", "rocm", "instinct"})) return Vendor::amd;
    if (has_any(text, {"xpu", "intel", "oneapi", "level.zero", "levelzero"})) return Vendor::intel;
    if (has_any(text, {"nvml", "nvidia", "dcgm", "srt.slurm", "zeus", "energibridge"})) {
      return Vendor::nvidia;
    }
  }
  return Vendor::unknown;
}

Vendor vendor_of_model(std::string_view model) {
  if (const BoardFamily* const family = family_of(model)) return family->vendor;
  const std::string name = dotted_name(model);
  if (has_any(name, {"amd", "radeon", "instinct"})) return Vendor::amd;
  if (has_any(name, {"intel", "arc", "flex"})) return Vendor::intel;
  return has_any(name, {"nvidia", "geforce", "quadro", "tesla"}) ? Vendor::nvidia : Vendor::unknown;
}

Field field_of(const Sensor& sensor) {
  if (sensor.averaging == "instantaneous") return Field::instant;
  const std::string name = dotted_name(sensor.name);
  const bool is_average = sensor.averaging == "1 s" || name == "device.average" ||
                          has_any(name, {"power.draw.average"});
  return is_average ? Field::average : Field::usage;
}

const std::vector<SensorModel>& models_of(const BoardFamily& row, Field field) {
  if (row.vendor == Vendor::amd || field == Field::usage) return row.usage;
  return field == Field::average ? row.average : row.instant;
}

// The mean over the time since the reading before.
SensorModel of_period(double period_s) {
  return {.window_s = period_s,
          .refresh_s = 0.001,
          .delay_s = 0,
          .delay_uncertainty_s = 0.01,
          .window_uncertainty = 0.01};
}

// DCGM reads on a schedule of its own, and a scrape repeats what it read last.
void serve_last(double period_s, std::vector<SensorModel>& models) {
  for (SensorModel& model : models) {
    model.refresh_s = std::clamp(period_s, model.refresh_s, 30.0);
  }
}

bool is_of_more_than_gpu(const Sensor& sensor) {
  static constexpr std::string_view kLarger[] = {"module", "node", "system", "wall", "rail"};
  return std::ranges::find(kLarger, sensor.scope) != std::end(kLarger);
}

// "100 ms", "1 s or 100 ms".
std::string window_texts(const std::vector<SensorModel>& models) {
  const auto texts = mapped<std::string>(models, [](const SensorModel& model) {
    return model.window_s < 1 ? fmt::format("{} ms", std::round(1000 * model.window_s))
                              : fmt::format("{} s", model.window_s);
  });
  return texts.empty() ? "unknown" : joined_text(texts, " or ");
}

// The words of a name in lower case: letters and digits.
std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Each word of `part` is one of `whole`, or two of them together: "RTX4090" of "GeForce RTX 4090".
bool are_words_of(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return !part.empty() && std::ranges::all_of(part, [&](const std::string& word) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i] == word) return true;
      if (i + 1 < whole.size() && whole[i] + whole[i + 1] == word) return true;
    }
    return false;
  });
}

}  // namespace

bool are_means(const Sensor& sensor) {
  return sensor.averaging == "over the period before the stamp" ||
         sensor.averaging == "over the interval before the stamp";
}

KnownSensor known_sensor(const SensorQuestion& question) {
  KnownSensor known;
  if (is_of_more_than_gpu(question.sensor)) {
    known.unresolved = fmt::format(
        "it measures more than a GPU ({}); choose a column of the GPU with --power-column",
        question.sensor.scope);
    return known;
  }
  if (are_means(question.sensor)) {
    known.name = question.sensor.collector;
    known.models = {of_period(question.period_s)};
    known.models.front().may_be_moments = question.sensor.collector == "W&B";
    return known;
  }
  const BoardFamily* const named = family_of(question.model);
  const Vendor board = vendor_of_model(question.model);
  const BoardFamily& row =
      named ? *named : family_of(board != Vendor::unknown ? board : vendor_of(question.sensor));
  const Field field = field_of(question.sensor);
  known.name = row.name;
  known.counts_module = row.counts_module;
  known.has_second_dies = row.has_second_dies;
  known.accuracy = row.accuracy;
  known.models = models_of(row, field);
  if (row.usage_is_average_beside && field == Field::usage && question.has_average_beside) {
    known.models = row.average;
  }
  if (known.models.empty()) {
    known.unresolved = fmt::format(
        "its '{}' is not that of the GPU alone; choose another column with --power-column",
        question.sensor.name);
  }
  if (row.assumption != nullptr) known.assumptions.push_back(assumption(row.assumption));
  if (row.has_second_dies) known.assumptions.push_back(assumption("first_dies_report_both"));
  if (question.sensor.collector.find("DCGM") != std::string::npos ||
      question.sensor.collector == "srt-slurm") {
    serve_last(question.period_s, known.models);
  }
  return known;
}

bool can_be_one_model(std::string_view a, std::string_view b) {
  return are_words_of(name_words(a), name_words(b)) || are_words_of(name_words(b), name_words(a));
}

bool can_measure(const Sensor& sensor, std::string_view model) {
  const Vendor recorder = vendor_of(sensor);
  const Vendor board = vendor_of_model(model);
  return recorder == Vendor::unknown || board == Vendor::unknown || recorder == board;
}

std::vector<GpuSensorRow> gpu_sensor_rows() {
  std::vector<GpuSensorRow> shown_rows;
  const auto add = [&](const char* boards, const BoardFamily& row) {
    const bool has_fields = row.vendor != Vendor::amd;
    shown_rows.push_back({boards, window_texts(row.usage),
                          has_fields ? window_texts(row.average) : "-",
                          has_fields ? window_texts(row.instant) : "-"});
  };
  for (const BoardFamily& row : families()) add(row.name, row);
  add("other NVIDIA, or unknown", family_of(Vendor::nvidia));
  add("other AMD", family_of(Vendor::amd));
  return shown_rows;
}

}  // namespace aggregate_power
