// Reads rows of words below a header of words.
#include "recorders/dmon.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "recorders/lines.h"
#include "recorders/stream_telemetry.h"

namespace aggregate_power {
namespace {

using Words = std::vector<std::string_view>;

// Into `words`, which is kept from line to line.
void split_words(std::string_view line, Words& words) {
  const auto is_between = [](char c) { return c == ' ' || c == '\t' || c == ','; };
  words.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    while (at < end && is_between(*at)) ++at;
    if (at == end) return;
    const char* const word = at;
    while (at < end && !is_between(*at)) ++at;
    words.emplace_back(word, at - word);
  }
}

std::optional<std::size_t> place_of(const Words& words, std::string_view word) {
  const auto is_same = [](char c, char lower) {
    return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
  };
  const auto found = std::ranges::find_if(words, [&](std::string_view candidate) {
    return std::ranges::equal(candidate, word, is_same);
  });
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

// What a line of data says, until the next one is read.
struct DmonRow {
  std::string_view stamp;
  std::string_view gpu;
  std::string_view watts;
};

// ---- nvidia-smi dmon -o DT
//
//   #Date       Time        gpu    pwr  gtemp
//   #YYYYMMDD   HH:MM:SS    Idx      W      C
//    20260425   12:00:00      0    310     52

class NvidiaDmon {
 public:
  explicit NvidiaDmon(bool /*reads_counters*/ = false) {}

  bool take_header(std::string_view line, const Words&) {
    if (!line.starts_with('#')) return false;
    Words names;
    split_words(line.substr(1), names);
    const auto gpu = place_of(names, "gpu");
    if (!gpu || !place_of(names, "date") || !place_of(names, "time")) return true;
    columns_ = names.size();
    gpu_ = *gpu;
    power_ = place_of(names, "pwr");
    return true;
  }
  bool has_times() const { return columns_ > 0; }
  std::optional<std::string> power() const {
    return power_ ? std::optional<std::string>("pwr") : std::nullopt;
  }
  std::optional<EnergyCounter> counter() const { return std::nullopt; }  // it has none
  // nullopt: it says nothing of a GPU.
  std::optional<DmonRow> row_of(const Words& words) {
    if (!power_ || words.size() != columns_ || words[0].size() != kDateSize) return std::nullopt;
    if (words[0] != date_ || words[1] != time_) {
      date_ = words[0];
      time_ = words[1];
      stamp_ = fmt::format("{}-{}-{} {}", date_.substr(0, 4), date_.substr(4, 2), date_.substr(6),
                           time_);
    }
    return DmonRow{stamp_, words[gpu_], words[*power_]};
  }

 private:
  static constexpr std::size_t kDateSize = 8;
  std::string date_;  // of the row before, and its time
  std::string time_;
  std::string stamp_;
  std::size_t columns_ = 0;
  std::size_t gpu_ = 0;
  std::optional<std::size_t> power_;
};

// ---- dcgmi dmon, each line behind a time
//
//   1777118400.10 #Entity   POWER     TOTEC
//   1777118400.10 ID        W         mJ
//   1777118400.10 GPU 0     71.033    12345
//   1777118400.10 GPU-I 3   71.033    12345      an instance: it repeats its GPU's power

class DcgmiDmon {
 public:
  explicit DcgmiDmon(bool reads_counters = false) : reads_counters_(reads_counters) {}

  bool take_header(std::string_view, const Words& words) {
    const auto entity = place_of(words, "#entity");
    if (!entity) return place_of(words, "id").has_value() && !place_of(words, "gpu");
    fields_ = words.size() - *entity - 1;
    power_.reset();
    has_counter_ = place_of(words, kTotalEnergy).has_value();
    static constexpr std::string_view kPower[] = {"power", "brdpwr", "powinst", "powins"};
    const std::span<const std::string_view> wanted =
        reads_counters_ ? std::span(&kTotalEnergy, 1) : std::span(kPower);
    for (const std::string_view name : wanted) {
      const auto place = place_of(words, name);
      if (!place || *place < *entity) continue;
      power_ = *place - *entity - 1;
      name_ = words[*place];
      break;
    }
    return true;
  }
  bool has_times() const { return true; }
  std::optional<std::string> power() const { return power_ ? std::optional(name_) : std::nullopt; }
  std::optional<EnergyCounter> counter() const {
    return has_counter_ ? std::optional(EnergyCounter{"TOTEC", "mJ", 1e-3}) : std::nullopt;
  }
  std::optional<DmonRow> row_of(const Words& words) {
    const auto gpu = place_of(words, "gpu");
    if (!power_ || !gpu || words.size() != *gpu + 2 + fields_) return std::nullopt;
    stamp_.clear();
    for (std::size_t i = 0; i < *gpu; ++i) {
      if (i > 0) stamp_ += ' ';
      stamp_ += words[i];
    }
    std::erase_if(stamp_, [](char c) { return c == '[' || c == ']'; });
    const std::string_view watts = words[*gpu + 2 + *power_];
    // A value that is too long for its column is cut off, and ends in dots.
    return DmonRow{stamp_, words[*gpu + 1], watts.ends_with("..") ? "N/A" : watts};
  }

 private:
  static constexpr std::string_view kTotalEnergy = "totec";

  bool reads_counters_;
  bool has_counter_ = false;
  std::string stamp_;
  std::size_t fields_ = 0;
  std::optional<std::size_t> power_;  // among the fields; of energy, if counters are read
  std::string name_;
};

// ---- Both

template <typename Table>
void read_dmon(ByteSource& source, bool reads_counters, ReadingSink& sink) {
  Table table(reads_counters);
  Words words;
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return sink.skip(&Skipped::blank);
    split_words(line, words);
    if (table.take_header(line, words)) {
      if (reads_counters && table.counter()) sink.count_energy(*table.counter());
      return;
    }
    if (!is_whole) return sink.skip(&Skipped::torn_tail);
    const std::optional<DmonRow> row = table.row_of(words);
    if (!row) return;
    if (sink.start_row(row->stamp)) sink.add(row->gpu, row->watts);
  });
}

// Whether some line of the beginning is a row with an absolute time.
template <typename Table>
bool has_row_with_time(std::string_view head) {
  Table table;
  Words words;
  bool is_found = false;
  MemorySource source(head);
  for_each_line(source, [&](std::string_view line, bool) {
    line = strip(line);
    split_words(line, words);
    if (is_found || table.take_header(line, words)) return;
    const std::optional<DmonRow> row = table.row_of(words);
    const auto stamp = row ? StampParser(Zone::fixed(0)).parse(row->stamp) : std::optional<Stamp>();
    is_found = stamp && stamp->unix_s >= kFirstAbsoluteUnixS;
  });
  return is_found;
}

template <typename Table>
SeriesFacts dmon_facts(std::string_view head, SeriesNames names, const char* collector,
                       const TelemetryOptions& options) {
  Table table;
  MemorySource source(head);
  Words words;
  for_each_line(source, [&](std::string_view line, bool) {
    line = strip(line);
    split_words(line, words);
    table.take_header(line, words);
  });
  names.power = table.power();
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor.collector = collector;
  facts.counter = table.counter();
  if (names.power) facts.sensor.name = *names.power;
  facts.sensor.scope = "gpu";
  const std::string& wanted = options.columns.power;
  if (!wanted.empty() && wanted != names.power) {
    facts.reasons.add(Reason::named_column_missing, "--power-column: this format has its own");
  }
  return facts;
}

template <typename Table>
Telemetry open_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                    const SeriesNames& names, const char* collector) {
  return open_stream(
      std::move(source), options,
      [&](std::string_view head) { return dmon_facts<Table>(head, names, collector, options); },
      [reads_counters = options.counters](ByteSource& bytes, ReadingSink& sink) {
        read_dmon<Table>(bytes, reads_counters, sink);
      },
      true);
}

}  // namespace

double fits_nvidia_dmon(std::string_view head) {
  const bool may_fit = head.find("Date") != head.npos && head.find("pwr") != head.npos;
  return may_fit && has_row_with_time<NvidiaDmon>(head) ? 0.9 : 0;
}

Telemetry open_nvidia_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_dmon<NvidiaDmon>(
      std::move(source), options,
      {.schema = "nvidia-smi-dmon", .timestamp = "Date Time", .power = {}, .device = "gpu"},
      "nvidia-smi");
}

std::vector<SchemaRow> nvidia_dmon_schemas() {
  return {{"nvidia-smi-dmon", "`pwr` of `nvidia-smi dmon -o DT`, in whole W", "`gpu`"}};
}

double fits_dcgmi_dmon(std::string_view head) {
  const bool may_fit = head.find("#Entity") != head.npos;
  return may_fit && has_row_with_time<DcgmiDmon>(head) ? 0.9 : 0;
}

Telemetry open_dcgmi_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_dmon<DcgmiDmon>(
      std::move(source), options,
      {.schema = "dcgmi-dmon", .timestamp = "time before the line", .power = {}, .device = "GPU"},
      "DCGM");
}

std::vector<SchemaRow> dcgmi_dmon_schemas() {
  return {{"dcgmi-dmon",
           "`POWER`, else `POWINST`, of `dcgmi dmon` with a time before each line, in W",
           "`GPU`; MIG instances (`GPU-I`) are left out"}};
}

}  // namespace aggregate_power
