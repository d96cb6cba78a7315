// Keeps a note of every file opened in a hashing tree.
#include "base/files/hashing_tree.h"

#include <span>

#include "base/files/hash.h"
#include "base/files/path.h"

namespace aggregate_power {

// Hashes one reading of a file from its start.
class HashingTree::Source : public ByteSource {
 public:
  Source(std::shared_ptr<const HashingTree> tree, std::string path, std::uint64_t size,
         std::unique_ptr<ByteSource> source)
      : tree_(std::move(tree)), path_(std::move(path)), size_(size), source_(std::move(source)) {}

  std::size_t read(std::span<char> into) override {
    try {
      const std::size_t count = source_->read(into);
      hash_.add({into.data(), count});
      if (count > 0 && hash_.bytes() == size_) {
        tree_->change_note(path_, [&](Note& note) { note.hash = hash_.hex(); });
      }
      return count;
    } catch (const FileError& error) {
      tree_->change_note(path_, [&](Note& note) {
        if (!note.fault) note.fault = error;
      });
      throw;
    }
  }

 private:
  std::shared_ptr<const HashingTree> tree_;
  std::string path_;
  std::uint64_t size_;
  std::unique_ptr<ByteSource> source_;
  ContentHash hash_;
};

OpenedFile HashingTree::open(const std::string& path) const {
  OpenedFile file = open_noting(path);
  return file.through([tree = shared_from_this(), path, size = file.size()](
                          std::unique_ptr<ByteSource> source) -> std::unique_ptr<ByteSource> {
    if (!tree->note_of(path).hash.empty()) return source;
    return std::make_unique<Source>(tree, path, size, std::move(source));
  });
}

HashedFile HashingTree::hashed(const std::string& path) const {
  const Note before = note_of(path);
  if (!before.hash.empty() && !before.fault) return {*before.facts, before.hash};
  std::string hash = hash_of(open_noting(path));
  if (before.fault) throw FileError(*before.fault);
  return {*note_of(path).facts, std::move(hash)};
}

OpenedFile HashingTree::open_noting(const std::string& path) const {
  try {
    OpenedFile file = tree_->open(path);
    change_note(path, [&](Note& note) {
      if (!note.facts) note.facts = file.facts();
    });
    return file;
  } catch (const FileError& error) {
    change_note(path, [&](Note& note) {
      if (!note.fault) note.fault = error;
    });
    throw;
  }
}

HashingTree::Note HashingTree::note_of(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(normal_path(path));
  return found == notes_.end() ? Note() : found->second;
}

template <typename Change>
void HashingTree::change_note(const std::string& path, const Change& change) const {
  const std::lock_guard lock(mutex_);
  change(notes_[normal_path(path)]);
}

}  // namespace aggregate_power
