// Lays out cells and rows.
#include "base/report/document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/wrap.h"

namespace aggregate_power {

TextTable::TextTable(std::string_view layout) {
  for (std::size_t end = 0; end < layout.size();) {
    const std::size_t begin = layout.find('[', end);
    const std::string_view before = layout.substr(end, begin - end);
    end = layout.find(']', begin) + 1;
    const std::size_t form = layout.find_last_of("<>", end - 1);
    const std::string_view number = layout.substr(form, end - 1 - form);
    std::string text(number.substr(0, number.find_first_of(".efg")));
    std::erase(text, '+');
    columns_.push_back({std::string(layout.substr(begin + 1, form - begin - 2)),
                        std::string(before), fmt::format("{{:{}}}", number),
                        fmt::format("{{:{}}}", text),
                        text.size() > 1 ? std::stoul(text.substr(1)) : 0, number.starts_with('<')});
  }
}

std::string TextTable::head() const {
  const auto titles = mapped<TextCell>(columns_, &Column::title);
  std::string text;
  add(titles, text);
  return text;
}

void TextTable::add(std::span<const TextCell> cells, std::string& text) const {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = columns_[std::min(i, columns_.size() - 1)];
    text += column.before;
    const auto write = [&](const std::string& form, const auto& value) {
      fmt::vformat_to(std::back_inserter(text), form, fmt::make_format_args(value));
    };
    const double* const number = std::get_if<double>(&cells[i].content);
    if (number != nullptr) {
      write(column.number, *number);
    } else if (const auto& shown = std::get<std::string>(cells[i].content); is_ascii(shown)) {
      const std::string::size_type blanks = column.width - std::min(column.width, shown.size());
      if (!column.is_left) text.append(blanks, ' ');
      text += shown;
      if (column.is_left) text.append(blanks, ' ');
    } else {
      write(column.text, shown);
    }
    const bool is_last = i + 1 == cells.size();
    if (is_last && column.is_left) text.erase(text.find_last_not_of(' ') + 1);
  }
  text += '\n';
}

std::string fact(std::string_view name, std::string_view value, std::size_t indent,
                 std::size_t width) {
  std::string first = fmt::format("{:<{}} ", name, indent - 1);
  const bool fits = width == std::string::npos || columns(first) + columns(value) <= width;
  return fits ? first.append(value) + "\n" : wrapped(value, std::move(first), indent, width);
}

// ---- Writes rows.

std::string csv_names(const Json::object_t& row) {
  std::string text;
  for (const auto& [name, value] : row) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

void add_csv_cells(const Json::object_t& row, std::string& text, CsvNumbers numbers) {
  bool is_first = true;
  for (const auto& [name, value] : row) {
    if (!std::exchange(is_first, false)) text += ',';
    if (const auto* const number = value.get_ptr<const double*>()) {
      text += numbers == CsvNumbers::real ? json_number(*number) : fmt::format("{}", *number);
    } else if (const auto* const cell = value.get_ptr<const std::string*>()) {
      text += spreadsheet_cell(*cell);
    } else if (!value.is_null()) {
      text += line_text(value);
    }
  }
}

void add_spaced_json(const Json& json, std::string& text) {
  const auto is_plain_text = [](const std::string& string) {
    return std::ranges::all_of(string, [](unsigned char c) { return is_plain(c); });
  };
  std::string_view between;
  if (const auto* const object = json.get_ptr<const Json::object_t*>()) {
    text += '{';
    for (const auto& [name, value] : *object) {
      text.append(std::exchange(between, ", ")).append(1, '"').append(name).append("\": ", 3);
      add_spaced_json(value, text);
    }
    text += '}';
  } else if (const auto* const list = json.get_ptr<const Json::array_t*>()) {
    text += '[';
    for (const Json& value : *list) {
      text += std::exchange(between, ", ");
      add_spaced_json(value, text);
    }
    text += ']';
  } else if (const auto* const number = json.get_ptr<const double*>()) {
    text += json_number(*number);
  } else if (const auto* const string = json.get_ptr<const std::string*>();
             string != nullptr && is_plain_text(*string)) {
    text.append("\"").append(*string).append("\"");
  } else if (const auto* const count = json.get_ptr<const Json::number_unsigned_t*>()) {
    text += std::to_string(*count);
  } else {
    text += json.is_null() ? "null" : line_text(json);
  }
}

std::string spaced_json_head(const Json& members, std::string_view list) {
  std::string text = "{\n";
  for (const auto& [name, value] : members.get_ref<const Json::object_t&>()) {
    text += fmt::format("\"{}\": ", name);
    add_spaced_json(value, text);
    text += ",\n";
  }
  return text + fmt::format("\"{}\": [", list);
}

// ---- Cuts names.

namespace {

constexpr std::string_view kDots = "...";

// The last characters of a text that is UTF-8.
std::string_view last_of(std::string_view text, std::size_t characters) {
  std::size_t begin = text.size();
  while (begin > 0 && characters > 0) {
    --begin;
    const bool is_inside = (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80;
    if (!is_inside) --characters;
  }
  return text.substr(begin);
}

// Keeps `last` characters of the end, and as many of the beginning as fit before the dots.
std::string cut(std::string_view name, std::size_t columns, std::size_t last) {
  const std::string whole = one_line(name);
  std::string shown = shortened(whole, columns);
  if (last == 0 || shown == whole) return shown;
  return printable(whole, columns - kDots.size() - last).append(last_of(whole, last));
}

bool differ(std::vector<std::string> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

}  // namespace

std::string shortened(std::string_view text, std::size_t columns) {
  std::string whole = printable(text, columns);
  return whole.ends_with(kDots) ? printable(text, columns - kDots.size()) : whole;
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names,
                                         std::size_t columns) {
  const std::size_t kept = columns - kDots.size();
  for (const std::size_t last : {std::size_t{0}, kept / 2, kept}) {
    std::vector<std::string> cut_names;
    for (const std::string& name : names) cut_names.push_back(cut(name, columns, last));
    if (differ(cut_names)) return cut_names;
  }
  return mapped<std::string>(names, [](const std::string& name) { return one_line(name); });
}

}  // namespace aggregate_power
