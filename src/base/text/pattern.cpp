// Matches simple patterns, and calls RE2 for all others.
#include "base/text/pattern.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <utility>

#include <re2/re2.h>

namespace aggregate_power {
namespace {

const re2::RE2& compiled(std::string_view text, Pattern::Case letters) {
  static std::mutex mutex;
  static std::map<std::pair<std::string_view, Pattern::Case>, re2::RE2> programs;
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_case_sensitive(letters == Pattern::Case::as_written);
  options.set_never_capture(true);
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = programs.try_emplace({text, letters}, text, options);
  assert(at->second.ok());
  return at->second;
}

// Whether `c` is the character that a part of a simple pattern stands for: "a", ".", "\\.", "[._]".
bool is_one_of(std::string_view part, char c) {
  if (part.size() > 2) return part.substr(1, part.size() - 2).find(c) != part.npos;
  return part == "." ? c != '\n' : c == part.back();
}

bool matches_alternative(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  const std::size_t size = pattern[0] == '[' ? pattern.find(']') + 1 : pattern[0] == '\\' ? 2 : 1;
  const std::string_view part = pattern.substr(0, size);
  const bool is_optional = size < pattern.size() && pattern[size] == '?';
  pattern.remove_prefix(is_optional ? size + 1 : size);
  const bool is_next = !text.empty() && is_one_of(part, text[0]);
  return (is_next && matches_alternative(pattern, text.substr(1))) ||
         (is_optional && matches_alternative(pattern, text));
}

bool matches_simple(std::string_view pattern, std::string_view text) {
  while (true) {
    const std::size_t end = std::min(pattern.find('|'), pattern.size());
    if (matches_alternative(pattern.substr(0, end), text)) return true;
    if (end == pattern.size()) return false;
    pattern.remove_prefix(end + 1);
  }
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool Pattern::matches(std::string_view text) const {
  if (is_simple_) return matches_simple(text_, text);
  return re2::RE2::FullMatch(piece(text), compiled(text_, letters_));
}

bool Pattern::is_found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(piece(text), compiled(text_, letters_));
}

}  // namespace aggregate_power
