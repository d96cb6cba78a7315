// The runs in a store whose zones are decided together, after all of it has been searched.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "energy/zones/zone_sources.h"
#include "store/catalogue/external_sort.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

struct ZoneCase {
  // The runner's label in the name of the run or of its artifact; else the host that the recording
  // names; else `hw` of the aggregate. Empty: unknown, and the run has no others.
  std::string recorder;
  bool is_hardware = false;  // the recorder is `hw`
  std::string aggregate;     // its displayed path
  double start_unix_s = 0;
  std::optional<ZoneVote> vote;
  bool has_load_elsewhere = false;         // ZoneFinding's
  std::string telemetry;                   // its displayed path
  std::optional<std::int64_t> written_ns;  // when the telemetry was written
  // If the run waits for the others, its pieces, as store_path_text(). Empty: it does not wait.
  std::string waiting_telemetry;
  std::string waiting_benchmark;
  bool are_own = true;  // Candidates::are_own of both

  bool waits() const { return !waiting_telemetry.empty(); }
};

// How a run compares with the others of its recorder.
struct ZoneStanding {
  std::string recorder_timezone;  // according to most of the recorder's runs; empty: fewer than two
                                  // agree
  bool contradicts = false;       // the run's own zone differs, or its load is elsewhere
  std::string contradictions;     // among all runs of the recorder, for people; empty: none
};

// A run that waited, and what the others say.
struct DecidableRun {
  StoredRun run;               // without places
  std::string aggregate_text;  // store_path_text()
  ZoneCase zone_case;
  OtherWitnesses witnesses;
  ZoneStanding standing;
};

// Memory: a little for each recorder, and 16 bytes for each run. The runs that wait are kept on
// disk.
class ZoneCases {
 public:
  // These may be called by several threads.
  // When a recording was written; for every recording that the walk finds.
  void add_written(std::int64_t written_ns, const std::string& telemetry);
  // `run` and its aggregate are those of a run that waits.
  void add(const ZoneCase& zone_case, const StoredRun& run, const std::string& aggregate_text);

  // How much of the stores was searched. If a part was not, its runs would be missing among the
  // witnesses and the contradictions, and a file's time could be that of a copy.
  struct Seen {
    bool labelled_runs = true;  // those whose artifacts' names contain the recorder's label
    bool other_runs = true;
    bool files = true;
  };
  // Passes every run that waits, in an order that depends only on the runs. Nothing is added after
  // this.
  void for_each_that_waits(const Seen& seen, const std::function<void(DecidableRun)>& take);

 private:
  struct Recorder {
    ZoneConsensus consensus;
    double first_start_unix_s = std::numeric_limits<double>::infinity();
    double last_start_unix_s = -std::numeric_limits<double>::infinity();
    // The first runs by name for each offset, and the first whose load is elsewhere.
    std::map<std::int32_t, std::map<std::string, ZoneVote>> votes;
    std::map<std::string, ZoneVote> elsewhere;
    std::optional<ZoneStanding> standing;  // set when all is known
  };
  static std::string contradictions_of(const std::string& label, const Recorder& recorder);
  static std::string timezone_of(const Recorder& recorder);
  bool is_copied(const ZoneCase& zone_case) const;
  static const ZoneStanding& standing_of(const std::string& label, Recorder& recorder);
  DecidableRun decidable(const std::string& aggregate_text, std::string_view text,
                         const Seen& seen);

  std::mutex mutex_;
  std::map<std::string, Recorder> recorders_;  // by label
  // When recordings were written, with a hash of each: different recordings written in the same
  // second were copied.
  std::vector<std::pair<std::int64_t, std::uint64_t>> written_;
  ExternalSort waiting_;
};

}  // namespace aggregate_power
