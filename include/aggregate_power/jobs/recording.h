// A telemetry file as a run finds it: whether it can be read, and in which zone its stamps are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/base/file.h"
#include "aggregate_power/base/time.h"
#include "aggregate_power/inputs/reason.h"
#include "aggregate_power/inputs/telemetry.h"
#include "aggregate_power/inputs/trace.h"

namespace aggregate_power {

class Recording {
 public:
  // `path` is a normal path; "-" is standard input, which is kept in memory, since a file whose
  // rows are out of order is read more than once. `zone` is what the user said; without it,
  // `timestamp_timezone` in `<stem>_context.json` beside the file counts; without that, the
  // recorder's habit or the process's zone. Throws FileError only for standard input.
  Recording(std::string path, std::optional<Zone> zone, ColumnNames columns);

  const std::string& path() const { return path_; }
  // telemetry_file_missing, _empty or _unreadable; nothing when it can be opened.
  const Reasons& faults() const { return faults_; }
  // "option", "file" or "default".
  const std::string& zone_source() const { return zone_source_; }
  // What was odd about the zone file.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // From the start, and each time the same bytes, though the recorder may be at work or the file
  // replaced; this object must live on. Throws FileError.
  Telemetry open() const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  void find_faults();
  void find_zone_file();

  std::string path_;
  // In pieces: growing one string would take twice as much.
  std::vector<std::string> standard_input_;
  std::unique_ptr<OpenedFile> file_;   // a regular one that is not empty
  std::optional<FileError> unopened_;  // why there is none
  std::uint64_t bytes_ = 0;
  std::optional<Zone> zone_;
  ColumnNames columns_;
  std::string zone_source_ = "default";
  Reasons faults_;
  std::vector<std::string> warnings_;
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
