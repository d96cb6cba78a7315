// Reads the rows of a telemetry file with several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ahead.h"
#include "base/files/byte_source.h"
#include "base/text/csv.h"
#include "recorders/row_reader.h"

namespace aggregate_power {

// The cells of a row to read.
struct RowSelection {
  std::vector<std::size_t> columns;
  std::size_t header_cells = 0;
  const GpuStateColumns* states = nullptr;  // RowReader::read()'s
};

// Deals the bytes of a CSV file to several threads, each in turn, in blocks of whole rows. As long
// as there was no quote, a line break certainly ends a row. From the first quote on, or from a row
// longer than a block, or from a fault, one thread gets the whole rest.
class RowDealer {
 public:
  // `ahead` contains bytes of the file that were read before; they come first. The source must
  // outlive this object, and must not be used elsewhere as long as threads ask for bytes.
  RowDealer(std::string_view ahead, ByteSource& source) : carried_(ahead), source_(source) {}

  // No thread gets anything before begin().
  void begin(std::size_t threads);
  // After this no thread gets anything.
  void end();

  // Fills the front of `into`, which must be at least as large as all that was read ahead, with
  // bytes for thread `thread`, and returns their number; 0 at the end of its share. `is_whole`:
  // they are whole rows, and another thread is next. Throws what the source throws.
  std::size_t deal(std::size_t thread, std::span<char> into, bool& is_whole);

 private:
  std::size_t fill(std::span<char> into);

  std::mutex mutex_;
  std::condition_variable turn_begins_;
  std::size_t threads_ = 0;  // 0: begin() was not called
  std::size_t turn_ = 0;
  bool is_over_ = false;
  bool has_rest_ = false;  // the thread whose turn it is gets everything that is left
  std::string carried_;    // read but not dealt, for the next turn
  ByteSource& source_;
  bool source_ended_ = false;
  std::exception_ptr fault_;  // thrown after the bytes before it were given out
};

// Readings of consecutive rows.
struct RowPiece {
  RowReadings found;
  RowCounts counts;
  std::uint64_t dropped_nuls = 0;
  std::vector<std::string> new_devices;  // those that its thread had not seen before
  bool ends_block = false;               // the next piece is another thread's
};

// Reads the rows of one file with several threads and gives out their pieces in the file's order.
//
//                          blocks 0, 2, 4 ... -> thread 0 -> pieces ->
//   source -> RowDealer ->                                             -> next()
//                          blocks 1, 3, 5 ... -> thread 1 -> pieces ->
//
// Each thread has its own CSV reader and its own device numbers. It waits when it is a few pieces
// ahead of next(), so memory is bounded.
class RowThreads {
 public:
  // Begins where `csv`, of which nothing was read yet, would begin. `like` shows how each row is
  // read.
  RowThreads(CsvReader& csv, ByteSource& source, const RowReader& like, const Zone& zone,
             const RowSelection& selection);
  ~RowThreads();
  RowThreads(const RowThreads&) = delete;
  RowThreads& operator=(const RowThreads&) = delete;

  // False if no thread could be started: nothing was read, and `csv` can be used as usual.
  bool are_there() const { return !lanes_.empty(); }
  // The next piece, valid until the next call; nullptr at the end. `devices` numbers the devices,
  // and new ones are added to it. Throws CsvError and what the source throws, after the pieces
  // before.
  const RowPiece* next(DeviceNames& devices);

 private:
  class Lane;
  RowDealer dealer_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t turn_ = 0;
};

}  // namespace aggregate_power
