// Spreads entries over temporary files by the hash of their names.
#include "store/disk_index.h"

#include <algorithm>
#include <tuple>

#include "base/files/hash.h"

namespace aggregate_power {

DiskIndex::DiskIndex() { files_[0].emplace(); }

void DiskIndex::add(const IndexEntry& entry) {
  const std::lock_guard guard(mutex_);
  std::optional<ListFile>& file = files_[text_hash(entry.name) % files_.size()];
  if (!file) file.emplace();
  file->write(static_cast<char>(entry.kind) + entry.name);
  file->write(entry.text);
}

void DiskIndex::for_each_name(const Take& take) {
  for (std::optional<ListFile>& file : files_) {
    if (!file) continue;
    file->rewind();
    std::vector<IndexEntry> entries;
    while (auto named = file->read()) {
      const auto kind = static_cast<std::uint8_t>(named->front());
      entries.push_back({kind, named->substr(1), file->read().value()});
    }
    file.reset();
    std::ranges::sort(entries, {}, [](const IndexEntry& entry) {
      return std::tie(entry.name, entry.kind, entry.text);
    });
    for (auto first = entries.begin(); first != entries.end();) {
      const auto last = std::find_if(
          first, entries.end(), [&](const IndexEntry& entry) { return entry.name != first->name; });
      take(first->name, {first, last});
      first = last;
    }
  }
}

}  // namespace aggregate_power
