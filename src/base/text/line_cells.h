// Splits lines at their commas, 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace aggregate_power {

// The cells of one line after another, kept from split() to split(). kLineSlack bytes after each
// line must be readable.
class LineCells {
 public:
  LineCells();

  // Returns false, and has no cells, if the line has a quote or a control character: those may mean
  // others.
  bool split(std::string_view line);
  // The cells of a line that has them in the same places as the one that was split last, which had
  // cells.
  void move_to(const char* line) { line_ = line; }
  std::size_t size() const { return size_; }
  // Counts the layouts: lines with the same one in a row have their cells in the same places. 0:
  // there was no line.
  std::uint64_t layout() const { return layout_; }
  std::string_view operator[](std::size_t i) const {
    return {line_ + begins_[i], begins_[i + 1] - begins_[i] - 1};
  }

 private:
  template <typename Kernel>
  bool split_with(std::string_view line);
  bool split_with_avx2(std::string_view line);
  void find_cells();

  bool has_avx2_ = false;
  const char* line_ = nullptr;
  std::size_t line_size_ = std::string_view::npos;  // npos: it was not split
  std::vector<std::uint64_t> commas_;               // which bytes of the line, 64 at a time
  std::vector<std::uint32_t> begins_ = {0};         // of each cell, and of one more
  std::size_t size_ = 0;
  std::uint64_t layout_ = 0;
};

}  // namespace aggregate_power
