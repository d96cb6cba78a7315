// Reads rows of words below a header of words.
#include "recorders/dmon.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/line_parts.h"
#include "base/text/unicode.h"
#include "recorders/lines.h"
#include "recorders/stream_telemetry.h"

namespace aggregate_power {
namespace {

using Words = LineWords<' ', '\t', ','>;

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

// What a line of data says, until the next one is read. Words are not empty: an empty one is not
// there.
struct DmonRow {
  std::string_view stamp = {};
  bool has_new_stamp = false;  // it is another one than the row's before
  std::string_view gpu = {};
  std::string_view watts = {};  // or joules, if only counters are read
  std::string_view count = {};  // of an energy counter beside the power
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
    names.split(line.substr(1));
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
  // False: it says nothing of a GPU.
  bool read_row(const Words& words, DmonRow& row) {
    if (!power_ || words.size() != columns_ || words[0].size() != kDateSize) return false;
    const std::string_view written = words.from_to(0, 1);
    const bool is_new = written != written_;
    if (is_new) {
      written_ = written;
      const std::string_view date = words[0];
      stamp_ = fmt::format("{}-{}-{} {}", date.substr(0, 4), date.substr(4, 2), date.substr(6),
                           words[1]);
    }
    row = {stamp_, is_new, words[gpu_], words[*power_], {}};
    return true;
  }

 private:
  static constexpr std::size_t kDateSize = 8;
  std::string header_;
  std::string written_;  // date and time of the row before
  std::string stamp_;    // the same in another form
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
    if (is_like_last_row(words)) return false;
    const auto entity = line.find('#') == line.npos ? std::nullopt : place_of(words, "#entity");
    if (!entity) return !place_of(words, "gpu") && place_of(words, "id");
    header_ = line.substr(line.find('#'));
    fields_ = words.size() - *entity - 1;
    last_words_ = 0;
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
  bool read_row(const Words& words, DmonRow& row) {
    const auto gpu = is_like_last_row(words) ? std::optional(last_gpu_) : place_of(words, "gpu");
    if (!(power_ || counter_) || !gpu || words.size() != *gpu + 2 + fields_) return false;
    last_words_ = words.size();
    last_gpu_ = *gpu;
    const bool is_new = note_stamp(words, *gpu);
    const auto field = [&](std::optional<std::size_t> place) -> std::string_view {
      if (!place) return {};
      const std::string_view text = words[*gpu + 2 + *place];
      // A value that is too long for its column is cut off, and ends in dots.
      return text.ends_with("..") ? "N/A" : text;
    };
    row = {stamp_, is_new, words[*gpu + 1], field(power_), field(counter_)};
    return true;
  }

 private:
  static constexpr std::string_view kTotalEnergy = "totec";

  bool is_like_last_row(const Words& words) const {
    return last_words_ > 0 && words.size() == last_words_ && words[last_gpu_] == "GPU";
  }

  // The first `count` words. Returns whether they are others than before.
  bool note_stamp(const Words& words, std::size_t count) {
    const std::string_view written = count > 0 ? words.from_to(0, count - 1) : "";
    if (written == written_) return false;
    written_ = written;
    stamp_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) stamp_ += ' ';
      stamp_ += words[i];
    }
    std::erase_if(stamp_, [](char c) { return c == '[' || c == ']'; });
    return true;
  }

  bool reads_counters_;
  std::string header_;
  bool has_counter_ = false;
  std::string written_;         // as the row before has its time
  std::string stamp_;           // without brackets
  std::size_t last_words_ = 0;  // of the last row; 0: there was none
  std::size_t last_gpu_ = 0;    // the place of its word "GPU"
  std::size_t fields_ = 0;
  std::optional<std::size_t> power_;  // among the fields; of energy, if only counters are read
  std::optional<std::size_t> counter_;
  std::string name_;
};

// ---- Both

// Begins rows at the times of a table, whose stamps often repeat.
class DmonTimes {
 public:
  void take(const DmonRow& row, ReadingSink& sink) {
    if (row.has_new_stamp) is_time_ = sink.read_stamp(row.stamp, time_);
  }
  bool start(const DmonRow& row, ReadingSink& sink) const {
    if (!is_time_) return sink.start_row(row.stamp);
    sink.start_row(time_);
    return true;
  }

 private:
  bool is_time_ = false;
  Stamp time_{};
};

template <typename Table>
void read_dmon(ByteSource& source, bool reads_counters, ReadingSink& sink) {
  Table table(reads_counters);
  Words words;
  DmonRow row;
  DmonTimes times;
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return sink.skip(&Skipped::blank);
    words.split(line);
    if (table.take_header(line, words)) {
      ReadingSink* const counters = reads_counters ? &sink : sink.counters();
      if (counters != nullptr && table.counter()) counters->count_energy(*table.counter());
      return;
    }
    if (!is_whole) return sink.skip(&Skipped::torn_tail);
    if (!table.read_row(words, row)) return;
    times.take(row, sink);
    if (!row.watts.empty() && times.start(row, sink)) sink.add(row.gpu, row.watts);
    if (!row.count.empty() && sink.counters() != nullptr && times.start(row, *sink.counters())) {
      sink.counters()->add(row.gpu, row.count);
    }
  });
}

// Whether some line of the beginning is a row with an absolute time.
template <typename Table>
bool has_row_with_time(std::string_view head) {
  Table table;
  Words words;
  DmonRow row;
  bool is_found = false;
  MemorySource source(head);
  for_each_line(source, [&](std::string_view line, bool) {
    line = strip(line);
    words.split(line);
    if (is_found || table.take_header(line, words)) return;
    const bool has_power = table.read_row(words, row) && !row.watts.empty();
    const auto stamp =
        has_power ? StampParser(Zone::fixed(0)).parse(row.stamp) : std::optional<Stamp>();
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
    words.split(line);
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
    words.split(line);
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
