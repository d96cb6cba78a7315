// Reports: facts and tables in padded columns for people, rows of a CSV, and JSON in lines.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/report/json_parts.h"

namespace aggregate_power {

// A text, or a number in the form of its column; a number that is not known is "-".
struct TextCell {
  TextCell(std::string_view text) : content(std::string(text)) {}
  TextCell(const std::string& text) : content(text) {}
  TextCell(const char* text) : content(std::string(text)) {}
  TextCell(double number) : content(number) {}
  TextCell(std::optional<double> number, const char* unknown = "-") : TextCell(unknown) {
    if (number) content = *number;
  }
  template <std::integral Count>
  TextCell(Count count) : content(std::to_string(count)) {}

  std::variant<std::string, double> content;
};

class TextTable {
 public:
  // Each column is in brackets: its title, and fmt's alignment, width and form of numbers. What is
  // between the brackets is printed between the columns: "[window <20] [energy J >12.3f]".
  explicit TextTable(std::string_view layout);

  std::size_t size() const { return columns_.size(); }
  // The titles as a line.
  std::string head() const;
  // Adds a line to `text`. It may end early; what is past the last column has that one's form. A
  // line whose last cell begins where its column does has no blanks at its end.
  void add(std::span<const TextCell> cells, std::string& text) const;
  void add(std::initializer_list<TextCell> cells, std::string& text) const {
    add(std::span(cells.begin(), cells.size()), text);
  }

 private:
  struct Column {
    std::string title;
    std::string before;
    std::string number;  // a format string of fmt
    std::string text;    // the same for a text: without what is of numbers
    std::size_t width;
    bool is_left;
  };
  std::vector<Column> columns_;
};

// A line with a name and, `indent` columns from its begin, what is known; it is broken at blanks
// if it would be longer than `width`.
std::string fact(std::string_view name, std::string_view value, std::size_t indent = 11,
                 std::size_t width = std::string::npos);

// ---- Rows that are JSON objects: their members are the columns of a CSV.

enum class CsvNumbers { real, shortest };  // 600.0 or 600

// The names of a row's members as the first line of a CSV, without a line end.
std::string csv_names(const Json::object_t& row);
// Adds their values as another line, without a line end. Null is an empty cell; a text is one for
// spreadsheets.
void add_csv_cells(const Json::object_t& row, std::string& text,
                   CsvNumbers numbers = CsvNumbers::real);

// In one line with a blank after each comma and colon, as Python's json.dumps writes it.
void add_spaced_json(const Json& json, std::string& text);
// The begin of an object whose members are in lines of their own, up to the first item of its last
// one, a list.
std::string spaced_json_head(const Json& members, std::string_view list);

// ---- Names cut to the width of a table's column.

// At most that many characters, as a terminal may show them.
std::string shortened(std::string_view text, std::size_t columns);

// The same for names that must stay apart: cut at the end if they then differ, else in the middle,
// else at the beginning, else not at all.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names,
                                         std::size_t columns);

}  // namespace aggregate_power
