// Files that are hashed while someone reads them.
#include "base/files/tree.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files/hash.h"
#include "test_util.h"

namespace aggregate_power {
namespace hashing_tree_test {

using test::Folder;
using test::put;

// Disk, with the bytes that are read from it counted.
class CountingTree : public HashingTree {
 public:
  CountingTree() : HashingTree(disk_tree()) {}

  OpenedFile open(const std::string& path) const override {
    return disk_tree()->open(path).through([this](std::unique_ptr<ByteSource> source) {
      return std::make_unique<Source>(std::move(source), bytes);
    });
  }

  mutable std::uint64_t bytes = 0;

 private:
  class Source : public ByteSource {
   public:
    Source(std::unique_ptr<ByteSource> source, std::uint64_t& bytes)
        : source_(std::move(source)), bytes_(bytes) {}
    std::size_t read(std::span<char> into) override {
      const std::size_t count = source_->read(into);
      bytes_ += count;
      return count;
    }

   private:
    std::unique_ptr<ByteSource> source_;
    std::uint64_t& bytes_;
  };
};

struct Bed {
  Folder folder;
  std::string path = folder / "a.csv";
  std::string text = std::string(200'000, 'x') + "y";
  std::string hash = [this] {
    put(path, text);
    return hash_of(OpenedFile(path));
  }();
  std::shared_ptr<const CountingTree> disk = std::make_shared<const CountingTree>();
  std::shared_ptr<const HashingTree> tree = std::make_shared<const HashingTree>(disk);
};

TEST(HashingTree, HashesAFileThatWasReadWithoutReadingItAgain) {
  const Bed bed;
  EXPECT_EQ(read_all(*bed.tree->open(bed.path).source()), bed.text);
  const HashedFile file = bed.tree->hashed(bed.folder / "./a.csv");  // by another spelling
  EXPECT_EQ(file.hash, bed.hash);
  EXPECT_EQ(file.facts, *disk_tree()->find_file(bed.path));
  EXPECT_EQ(bed.disk->bytes, bed.text.size());
}

TEST(HashingTree, ReadsWhatNobodyReadToItsEnd) {
  const Bed bed;
  EXPECT_EQ(bed.tree->hashed(bed.path).hash, bed.hash);
  EXPECT_EQ(bed.disk->bytes, bed.text.size());
  const Bed other;
  read_up_to(*other.tree->open(other.path).source(), 10);
  EXPECT_EQ(other.tree->hashed(other.path).hash, bed.hash);
}

TEST(HashingTree, HashesTheSecondReadingWhereTheFirstStopped) {
  const Bed bed;
  const OpenedFile file = bed.tree->open(bed.path);
  read_up_to(*file.source(), 10);
  read_all(*file.source());
  const std::uint64_t read = bed.disk->bytes;
  EXPECT_EQ(bed.tree->hashed(bed.path).hash, bed.hash);
  EXPECT_EQ(bed.disk->bytes, read);
}

TEST(HashingTree, HashesAnEmptyFile) {
  const Bed bed;
  put(bed.path, "");
  read_all(*bed.tree->open(bed.path).source());
  EXPECT_EQ(bed.tree->hashed(bed.path).hash, ContentHash().hex());
}

TEST(HashingTree, KeepsTheFactsOfTheFirstOpening) {
  const Bed bed;
  const FileFacts first = *disk_tree()->find_file(bed.path);
  read_all(*bed.tree->open(bed.path).source());
  put(bed.path, "changed");
  read_all(*bed.tree->open(bed.path).source());
  EXPECT_EQ(bed.tree->hashed(bed.path).facts, first);
}

TEST(HashingTree, RemembersThatAFileCouldNotBeHad) {
  const Bed bed;
  const std::string late = bed.folder / "late.csv";
  EXPECT_THROW(bed.tree->open(late), FileError);
  EXPECT_THROW(bed.tree->hashed(late), FileError);
  put(late, "x");  // whoever wanted it went on without
  EXPECT_THROW(bed.tree->hashed(late), FileError);
}

TEST(HashingTree, MayBeGoneBeforeItsFiles) {
  Bed bed;
  const auto source = bed.tree->open(bed.path).source();
  bed.tree.reset();
  EXPECT_EQ(read_all(*source), bed.text);
}

}  // namespace hashing_tree_test
}  // namespace aggregate_power
