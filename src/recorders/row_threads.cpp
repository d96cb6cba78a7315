// Deals blocks of rows to threads, and puts their readings in order.
#include "recorders/row_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace aggregate_power {
namespace {

constexpr std::size_t kThreads = 2;
constexpr std::size_t kPieces = 3;  // for each thread
constexpr std::size_t kMostPieceRows = 4096;

// Pieces with all the memory that they usually need. Memory that a thread allocates would stay with
// that thread's arena; this thread can reuse its own.
std::vector<RowPiece> room_for_pieces(bool with_states) {
  std::vector<RowPiece> pieces(kPieces);
  for (RowPiece& piece : pieces) {
    piece.found.readings.resize(kMostPieceRows);
    if (!with_states) continue;
    piece.found.states_of_rows.resize(kMostPieceRows);
    piece.found.states.reserve(kMostPieceRows + kMostPieceRows / kMaxBatchRows);
  }
  return pieces;
}

// As long as there was no quote, a line break certainly ends a row.
std::size_t end_of_rows(std::string_view bytes) {
  return bytes.find('"') == bytes.npos ? bytes.rfind('\n') + 1 : 0;
}

}  // namespace

// One of the threads.
class RowThreads::Lane : private ByteSource {
 public:
  Lane(BlockDealer& dealer, std::size_t number, const RowReader& like, const Zone& zone,
       const RowSelection& selection)
      : dealer_(dealer),
        number_(number),
        csv_(*this, ""),
        reader_(like.columns(), zone, selection.header_cells, like.gpus()),
        states_(selection.states) {
    reader_.use_names(like.names());
    csv_.select(selection.columns, reader_.named_cells());
    pieces_.emplace(room_for_pieces(states_ != nullptr),
                    [this](RowPiece& piece) { return fill(piece); });
  }

  RowPiece* next(DeviceNames& devices) {
    RowPiece* const piece = pieces_->next();
    if (piece == nullptr) return nullptr;
    for (const std::string& name : piece->new_devices) {
      numbers_.push_back(devices.find(name));
      is_other_ = is_other_ || numbers_.back() != numbers_.size() - 1;
    }
    if (is_other_) renumber(piece->found);
    return piece;
  }

 private:
  std::size_t read(std::span<char> into) override {
    return dealer_.deal(number_, into, is_whole_block_);
  }

  bool fill(RowPiece& piece) {
    piece.found.clear();
    piece.ends_block = false;
    try {
      read_rows(piece);
    } catch (...) {
      close(piece);
      throw;
    }
    close(piece);
    return piece.counts.rows > 0 || piece.dropped_nuls > 0;
  }

  void read_rows(RowPiece& piece) {
    while (piece.found.count + kMaxBatchRows <= kMostPieceRows && !piece.ends_block) {
      const std::span<const CsvRow> rows = csv_.next_batch();
      if (rows.empty()) return;
      reader_.read(rows, states_, piece.found);
      if (reader_.counts().other_header_row > 0) return;
      piece.ends_block = is_whole_block_ && csv_.ahead().empty();
    }
  }

  void close(RowPiece& piece) {
    piece.counts = std::exchange(reader_.counts(), {});
    piece.dropped_nuls = csv_.dropped_nuls() - std::exchange(dropped_nuls_, csv_.dropped_nuls());
    const std::vector<std::string>& names = reader_.devices().names();
    piece.new_devices.assign(names.begin() + static_cast<std::ptrdiff_t>(named_), names.end());
    named_ = names.size();
  }

  void renumber(RowReadings& found) const {
    for (Reading& reading : std::span(found.readings).first(found.count)) {
      if (reading.device < numbers_.size()) reading.device = numbers_[reading.device];
    }
  }

  // Used by the thread.
  BlockDealer& dealer_;
  std::size_t number_;
  bool is_whole_block_ = false;
  CsvReader csv_;
  RowReader reader_;
  const GpuStateColumns* states_;
  std::uint64_t dropped_nuls_ = 0;
  std::size_t named_ = 0;  // number of devices in earlier pieces
  // Used by the consumer.
  std::vector<std::uint32_t> numbers_;     // numbers of the thread's devices in the whole file
  bool is_other_ = false;                  // some devices have other numbers there
  std::optional<Ahead<RowPiece>> pieces_;  // last, because its thread uses all others
};

RowThreads::RowThreads(CsvReader& csv, ByteSource& source, const RowReader& like, const Zone& zone,
                       const RowSelection& selection)
    : dealer_(csv.ahead(), source, end_of_rows) {
  try {
    while (lanes_.size() < kThreads) {
      lanes_.push_back(std::make_unique<Lane>(dealer_, lanes_.size(), like, zone, selection));
    }
  } catch (const std::system_error&) {
    // The threads that could be started are enough.
  } catch (...) {
    dealer_.end();
    throw;
  }
  if (!lanes_.empty()) csv.skip(csv.ahead().size());
  dealer_.begin();
}

RowThreads::~RowThreads() { dealer_.end(); }

RowPiece* RowThreads::next(DeviceNames& devices) {
  if (is_block_over_) owner_ = dealer_.next_owner();
  RowPiece* const piece = lanes_[owner_]->next(devices);
  is_block_over_ = piece != nullptr && piece->ends_block;
  return piece;
}

}  // namespace aggregate_power
