// The forms of telemetry beside CSVs of rows, each with a function that opens it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/system/byte_source.h"
#include "base/text/time_zone.h"
#include "core/telemetry/parallel_read.h"
#include "core/telemetry/telemetry.h"
#include "recorders/sink.h"

namespace aggregate_power {

// ---- How processes shared GPUs, as AIPowerMeter's records say.

struct ProcessShares {
  struct Gpu {
    std::string name;
    std::vector<ShareRecord> records;  // in order of time
  };
  std::vector<std::string> processes;  // process ids, by number
  std::vector<Gpu> gpus;               // that have power
  bool has_processes = false;          // some record has some GPU's
  std::uint64_t attributed = 0;        // records that attribute power to the experiment
  std::uint64_t above_drawn = 0;       // those that attribute more than a GPU drew

  // nullptr: it has none.
  const Gpu* find(const std::string& gpu) const;
};

// Stamps without an offset are in `zone`. Of a text that is cut off, up to there. Throws what
// `source` throws.
ProcessShares read_process_shares(ByteSource& source, const Zone& zone);

// ---- All metrics of AIPowerMeter's records, and what each process used of them.

struct AipmMetrics {
  // A metric with a value for each process. "all" is the sum of the processes of each record.
  struct Use {
    std::string metric;
    std::string gpu;  // empty: it is not of a GPU
    std::string process;
    std::uint64_t records = 0;  // that have the process
    double sum = 0;
    double max = 0;
  };
  // The power of a process in a record, by the record's number in Power::total.
  struct Named {
    std::size_t record;
    double watts;
  };
  // The power of the processor ("cpu") or of its memory ("dram"), and of processes.
  struct Power {
    std::string name;
    std::string metric;
    std::vector<Sample> total;  // the recorder's own; where it has none, the sum of the processes
    std::vector<std::pair<std::string, std::vector<Named>>> processes;

    // Of a process: 0 W in records that do not name it, as far as they change its energy.
    std::vector<Sample> samples_of(const std::vector<Named>& process) const;
  };
  std::vector<std::string> cpu;  // names, in the order in which they come
  std::vector<std::string> gpu;
  std::vector<Use> uses;
  std::vector<Power> powers;  // that have processes
  std::vector<Window> pauses;
};

// As read_process_shares().
AipmMetrics read_aipm_metrics(ByteSource& source, const Zone& zone);

// ---- Opens recordings in formats other than CSV tables: what they have in common.

// Reads all of a recording into the sink. May throw TelemetryError, JsonError, OtherHeader, and
// what the source throws.
using ReadInto = std::function<void(ByteSource& source, ReadingSink& sink)>;

// A header that is not the recording's first, in line `line`, which counts from 1.
struct OtherHeader : std::exception {
  explicit OtherHeader(std::uint64_t at) : line(at) {}

  std::uint64_t line;
};

// What a format says of a recording that begins with a text of at most 64 KiB.
using FactsOf = std::function<SeriesFacts(std::string_view head)>;

struct StreamFormat {
  FactsOf facts_of;
  // It is also called with the beginning alone, to learn the first stamp, and that may be cut off
  // anywhere.
  ReadInto read;
  bool has_lines = true;     // a last record that is cut off is counted as a torn tail
  bool has_sensors = false;  // as in TelemetryHead
  // Where a recording that begins with `head` can be cut into parts. Workers may then read parts,
  // each after a beginning that has the power's column and the device's. Null, or a null CutOff: a
  // part cannot be read without all that is before it.
  CutOff (*cut_off_after)(std::string_view head) = nullptr;
};

Telemetry open_stream(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                      const StreamFormat& format);

// Of recordings in which each line stands alone, or each JSON text on lines of its own.
std::size_t end_of_lines(std::string_view bytes);
CutOff at_any_line(std::string_view head);
CutOff at_any_json_line(std::string_view head);

// The facts of a format whose names are fixed: columns, unit, what `inspect` shows, and the reasons
// against a recording that lacks one. nullopt: there is none.
struct SeriesNames {
  std::string schema;
  std::optional<std::string> timestamp = {};
  std::optional<std::string> power = {};
  std::optional<std::string> device = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;
  std::string power_why = {};  // for people: "the format's own", "named by --power-column"
};
SeriesFacts facts_of_names(const SeriesNames& names, const TelemetryOptions& options);

}  // namespace aggregate_power
