// Reads the tables that nvidia-smi dmon and dcgmi dmon print, where their lines have times: dmon -o
// DT prints them, and dcgmi's are put before its lines by whoever records them.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/telemetry/lines.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

using Words = std::vector<std::string_view>;

// The words of a line. `words` is used for one line after another, and keeps its memory.
const Words& words_of(std::string_view line, Words& words) {
  constexpr auto is_between = [](char c) { return c == ' ' || c == '\t' || c == ','; };
  words.clear();
  for (const char *at = line.data(), *const end = at + line.size(); at != end;) {
    const char* const begin = std::find_if_not(at, end, is_between);
    at = std::find_if(begin, end, is_between);
    if (begin != at) words.emplace_back(begin, at);
  }
  return words;
}

// Of the first such word, whatever its capitals are; `word` has none.
std::optional<std::size_t> place_of(const Words& words, std::string_view word) {
  const auto is_same = [](char c, char lower) {
    return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view candidate = words[i];
    if (candidate.size() != word.size()) continue;
    if (std::ranges::equal(candidate, word, is_same)) return i;
  }
  return std::nullopt;
}

// In which words of a row of data something is.
struct DmonPlaces {
  std::size_t stamp_words = 0;  // the first ones
  std::size_t gpu = 0;
  std::optional<std::size_t> watts = {};  // or joules, if only counters are read
  std::optional<std::size_t> count = {};  // of an energy counter beside the power
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
    words_of(line.substr(1), names);
    const auto gpu = place_of(names, "gpu");
    if (!gpu || !place_of(names, "date") || !place_of(names, "time")) return true;
    header_ = line;
    columns_ = names.size();
    gpu_ = *gpu;
    power_ = place_of(names, "pwr");
    return true;
  }
  // The one that applies to the rows below; empty: there was none.
  const std::string& header() const { return header_; }
  std::optional<std::string> power() const {
    return power_ ? std::optional<std::string>("pwr") : std::nullopt;
  }
  std::optional<EnergyCounter> counter() const { return std::nullopt; }  // it has none
  // nullopt: it says nothing of a GPU.
  std::optional<DmonPlaces> places(const Words& words) const {
    if (!power_ || words.size() != columns_ || words[0].size() != kDateSize) return std::nullopt;
    return DmonPlaces{2, gpu_, power_};
  }
  // Of the first words of a row, as others write it.
  static std::string stamp(const Words& words, std::size_t /*count*/) {
    const std::string_view date = words[0];
    return fmt::format("{}-{}-{} {}", date.substr(0, 4), date.substr(4, 2), date.substr(6),
                       words[1]);
  }

 private:
  static constexpr std::size_t kDateSize = 8;
  std::string header_;
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

  bool take_header(std::string_view line, const Words& words) {
    const auto entity = line.find('#') == line.npos ? std::nullopt : place_of(words, "#entity");
    if (!entity) return !place_of(words, "gpu") && place_of(words, "id");
    header_ = line.substr(line.find('#'));
    fields_ = words.size() - *entity - 1;
    power_.reset();
    counter_.reset();
    const auto counter = place_of(words, kTotalEnergy);
    has_counter_ = counter.has_value();
    if (counter && *counter >= *entity) counter_ = *counter - *entity - 1;
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
  // The one that applies to the rows below, without its time; empty: there was none.
  const std::string& header() const { return header_; }
  std::optional<std::string> power() const { return power_ ? std::optional(name_) : std::nullopt; }
  std::optional<EnergyCounter> counter() const {
    return has_counter_ ? std::optional(EnergyCounter{"TOTEC", "mJ", 1e-3}) : std::nullopt;
  }
  // nullopt: it says nothing of a GPU.
  std::optional<DmonPlaces> places(const Words& words) const {
    const auto gpu = place_of(words, "gpu");
    if (!(power_ || counter_) || !gpu || words.size() != *gpu + 2 + fields_) return std::nullopt;
    const auto place = [&](std::optional<std::size_t> field) {
      return field ? std::optional(*gpu + 2 + *field) : std::nullopt;
    };
    return DmonPlaces{*gpu, *gpu + 1, place(power_), place(counter_)};
  }
  // The first `count` words, without brackets.
  static std::string stamp(const Words& words, std::size_t count) {
    std::string stamp;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) stamp += ' ';
      stamp += words[i];
    }
    std::erase_if(stamp, [](char c) { return c == '[' || c == ']'; });
    return stamp;
  }

 private:
  static constexpr std::string_view kTotalEnergy = "totec";

  bool reads_counters_;
  std::string header_;
  bool has_counter_ = false;
  std::size_t fields_ = 0;
  std::optional<std::size_t> power_;  // among the fields; of energy, if only counters are read
  std::optional<std::size_t> counter_;
  std::string name_;
};

// ---- Both

// Reads the lines of a table into a sink.
template <typename Table>
class DmonLines {
 public:
  DmonLines(bool reads_counters, ReadingSink& sink)
      : reads_counters_(reads_counters), table_(reads_counters), sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return sink_.skip(&Skipped::blank);
    words_of(line, words_);
    if (table_.take_header(line, words_)) return take_header();
    if (!is_whole) return sink_.skip(&Skipped::torn_tail);
    if (const std::optional<DmonPlaces> places = table_.places(words_)) take_row(*places);
  }

 private:
  void take_header() const {
    ReadingSink* const counters = reads_counters_ ? &sink_ : sink_.counters();
    if (counters != nullptr && table_.counter()) counters->count_energy(*table_.counter());
  }

  void take_row(const DmonPlaces& places) {
    const std::string stamp = table_.stamp(words_, places.stamp_words);
    const auto add = [&](ReadingSink& sink, std::size_t place) {
      // A value that is too long for its column is cut off, and ends in dots.
      const std::string_view number = words_[place].ends_with("..") ? "N/A" : words_[place];
      if (sink.start_row(stamp)) sink.add(words_[places.gpu], number);
    };
    if (places.watts) add(sink_, *places.watts);
    if (places.count && sink_.counters() != nullptr) add(*sink_.counters(), *places.count);
  }

  bool reads_counters_;
  Table table_;
  ReadingSink& sink_;
  Words words_;
};

template <typename Table>
void read_dmon(ByteSource& source, bool reads_counters, ReadingSink& sink) {
  DmonLines<Table> lines(reads_counters, sink);
  for_each_line(source, [&](std::string_view line, bool is_whole) { lines.take(line, is_whole); });
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
    words_of(line, words);
    if (is_found || table.take_header(line, words)) return;
    const std::optional<DmonPlaces> places = table.places(words);
    if (!places || !places->watts) return;
    const std::string written = table.stamp(words, places->stamp_words);
    const std::optional<Stamp> stamp = StampParser(Zone::fixed(0)).parse(written);
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
    words_of(line, words);
    table.take_header(line, words);
  });
  names.power = table.power();
  names.is_only_power = true;
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor.collector = collector;
  facts.counter = table.counter();
  if (names.power) facts.sensor.name = *names.power;
  facts.sensor.scope = "gpu";
  return facts;
}

// What is written from a "#" to the end of its line: headers, without their times.
template <typename Take>
void for_each_comment(std::string_view lines, const Take& take) {
  for (std::size_t at = lines.find('#'); at != lines.npos; at = lines.find('#', at)) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    take(strip(lines.substr(at, end - at)));
    at = end;
  }
}

// A header that is repeated says nothing new. Below another one a reader must know it.
template <typename Table>
CutOff end_of_dmon_rows(std::string_view head) {
  head = head.substr(0, end_of_lines(head));
  Table table;
  Words words;
  std::string header;
  bool has_others = false;
  MemorySource source(head);
  for_each_line(source, [&](std::string_view line, bool) {
    line = strip(line);
    words_of(line, words);
    table.take_header(line, words);
    has_others = has_others || (!header.empty() && header != table.header());
    header = table.header();
  });
  if (header.empty() || has_others) return nullptr;
  std::set<std::string, std::less<>> known;
  for_each_comment(head, [&](std::string_view comment) { known.emplace(comment); });
  return [known = std::move(known)](std::string_view bytes) {
    const std::size_t end = end_of_lines(bytes);
    bool has_new = false;
    for_each_comment(bytes.substr(0, end), [&](std::string_view comment) {
      has_new = has_new || !known.contains(comment);
    });
    return has_new ? 0 : end;
  };
}

template <typename Table>
Telemetry open_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                    const SeriesNames& names, const char* collector) {
  return open_stream(
      std::move(source), options,
      {.facts_of =
           [&](std::string_view head) {
             return dmon_facts<Table>(head, names, collector, options);
           },
       .read = [reads_counters = options.counters](
                   ByteSource& bytes,
                   ReadingSink& sink) { read_dmon<Table>(bytes, reads_counters, sink); },
       .cut_off_after = end_of_dmon_rows<Table>});
}

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

}  // namespace

const Recorder kDcgmiDmonRecorder = {
    .name = "dcgmi dmon",
    .fits = fits_dcgmi_dmon,
    .open = open_dcgmi_dmon,
    .schemas = {{"dcgmi-dmon",
                 "`POWER`, else `POWINST`, of `dcgmi dmon` with a time before each line, in W",
                 "`GPU`; MIG instances (`GPU-I`) are left out"}}};
const Recorder kNvidiaDmonRecorder = {
    .name = "nvidia-smi dmon",
    .fits = fits_nvidia_dmon,
    .open = open_nvidia_dmon,
    .schemas = {{"nvidia-smi-dmon", "`pwr` of `nvidia-smi dmon -o DT`, in whole W", "`gpu`"}}};

}  // namespace aggregate_power
