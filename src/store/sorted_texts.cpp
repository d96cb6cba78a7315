// Sorts texts in parts, and merges the parts.
#include "store/sorted_texts.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

std::string_view without_key(std::string_view text) { return text.substr(text.find('\0') + 1); }

}  // namespace

void SortedTexts::add(std::string_view key, std::string_view text) {
  texts_.push_back(fmt::format("{}{}{}", key, '\0', text));
  bytes_ += sizeof(std::string) + texts_.back().size();
  if (bytes_ > most_bytes_in_memory_) put_on_disk();
}

void SortedTexts::put_on_disk() {
  std::ranges::sort(texts_);
  ListFile& part = parts_.emplace_back();
  for (const std::string& text : texts_) part.write(text);
  part.rewind();
  texts_.clear();
  bytes_ = 0;
}

void SortedTexts::take_all(const std::function<void(std::string_view text)>& take) {
  if (parts_.empty()) {
    std::ranges::sort(texts_);
    for (const std::string& text : std::exchange(texts_, {})) take(without_key(text));
    return;
  }
  put_on_disk();
  using Next = std::pair<std::string, std::size_t>;  // a text, and the part it is from
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  const auto refill = [&](std::size_t part) {
    if (auto text = parts_[part].read()) next.emplace(std::move(*text), part);
  };
  for (std::size_t part = 0; part < parts_.size(); ++part) refill(part);
  while (!next.empty()) {
    const auto [text, part] = next.top();
    next.pop();
    refill(part);
    take(without_key(text));
  }
  parts_.clear();
}

}  // namespace aggregate_power
