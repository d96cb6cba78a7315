// A tree that hashes files while someone reads them, so that no file has to be read twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/files/tree.h"

namespace aggregate_power {

// A file as it was when first opened.
struct HashedFile {
  FileFacts facts;
  std::string hash;  // what hash_of() gives
};

// Must be owned by a shared_ptr: files opened from it may outlive its other owners.
class HashingTree : public Tree, public std::enable_shared_from_this<HashingTree> {
 public:
  explicit HashingTree(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

  // What is read through OpenedFile::source() is hashed on the way.
  OpenedFile open(const std::string& path) const override;
  // Reads the file if nobody has read it to its end. Throws FileError, also if someone could not
  // open or read the file before, because that reader has seen only a part of it.
  HashedFile hashed(const std::string& path) const;

  void list(const std::string& folder,
            const std::function<void(const TreeEntry&)>& entry) const override {
    tree_->list(folder, entry);
  }
  std::optional<FileFacts> find_file(const std::string& path) const override {
    return tree_->find_file(path);
  }
  std::optional<std::int64_t> written_ns(const std::string& path) const override {
    return tree_->written_ns(path);
  }
  bool has_folder(const std::string& path) const override { return tree_->has_folder(path); }
  bool is_link(const std::string& path) const override { return tree_->is_link(path); }
  std::string resolved(const std::string& path) const override { return tree_->resolved(path); }
  int depth() const override { return tree_->depth(); }
  std::uint64_t passed_over() const override { return tree_->passed_over(); }
  std::string way_out(const std::string& path) const override { return tree_->way_out(path); }
  std::shared_ptr<ExpansionBudget> budget() const override { return tree_->budget(); }
  StoreAccess access() const override { return tree_->access(); }
  std::uint64_t spooled_bytes() const override { return tree_->spooled_bytes(); }

 private:
  // What is known about a file that was opened.
  struct Note {
    std::optional<FileFacts> facts;  // nullopt: it could not be opened
    std::string hash;                // empty: unknown
    std::optional<FileError> fault;  // the first one
  };
  class Source;
  OpenedFile open_noting(const std::string& path) const;
  Note note_of(const std::string& path) const;
  // `change` takes the file's Note.
  template <typename Change>
  void change_note(const std::string& path, const Change& change) const;

  std::shared_ptr<const Tree> tree_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Note> notes_;  // by normal path
};

}  // namespace aggregate_power
