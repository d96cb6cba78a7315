// A telemetry file as a run finds it: whether it can be read, and in which zone its stamps are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/column_names.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "base/files/byte_source.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/zone.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

class Recording {
 public:
  // `path` is a normal path; "-" is standard input, which is kept in memory, since a file whose
  // rows are out of order is read more than once. `zone` is what the user said; without it,
  // `timestamp_timezone` in `<stem>_context.json` beside the file counts; where that is not there,
  // the offset in `agentic_power_timezone_offset.txt`; without either, the recorder's habit or the
  // process's zone. Throws FileError only for standard input.
  Recording(std::string path, std::optional<Zone> zone, ColumnNames columns);

  // What stands beside a recording, by name; nothing when there is no such file. May throw
  // FileError.
  using Beside = std::function<std::unique_ptr<ByteSource>(const std::string& name)>;
  // One that is open already, wherever it lies. `path` is for names and messages.
  Recording(std::string path, std::unique_ptr<OpenedFile> file, Beside beside,
            std::optional<Zone> zone, ColumnNames columns);

  const std::string& path() const { return path_; }
  // telemetry_file_missing, _empty (expanded too) or _unreadable; nothing when it can be opened.
  const Reasons& faults() const { return faults_; }
  // "option", "file", "default", or what use_zone() was told.
  const std::string& zone_source() const { return zone_source_; }
  // Neither the user nor a zone file says the zone, nor is there a zone file that cannot be used.
  bool lacks_zone() const { return zone_source_ == "default" && !zone_fault_; }
  // From the next open() on.
  void use_zone(Zone zone, std::string source);
  // What to take for the zone where nothing tells it, instead of the process's, given what the
  // clock showed in the first row.
  using Suppose = std::function<Zone(double first_wall_s)>;
  void suppose_zone(Suppose suppose) { suppose_ = std::move(suppose); }
  // Why a zone file that is there cannot be used.
  struct ZoneFault {
    std::string text;           // "gpu_metrics_context.json: it has no 'timestamp_timezone'"
    bool is_of_system = false;  // it could not be read
  };
  // Of a recording that was read to its end, as `telemetry`: the fault of its zone file, where
  // stamps without an offset depend on it. Then nothing says when they were.
  const ZoneFault* needed_zone_fault(const Telemetry& telemetry) const;
  // What is odd about a zone file on which nothing depends, for people: it cannot be used, or says
  // another zone than the stamps or their recorder.
  std::optional<std::string> zone_doubt(const Telemetry& telemetry) const;

  // From the start, and each time the same bytes, though the recorder may be at work or the file
  // replaced; this object must live on. Throws FileError and TelemetryError.
  Telemetry open() const;
  std::uint64_t bytes() const { return bytes_; }
  // Of its bytes as they lie there. Mostly taken while they are read for the first time. Throws
  // FileError.
  std::string content_hash() const;

  // The file STEM + `end` beside STEM.csv.
  std::unique_ptr<ByteSource> beside(const std::string& end) const {
    return beside_(plain_stem(path_) + end);
  }

 private:
  std::unique_ptr<ByteSource> source() const;
  void find_faults();
  void note_emptiness();
  void find_zone_file();
  // Whether there is one.
  bool read_zone_file(const std::string& name, Zone (*zone_in)(ByteSource&));

  std::string path_;
  // In pieces: growing one string would take twice as much.
  std::vector<std::string> standard_input_;
  std::unique_ptr<OpenedFile> file_;   // a regular one that is not empty when it is found by name
  std::optional<FileError> unopened_;  // why there is none
  std::uint64_t bytes_ = 0;
  Beside beside_;
  bool is_hashed_ = false;
  mutable std::unique_ptr<ContentHash> hash_;  // of the first open()
  std::optional<Zone> zone_;
  Suppose suppose_;
  ColumnNames columns_;
  std::string zone_source_ = "default";
  std::string zone_file_;  // that was found
  std::optional<ZoneFault> zone_fault_;
  Reasons faults_;
};

// The first and last stamp of a recording.
struct Span {
  double first_unix_s = 0;
  double last_unix_s = 0;
};

// When no reading lies in `window` but the recording, moved by a whole multiple of 15 minutes,
// would cover it: a sentence that says so and names the option. Nothing when that is not so, or
// when the stamps say their zone themselves.
std::optional<std::string> zone_hint(const Telemetry& telemetry, Span span, Window window);

}  // namespace aggregate_power
