// Splits text into cells as Python's csv module does (excel dialect, skipinitialspace).
//
// Rows end at LF, CRLF or a lone CR outside quotes; blanks after a comma and at a row's start are
// skipped; a quote opens a quoted cell only at the cell's start, `""` inside is one quote, and a
// quoted cell may span lines. NUL bytes are dropped. A cell of more than 131,072 characters
// is an error, so that an open quote cannot swallow a file, and so are more than 16 MiB of NUL
// bytes in a row, so that a hole in a file is not read to its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_source.h"

namespace aggregate_power {

inline constexpr std::size_t kMaxCellCharacters = 131072;
inline constexpr std::size_t kMaxNulsInRow = std::size_t{16} << 20;
inline constexpr std::size_t kMaxWantedColumns = 18;
inline constexpr std::size_t kMaxBatchRows = 128;

// A cell larger than kMaxCellCharacters, or what else makes the text unusable as a table.
struct CsvError : std::runtime_error {
  CsvError() : std::runtime_error("a cell of more than 131072 characters") {}
  using std::runtime_error::runtime_error;
};

struct CsvRow {
  std::array<std::string_view, kMaxWantedColumns> cells;  // in the requested order; missing: empty
  std::uint32_t cell_count = 0;    // all cells of the row; 0 for an empty line
  std::uint32_t filled_count = 0;  // cells up to the last one with more than blanks; counted only
                                   // if cell_count exceeds the header's, else equal to cell_count
  bool blank = false;              // an empty line, or one of only blanks
  bool terminated = true;          // ends in a line break; only a file's last row can lack it
  bool swallowed_lines = false;    // its last cell is an open quote that includes whole lines
};

// A row of a text in memory, with all its cells. For headers and other short texts.
struct CsvTextRow {
  std::vector<std::string> cells;
  std::size_t begin = 0;  // the row's byte offset
  std::size_t end = 0;    // the next row's byte offset
  bool blank = false;
  bool terminated = true;
};
// Stops before the first row whose end is not in `text`, unless `at_end` says that nothing follows.
// Returns at most `max_rows` rows. Throws CsvError.
std::vector<CsvTextRow> split_csv(std::string_view text, std::size_t max_rows, bool at_end);
// The same into `rows`, which contains the rows before the fault if it throws.
void split_csv(std::string_view text, std::size_t max_rows, bool at_end,
               std::vector<CsvTextRow>& rows);
// Joins the cells of a list in brackets or braces that was written without quotes, as in ['0',
// '0'], if they are then as many as the header has. Whether they are.
bool join_lists(std::vector<std::string>& cells, std::size_t header_cells);
// The cells of a line. A line of NUL bytes alone has none. Throws CsvError.
std::vector<std::string> cells_of_line(std::string_view line);

// `text` as one cell (RFC 4180): in quotes where it has a comma, a quote or a line break, or begins
// with a blank, which some readers skip.
std::string csv_cell(std::string_view text);
// The same for people, in whose spreadsheets a text that begins with = + - @ is a formula
// (CWE-1236): such a text that is not a number gets an apostrophe before it, and the text is one
// line without control characters. Each CSV of ours is for people; those in the format of another
// program are for that program, and have csv_cell().
std::string spreadsheet_cell(std::string_view text);

// What happens to blanks after a comma and at a row's start: they are skipped, or kept as part of
// the cell, and then a quote after them does not open a quoted cell (the plain excel dialect).
enum class CsvBlanks { skipped, kept };

// Reads a stream row by row, in batches, and looks only at the selected columns. Memory is one
// buffer, however long the stream; a row longer than the buffer is read nevertheless.
class CsvReader {
 public:
  // `head` contains bytes of the stream that were read before; they come first.
  CsvReader(ByteSource& source, std::string_view head, CsvBlanks blanks = CsvBlanks::skipped);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The columns to report, by index, and how many cells of the header have a name.
  void select(std::span<const std::size_t> columns, std::size_t header_cells);

  // The next rows; none at the end of the stream. What a row points to is valid until the next
  // call. Throws CsvError, after giving out the rows before the fault.
  std::span<const CsvRow> next_batch(std::size_t most_rows = kMaxBatchRows);

  // The bytes after the rows given out, as far as they were read; and skips whole rows among them
  // that the caller has read itself.
  std::string_view ahead() const { return {buffer_ + begin_, end_ - begin_}; }
  void skip(std::size_t bytes) { begin_ += bytes; }

  std::uint64_t dropped_nuls() const { return dropped_nuls_; }

 private:
  struct RowShape {
    enum class Kind { cut_off, odd, whole };
    Kind kind = Kind::cut_off;
    bool quoted = false;
    std::uint32_t commas = 0;  // outside quotes
    std::size_t end = 0;       // at the line break
    std::size_t next = 0;      // after it
  };

  // How far a row was scanned whose end was not read yet: before the block that begins at `at`.
  struct Progress {
    std::size_t row = SIZE_MAX;  // where it begins; SIZE_MAX: there is none
    std::size_t at = 0;
    std::uint32_t commas = 0;
    bool quoted = false;
    bool in_quotes = false;
  };

  void scan();
  RowShape find_row_end(std::size_t row);
  static RowShape odd_row() { return {.kind = RowShape::Kind::odd}; }
  bool all_open_cells(std::uint64_t opens, std::size_t block, std::size_t row) const;
  bool add_row(std::size_t begin, const RowShape& shape);
  bool drop_quotes(CsvRow& row) const;
  bool refill();
  void read_slow_row();

  ByteSource& source_;
  bool skips_blanks_;
  std::unique_ptr<char[]> storage_;
  char* buffer_ = nullptr;  // aligned to 64; 127 bytes after end_ may be read
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // first byte not yet given out as a row
  std::size_t end_ = 0;    // after the last byte read
  bool source_ended_ = false;

  std::array<std::size_t, kMaxWantedColumns> columns_{};
  std::size_t column_count_ = 0;
  std::size_t last_column_ = 0;
  std::size_t header_cells_ = 0;
  Progress progress_;
  std::vector<std::uint32_t> cell_starts_;  // of the row's first cells, up to the last selected one
  std::vector<CsvRow> batch_;
  std::size_t batch_size_ = 0;
  std::size_t most_rows_ = kMaxBatchRows;
  bool row_is_odd_ = false;              // the row at begin_ needs read_slow_row()
  std::vector<std::string> slow_cells_;  // what the batch's one slow row points to
  std::uint64_t dropped_nuls_ = 0;
};

}  // namespace aggregate_power

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

struct ByteMasks {
  std::uint64_t commas;
  std::uint64_t quotes;
  std::uint64_t controls;  // bytes up to 13: line breaks, tabs, NULs

  // Only those among the first `count` bytes (fewer than 64).
  ByteMasks first(std::size_t count) const {
    const std::uint64_t kept = (std::uint64_t{1} << count) - 1;
    return {commas & kept, quotes & kept, controls & kept};
  }
};

// The masks of the 64 bytes at `block`.
#if defined(__SSE2__)

inline ByteMasks masks_of(const char* block) {
  const __m128i comma = _mm_set1_epi8(',');
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i last_control = _mm_set1_epi8(13);
  ByteMasks masks{};
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + part);
    const auto bits = [part](__m128i equal) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal)))
             << (16 * part);
    };
    masks.commas |= bits(_mm_cmpeq_epi8(bytes, comma));
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, quote));
    masks.controls |= bits(_mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes));
  }
  return masks;
}

#else

// Eight bytes at a time in one integer. The bit order relies on the lowest byte being first.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

inline ByteMasks masks_of(const char* block) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  constexpr std::uint64_t kLowBits = ~kHighBits;
  // The high bit of each byte that is zero, then these eight bits side by side.
  const auto zero_bytes = [](std::uint64_t x) {
    return ~(((x & kLowBits) + kLowBits) | x | kLowBits);
  };
  const auto gather = [](std::uint64_t high_bits) {
    return ((high_bits >> 7) * 0x0102040810204080U) >> 56;
  };
  ByteMasks masks{};
  for (int part = 0; part < 8; ++part) {
    std::uint64_t bytes;
    std::memcpy(&bytes, block + 8 * part, 8);
    const std::uint64_t below_128 = ~bytes & kHighBits;
    const std::uint64_t above_13 = ((bytes & kLowBits) + kOnes * (127 - 13)) & kHighBits;
    masks.commas |= gather(zero_bytes(bytes ^ (kOnes * ','))) << (8 * part);
    masks.quotes |= gather(zero_bytes(bytes ^ (kOnes * '"'))) << (8 * part);
    masks.controls |= gather(below_128 & ~above_13) << (8 * part);
  }
  return masks;
}

#endif

// Baseline x86-64 has no instruction for this, and the compiler's fallback is a call.
inline std::uint32_t count_bits(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U);
  bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FU;
  return static_cast<std::uint32_t>((bits * 0x0101010101010101U) >> 56);
}

// Each bit becomes the parity of itself and all bits below it: with quotes, 1 from an opening
// quote up to the bit before the closing one.
inline std::uint64_t running_parity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace aggregate_power
