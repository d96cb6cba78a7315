// Wraps RE2, and matches simple patterns without it.
#include "base/text/pattern.h"

#include <cassert>
#include <cctype>
#include <memory>
#include <mutex>

#include <re2/re2.h>

namespace aggregate_power {
namespace {

// The length of the first character of a simple pattern: "a", ".", "\\.", "[ ._-]".
std::size_t first_size(std::string_view pattern) {
  if (pattern.starts_with('[')) return pattern.find(']') + 1;
  return pattern.starts_with('\\') ? 2 : 1;
}

// Whether all that a pattern has are alternatives of single characters, each of which may be
// optional: "date|gpu[ _]?id". Compiling one takes longer than reading a header with it.
bool is_simple(std::string_view pattern) {
  if (pattern.empty() || pattern.find_first_of("(){}*+^$") != pattern.npos) return false;
  for (; !pattern.empty(); pattern.remove_prefix(first_size(pattern))) {
    const bool is_escape = pattern.starts_with('\\');
    if (is_escape && std::isalnum(static_cast<unsigned char>(pattern[1])) != 0) return false;
    const std::string_view first = pattern.substr(0, first_size(pattern));
    if (first.size() > 2 && first.find('-') < first.size() - 2) return false;  // "[0-9]"
  }
  return true;
}

bool has_character(std::string_view of_pattern, char c) {
  if (of_pattern.size() > 2) return of_pattern.find(c, 1) < of_pattern.size() - 1;
  return of_pattern == "." ? c != '\n' : c == of_pattern.back();
}

bool matches_alternative(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || pattern[0] == '|') return text.empty();
  const std::string_view first = pattern.substr(0, first_size(pattern));
  pattern.remove_prefix(first.size());
  const bool is_optional = pattern.starts_with('?');
  if (is_optional) pattern.remove_prefix(1);
  if (!text.empty() && has_character(first, text[0]) &&
      matches_alternative(pattern, text.substr(1))) {
    return true;
  }
  return is_optional && matches_alternative(pattern, text);
}

bool matches_simple(std::string_view pattern, std::string_view text) {
  while (true) {
    if (matches_alternative(pattern, text)) return true;
    while (!pattern.empty() && pattern[0] != '|') pattern.remove_prefix(first_size(pattern));
    if (pattern.empty()) return false;
    pattern.remove_prefix(1);
  }
}

}  // namespace

struct Pattern::Compiled {
  Compiled(const char* its_text, Case its_letters)
      : text(its_text),
        letters(its_letters),
        simple(its_letters == Case::as_written && is_simple(its_text)) {}

  const char* text;
  Case letters;
  bool simple;
  std::once_flag once;
  std::unique_ptr<const re2::RE2> program;

  const re2::RE2& get() {
    std::call_once(once, [this] {
      re2::RE2::Options options(re2::RE2::Latin1);
      options.set_case_sensitive(letters == Case::as_written);
      options.set_never_capture(true);
      program = std::make_unique<const re2::RE2>(text, options);
      assert(program->ok());
    });
    return *program;
  }
};

Pattern::Pattern(const char* text, Case letters)
    : compiled_(std::make_shared<Compiled>(text, letters)) {}

bool Pattern::matches(std::string_view text) const {
  if (compiled_->simple) return matches_simple(compiled_->text, text);
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled_->get());
}

bool Pattern::is_found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->get());
}

}  // namespace aggregate_power
