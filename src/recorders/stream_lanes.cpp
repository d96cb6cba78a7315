// Runs a format's reader once for the whole recording, or once for each thread's share of it.
#include "recorders/stream_lanes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/reused_thread.h"
#include "base/ring.h"
#include "recorders/gpu_names.h"
#include "recorders/lines.h"

namespace aggregate_power {
namespace {

// Passes bytes on and counts their lines, if somebody wants to know.
class LineCounter : public ByteSource {
 public:
  LineCounter(ByteSource& source, bool counts) : source_(source), counts_(counts) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    if (counts_) lines_ += line_breaks(into.first(count));
    if (count > 0) ends_in_line_ = into[count - 1] != '\n';
    is_at_end_ = count == 0;
    return count;
  }
  std::uint64_t lines() const { return lines_; }
  // Whether everything was read and `line`, counted from 1, is the last one and has no line break.
  bool is_cut_off(std::uint64_t line) const {
    return is_at_end_ && ends_in_line_ && line == lines_ + 1;
  }

 private:
  ByteSource& source_;
  bool counts_;
  std::uint64_t lines_ = 0;
  bool ends_in_line_ = false;
  bool is_at_end_ = false;
};

// Throws `fault`, whose line is `lines` further down in the recording.
[[noreturn]] void throw_as_telemetry_error(const std::exception_ptr& fault, std::uint64_t lines) {
  try {
    std::rethrow_exception(fault);
  } catch (const JsonError& error) {
    throw TelemetryError(error.moved_by(lines).what());
  } catch (const OtherHeader& header) {
    throw TelemetryError(
        fmt::format("line {} is a header with other columns: split the recording before it",
                    header.line + lines));
  }
}

// Null: there was none, apart from a torn tail, which is counted.
std::exception_ptr read_or_fault(LineCounter& source, const ReadInto& read, bool has_lines,
                                 ReadingSink& sink) {
  try {
    read(source, sink);
  } catch (const JsonError& error) {
    if (!has_lines || !source.is_cut_off(error.line())) return std::current_exception();
    sink.skip(&Skipped::torn_tail);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void name_bad_row(TelemetryCounts& counts) {
  if (counts.first_bad_row == 0) return;
  counts.first_bad_stamp += fmt::format(" in row {}", counts.first_bad_row);
  counts.first_bad_row = 0;
}

void note_series(const SeriesOverlap& series, TelemetryCounts& counts) {
  counts.silent_series = series.silent();
  counts.identity_conflicts = series.conflicts();
  for (auto& [device, key] : series.keys()) {
    if (device >= counts.devices.size()) continue;
    while (counts.keys.size() <= device) {
      counts.keys.push_back(key_of_name(counts.devices[counts.keys.size()], false));
    }
    counts.keys[device] = key;
  }
}

}  // namespace

// ---- By this thread

void read_stream(ByteSource& source, const ReadInto& read, bool has_lines,
                 const StreamWants& wants) {
  ReadingSink sink(wants.options, wants.take, wants.counts);
  const Telemetry::TakeStates take_counters =
      [&](std::span<const Reading> readings, const RowStates&) { wants.counters->take(readings); };
  std::optional<ReadingSink> counters;
  if (wants.counters != nullptr) {
    sink.set_counters(counters.emplace(wants.options, take_counters, wants.counters->counts));
  }
  LineCounter counted(source, has_lines);
  const std::exception_ptr fault = read_or_fault(counted, read, has_lines, sink);
  sink.finish();
  name_bad_row(wants.counts);
  if (counters) {
    counters->finish();
    name_bad_row(wants.counters->counts);
  }
  if (fault) throw_as_telemetry_error(fault, 0);
  note_series(sink.series(), wants.counts);
}

// ---- By several threads

namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kLanePieces = 8;  // for each thread

// Readings of one kind, and what was counted of their rows.
struct LaneBatch {
  std::vector<Reading> readings;
  std::size_t count = 0;
  TelemetryCounts counts;  // with the devices that its thread had not seen before
};

struct LanePiece {
  LaneBatch power;
  LaneBatch counters;
  std::uint64_t lines = 0;
  bool ends_block = false;  // the next piece is of another one
};

// This thread can use their memory again; what another one allocates would stay with that thread.
std::vector<LanePiece> room_for_lane_pieces(std::size_t counter_batch) {
  std::vector<LanePiece> pieces(kLanePieces);
  for (LanePiece& piece : pieces) {
    piece.power.readings.resize(kBatch);
    piece.counters.readings.resize(counter_batch);
  }
  return pieces;
}

// No more pieces are wanted.
struct LaneStopped {};

// One of the threads.
class StreamLane : private ByteSource {
 public:
  StreamLane(BlockDealer& dealer, std::size_t number, std::string_view beginning,
             const ReadInto& read, bool has_lines, const StreamWants& wants)
      : dealer_(dealer),
        number_(number),
        beginning_(beginning),
        read_(read),
        has_lines_(has_lines),
        sink_(options_of(wants, kBatch), give_, counts_),
        counters_(options_of(wants, counter_batch(wants)), give_, counter_counts_),
        ring_(room_for_lane_pieces(counter_batch(wants))) {
    if (wants.counters != nullptr) sink_.set_counters(counters_);
    thread_.emplace([this] { work(); });
  }
  ~StreamLane() override { ring_.refuse(); }
  StreamLane(const StreamLane&) = delete;
  StreamLane& operator=(const StreamLane&) = delete;

  // The next piece, valid until the next call; nullptr at the end.
  LanePiece* next() { return ring_.next(); }

  // ---- After the end

  const std::exception_ptr& fault() const { return fault_; }
  // What the fault counts as lines, but are not of the block in which it is.
  std::uint64_t lines_before_block() const { return lines_before_block_; }
  const SeriesOverlap& series() const { return sink_.series(); }

 private:
  static ReadingSink::Options options_of(const StreamWants& wants, std::size_t batch) {
    ReadingSink::Options options = wants.options;
    options.batch = batch;
    return options;
  }
  static std::size_t counter_batch(const StreamWants& wants) {
    return wants.counters != nullptr ? kBatch : 1;
  }

  void work() {
    try {
      fault_ = read_or_fault(counted_, read_, has_lines_, sink_);
      give(false);
    } catch (const LaneStopped&) {  // nobody looks
    }
    ring_.end();
  }

  std::size_t read(std::span<char> into) override {
    if (!beginning_.empty()) {
      const std::size_t count = beginning_.copy(into.data(), into.size());
      beginning_.remove_prefix(count);
      return count;
    }
    if (is_whole_block_) {
      give(true);
    } else if (!reports_) {
      forget();
    }
    return dealer_.deal(number_, into, is_whole_block_);
  }

  void give(bool ends_block) {
    LanePiece* const piece = ring_.free_piece();
    if (piece == nullptr) throw LaneStopped();
    fill(piece->power, sink_, counts_);
    fill(piece->counters, counters_, counter_counts_);
    piece->ends_block = ends_block;
    if (ends_block) {
      piece->lines = counted_.lines() - lines_before_block_;
      lines_before_block_ = counted_.lines();
    }
    ring_.give(ends_block);
  }

  static void fill(LaneBatch& batch, ReadingSink& sink, TelemetryCounts& counts) {
    batch.count = sink.exchange(batch.readings);
    batch.counts = std::exchange(counts, {});
  }

  // What the beginning says, which another thread gives.
  void forget() {
    lines_before_block_ = counted_.lines();
    sink_.finish();
    counters_.finish();
    reports_ = true;
    for (TelemetryCounts* const counts : {&counts_, &counter_counts_}) {
      TelemetryCounts none;
      none.devices = std::move(counts->devices);
      *counts = std::move(none);
    }
  }

  BlockDealer& dealer_;
  std::size_t number_;
  std::string_view beginning_;   // what is left of it
  bool reports_ = number_ == 0;  // the first thread gives what the beginning says
  bool is_whole_block_ = false;
  const ReadInto& read_;
  bool has_lines_;
  TelemetryCounts counts_;
  TelemetryCounts counter_counts_;
  const Telemetry::TakeStates give_ = [this](std::span<const Reading>, const RowStates&) {
    if (reports_) give(false);
  };
  ReadingSink sink_;
  ReadingSink counters_;
  LineCounter counted_{*this, true};
  std::uint64_t lines_before_block_ = 0;
  std::exception_ptr fault_;
  Ring<LanePiece> ring_;
  std::optional<ReusedThread> thread_;  // last, because it uses all others
};

// Passes on the batches of one kind of all lanes.
class LaneOutput {
 public:
  LaneOutput(std::size_t lanes, TelemetryCounts& counts) : counts_(counts), numbers_(lanes) {}

  // Those of the lane's devices in the whole recording.
  std::span<const std::uint32_t> numbers(std::size_t lane) const { return numbers_[lane]; }
  // The readings in `batch`, with these numbers.
  std::span<const Reading> take(std::size_t lane, LaneBatch& batch) {
    std::vector<std::uint32_t>& numbers = numbers_[lane];
    for (const std::string& name : batch.counts.devices) {
      numbers.push_back(devices_.find(name));
      if (numbers.back() == counts_.devices.size()) counts_.devices.push_back(name);
      has_others_ = has_others_ || numbers.back() + 1 != numbers.size();
    }
    counts_.add_rows(std::exchange(batch.counts, {}));
    const std::span readings = std::span(batch.readings).first(batch.count);
    for (Reading& reading : has_others_ ? readings : readings.first(0)) {
      if (reading.device < numbers.size()) reading.device = numbers[reading.device];
    }
    return readings;
  }

 private:
  TelemetryCounts& counts_;
  DeviceNames devices_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by lane
  bool has_others_ = false;  // somewhere a lane's number of a device is another one
};

// More than two processors need, so that none is idle while a thread waits for room.
constexpr std::size_t kLanes = 3;

class StreamLanes {
 public:
  StreamLanes(const StreamParts& parts, const ReadInto& read, bool has_lines,
              const StreamWants& wants)
      : wants_(wants), dealer_(parts.ahead, parts.source, parts.cut_off) {
    try {
      for (std::size_t i = 0; i < kLanes; ++i) {
        lanes_.push_back(
            std::make_unique<StreamLane>(dealer_, i, parts.beginning, read, has_lines, wants));
      }
    } catch (const std::system_error&) {
      // The threads that could be started are enough.
    } catch (...) {
      dealer_.end();
      throw;
    }
  }
  ~StreamLanes() { dealer_.end(); }
  StreamLanes(const StreamLanes&) = delete;
  StreamLanes& operator=(const StreamLanes&) = delete;

  bool are_there() const { return !lanes_.empty(); }

  void read() {
    LaneOutput power(lanes_.size(), wants_.counts);
    TelemetryCounts no_counts;
    LaneOutput counters(lanes_.size(),
                        wants_.counters != nullptr ? wants_.counters->counts : no_counts);
    dealer_.begin();
    std::size_t owner = 0;  // of the block that is being read
    while (LanePiece* const piece = lanes_[owner]->next()) {
      const std::span<const Reading> readings = power.take(owner, piece->power);
      if (!readings.empty()) wants_.take(readings, {});
      const std::span<const Reading> joules = counters.take(owner, piece->counters);
      if (!joules.empty()) wants_.counters->take(joules);
      if (!piece->ends_block) continue;
      lines_ += piece->lines;
      owner = dealer_.next_owner();
    }
    name_bad_row(wants_.counts);
    if (wants_.counters != nullptr) name_bad_row(wants_.counters->counts);
    throw_fault_of(*lanes_[owner]);
    dealer_.end();
    SeriesOverlap series;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      while (lanes_[i]->next() != nullptr) {
      }
      throw_fault_of(*lanes_[i]);
      series.merge(lanes_[i]->series(), power.numbers(i));
    }
    note_series(series, wants_.counts);
  }

 private:
  void throw_fault_of(const StreamLane& lane) const {
    if (lane.fault()) throw_as_telemetry_error(lane.fault(), lines_ - lane.lines_before_block());
  }

  const StreamWants& wants_;
  BlockDealer dealer_;
  std::vector<std::unique_ptr<StreamLane>> lanes_;
  std::uint64_t lines_ = 0;  // of the blocks that were read
};

}  // namespace

bool read_stream_on_threads(const StreamParts& parts, const ReadInto& read, bool has_lines,
                            const StreamWants& wants) {
  StreamLanes lanes(parts, read, has_lines, wants);
  if (!lanes.are_there()) return false;
  lanes.read();
  return true;
}

}  // namespace aggregate_power
