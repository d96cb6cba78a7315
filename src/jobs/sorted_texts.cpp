// Texts in order.
#include "aggregate_power/jobs/sorted_texts.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>

namespace aggregate_power {

void SortedTexts::add(std::string text) {
  bytes_ += sizeof text + text.size();
  texts_.push_back(std::move(text));
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
    for (const std::string& text : std::exchange(texts_, {})) take(text);
    return;
  }
  put_on_disk();
  using Next = std::pair<std::string, std::size_t>;  // a text, and the part that it is of
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  const auto refill = [&](std::size_t part) {
    if (auto text = parts_[part].read()) next.emplace(std::move(*text), part);
  };
  for (std::size_t part = 0; part < parts_.size(); ++part) refill(part);
  while (!next.empty()) {
    const auto [text, part] = next.top();
    next.pop();
    refill(part);
    take(text);
  }
  parts_.clear();
}

}  // namespace aggregate_power
