// Opens a recording and determines the zone of its stamps.
#include "recorders/recording.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "base/text/json_value.h"
#include "base/text/show_time.h"
#include "recorders/recorder_context.h"
#include "recorders/recorder_table.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostDetail = 300;
constexpr std::size_t kPieceBytes = 1 << 16;
constexpr double kFarthestUnixS = 1e11;  // for times whose zone is asked for

std::string folder_text(const std::string& path) {
  const bool is_package = is_regular_file(path_below(path, "manifest.json")) ||
                          is_regular_file(path_below(path, "node-0/manifest.json"));
  return is_package
             ? "is the folder of a package: 'multinode --power-dir' measures it with its result, and 'inspect --validate' judges it"
             : "is a folder";
}

std::vector<std::string> read_standard_input() {
  const auto source = open_source("-");
  std::vector<std::string> pieces;
  while (true) {
    std::string piece = read_up_to(*source, kPieceBytes);
    if (piece.empty()) return pieces;
    pieces.push_back(std::move(piece));
  }
}

class PiecesSource : public ByteSource {
 public:
  explicit PiecesSource(std::span<const std::string> pieces) : rest_(pieces) {}
  std::size_t read(std::span<char> into) override {
    if (rest_.empty()) return 0;
    const std::string_view piece = std::string_view(rest_.front()).substr(at_);
    const std::size_t count = piece.copy(into.data(), into.size());
    at_ += count;
    if (count == piece.size()) {
      rest_ = rest_.subspan(1);
      at_ = 0;
    }
    return count;
  }

 private:
  std::span<const std::string> rest_;
  std::size_t at_ = 0;  // in the first piece
};

// Whether `bytes` expand to nothing. Bytes that cannot be expanded are reported when they are read.
bool expands_to_nothing(std::unique_ptr<ByteSource> bytes, const std::string& path) {
  try {
    char first = 0;
    return decompressed(std::move(bytes), path)->read(std::span(&first, 1)) == 0;
  } catch (const FileError&) {
    return false;
  }
}

// For example a folder with that name, or a link that leads nowhere.
bool is_no_file(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && !is_regular_file(path);
}

// Returns null if it is not JSON.
JsonValue parsed_context(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  try {
    return parse_json(text);
  } catch (const JsonError&) {
    return {};
  }
}

// The recorder notes when its clock changed, and what it showed from then on.
Zone zone_with_change(Zone zone, const JsonValue& context) {
  const JsonValue* const changes = context.find("timezone_changes");
  if (changes == nullptr || changes->items.empty()) return zone;
  const JsonValue& change = changes->items.front();
  const JsonValue* const unix_s = change.is_object() ? change.find("unix_s") : nullptr;
  const JsonValue* const offset = change.is_object() ? change.find("offset") : nullptr;
  const bool is_known =
      changes->items.size() == 1 && unix_s != nullptr && unix_s->is_finite_number() &&
      std::abs(unix_s->as_double()) < kFarthestUnixS && offset != nullptr && offset->is_string();
  if (!is_known) {
    throw Error(
        "its 'timezone_changes' is not one change with 'unix_s' and 'offset': give --timezone Area/City");
  }
  const std::int64_t at = whole_second(unix_s->as_double());
  return Zone::stepping(zone.offset_at(at - 1), at, Zone::parse(offset->text).offset_at(at));
}

Zone zone_in_context(ByteSource& source) {
  const std::string text = read_up_to(source, kContextFile.most_bytes + 1);
  if (text.size() > kContextFile.most_bytes) throw Error("it " + too_large(kContextFile));
  const JsonValue context = parsed_context(text);
  if (!context.is_object()) throw Error("it is not a JSON object");
  const JsonValue* const zone = context.find("timestamp_timezone");
  if (zone == nullptr) throw Error("it has no 'timestamp_timezone'");
  if (!zone->is_string()) throw Error("its 'timestamp_timezone' is not a string");
  return zone_with_change(Zone::parse(zone->text == "Z" ? "UTC" : zone->text), context);
}

Zone zone_in_offset_file(ByteSource& source) {
  const std::string text = read_up_to(source, 64);  // the output of `date +%z`
  return Zone::parse(strip(text));
}

}  // namespace

Recording::Recording(std::string path, std::optional<Zone> zone, ColumnNames columns,
                     GpuSelection gpus)
    : path_(std::move(path)),
      zone_(std::move(zone)),
      columns_(std::move(columns)),
      gpus_(std::move(gpus)) {
  if (path_ == "-") standard_input_ = read_standard_input();
  beside_ = [here = path_](const std::string& name) -> std::unique_ptr<ByteSource> {
    const std::string file = aggregate_power::beside(here, name);
    if (here == "-" || !is_regular_file(file)) return nullptr;
    return open_source(file);
  };
  find_faults();
  note_emptiness();
  find_zone_file();
}

Recording::Recording(std::string path, std::unique_ptr<OpenedFile> file, Beside beside,
                     std::optional<Zone> zone, ColumnNames columns, GpuSelection gpus)
    : path_(std::move(path)),
      file_(std::move(file)),
      bytes_(file_->size()),
      beside_(std::move(beside)),
      is_hashed_(true),
      zone_(std::move(zone)),
      columns_(std::move(columns)),
      gpus_(std::move(gpus)) {
  note_emptiness();
  find_zone_file();
}

void Recording::use_zone(Zone zone, std::string source) {
  zone_ = std::move(zone);
  zone_source_ = std::move(source);
}

void Recording::find_faults() {
  if (path_ == "-") {
    for (const std::string& piece : standard_input_) bytes_ += piece.size();
    return;
  }
  struct stat status {};
  const bool is_there = ::stat(path_.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
    unopened_ = FileError(path_, "inspect", errno);
    faults_.add(Reason::telemetry_file_unreadable, unopened_->what());
  } else if (!is_there) {
    unopened_ = FileError(path_, "open", errno);
    faults_.add(Reason::telemetry_file_missing, path_);
  } else if (S_ISDIR(status.st_mode) && !(scrapes_ = scrapes_in(path_)).empty()) {
    for (const Scrape& scrape : scrapes_) bytes_ += scrape.bytes;
  } else if (!S_ISREG(status.st_mode)) {
    const std::string what =
        S_ISDIR(status.st_mode) ? folder_text(path_) : "is not a regular file: pass a pipe as '-'";
    unopened_ = FileError(path_, what);
    faults_.add(Reason::telemetry_file_missing, path_ + " " + what);
  } else {
    if (status.st_size == 0) faults_.add(Reason::telemetry_file_empty, path_);
    try {
      file_ = std::make_unique<OpenedFile>(path_);
      bytes_ = file_->size();
    } catch (const FileError& error) {
      unopened_ = error;
    }
  }
}

void Recording::note_emptiness() {
  const bool is_had = path_ == "-" || file_;
  const bool is_told = faults_.contains(Reason::telemetry_file_empty);
  if (!is_had || is_told || !expands_to_nothing(source(), path_)) return;
  faults_.add(Reason::telemetry_file_empty, path_ == "-" ? "standard input" : path_);
}

void Recording::find_zone_file() {
  if (zone_) {
    zone_source_ = "option";
    return;
  }
  if (path_ == "-") return;
  if (!read_zone_file(plain_stem(path_) + "_context.json", zone_in_context)) {
    read_zone_file("agentic_power_timezone_offset.txt", zone_in_offset_file);
  }
}

bool Recording::read_zone_file(const std::string& name, Zone (*zone_in)(ByteSource&)) {
  const std::string file = aggregate_power::beside(path_, name);
  try {
    const auto source = beside_(name);
    if (!source && !is_no_file(file)) return false;
    if (!source) throw Error("it is not a file");
    zone_ = zone_in(*source);
    zone_source_ = "file";
    zone_file_ = file;
  } catch (const FileError& error) {
    zone_fault_ = {error.what(), true};
  } catch (const std::exception& error) {
    zone_fault_ = {fmt::format("{}: {}", file, printable(error.what(), kMostDetail)), false};
  }
  return true;
}

const Recording::ZoneFault* Recording::needed_zone_fault(const Telemetry& telemetry) const {
  const bool is_needed = telemetry.naive_stamps() > 0 && !telemetry.facts().naive_is_utc;
  return zone_fault_ && is_needed ? &*zone_fault_ : nullptr;
}

std::optional<Recording::StatedZone> Recording::stated_zone() const {
  if (path_ == "-") return std::nullopt;
  const auto stated_in = [&](const std::string& name, Zone (*zone_in)(ByteSource&)) {
    std::optional<StatedZone> stated;
    try {
      if (const auto source = beside_(name)) {
        stated = StatedZone{aggregate_power::beside(path_, name), zone_in(*source)};
      }
    } catch (const std::exception&) {  // the option is there for such files
    }
    return stated;
  };
  const auto in_context = stated_in(plain_stem(path_) + "_context.json", zone_in_context);
  return in_context ? in_context
                    : stated_in("agentic_power_timezone_offset.txt", zone_in_offset_file);
}

std::optional<std::string> Recording::option_doubt(const Telemetry& telemetry) const {
  const auto& wall_s = telemetry.first_wall_s();
  const auto stated = wall_s && std::abs(*wall_s) < kFarthestUnixS ? stated_zone() : std::nullopt;
  if (!stated) return std::nullopt;
  const std::int64_t wall = whole_second(*wall_s);
  if (zone_->offset_at(wall) == stated->zone.offset_at(wall)) return std::nullopt;
  return fmt::format(
      "{}: it says {}, but {} is used, as --timezone says: give that only if it is right",
      stated->file, printable(stated->zone.name()), printable(zone_->name()));
}

std::optional<std::string> Recording::clock_contradiction(const Telemetry& telemetry,
                                                          const Rows& rows) const {
  constexpr double kFarS = 600;  // zones differ by quarters of an hour
  constexpr double kQuarterS = 900;
  constexpr double kNearS = 30;
  if (telemetry.naive_stamps() == 0 || needed_zone_fault(telemetry) != nullptr) return std::nullopt;
  const std::vector<ClockPair> pairs = recorder_context(*this).clock_pairs;
  if (pairs.empty() || !(rows.extent.duration_s() >= 0)) return std::nullopt;
  const auto contradiction = [&](const char* what, double unix_s, const ClockPair& pair) {
    return fmt::format(
        "{}_context.json: its clock_pairs are of {}, but in {} the recording {} at {}: the zone is wrong, or changed meanwhile, or the file is another recording's",
        plain_stem(path_), unix_and_iso(pair.epoch_s), printable(telemetry.zone().name()), what,
        unix_and_iso(unix_s));
  };
  const double first_s = rows.extent.start_unix_s;
  const bool is_before = pairs.front().epoch_s - first_s >= kFarS;
  if (is_before || first_s - pairs.back().epoch_s >= kFarS) {
    return contradiction("begins", first_s, pairs.front());
  }
  if (pairs.size() < 2) return std::nullopt;
  const double late_s = rows.last_unix_s - pairs.back().epoch_s;
  const bool is_quarters =
      late_s <= -kQuarterS + kNearS && std::abs(std::remainder(late_s, kQuarterS)) <= kNearS;
  const bool is_changed = rows.falls && is_quarters;
  if (late_s < kFarS && !is_changed) return std::nullopt;
  return contradiction("ends", rows.last_unix_s, pairs.back());
}

std::optional<std::string> Recording::zone_doubt(const Telemetry& telemetry) const {
  if (telemetry.stamps() == 0 || needed_zone_fault(telemetry) != nullptr) return std::nullopt;
  if (telemetry.naive_stamps() > 0 && zone_source_ == "option") {
    if (auto doubt = option_doubt(telemetry)) return doubt;
  }
  const bool is_by_habit = telemetry.naive_stamps() > 0 && telemetry.facts().naive_is_utc;
  if (zone_fault_) {
    return fmt::format("{}; it is not needed: {}", zone_fault_->text,
                       is_by_habit ? "the recorder writes UTC" : "every timestamp has an offset");
  }
  if (zone_file_.empty()) return std::nullopt;
  const auto differs = [&](double unix_s, std::int32_t offset_s) {
    return std::abs(unix_s) < kFarthestUnixS && zone_->offset_at(whole_second(unix_s)) != offset_s;
  };
  const auto& own = telemetry.first_offset();
  if (telemetry.naive_stamps() == 0 && own && differs(own->unix_s, own->offset_s)) {
    return fmt::format("{}: it says {}, but the timestamps themselves say {}, which is used",
                       zone_file_, printable(zone_->name()), offset_text(own->offset_s));
  }
  const auto& wall_s = telemetry.first_wall_s();
  if (is_by_habit && wall_s && differs(*wall_s, 0)) {
    return fmt::format("{}: it says {}, which is used, but the recorder writes UTC", zone_file_,
                       printable(zone_->name()));
  }
  return std::nullopt;
}

void Recording::require_opened() const {
  if (unopened_) throw FileError(*unopened_);
}

std::unique_ptr<ByteSource> Recording::source() const {
  if (path_ == "-") return std::make_unique<PiecesSource>(standard_input_);
  if (!scrapes_.empty()) return scrapes_source(scrapes_);
  if (!file_) throw unopened_.value_or(FileError(path_, "open", ENOENT));
  return file_->source();
}

std::unique_ptr<ByteSource> Recording::text() const {
  return as_utf8(decompressed(source(), path_));
}

Telemetry Recording::open_power(const std::string& column) const {
  ColumnNames columns = columns_;
  columns.power = column;
  return open_to_read(false, gpus_, columns);
}

Telemetry Recording::open_to_read(bool counters, const GpuSelection& gpus,
                                  const ColumnNames& columns) const {
  std::unique_ptr<ByteSource> bytes = source();
  if (is_hashed_ && !hash_) {
    hash_ = std::make_unique<ContentHash>();
    bytes = std::make_unique<HashingSource>(std::move(bytes), *hash_);
  }
  Telemetry telemetry = open_telemetry(decompressed(std::move(bytes), path_),
                                       {zone_, columns, gpus, path_, counters});
  if (suppose_ && !zone_ && !telemetry.facts().naive_is_utc && telemetry.first_wall_s()) {
    telemetry.use_zone(suppose_(*telemetry.first_wall_s()));
  }
  telemetry.add_clock_offset(clock_offset_s_);
  return telemetry;
}

std::string Recording::content_hash() const {
  if (hash_ && hash_->bytes() == bytes_) return hash_->hex();
  if (!scrapes_.empty()) {
    ContentHash hash;
    HashingSource bytes(source(), hash);
    drain(bytes);
    return hash.hex();
  }
  if (!file_) throw unopened_.value_or(FileError(path_, "open", ENOENT));
  return hash_of(*file_);
}

std::optional<InputFile> Recording::hashed_input() const {
  if (!file_ || !hash_ || hash_->bytes() != bytes_) return std::nullopt;
  return InputFile{path_, bytes_, hash_->hex()};
}

std::vector<std::int32_t> covering_offsets(const Zone& zone, Span span, Window window) {
  const bool is_any_time = std::abs(span.first_unix_s) < kFarthestUnixS &&
                           std::abs(window.start_unix_s) < kFarthestUnixS;
  if (!is_any_time) return {};
  if (span.first_unix_s <= window.start_unix_s && span.last_unix_s >= window.end_unix_s) return {};
  const std::int32_t own_s = zone.offset_at(whole_second(span.first_unix_s));
  std::vector<std::int32_t> offsets = offsets_in_use(window.start_unix_s);
  std::erase_if(offsets, [&](std::int32_t offset_s) {
    const double shift_s = own_s - offset_s;
    return span.first_unix_s + shift_s > window.start_unix_s ||
           span.last_unix_s + shift_s < window.end_unix_s;
  });
  return offsets;
}

std::optional<std::string> zone_hint(std::span<const std::int32_t> offsets) {
  constexpr std::size_t kMostNamed = 3;
  if (offsets.empty()) return std::nullopt;
  if (offsets.size() > kMostNamed) {
    return fmt::format(
        "the recording would cover the window in another time zone, between {} and {}: pass the recorder's zone with --timezone",
        offset_text(offsets.front()), offset_text(offsets.back()));
  }
  const auto zones = mapped<std::string>(offsets, offset_text);
  return fmt::format(
      "the recording would cover the window if its timestamps were in {}: pass {}",
      fmt::join(zones, " or "),
      zones.size() == 1 ? "--timezone " + zones.front() : "the recorder's with --timezone");
}

std::optional<std::string> zone_hint(const Telemetry& telemetry, Span span, Window window) {
  if (telemetry.naive_stamps() == 0) return std::nullopt;
  return zone_hint(telemetry.zone(), span, window);
}

std::optional<std::string> zone_hint(const Zone& zone, Span span, Window window) {
  return zone_hint(covering_offsets(zone, span, window));
}

Workers workers_for(const Recording& recording) {
  // Below this size, starting threads takes longer than they save.
  constexpr std::uint64_t kManyBytes = 8'000'000;
  constexpr unsigned kMostWorkers = 3;  // they take turns at giving out
  if (recording.bytes() <= kManyBytes) return {};
  return {.count = std::min(usable_processors(), kMostWorkers)};
}

void read_rows(const Recording& recording, Telemetry& telemetry, bool may_use_threads,
               GpuQuantitySet states, const std::function<void(const Batch&)>& take) {
  if (may_use_threads) telemetry.use_workers(workers_for(recording));
  if (states.none()) {
    telemetry.read([&](std::span<const Reading> readings) { take(Batch{readings}); });
    return;
  }
  telemetry.read_with_states(
      [&](std::span<const Reading> readings, const RowStates& of_rows) {
        take(Batch{readings, of_rows});
      },
      states);
}

Telemetry read_whole(const Recording& recording, const WholeReading& reading) {
  Telemetry telemetry = recording.open();
  if (!telemetry.facts().has_times() || !telemetry.facts().has_power()) return telemetry;
  const GpuQuantitySet states = reading.begin ? reading.begin(telemetry) : GpuQuantitySet();
  try {
    read_rows(recording, telemetry, reading.may_use_threads, states, reading.take);
  } catch (const TelemetryError& error) {
    if (reading.fault == nullptr) throw;
    *reading.fault = error.what();
  }
  return telemetry;
}

}  // namespace aggregate_power
