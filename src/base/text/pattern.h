// A regular expression over bytes.
#pragma once

#include <string_view>

namespace aggregate_power {

// Compiled on first use; several threads may use it at once. The time for a match grows only with
// the length of the text. A character is a byte, and "." is any byte but '\n'.
class Pattern {
 public:
  enum class Case { as_written, either };

  // Implicit, so that tables can hold plain texts. `text` must outlive the pattern and be valid.
  constexpr Pattern(const char* text, Case letters = Case::as_written)
      : text_(text),
        letters_(letters),
        is_simple_(letters == Case::as_written && is_simple(text)) {}

  bool matches(std::string_view text) const;  // the whole of it
  bool is_found_in(std::string_view text) const;

 private:
  // Whether it only has alternatives of single characters, and each may be optional:
  // "date|gpu[ _]?id". To compile these would take longer than to read a header with them.
  static constexpr bool is_simple(std::string_view text);

  std::string_view text_;
  Case letters_;
  bool is_simple_;
};

constexpr bool Pattern::is_simple(std::string_view text) {
  if (text.empty() || text.find_first_of("(){}*+^$") != text.npos) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text[i + 1] != '.') return false;
    if (text[i] != '[') continue;
    const std::size_t end = text.find(']', i);
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    if (inside.find_first_of("\\|") != inside.npos) return false;
    if (inside.find('-') < inside.size() - 1) return false;  // "[0-9]"
    i = end;
  }
  return true;
}

}  // namespace aggregate_power
