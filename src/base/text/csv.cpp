// Splits CSV text into cells, quickly where rows are plain.
#include "base/text/csv.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::size_t kMostListCells = 4096;  // of a row, beyond the cells of its header

// Takes one row at a time through the states of the dialect, as CPython's _csv.c does.
class RowParser {
 public:
  enum class Step {
    more,
    row_done,         // the byte ended the row
    row_done_before,  // the row ended before the byte, which belongs to the next row
  };

  const std::vector<std::string>& cells() const { return cells_; }
  std::vector<std::string> take_cells() { return std::exchange(cells_, {}); }
  std::uint64_t dropped_nuls() const { return dropped_nuls_; }

  // Keeps the text of only the first `cells` cells of a row, and counts the others.
  explicit RowParser(std::size_t cells = std::numeric_limits<std::size_t>::max(),
                     bool skips_blanks = true)
      : most_cells_(cells), skips_blanks_(skips_blanks) {}

  std::size_t cell_count() const { return cell_count_; }
  std::size_t filled_count() const {
    return filled_count_;
  }  // up to the last with more than blanks

  void start_row() {
    cells_.clear();
    cell_count_ = filled_count_ = 0;
    state_ = State::start_record;
  }

  Step push(char c) {
    if (state_ == State::after_carriage_return) {
      return c == '\n' ? Step::row_done : Step::row_done_before;
    }
    if (c == '\0') {
      drop_nuls(1);
      return Step::more;
    }
    const bool is_break = c == '\n' || c == '\r';
    if (is_break && state_ == State::in_quotes) broke_in_quotes_ = true;
    if (is_break && state_ != State::in_quotes) {
      if (state_ != State::start_record) save_cell();
      state_ = State::after_carriage_return;
      return c == '\r' ? Step::more : Step::row_done;
    }
    switch (state_) {
      case State::start_record:
      case State::start_cell:
        state_ = State::start_cell;
        if (c == ' ' && skips_blanks_) break;
        if (c == '"') {
          state_ = State::in_quotes;
          break;
        }
        state_ = State::in_cell;
        [[fallthrough]];
      case State::in_cell:
        c == ',' ? save_cell() : add(c);
        break;
      case State::in_quotes:
        if (c == '"') {
          state_ = State::quote_in_quotes;
        } else {
          add(c);
        }
        break;
      case State::quote_in_quotes:
        if (c == ',') {
          save_cell();
        } else {
          add(c);
          state_ = c == '"' ? State::in_quotes : State::in_cell;
        }
        break;
      case State::after_carriage_return:
        break;  // handled above
    }
    return Step::more;
  }

  // Takes so many NUL bytes at once, unless the row may already be over.
  void drop_nuls(std::size_t count) {
    dropped_nuls_ += count;
    if (dropped_nuls_ > kMaxNulsInRow) {
      throw CsvError("a row with more than 16 MiB of NUL bytes: the file has a hole");
    }
  }

  // Ends the text. Returns whether a row was in progress, which is now complete.
  bool end_of_text() {
    if (state_ == State::start_record) return false;
    if (state_ != State::after_carriage_return) save_cell();
    return true;
  }

  bool saw_line_break() const { return state_ == State::after_carriage_return; }
  // The row ends in an open quote that has swallowed a line break.
  bool swallowed_lines() const { return state_ == State::in_quotes && broke_in_quotes_; }

 private:
  enum class State {
    start_record,
    start_cell,
    in_cell,
    in_quotes,
    quote_in_quotes,
    after_carriage_return,
  };

  void save_cell() {
    ++cell_count_;
    if (!strip(cell_).empty()) filled_count_ = cell_count_;
    if (cell_count_ <= most_cells_) cells_.push_back(cell_);
    cell_.clear();
    cell_characters_ = 0;
    broke_in_quotes_ = false;
    state_ = State::start_cell;
  }
  void add(char c) {
    const bool continuation = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    // A character has at most four bytes; more is not text, and counts as too long as well.
    if (!continuation) ++cell_characters_;
    if (cell_characters_ > kMaxCellCharacters || cell_.size() >= 4 * kMaxCellCharacters) {
      throw CsvError();
    }
    cell_.push_back(c);
  }

  State state_ = State::start_record;
  std::vector<std::string> cells_;
  std::string cell_;
  std::size_t most_cells_;
  bool skips_blanks_;
  std::size_t cell_count_ = 0;
  std::size_t filled_count_ = 0;
  std::size_t cell_characters_ = 0;
  bool broke_in_quotes_ = false;
  std::uint64_t dropped_nuls_ = 0;
};

// How many NUL bytes a text begins with.
std::size_t leading_nuls(std::string_view text) {
  static constexpr std::array<char, 4096> kNuls{};
  std::size_t count = 0;
  while (text.size() - count >= kNuls.size() &&
         std::memcmp(text.data() + count, kNuls.data(), kNuls.size()) == 0) {
    count += kNuls.size();
  }
  return std::min(text.find_first_not_of('\0', count), text.size());
}

bool is_blank_row(const RowParser& parser) {
  return parser.cell_count() <= 1 && parser.filled_count() == 0;
}

// The cells of a row of `cells` up to the last one with more than blanks. Nullopt: it has quotes,
// which may have only blanks in them.
std::optional<std::uint32_t> count_filled(std::string_view line, std::uint32_t cells) {
  line = strip(line);
  while (line.ends_with(',')) {
    line = strip(line.substr(0, line.size() - 1));
    --cells;
  }
  if (line.ends_with('"')) return std::nullopt;
  return line.empty() ? 0 : cells;
}

// Whether a quote at `at` opens a quoted cell (skipped blanks before it do not count), or continues
// one as the second of two quotes; anywhere else it is an ordinary character.
bool opens_cell(const char* row, const char* at, bool skips_blanks) {
  if (at > row && at[-1] == '"') return true;
  while (skips_blanks && at > row && at[-1] == ' ') --at;
  return at == row || at[-1] == ',';
}

}  // namespace

void split_csv(std::string_view text, std::size_t max_rows, bool at_end,
               std::vector<CsvTextRow>& rows) {
  RowParser parser;
  std::size_t begin = 0;
  const auto finish = [&](std::size_t end, bool terminated) {
    const bool blank = is_blank_row(parser);
    rows.push_back({parser.take_cells(), begin, end, blank, terminated});
    parser.start_row();
    begin = end;
  };
  for (std::size_t i = 0; i < text.size() && rows.size() < max_rows; ++i) {
    RowParser::Step step = parser.push(text[i]);
    if (step == RowParser::Step::row_done_before) {
      finish(i, true);
      if (rows.size() == max_rows) break;
      step = parser.push(text[i]);
    }
    if (step == RowParser::Step::row_done) finish(i + 1, true);
  }
  if (at_end && rows.size() < max_rows && parser.end_of_text()) {
    finish(text.size(), parser.saw_line_break());
  }
}

std::vector<CsvTextRow> split_csv(std::string_view text, std::size_t max_rows, bool at_end) {
  std::vector<CsvTextRow> rows;
  split_csv(text, max_rows, at_end, rows);
  return rows;
}

std::string csv_cell(std::string_view text) {
  const bool needs_quotes = text.find_first_of(",\"\r\n") != std::string_view::npos ||
                            text.starts_with(' ') || text.starts_with('\t');
  if (!needs_quotes) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

std::string spreadsheet_cell(std::string_view text) {
  const auto is_word_character = [](unsigned char c) { return std::isalnum(c) != 0; };
  if (std::ranges::all_of(text, is_word_character)) return std::string(text);
  // Some spreadsheets read the full-width forms as the others.
  constexpr std::string_view kBeginnings[] = {"=",      "+",      "-",      "@",
                                              "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
  std::string cell = one_line(text);
  const bool may_be_formula = std::ranges::any_of(
      kBeginnings, [&](std::string_view beginning) { return cell.starts_with(beginning); });
  if (may_be_formula && !nearest_double(cell)) cell.insert(0, 1, '\'');
  return csv_cell(cell);
}

bool join_lists(std::vector<std::string>& cells, std::size_t header_cells) {
  std::vector<std::string> joined;
  const auto opened = [](const std::string& cell, char open, char close) {
    return std::ranges::count(cell, open) - std::ranges::count(cell, close);
  };
  std::ptrdiff_t depth = 0;
  for (const std::string& cell : cells) {
    const bool continues = depth > 0;
    if (continues || cell.starts_with('[') || cell.starts_with('{')) {
      depth += opened(cell, '[', ']') + opened(cell, '{', '}');
    }
    if (continues) {
      joined.back().append(", ").append(cell);
    } else {
      joined.push_back(cell);
    }
  }
  if (depth != 0 || joined.size() != header_cells) return false;
  cells = std::move(joined);
  return true;
}

std::vector<std::string> cells_of_line(std::string_view line) {
  std::vector<CsvTextRow> rows = split_csv(line, 1, true);
  return rows.empty() ? std::vector<std::string>() : std::move(rows[0].cells);
}

CsvReader::CsvReader(ByteSource& source, std::string_view head, CsvBlanks blanks)
    : source_(source), skips_blanks_(blanks == CsvBlanks::skipped) {
  const std::size_t capacity = std::max(kBufferBytes, head.size());
  // One block to align the start to 64, and two that may be read beyond the end.
  storage_ = std::make_unique_for_overwrite<char[]>(capacity + 3 * kBlockBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
  buffer_ = storage_.get() + (kBlockBytes - address % kBlockBytes) % kBlockBytes;
  capacity_ = capacity;
  std::memcpy(buffer_, head.data(), head.size());
  end_ = head.size();
  std::memset(buffer_ + end_, 0, kBlockBytes);
  batch_.resize(kMaxBatchRows);
}

CsvReader::~CsvReader() = default;

void CsvReader::select(std::span<const std::size_t> columns, std::size_t header_cells) {
  column_count_ = columns.size();
  std::copy(columns.begin(), columns.end(), columns_.begin());
  last_column_ = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  cell_starts_.resize(last_column_ + 2);
  header_cells_ = header_cells;
  progress_ = {};
}

std::span<const CsvRow> CsvReader::next_batch(std::size_t most_rows) {
  most_rows_ = std::min(most_rows, kMaxBatchRows);
  batch_size_ = 0;
  while (batch_size_ == 0) {
    scan();
    if (batch_size_ > 0) break;
    if (begin_ == end_ && source_ended_) break;
    // The row is odd, longer than the buffer, or the last one without a line break.
    if (row_is_odd_ || !refill()) read_slow_row();
  }
  return {batch_.data(), batch_size_};
}

// Moves what is left to the front and reads on. Returns false if there is no room or nothing more
// to read.
bool CsvReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    progress_ = {};
  }
  if (source_ended_ || end_ == capacity_) return false;
  const std::size_t count = source_.read({buffer_ + end_, capacity_ - end_});
  source_ended_ = count == 0;
  end_ += count;
  std::memset(buffer_ + end_, 0, kBlockBytes);
  return count > 0;
}

// Walks a row in blocks of 64 bytes, notes where its first cells start and counts the others. A row
// that arrives in pieces is scanned once: it goes on with the first block that was not full.
[[gnu::always_inline]] inline CsvReader::RowShape CsvReader::find_row_end(std::size_t row) {
  RowShape shape;
  std::uint32_t* const starts = cell_starts_.data();
  const std::size_t tracked = last_column_ + 1;
  starts[0] = static_cast<std::uint32_t>(row);
  bool in_quotes = false;
  std::size_t block = row;
  if (progress_.row == row) {
    block = progress_.at;
    shape.commas = progress_.commas;
    shape.quoted = progress_.quoted;
    in_quotes = progress_.in_quotes;
  }
  for (;; block += kBlockBytes) {
    ByteMasks masks = masks_of(buffer_ + block);
    if (block + kBlockBytes > end_) {
      if (block <= end_) progress_ = {row, block, shape.commas, shape.quoted, in_quotes};
      if (block >= end_) return shape;
      masks = masks.first(end_ - block);
    }
    const std::uint64_t row_end = masks.controls & -masks.controls;  // the first one's bit
    std::uint64_t commas = masks.commas & (row_end - 1);
    const std::uint64_t quotes = masks.quotes & (row_end - 1);
    if (quotes != 0 || in_quotes) {
      const std::uint64_t inside = running_parity(quotes) ^ (in_quotes ? ~std::uint64_t{0} : 0);
      const bool breaks_inside = (inside & row_end) != 0;
      if (breaks_inside || !all_open_cells(quotes & inside, block, row)) return odd_row();
      commas &= ~inside;
      in_quotes = (inside >> 63) != 0;
      shape.quoted = true;
    }
    while (commas != 0 && shape.commas < tracked) {
      const auto at = static_cast<std::uint32_t>(std::countr_zero(commas));
      starts[++shape.commas] = static_cast<std::uint32_t>(block) + at + 1;
      commas &= commas - 1;
    }
    shape.commas += count_bits(commas);
    if (row_end == 0) continue;

    shape.end = block + static_cast<std::size_t>(std::countr_zero(row_end));
    shape.next = shape.end + 1;
    if (buffer_[shape.end] != '\n') {
      if (buffer_[shape.end] != '\r') return odd_row();
      if (shape.next == end_ && !source_ended_) return shape;
      if (shape.next < end_ && buffer_[shape.next] == '\n') ++shape.next;
    }
    if (shape.commas < tracked)
      starts[shape.commas + 1] = static_cast<std::uint32_t>(shape.end) + 1;
    shape.kind = RowShape::Kind::whole;
    return shape;
  }
}

bool CsvReader::all_open_cells(std::uint64_t opens, std::size_t block, std::size_t row) const {
  for (; opens != 0; opens &= opens - 1) {
    const std::size_t at = block + static_cast<std::size_t>(std::countr_zero(opens));
    if (!opens_cell(buffer_ + row, buffer_ + at, skips_blanks_)) return false;
  }
  return true;
}

// Cuts the selected cells out of a row. Returns false if the row needs more care: it has an unusual
// quote, lacks a selected cell, or is too long.
[[gnu::always_inline]] inline bool CsvReader::add_row(std::size_t begin, const RowShape& shape) {
  CsvRow& row = batch_[batch_size_];
  row.cell_count = row.filled_count = shape.commas + 1;
  row.blank = false;
  row.terminated = true;
  row.swallowed_lines = false;
  if (shape.commas < last_column_ || shape.commas == 0) {
    if (shape.end != begin) return false;
    row = CsvRow{};
    row.blank = true;
    ++batch_size_;
    return true;
  }
  const std::size_t count = column_count_;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* const start = cell_starts_.data() + columns_[i];
    const char* from = buffer_ + start[0];
    const char* const to = buffer_ + start[1] - 1;
    if (skips_blanks_) {
      while (*from == ' ') ++from;  // stops at the comma or line break at `to`
    }
    row.cells[i] = {from, static_cast<std::size_t>(to - from)};
  }
  if (shape.quoted && !drop_quotes(row)) return false;
  if (row.cell_count > header_cells_) {
    const std::string_view line(buffer_ + begin, shape.end - begin);
    if (skips_blanks_ && line.find('[') != line.npos) return false;
    const auto filled = count_filled(line, row.cell_count);
    if (!filled) return false;
    row.filled_count = *filled;
  }
  if (shape.end - begin > kMaxCellCharacters) return false;
  ++batch_size_;
  return true;
}

bool CsvReader::drop_quotes(CsvRow& row) const {
  for (std::string_view& cell : std::span(row.cells).first(column_count_)) {
    if (!cell.starts_with('"')) continue;
    cell.remove_prefix(1);
    if (cell.find('"') + 1 != cell.size()) return false;
    cell.remove_suffix(1);
  }
  return true;
}

// Gives out the rows that are completely in the buffer and have no oddity: a quote inside a cell, a
// line break inside quotes, a tab, a NUL. Stops before the first other row, or with a full batch.
void CsvReader::scan() {
  row_is_odd_ = false;
  while (batch_size_ < most_rows_ && begin_ < end_) {
    const RowShape shape = find_row_end(begin_);
    if (shape.kind == RowShape::Kind::cut_off) return;
    if (shape.kind == RowShape::Kind::odd || !add_row(begin_, shape)) {
      row_is_odd_ = true;
      return;
    }
    begin_ = shape.next;
  }
}

// Takes the next row byte by byte, reading on as needed.
void CsvReader::read_slow_row() {
  const std::size_t most_of_lists = header_cells_ + kMostListCells;
  RowParser parser(std::max(last_column_ + 1, most_of_lists), skips_blanks_);
  parser.start_row();
  bool terminated = false;
  bool swallowed_lines = false;
  while (true) {
    if (begin_ == end_ && !refill()) {
      dropped_nuls_ += parser.dropped_nuls();
      swallowed_lines = parser.swallowed_lines();
      if (!parser.end_of_text()) return;
      terminated = parser.saw_line_break();
      break;
    }
    if (buffer_[begin_] == '\0' && !parser.saw_line_break()) {
      const std::size_t nuls = leading_nuls(ahead());
      begin_ += nuls;
      parser.drop_nuls(nuls);
      continue;
    }
    const RowParser::Step step = parser.push(buffer_[begin_]);
    if (step != RowParser::Step::row_done_before) ++begin_;
    if (step != RowParser::Step::more) {
      dropped_nuls_ += parser.dropped_nuls();
      terminated = true;
      break;
    }
  }
  slow_cells_ = parser.take_cells();
  const bool has_all = slow_cells_.size() == parser.cell_count();
  const bool has_lists = skips_blanks_ && has_all && slow_cells_.size() > header_cells_ &&
                         join_lists(slow_cells_, header_cells_);
  CsvRow& row = batch_[batch_size_++];
  for (std::size_t i = 0; i < column_count_; ++i) {
    row.cells[i] = columns_[i] < slow_cells_.size() ? std::string_view(slow_cells_[columns_[i]])
                                                    : std::string_view();
  }
  row.cell_count = static_cast<std::uint32_t>(has_lists ? slow_cells_.size() : parser.cell_count());
  row.filled_count = static_cast<std::uint32_t>(
      row.cell_count > header_cells_ ? parser.filled_count() : row.cell_count);
  row.blank = is_blank_row(parser);
  row.terminated = terminated;
  row.swallowed_lines = swallowed_lines;
}

}  // namespace aggregate_power
