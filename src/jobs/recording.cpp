// A telemetry file as a run finds it.
#include "aggregate_power/jobs/recording.h"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "aggregate_power/base/archive.h"
#include "aggregate_power/base/error.h"
#include "aggregate_power/base/file.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/base/unicode.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kPieceBytes = 1 << 16;

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
  std::size_t at_ = 0;  // in the first of them
};

// A context file that says nothing about zones.
struct NoZone : std::exception {};

}  // namespace

Recording::Recording(std::string path, std::optional<Zone> zone, ColumnNames columns)
    : path_(std::move(path)), zone_(std::move(zone)), columns_(std::move(columns)) {
  if (path_ == "-") standard_input_ = read_standard_input();
  beside_ = [here = path_](const std::string& name) -> std::unique_ptr<ByteSource> {
    const std::string file = aggregate_power::beside(here, name);
    if (here == "-" || !is_regular_file(file)) return nullptr;
    return open_source(file);
  };
  find_faults();
  find_zone_file();
}

Recording::Recording(std::string path, std::unique_ptr<OpenedFile> file, Beside beside,
                     std::optional<Zone> zone)
    : path_(std::move(path)),
      file_(std::move(file)),
      bytes_(file_->size()),
      beside_(std::move(beside)),
      is_hashed_(true),
      zone_(std::move(zone)) {
  if (bytes_ == 0) faults_.add(Reason::telemetry_file_empty, path_);
  find_zone_file();
}

void Recording::use_zone(Zone zone, std::string source) {
  zone_ = std::move(zone);
  zone_source_ = std::move(source);
}

void Recording::find_faults() {
  if (path_ == "-") {
    for (const std::string& piece : standard_input_) bytes_ += piece.size();
    if (bytes_ == 0) faults_.add(Reason::telemetry_file_empty, "standard input");
    return;
  }
  struct stat status {};
  const bool is_there = ::stat(path_.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
    faults_.add(Reason::telemetry_file_unreadable, FileError(path_, "inspect", errno).what());
  } else if (!is_there) {
    faults_.add(Reason::telemetry_file_missing, path_);
  } else if (!S_ISREG(status.st_mode)) {
    faults_.add(Reason::telemetry_file_missing,
                path_ + (S_ISDIR(status.st_mode) ? " is a folder"
                                                 : " is no regular file: pass a pipe as '-'"));
  } else if (status.st_size == 0) {
    faults_.add(Reason::telemetry_file_empty, path_);
  } else {
    try {
      file_ = std::make_unique<OpenedFile>(path_);
      bytes_ = file_->size();
    } catch (const FileError& error) {
      unopened_ = error;
    }
  }
}

void Recording::find_zone_file() {
  if (zone_) {
    zone_source_ = "option";
    return;
  }
  read_zone_file(plain_stem(path_) + "_context.json", [](ByteSource& source) {
    const auto context = nlohmann::json::parse(read_all(source), nullptr, false);
    if (!context.is_object()) throw Error("it is no JSON object");
    if (!context.contains("timestamp_timezone")) throw NoZone();
    if (!context.at("timestamp_timezone").is_string()) throw Error("it is no text");
    return Zone::parse(context.at("timestamp_timezone").get<std::string>());
  });
  if (zone_) return;
  read_zone_file("agentic_power_timezone_offset.txt", [](ByteSource& source) {
    const std::string text = read_up_to(source, 64);  // what `date +%z` prints
    return Zone::parse(strip(text));
  });
}

void Recording::read_zone_file(const std::string& name, Zone (*zone_in)(ByteSource&)) {
  try {
    const auto source = beside_(name);
    if (!source) return;
    zone_ = zone_in(*source);
    zone_source_ = "file";
  } catch (const NoZone&) {
  } catch (const std::exception& error) {
    warnings_.push_back(
        fmt::format("{}: the zone in it cannot be used ({}); mend it or pass --timezone",
                    aggregate_power::beside(path_, name), error.what()));
  }
}

std::unique_ptr<ByteSource> Recording::source() const {
  if (path_ == "-") return std::make_unique<PiecesSource>(standard_input_);
  if (!file_) throw unopened_.value_or(FileError(path_, "open", ENOENT));
  return file_->source();
}

Telemetry Recording::open() const {
  std::unique_ptr<ByteSource> bytes = source();
  if (is_hashed_ && !hash_) {
    hash_ = std::make_unique<ContentHash>();
    bytes = std::make_unique<HashingSource>(std::move(bytes), *hash_);
  }
  Telemetry telemetry(decompressed(std::move(bytes), path_), zone_, columns_);
  if (suppose_ && !zone_ && !telemetry.columns().naive_is_utc && telemetry.first_wall_s()) {
    telemetry.use_zone(suppose_(*telemetry.first_wall_s()));
  }
  return telemetry;
}

std::string Recording::content_hash() const {
  if (hash_ && hash_->bytes() == bytes_) return hash_->hex();
  if (!file_) throw unopened_.value_or(FileError(path_, "open", ENOENT));
  return hash_of(*file_);
}

std::optional<std::string> zone_hint(const Telemetry& telemetry, Span span, Window window) {
  constexpr double kFarthestUnixS = 1e11;
  constexpr std::int32_t kStepS = 900;
  constexpr std::int32_t kFarthestS = 26 * 3600;  // from one end of the earth's zones to the other
  const bool is_any_time = std::abs(span.first_unix_s) < kFarthestUnixS &&
                           std::abs(window.start_unix_s) < kFarthestUnixS;
  if (telemetry.naive_stamps() == 0 || !is_any_time) return std::nullopt;
  std::vector<std::string> zones;
  if (span.first_unix_s <= window.start_unix_s && span.last_unix_s >= window.end_unix_s) {
    return std::nullopt;
  }
  for (std::int32_t shift_s = -kFarthestS; shift_s <= kFarthestS; shift_s += kStepS) {
    if (span.first_unix_s + shift_s > window.start_unix_s ||
        span.last_unix_s + shift_s < window.end_unix_s) {
      continue;
    }
    const std::int32_t offset_s =
        telemetry.zone().offset_at(static_cast<std::int64_t>(span.first_unix_s)) - shift_s;
    if (std::abs(offset_s) <= 14 * 3600) zones.push_back(offset_text(offset_s));
  }
  if (zones.empty()) return std::nullopt;
  if (zones.size() > 3) {
    return fmt::format(
        "the recording would cover the window in another time zone, between {} and {}: "
        "pass the recorder's with --timezone",
        zones.back(), zones.front());
  }
  return fmt::format(
      "the recording would cover the window if its stamps were in {}: pass --timezone {}",
      fmt::join(zones, " or "), zones.front());
}

}  // namespace aggregate_power
