// Pads cells.
#include "base/report/document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text/ascii.h"
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
                        fmt::format("{{:{}}}", text), text.size() > 1 ? std::stoul(text.substr(1)) : 0,
                        number.starts_with('<')});
  }
}

std::string TextTable::head() const {
  std::vector<TextCell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title);
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
  return width == std::string::npos ? first.append(value) + "\n"
                                    : wrapped(value, std::move(first), indent, width);
}

}  // namespace aggregate_power
