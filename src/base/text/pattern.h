// A regular expression over bytes.
#pragma once

#include <memory>
#include <string_view>

namespace aggregate_power {

// Compiled when it is first used; may then be used by several threads at once. The time a match
// takes grows with the length of the text alone. A character is a byte, and "." is any but '\n'.
class Pattern {
 public:
  enum class Case { as_written, either };

  // Implicit, so that tables hold plain texts. `text` must outlive the pattern and be valid.
  Pattern(const char* text, Case letters = Case::as_written);

  bool matches(std::string_view text) const;  // the whole of it
  bool is_found_in(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;  // copies share it
};

}  // namespace aggregate_power
