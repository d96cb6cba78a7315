// A regular expression over bytes.
#pragma once

#include <memory>
#include <string_view>

namespace aggregate_power {

// Compiled on first use; after that several threads may use it at once. The time for a match grows
// only with the length of the text. A character is a byte, and "." is any byte but '\n'.
class Pattern {
 public:
  enum class Case { as_written, either };

  // Implicit, so that tables can hold plain texts. `text` must outlive the pattern and be valid.
  Pattern(const char* text, Case letters = Case::as_written);

  bool matches(std::string_view text) const;  // the whole of it
  bool is_found_in(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;  // copies share it
};

}  // namespace aggregate_power
