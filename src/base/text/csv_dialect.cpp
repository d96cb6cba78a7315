// Recognizes the dialect of a table by its first rows, and rewrites its rows as CSV.
#include "base/text/csv_dialect.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/pattern.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kJudgedRows = 64;
constexpr std::size_t kMostRowBytes = std::size_t{1} << 20;

// Where a row ends: at its line break, and after it.
struct RowEnd {
  std::size_t end = 0;
  std::size_t next = 0;
};

// Calls `take(begin, end)` for each cell of the first row of `text`. Returns nullopt if the row's
// end is not there; `at_end` says that nothing follows.
template <typename Take>
std::optional<RowEnd> for_each_cell(std::string_view text, char separator, bool at_end,
                                    const Take& take) {
  bool in_quotes = false;
  bool has_closed = false;  // the character before was a closing quote
  bool is_cell_start = true;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes) {
      has_closed = c == '"';
      in_quotes = !has_closed;
      continue;
    }
    const bool is_second_quote = std::exchange(has_closed, false);
    if (c == '\n' || c == '\r') {
      const bool is_last = i + 1 == text.size();
      if (c == '\r' && is_last && !at_end) return std::nullopt;
      take(begin, i);
      return RowEnd{i, i + (c == '\r' && !is_last && text[i + 1] == '\n' ? 2 : 1)};
    }
    if (c == separator) {
      take(begin, i);
      begin = i + 1;
      is_cell_start = true;
    } else if (c == '"' && (is_cell_start || is_second_quote)) {
      in_quotes = true;
      is_cell_start = false;
    } else if (c != ' ') {
      is_cell_start = false;
    }
  }
  if (!at_end) return std::nullopt;
  take(begin, text.size());
  return RowEnd{text.size(), text.size()};
}

// The first lines of a text.
std::string_view first_lines_of(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < kJudgedRows && end != text.npos; ++i) end = text.find('\n', end + 1);
  return text.substr(0, end == text.npos ? end : end + 1);
}

// Whether the lines have nothing that another dialect would: no quotes, semicolons or tabs, and
// no more commas than the first one.
bool are_plainly_usual(std::string_view lines) {
  if (lines.find_first_of("\";\t") != lines.npos) return false;
  const auto commas_of_next = [&] {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    return std::ranges::count(line, ',');
  };
  const auto commas = commas_of_next();
  while (!lines.empty()) {
    if (commas_of_next() > commas) return false;
  }
  return true;
}

std::string without_quotes_around(std::string_view raw) {
  raw.remove_prefix(std::min(raw.find_first_not_of(' '), raw.size()));
  if (!raw.starts_with('"')) return std::string(raw);
  std::string text;
  bool in_quotes = true;
  for (std::size_t i = 1; i < raw.size(); ++i) {
    if (in_quotes && raw[i] == '"') {
      in_quotes = i + 1 < raw.size() && raw[i + 1] == '"';
      if (in_quotes) text += raw[i++];
      continue;
    }
    text += raw[i];
  }
  return text;
}

using Cells = std::vector<std::string>;

// The first rows that are whole, without blank lines, comments and "sep=;".
std::vector<Cells> first_rows(std::string_view head, char separator, bool at_end) {
  std::vector<Cells> rows;
  while (!head.empty() && rows.size() < kJudgedRows) {
    Cells cells;
    const auto row =
        for_each_cell(head, separator, at_end, [&](std::size_t begin, std::size_t end) {
          cells.push_back(without_quotes_around(head.substr(begin, end - begin)));
        });
    if (!row) break;
    const std::string_view line = strip(head.substr(0, row->end));
    if (!line.empty() && !line.starts_with('#') && !line.starts_with("sep=")) {
      rows.push_back(std::move(cells));
    }
    head.remove_prefix(row->next);
  }
  return rows;
}

// The rows from the header on: the first row with several cells, if all rows after it have as many.
// A last one that was cut off may have fewer. Empty if there is no such table.
std::vector<Cells> table_of(std::vector<Cells> rows, bool at_end) {
  const auto header =
      std::ranges::find_if(rows, [](const Cells& cells) { return cells.size() > 1; });
  rows.erase(rows.begin(), header);
  if (rows.size() > 2 && at_end && rows.back().size() < rows[0].size()) rows.pop_back();
  const bool is_table = rows.size() > 1 && std::ranges::all_of(rows, [&](const Cells& cells) {
                          return cells.size() == rows[0].size();
                        });
  return is_table ? std::move(rows) : std::vector<Cells>();
}

// "sep=;" in the first line, as spreadsheets understand it.
std::optional<char> stated_separator(std::string_view head) {
  constexpr std::string_view kBegin = "sep=";
  if (!head.starts_with(kBegin) || head.size() <= kBegin.size()) return std::nullopt;
  const char c = head[kBegin.size()];
  return c == ';' || c == '\t' || c == ',' ? std::optional(c) : std::nullopt;
}

char separator_of(std::string_view head, bool at_end) {
  if (const auto stated = stated_separator(head)) return *stated;
  const auto rows_by = [&](char c) { return table_of(first_rows(head, c, at_end), at_end).size(); };
  // Commas may be in all numbers, and in quoted names of the header; tabs may only align columns.
  if (rows_by(';') > 0) return ';';
  return rows_by('\t') > rows_by(',') ? '\t' : ',';
}

// How a number is written: digits, a comma or a point, digits, and perhaps a unit.
struct NumberForm {
  char mark = '\0';               // ',' or '.'; else it is not such a number
  bool may_be_thousands = false;  // "1,234"
};

NumberForm form_of(std::string_view cell) {
  cell = strip(cell);
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  const auto digits_of = [&] {
    const auto end = std::ranges::find_if_not(cell, is_ascii_digit);
    const std::string_view digits(cell.begin(), end);
    cell.remove_prefix(digits.size());
    return digits;
  };
  const std::string_view whole = digits_of();
  if (whole.empty() || cell.empty() || (cell[0] != ',' && cell[0] != '.')) return {};
  const char mark = cell[0];
  cell.remove_prefix(1);
  const std::string_view places = digits_of();
  const bool has_more =
      std::ranges::any_of(cell, [](char c) { return is_ascii_digit(c) || c == ',' || c == '.'; });
  if (places.empty() || has_more) return {};
  return {mark, places.size() == 3 && whole.size() <= 3 && whole[0] != '0'};
}

// Whether the table's numbers may be in thousandths: then three digits after a mark hardly are
// decimals.
bool names_small_unit(const Cells& header) {
  static const Pattern unit =
      "(.*([^a-z]|power))?(mw|uw|m-?watts?)([^a-z].*)?|.*(milli|micro)-?watt.*";
  return std::ranges::any_of(
      header, [](const std::string& name) { return unit.matches(lower_ascii(name)); });
}

// Whether all numbers with points are such as "82.292": of a locale that writes thousands so, where
// cells are separated by semicolons and watts would be small.
bool may_have_points_between_thousands(std::span<const Cells> rows, char separator) {
  if (separator != ';' || !names_small_unit(rows[0])) return false;
  bool has_one = false;
  for (const Cells& cells : rows.subspan(1)) {
    for (const std::string& cell : cells) {
      const NumberForm form = form_of(cell);
      if (form.mark == '.' && !form.may_be_thousands) return false;
      has_one = has_one || form.mark == '.';
    }
  }
  return has_one;
}

// Locales with decimal commas separate cells by semicolons. There "82,292" is a decimal unless it
// may be milliwatts.
bool has_decimal_commas(std::span<const Cells> rows, bool may_be_clear) {
  bool is_clear = false;
  for (const Cells& cells : rows) {
    for (const std::string& cell : cells) {
      const NumberForm form = form_of(cell);
      if (form.mark == '.') return false;
      is_clear = is_clear || (form.mark == ',' && (may_be_clear || !form.may_be_thousands));
    }
  }
  return is_clear;
}

// Whether the cell and the next one are a time that a comma divides. A fraction of a second has
// digits enough not to be another number; three digits may be a power.
bool is_divided_time(const Cells& cells, std::size_t at) {
  static const Pattern time = "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}";
  static const Pattern fraction =
      "[0-9]{6}|[0-9]{9}|[0-9]{3,9}(Z|[-+][0-9]{2}:?[0-9]{2})|0[0-9]{2}";
  return at + 1 < cells.size() && time.matches(strip(cells[at])) &&
         fraction.matches(strip(cells[at + 1]));
}
bool may_be_divided_time(const Cells& cells, std::size_t at) {
  static const Pattern milliseconds = "[0-9]{3}";
  if (is_divided_time(cells, at)) return true;
  if (at + 1 >= cells.size() || !milliseconds.matches(strip(cells[at + 1]))) return false;
  Cells as_zero = cells;
  as_zero[at + 1] = "000";
  return is_divided_time(as_zero, at);
}

// Every row has one cell more than the header, and at one place a divided time.
std::optional<std::size_t> divided_time_of(std::span<const Cells> rows) {
  if (rows.size() < 2) return std::nullopt;
  const std::size_t names = rows[0].size();
  const auto data = rows.subspan(1);
  for (std::size_t at = 0; at < names; ++at) {
    const auto may_be = [&](const Cells& cells) {
      return cells.size() == names || (cells.size() == names + 1 && may_be_divided_time(cells, at));
    };
    const auto is = [&](const Cells& cells) {
      return cells.size() == names + 1 && is_divided_time(cells, at);
    };
    if (std::ranges::all_of(data, may_be) && std::ranges::any_of(data, is)) return at;
  }
  return std::nullopt;
}

class UsualCsv : public ByteSource {
 public:
  UsualCsv(std::unique_ptr<ByteSource> source, CsvDialect dialect)
      : source_(std::move(source)), dialect_(dialect) {}

  std::size_t read(std::span<char> into) override {
    while (written_.empty()) {
      if (!write_rows() && !refill()) return 0;
    }
    const std::size_t count = written_.copy(into.data(), into.size());
    written_.erase(0, count);
    return count;
  }

 private:
  bool refill() {
    if (is_at_end_) return false;
    if (rest_.size() > kMostRowBytes) {
      throw CsvError(fmt::format("row {} has more than {} bytes", row_ + 1, kMostRowBytes));
    }
    const std::size_t count = source_->read(chunk_);
    is_at_end_ = count == 0;
    rest_.append(chunk_.data(), count);
    return true;
  }

  // Writes the rows that are whole. Returns false if there is none.
  bool write_rows() {
    std::string_view left = rest_;
    while (!left.empty()) {
      cells_.clear();
      const auto row = for_each_cell(left, dialect_.separator, is_at_end_,
                                     [&](std::size_t begin, std::size_t end) {
                                       cells_.push_back(left.substr(begin, end - begin));
                                     });
      if (!row) break;
      ++row_;
      write_row();
      written_ += left.substr(row->end, row->next - row->end);
      left.remove_prefix(row->next);
    }
    const bool has_written = left.size() != rest_.size();
    rest_.erase(0, rest_.size() - left.size());
    return has_written;
  }

  void write_row() {
    const bool is_divided =
        dialect_.divided_time && cells_.size() == dialect_.header_cells + 1 && is_time_divided();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (i > 0) written_ += is_divided && i == *dialect_.divided_time + 1 ? '.' : ',';
      write_cell(cells_[i]);
    }
  }

  bool is_time_divided() const {
    const std::size_t at = *dialect_.divided_time;
    const auto cell = [&](std::size_t i) { return std::string(strip(cells_[i])); };
    return may_be_divided_time({cell(at), cell(at + 1)}, 0);
  }

  void write_cell(std::string_view raw) {
    if (dialect_.separator == ',' && !dialect_.decimal_comma) {
      written_ += raw;
      return;
    }
    std::string text = without_quotes_around(raw);
    if (dialect_.unclear_points && form_of(text).mark == '.') {
      throw CsvError(fmt::format(
          "row {}: the point in '{}' may be decimal or between thousands: write nothing between thousands, and another number of decimals than three",
          row_, printable(text)));
    }
    const NumberForm form = dialect_.decimal_comma ? form_of(text) : NumberForm();
    if (form.mark == '.') {
      throw CsvError(fmt::format(
          "row {}: '{}' has a decimal point, and numbers before it have decimal commas: write all with points",
          row_, printable(text)));
    }
    if (form.mark == ',') text[text.find(',')] = '.';
    written_ += csv_cell(text);
  }

  std::unique_ptr<ByteSource> source_;
  CsvDialect dialect_;
  std::array<char, 32768> chunk_;
  std::string rest_;     // what was read and is not yet written
  std::string written_;  // and not yet given out
  std::vector<std::string_view> cells_;
  std::uint64_t row_ = 0;
  bool is_at_end_ = false;
};

}  // namespace

CsvDialect csv_dialect(std::string_view head, bool at_end) {
  const std::string_view lines = first_lines_of(head);
  if (are_plainly_usual(lines)) return {};
  at_end = at_end && lines.size() == head.size();
  head = lines;
  CsvDialect dialect = {.separator = separator_of(head, at_end)};
  const std::vector<Cells> rows = first_rows(head, dialect.separator, at_end);
  if (rows.size() < 2) return dialect.separator == ',' ? CsvDialect() : dialect;
  const bool may_be_clear = dialect.separator == ';' && !names_small_unit(rows[0]);
  dialect.decimal_comma = has_decimal_commas(std::span(rows).subspan(1), may_be_clear);
  dialect.unclear_points = may_have_points_between_thousands(rows, dialect.separator);
  if (dialect.separator != ',' || dialect.decimal_comma) return dialect;
  dialect.divided_time = divided_time_of(rows);
  dialect.header_cells = rows[0].size();
  return dialect;
}

std::unique_ptr<ByteSource> as_usual_csv(std::unique_ptr<ByteSource> source, CsvDialect dialect) {
  return std::make_unique<UsualCsv>(std::move(source), dialect);
}

}  // namespace aggregate_power
