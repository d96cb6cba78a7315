// Recognizes JSON texts that are as the one before but for their scalars: the lines of a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.h"
#include "base/text/json_paths.h"
#include "base/text/patience.h"

namespace aggregate_power {

// The bytes of a JSON text that are not in its scalars, and the calls that a visitor gets for it.
class JsonShape {
 public:
  explicit JsonShape(const JsonPaths& paths) : paths_(paths) {}

  // From here on, this is the shape of `text`, which is valid. Not every text has one: it is an
  // object on one line, its keys and scalars are plain and not too many. Nor is each text learned,
  // if those before were learned in vain.
  void learn(std::string_view text);
  void forget();

  // The end of a text at `text`, in a buffer as json_plain.h has it, if it has this shape and its
  // scalars are plain; nullptr otherwise, also if there is no shape. Then only its end in the
  // buffer can keep the text from being valid.
  const char* match(const char* text);

  // ---- Of the text that matched, and valid as long as that is.

  // Its scalars on wanted paths, as a visitor gets them.
  std::span<const JsonScalar> scalars() const { return scalars_; }
  // Makes the calls for all that is on wanted paths.
  void tell(JsonVisitor& visitor) const;

 private:
  class Reader;

  // What is between two wanted scalars, or between one and an end of the text.
  struct Gap {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t first = 0;  // of its unwanted scalars; its last one is before the next gap's first
  };
  struct Unwanted {
    std::size_t begin;
    std::size_t end;
  };
  struct Call {
    enum class Kind { begin, end, key, scalar } kind;
    std::size_t path;
    std::string key = {};
  };

  const char* match_parts(const Gap& gap, std::size_t last, const char* text);

  static constexpr std::size_t kMost = kMostJsonAgain;  // of the unwanted scalars, and of the calls

  const JsonPaths& paths_;
  // The text that was learned, with unwanted scalars of the newest text where they have the same
  // size, and after it some bytes that may be read.
  std::string bytes_;
  std::vector<Gap> gaps_;
  std::vector<Unwanted> unwanted_;
  std::vector<JsonScalar> scalars_;  // the wanted ones
  std::vector<Call> calls_;
  Patience patience_ = Patience(0);
};

}  // namespace aggregate_power
