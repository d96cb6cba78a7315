// Reads rows of words below a header of words.
#include "recorders/dmon.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/alike_lines.h"
#include "base/text/decimal_cells.h"
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

// In which words of a row of data something is.
struct DmonPlaces {
  std::size_t stamp_words = 0;  // the first ones
  std::size_t gpu = 0;
  std::optional<std::size_t> watts = {};  // or joules, if only counters are read
  std::optional<std::size_t> count = {};  // of an energy counter beside the power

  bool operator==(const DmonPlaces&) const = default;
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
  // nullopt: it says nothing of a GPU.
  std::optional<DmonPlaces> places(const Words& words) const {
    if (!power_ || words.size() != columns_ || words[0].size() != kDateSize) return std::nullopt;
    return DmonPlaces{2, gpu_, power_};
  }
  // Whether these words, laid out like such a row, are one too.
  static bool is_row(const Words& words) { return words[0][0] != '#'; }
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
  // nullopt: it says nothing of a GPU.
  std::optional<DmonPlaces> places(const Words& words) {
    const auto gpu = is_like_last_row(words) ? std::optional(last_gpu_) : place_of(words, "gpu");
    if (!(power_ || counter_) || !gpu || words.size() != *gpu + 2 + fields_) return std::nullopt;
    last_words_ = words.size();
    last_gpu_ = *gpu;
    const auto place = [&](std::optional<std::size_t> field) {
      return field ? std::optional(*gpu + 2 + *field) : std::nullopt;
    };
    return DmonPlaces{*gpu, *gpu + 1, place(power_), place(counter_)};
  }
  // Whether these words, laid out like such a row, are one too.
  bool is_row(const Words& words) const { return same_text(words[last_gpu_], "GPU"); }
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

  bool is_like_last_row(const Words& words) const {
    return last_words_ > 0 && words.size() == last_words_ && is_row(words);
  }

  bool reads_counters_;
  std::string header_;
  bool has_counter_ = false;
  std::size_t last_words_ = 0;  // of the last row; 0: there was none
  std::size_t last_gpu_ = 0;    // the place of its word "GPU"
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
    places_.reset();
    const std::string_view whole = line;
    begin_ = line.data();
    line = strip(line);
    indent_ = line.data() - begin_;
    if (line.empty()) return sink_.skip(&Skipped::blank);
    words_.split(line);
    if (table_.take_header(line, words_)) return take_header();
    if (!is_whole) return sink_.skip(&Skipped::torn_tail);
    places_ = table_.places(words_);
    if (places_) take_row();
    // Other white space is text to AlikeLines.
    const std::string_view indent(begin_, static_cast<std::size_t>(indent_));
    if (!is_blank(indent) || !is_blank(whole.substr(indent.size() + line.size()))) places_.reset();
  }
  // Those after it that are rows like it, with plain numbers. Returns how many bytes they take.
  std::size_t take_more(std::string_view after) {
    if (!places_) return 0;
    if (!numbers_ || numbers_of_ != *places_) choose_numbers();
    alike_.note({begin_, after.data()}, words_.layout());
    return alike_.take_front(after, [this](const char* line) {
      words_.move_to(line + indent_);
      return take_plain_row();
    });
  }

 private:
  void take_header() const {
    ReadingSink* const counters = reads_counters_ ? &sink_ : sink_.counters();
    if (counters != nullptr && table_.counter()) counters->count_energy(*table_.counter());
  }

  void take_row() {
    note_stamp();
    if (places_->watts) add(sink_, *places_->watts);
    if (places_->count && sink_.counters() != nullptr) add(*sink_.counters(), *places_->count);
  }
  void add(ReadingSink& sink, std::size_t place) const {
    // A value that is too long for its column is cut off, and ends in dots.
    const std::string_view number = words_[place].ends_with("..") ? "N/A" : words_[place];
    if (start_row(sink)) sink.add(words_[places_->gpu], number);
  }
  bool start_row(ReadingSink& sink) const {
    if (!is_time_) return sink.start_row(stamp_);
    sink.start_row(time_);
    return true;
  }

  static bool is_blank(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  }

  // Does the same as take_row(), or returns false and has added nothing.
  bool take_plain_row() {
    if (!table_.is_row(words_) || !numbers_->read(words_)) return false;
    note_stamp();
    if (!is_time_) return false;
    const std::span<double> numbers = numbers_->values();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = sinks_[i]->number(numbers[i]);
      if (std::isnan(numbers[i])) return false;
    }
    const std::string_view gpu = words_[places_->gpu];
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      sinks_[i]->start_row(time_);
      sinks_[i]->add_to(sinks_[i]->find(gpu), numbers[i]);
    }
    return true;
  }
  // What it reads numbers of: of a row's columns, for the sinks that want them.
  void choose_numbers() {
    std::vector<std::size_t> columns;
    sinks_.clear();
    const auto choose = [&](std::optional<std::size_t> column, ReadingSink* sink) {
      if (!column || sink == nullptr) return;
      columns.push_back(*column);
      sinks_.push_back(sink);
    };
    choose(places_->watts, &sink_);
    choose(places_->count, sink_.counters());
    numbers_.emplace(std::move(columns));
    numbers_of_ = *places_;
  }

  // The rows of one poll share their stamp.
  void note_stamp() {
    const std::size_t count = places_->stamp_words;
    const std::string_view written = count > 0 ? words_.from_to(0, count - 1) : "";
    if (same_text(written, written_)) return;
    written_ = written;
    stamp_ = table_.stamp(words_, count);
    is_time_ = sink_.read_stamp(stamp_, time_);
  }

  bool reads_counters_;
  Table table_;
  ReadingSink& sink_;
  Words words_;
  const char* begin_ = nullptr;       // of the line
  std::ptrdiff_t indent_ = 0;         // of its first word
  std::optional<DmonPlaces> places_;  // of that line; nullopt: it is no row
  AlikeLines alike_;
  DmonPlaces numbers_of_;
  std::optional<DecimalCells> numbers_;  // in such rows
  std::vector<ReadingSink*> sinks_;      // of each of these numbers
  std::string written_;                  // as the last row has its time
  std::string stamp_;                    // the same in a form that others write
  bool is_time_ = false;
  Stamp time_{};
};

template <typename Table>
void read_dmon(ByteSource& source, bool reads_counters, ReadingSink& sink) {
  DmonLines<Table> lines(reads_counters, sink);
  for_each_line(
      source, [&](std::string_view line, bool is_whole) { lines.take(line, is_whole); },
      [&](std::string_view after) { return lines.take_more(after); });
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
    words.split(line);
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
