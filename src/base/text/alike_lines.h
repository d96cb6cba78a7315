// Finds lines that are laid out like the one before them, which many lines of a table are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace aggregate_power {

// Lines with the same separators in the same places: commas, quotes, blanks and control characters.
// kLineSlack bytes after each text must be readable.
//
//   alike.note(line, cells.layout());
//   text.remove_prefix(alike.take_front(text, [&](const char* line) { ... }));
class AlikeLines {
 public:
  AlikeLines();

  // `line` was read, with its line break. `layout` is a number that lines have together if they are
  // likely to be alike; not 0.
  void note(std::string_view line, std::uint64_t layout) {
    is_alike_ = layout_ != 0 && layout == layout_ && count(line, 1) == 1;
    if (!is_alike_ && layout == noted_layout_) learn(line, layout);
    noted_layout_ = layout;
  }
  // Calls `take` with the beginning of each line at the front of `text` that is like the one noted
  // last, up to one for which `take` returns false. Returns how many bytes of it were taken.
  template <typename Take>
  std::size_t take_front(std::string_view text, const Take& take) const {
    constexpr std::size_t kMostAtOnce = 64;
    if (!is_alike_) return 0;
    std::size_t taken = 0;
    // Many are counted at once only where many were taken.
    for (std::size_t most = 1;; most = std::min(2 * most, kMostAtOnce)) {
      const std::size_t found = count(text.substr(taken), most);
      for (std::size_t i = 0; i < found; ++i, taken += size_) {
        if (!take(text.data() + taken)) return taken;
      }
      if (found < most) return taken;
    }
  }

 private:
  // For each byte of a block what is in a line.
  struct LineBlock {
    static constexpr std::size_t kBytes = 64;
    std::uint8_t separators[kBytes];  // kText where there is none
    std::uint8_t ignored[kBytes];     // all bits after the line's end, else 0
  };
  static constexpr std::uint8_t kText = 0xFF;

  static std::uint8_t separator_or_text(char c);
  void learn(std::string_view line, std::uint64_t layout);
  // How many of such lines there are at the front of `text`, up to `most`.
  std::size_t count(std::string_view text, std::size_t most) const;
  std::size_t count_with_avx2(std::string_view text, std::size_t most) const;
  std::size_t count_in(std::string_view text, std::size_t most) const;

  bool has_avx2_ = false;
  std::uint64_t noted_layout_ = 0;
  bool is_alike_ = false;     // the line that was noted is like the one that was learned
  std::uint64_t layout_ = 0;  // of the line that was learned; 0: none was
  std::size_t size_ = 0;      // of that line
  std::vector<LineBlock> blocks_;
};

}  // namespace aggregate_power
