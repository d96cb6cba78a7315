// A telemetry file of a run: whether it can be read, and the zone of its stamps.
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
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/system/byte_source.h"
#include "base/text/time_zone.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/telemetry.h"
#include "recorders/exposition.h"

namespace aggregate_power {

class Recording {
 public:
  // `path` is a normal path, of a file or of a folder of scrapes; "-" is standard input, which is
  // kept in memory, because a file whose rows are out of order is read more than once. `zone` is
  // the user's choice; if there is none, `timestamp_timezone` in `<stem>_context.json` beside the
  // file counts; if that file is missing, the offset in `agentic_power_timezone_offset.txt`; if
  // both are missing, the recorder's habit or the process's zone. Throws FileError only for
  // standard input.
  Recording(std::string path, std::optional<Zone> zone, ColumnNames columns,
            GpuSelection gpus = {});

  // Opens a file beside a recording, by name. Returns nullptr if there is no such file. May throw
  // FileError.
  using Beside = std::function<std::unique_ptr<ByteSource>(const std::string& name)>;
  // A recording that is already open, wherever it is. `path` is for names and messages.
  Recording(std::string path, std::unique_ptr<OpenedFile> file, Beside beside,
            std::optional<Zone> zone, ColumnNames columns, GpuSelection gpus = {});

  const std::string& path() const { return path_; }
  // telemetry_file_missing, _empty (also after expansion) or _unreadable; empty if it can be
  // opened.
  const Reasons& faults() const { return faults_; }
  // For commands that end if it is not open, whatever the reason. Throws FileError.
  void require_opened() const;
  // "option", "file", "default", or the source given to use_zone().
  const std::string& zone_source() const { return zone_source_; }
  // Neither the user nor a zone file says the zone, and there is no unusable zone file either.
  bool lacks_zone() const { return zone_source_ == "default" && !zone_fault_; }
  // Applies from the next open() on.
  void use_zone(Zone zone, std::string source);
  // From the next open() on, adds seconds to the times of all readings: the recorder's clock is
  // known to be wrong.
  void add_clock_offset(double seconds) { clock_offset_s_ += seconds; }
  // The zone to assume if nothing states it, instead of the process's, given what the clock showed
  // in the first row.
  using Suppose = std::function<Zone(double first_wall_s)>;
  void suppose_zone(Suppose suppose) { suppose_ = std::move(suppose); }
  // Why an existing zone file cannot be used.
  struct ZoneFault {
    std::string text;           // "gpu_metrics_context.json: it has no 'timestamp_timezone'"
    bool is_of_system = false;  // it could not be read
  };
  // For a recording that was read to its end, as `telemetry`: the fault of its zone file, if stamps
  // without an offset depend on it. Then their times are unknown.
  const ZoneFault* needed_zone_fault(const Telemetry& telemetry) const;
  // What is odd about the zone, for people: a zone file that nothing depends on cannot be used, or
  // says another zone than the stamps or their recorder; or the zone that is used contradicts the
  // zone file.
  std::optional<std::string> zone_doubt(const Telemetry& telemetry) const;
  // Where the rows of a recording are, as they were read.
  struct Rows {
    Window extent;
    double last_unix_s = 0;  // of the last row
    bool falls = false;      // their time falls somewhere
  };
  // Why the zone that is used contradicts the clocks that the recorder noted, for people.
  std::optional<std::string> clock_contradiction(const Telemetry& telemetry,
                                                 const Rows& rows) const;

  // Reads from the start, each time the same bytes, even if the recorder is still writing or the
  // file was replaced. This object must outlive the result. Throws FileError and TelemetryError.
  Telemetry open() const { return open_to_read(false, gpus_, columns_); }
  // The same with the GPUs that were not selected.
  Telemetry open_all() const { return open_to_read(false, {}, columns_); }
  // As open(), but what is read is the energy counters (TelemetryOptions::counters).
  Telemetry open_counters() const { return open_to_read(true, gpus_, columns_); }
  // As open(), but the power is what a column of this name says.
  Telemetry open_power(const std::string& column) const;
  // Its bytes from the start, expanded, as text in UTF-8. Throws FileError.
  std::unique_ptr<ByteSource> text() const;
  std::uint64_t bytes() const { return bytes_; }
  // From now on the first open() hashes what is read. Recordings that were already open do it
  // anyway.
  void hash_while_read() { is_hashed_ = true; }
  // The hash of its bytes as stored, of what was read if that was all. Throws FileError.
  std::string content_hash() const;
  // The file as it was read, called by its path; nullopt if it was not read whole, or is none.
  std::optional<InputFile> hashed_input() const;

  // The file STEM + `end` beside STEM.csv.
  std::unique_ptr<ByteSource> beside(const std::string& end) const {
    return beside_(plain_stem(path_) + end);
  }

 private:
  // A zone file that can be used, and its zone.
  struct StatedZone {
    std::string file;
    Zone zone;
  };

  std::unique_ptr<ByteSource> source() const;
  std::optional<StatedZone> stated_zone() const;
  std::optional<std::string> option_doubt(const Telemetry& telemetry) const;
  Telemetry open_to_read(bool counters, const GpuSelection& gpus, const ColumnNames& columns) const;
  void find_faults();
  void note_emptiness();
  void find_zone_file();
  // Returns whether there is such a file.
  bool read_zone_file(const std::string& name, Zone (*zone_in)(ByteSource&));

  std::string path_;
  // In pieces: growing one string would take twice the memory.
  std::vector<std::string> standard_input_;
  std::vector<Scrape> scrapes_;        // of a folder
  std::unique_ptr<OpenedFile> file_;   // a regular file that is not empty, if it was found by name
  std::optional<FileError> unopened_;  // why it is not open
  std::uint64_t bytes_ = 0;
  Beside beside_;
  bool is_hashed_ = false;
  mutable std::unique_ptr<ContentHash> hash_;  // from the first open()
  std::optional<Zone> zone_;
  double clock_offset_s_ = 0;
  Suppose suppose_;
  ColumnNames columns_;
  GpuSelection gpus_;
  std::string zone_source_ = "default";
  std::string zone_file_;  // the one that was found
  std::optional<ZoneFault> zone_fault_;
  Reasons faults_;
};

// How many workers read the recording fastest.
Workers workers_for(const Recording& recording);

// Passes all rows to `take`, in the file's order, with the states that are wanted if the recorder
// is known. `telemetry` was opened and is not read yet; it has times and power.
// `may_use_threads` lets several threads read a large recording if there is more than one
// processor; `take` is called by one of them at a time. It is not meant for callers that read
// several recordings at a time. Throws TelemetryError and what the source throws, after the
// rows before the fault.
void read_rows(const Recording& recording, Telemetry& telemetry, bool may_use_threads,
               GpuQuantitySet states, const std::function<void(const Batch&)>& take);

// What a command wants of all rows of a recording.
struct WholeReading {
  std::function<void(const Batch&)> take;  // as in read_rows()
  // Called before the first row. Returns the states that are wanted.
  std::function<GpuQuantitySet(const Telemetry&)> begin = {};
  bool may_use_threads = true;
  std::string* fault = nullptr;  // receives what is wrong with the rows; null: it is thrown
};

// Opens the recording, and reads it to its end if it has times and power. Throws FileError and
// TelemetryError.
Telemetry read_whole(const Recording& recording, const WholeReading& reading);

// The first and last stamp of a recording.
struct Span {
  double first_unix_s = 0;
  double last_unix_s = 0;
};

// The offsets in use, from west to east, in which a recording that does not cover the window, and
// whose stamps were read in `zone`, would cover it.
std::vector<std::int32_t> covering_offsets(const Zone& zone, Span span, Window window);
// A sentence that names the zone option and these offsets; nullopt if there are none.
std::optional<std::string> zone_hint(std::span<const std::int32_t> offsets);
// Both. Returns nullopt, too, if the stamps state their zone themselves.
std::optional<std::string> zone_hint(const Telemetry& telemetry, Span span, Window window);
// The same for a recording that is no longer open, and whose stamps were read in `zone`.
std::optional<std::string> zone_hint(const Zone& zone, Span span, Window window);
// The other explanation, to be put at its end.
inline constexpr const char* kOrAnotherRun = "; or this recording belongs to another run";

}  // namespace aggregate_power
