// Reads the rows of a telemetry file with several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ahead.h"
#include "base/files/byte_source.h"
#include "base/text/csv.h"
#include "recorders/block_dealer.h"
#include "recorders/row_reader.h"

namespace aggregate_power {

// The cells of a row to read.
struct RowSelection {
  std::vector<std::size_t> columns;
  std::size_t header_cells = 0;
  const GpuStateColumns* states = nullptr;  // RowReader::read()'s
};

// Readings of consecutive rows.
struct RowPiece {
  RowReadings found;
  RowCounts counts;
  std::uint64_t dropped_nuls = 0;
  std::vector<std::string> new_devices;  // those that its thread had not seen before
  bool ends_block = false;               // the next piece is of another one
};

// Reads the rows of one file with several threads and gives out their pieces in the file's order.
//
//                          blocks 0, 3, 4 ... -> thread 0 -> pieces ->
//   source -> BlockDealer ->                                             -> next()
//                          blocks 1, 2, 5 ... -> thread 1 -> pieces ->
//
// Each thread has its own CSV reader and its own device numbers. It waits when it is a few pieces
// ahead of next(), so memory is bounded. From the first quote on, one thread reads the rest.
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
  RowPiece* next(DeviceNames& devices);

 private:
  class Lane;
  BlockDealer dealer_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t owner_ = 0;  // of the block that is being given out
  bool is_block_over_ = false;
};

}  // namespace aggregate_power
