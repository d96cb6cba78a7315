// Rows of a telemetry file, read by several threads.
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

// Which cells of a row are read.
struct RowSelection {
  std::vector<std::size_t> columns;
  std::size_t header_cells = 0;
  const GpuStateColumns* states = nullptr;  // RowReader::read()'s
};

// Deals the bytes of a CSV file out to several threads, each in its turn, in blocks of whole rows.
// A line break ends a row for sure as long as there was no quote. From the first quote on, or from
// a row that is longer than a block, or from a fault, one thread gets all the rest.
class RowDealer {
 public:
  // `ahead` are bytes of the file that were read before; they come first. The source must outlive
  // this object, and be left alone as long as threads ask.
  RowDealer(std::string_view ahead, ByteSource& source) : carried_(ahead), source_(source) {}

  // Until begin() nobody gets anything.
  void begin(std::size_t threads);
  // From now on nobody gets any more.
  void end();

  // Fills the front of `into`, at least as large as all that was read ahead, with bytes for thread
  // `thread`, and says how many that were; 0 at the end of what it gets. `is_whole`: they are whole
  // rows, and another thread is next. Throws what the source throws.
  std::size_t deal(std::size_t thread, std::span<char> into, bool& is_whole);

 private:
  std::size_t fill(std::span<char> into);

  std::mutex mutex_;
  std::condition_variable turn_begins_;
  std::size_t threads_ = 0;  // 0: not begun
  std::size_t turn_ = 0;
  bool is_over_ = false;
  bool has_rest_ = false;  // the thread whose turn it is gets all that is left
  std::string carried_;    // for the next turn: read, but not dealt out
  ByteSource& source_;
  bool source_ended_ = false;
  std::exception_ptr fault_;  // thrown when the bytes before it were given out
};

// Readings of rows that follow each other.
struct RowPiece {
  RowReadings found;
  RowCounts counts;
  std::uint64_t dropped_nuls = 0;
  std::vector<std::string> new_devices;  // that its thread had not met before
  bool ends_block = false;               // what follows is another thread's
};

// Reads the rows of one file with several threads and gives their pieces out in the file's order.
//
//                          blocks 0, 2, 4 ... -> thread 0 -> pieces ->
//   source -> RowDealer ->                                             -> next()
//                          blocks 1, 3, 5 ... -> thread 1 -> pieces ->
//
// A thread has a CSV reader and numbers of devices of its own. Each waits when it is a few pieces
// ahead of next(), so that memory is bounded.
class RowThreads {
 public:
  // Begins where `csv`, of which nothing was read yet, would. `like` is how each row is read.
  RowThreads(CsvReader& csv, ByteSource& source, const RowReader& like, const Zone& zone,
             const RowSelection& selection);
  ~RowThreads();
  RowThreads(const RowThreads&) = delete;
  RowThreads& operator=(const RowThreads&) = delete;

  // False when there can be no threads: nothing was read, and `csv` can be used as ever.
  bool are_there() const { return !lanes_.empty(); }
  // Good until the next call; nothing at the end. Devices are numbered by `devices`, to which new
  // ones are added. Throws CsvError and what the source throws, after the pieces before.
  const RowPiece* next(DeviceNames& devices);

 private:
  class Lane;
  RowDealer dealer_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t turn_ = 0;
};

}  // namespace aggregate_power
