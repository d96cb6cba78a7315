// Sorts texts in parts, and merges the parts.
#include "store/catalogue/external_sort.h"

#include <algorithm>
#include <cerrno>
#include <queue>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/files/nameless_file.h"

namespace aggregate_power {
namespace {

// Not a FileError: those are faults of the store.
[[noreturn]] void fail(const char* action) {
  throw Error(fmt::format(
      "cannot {} the list of what is in the store, in {}: {}; set $TMPDIR to a folder that is writable and has free space",
      action, temporary_folder(), std::generic_category().message(errno)));
}

}  // namespace

void ExternalSort::Close::operator()(std::FILE* file) const { std::ignore = std::fclose(file); }

ExternalSort::ExternalSort(std::size_t most_bytes_in_memory)
    : most_bytes_in_memory_(most_bytes_in_memory) {
  const int fd = open_nameless(folder_for_temporaries());
  file_.reset(fd < 0 ? nullptr : ::fdopen(fd, "w+b"));
  if (!file_) fail("create");
}

void ExternalSort::write(const std::string& text) {
  const std::size_t size = text.size();
  if (std::fwrite(&size, sizeof size, 1, file_.get()) != 1 ||
      std::fwrite(text.data(), 1, size, file_.get()) != size) {
    fail("write");
  }
}

std::string ExternalSort::read() {
  std::size_t size = 0;
  if (std::fread(&size, sizeof size, 1, file_.get()) != 1) fail("read");
  std::string text(size, '\0');
  if (std::fread(text.data(), 1, size, file_.get()) != size) fail("read");
  return text;
}

void ExternalSort::add(std::string_view key, std::string_view text) {
  entries_.emplace_back(key, text);
  bytes_ += sizeof(Entry) + key.size() + text.size();
  if (bytes_ > most_bytes_in_memory_) put_on_disk();
}

void ExternalSort::put_on_disk() {
  std::ranges::sort(entries_);
  const long at = parts_.empty() ? 0 : parts_.back().end;
  if (std::fseek(file_.get(), at, SEEK_SET) != 0) fail("write");
  for (const auto& [key, text] : entries_) {
    write(key);
    write(text);
  }
  if (std::fflush(file_.get()) != 0) fail("write");
  parts_.push_back({at, std::ftell(file_.get())});
  entries_.clear();
  bytes_ = 0;
}

std::optional<ExternalSort::Entry> ExternalSort::next_of(Part& part) {
  if (part.at == part.end) return std::nullopt;
  if (std::fseek(file_.get(), part.at, SEEK_SET) != 0) fail("read");
  std::string key = read();
  Entry entry{std::move(key), read()};
  part.at = std::ftell(file_.get());
  return entry;
}

void ExternalSort::for_each_key(const Take& take) {
  using Next = std::pair<Entry, std::size_t>;  // and the part it is from
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  const auto refill = [&](std::size_t part) {
    if (auto entry = next_of(parts_[part])) next.emplace(std::move(*entry), part);
  };
  // What is in memory is a part like the others.
  std::ranges::sort(entries_, std::greater<>());
  const auto refill_from_memory = [&] {
    if (entries_.empty()) return;
    next.emplace(std::move(entries_.back()), parts_.size());
    entries_.pop_back();
  };
  refill_from_memory();
  for (std::size_t part = 0; part < parts_.size(); ++part) refill(part);
  while (!next.empty()) {
    std::string key = next.top().first.first;
    std::vector<std::string> texts;
    while (!next.empty() && next.top().first.first == key) {
      auto [entry, part] = next.top();
      next.pop();
      texts.push_back(std::move(entry.second));
      part == parts_.size() ? refill_from_memory() : refill(part);
    }
    take(key, texts);
  }
  parts_.clear();
  bytes_ = 0;
}

std::string scattered_key(std::string_view name) {
  constexpr std::uint64_t kGroups = 64;
  return fmt::format("{}{}", static_cast<char>(text_hash(name) % kGroups), name);
}

std::string name_of_key(const std::string& key) { return key.substr(1); }

}  // namespace aggregate_power
