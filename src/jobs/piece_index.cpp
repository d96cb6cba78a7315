// What was met in a store, by the run's name, kept on disk.
#include "aggregate_power/jobs/piece_index.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/hash.h"
#include "aggregate_power/base/spool.h"

namespace aggregate_power {
namespace {

// No FileError: those are faults of the store.
[[noreturn]] void fail(const char* action) {
  throw Error(fmt::format(
      "cannot {} the list of what is in the store, in {}: {}; set $TMPDIR to a folder that can be "
      "written to and has room",
      action, temporary_folder(), std::generic_category().message(errno)));
}

std::FILE* open_anonymous() {
  const int fd = open_nameless(temporary_folder());
  std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, "w+b");
  if (file == nullptr) fail("create");
  return file;
}

void write_text(std::FILE* file, std::string_view text) {
  const std::uint64_t size = text.size();
  if (std::fwrite(&size, sizeof size, 1, file) != 1 ||
      std::fwrite(text.data(), 1, text.size(), file) != text.size()) {
    fail("write");
  }
}

std::string read_text(std::FILE* file) {
  std::uint64_t size = 0;
  if (std::fread(&size, sizeof size, 1, file) != 1) fail("read");
  std::string text(size, '\0');
  if (std::fread(text.data(), 1, text.size(), file) != text.size()) fail("read");
  return text;
}

}  // namespace

void PieceIndex::Close::operator()(std::FILE* file) const { std::ignore = std::fclose(file); }

PieceIndex::PieceIndex() { files_[0].reset(open_anonymous()); }

void PieceIndex::add(const IndexEntry& entry) {
  const std::lock_guard guard(mutex_);
  File& file = files_[text_hash(entry.name) % files_.size()];
  if (!file) file.reset(open_anonymous());
  if (std::fputc(entry.kind, file.get()) == EOF) fail("write");
  write_text(file.get(), entry.name);
  write_text(file.get(), entry.text);
}

void PieceIndex::for_each_name(const Take& take) {
  for (File& file : files_) {
    if (!file) continue;
    if (std::fflush(file.get()) != 0) fail("write");
    std::rewind(file.get());
    std::vector<IndexEntry> entries;
    for (int kind = 0; (kind = std::fgetc(file.get())) != EOF;) {
      std::string name = read_text(file.get());
      entries.push_back({static_cast<std::uint8_t>(kind), std::move(name), read_text(file.get())});
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
