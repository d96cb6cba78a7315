// Wraps RE2.
#include "base/text/pattern.h"

#include <cassert>
#include <mutex>
#include <optional>

#include <re2/re2.h>

namespace aggregate_power {

struct Pattern::Compiled {
  Compiled(const char* its_text, Case its_letters) : text(its_text), letters(its_letters) {}

  const char* text;
  Case letters;
  std::once_flag once;
  std::optional<re2::RE2> program;

  const re2::RE2& get() {
    std::call_once(once, [this] {
      re2::RE2::Options options(re2::RE2::Latin1);
      options.set_case_sensitive(letters == Case::as_written);
      options.set_never_capture(true);
      program.emplace(text, options);
      assert(program->ok());
    });
    return *program;
  }
};

Pattern::Pattern(const char* text, Case letters)
    : compiled_(std::make_shared<Compiled>(text, letters)) {}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled_->get());
}

bool Pattern::is_found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->get());
}

}  // namespace aggregate_power
