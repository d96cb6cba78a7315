// Compressed files as streams. What is compressed here is compressed by libarchive's own writer.
#include "base/files/decompress.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.h"
#include "test_util.h"

namespace aggregate_power {
namespace archive_test {

enum class Filter { gzip, zstd };

// `text`, `times` over.
std::string compressed(Filter filter, const std::string& text, std::size_t times = 1) {
  std::string packed(text.size() * times / 500 + text.size() + 4096, '\0');
  std::size_t used = 0;
  archive* const writer = archive_write_new();
  EXPECT_EQ(filter == Filter::gzip ? archive_write_add_filter_gzip(writer)
                                   : archive_write_add_filter_zstd(writer),
            ARCHIVE_OK);
  archive_write_set_format_raw(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  EXPECT_EQ(archive_write_open_memory(writer, packed.data(), packed.size(), &used), ARCHIVE_OK);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK);
  for (std::size_t i = 0; i < times; ++i) {
    EXPECT_EQ(archive_write_data(writer, text.data(), text.size()),
              static_cast<la_ssize_t>(text.size()));
  }
  archive_entry_free(entry);
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  packed.resize(used);
  return packed;
}

std::string expanded(const std::string& bytes, std::size_t most = test::kWhole) {
  return read_all(*decompressed(std::make_unique<test::StutterSource>(bytes, most), "a.csv.gz"));
}

std::string error_of(const std::string& bytes) {
  try {
    expanded(bytes);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

std::string many_rows() {
  std::string text = "timestamp,gpu,power_w\n";
  for (int i = 0; i < 20000; ++i)
    text += std::to_string(1777118400 + i) + ",0," + std::to_string(i) + "\n";
  return text;
}

TEST(Decompressed, ExpandsGzipAndZstandard) {
  const std::string text = many_rows();
  for (const Filter filter : {Filter::gzip, Filter::zstd}) {
    const std::string packed = compressed(filter, text);
    ASSERT_LT(packed.size(), text.size());
    for (const std::size_t most : {test::kWhole, std::size_t{1}, std::size_t{7}}) {
      EXPECT_EQ(expanded(packed, most), text);
    }
    EXPECT_EQ(expanded(packed + packed), text + text) << "as 'cat a.gz b.gz' makes it";
    EXPECT_EQ(expanded(compressed(filter, "")), "");
  }
}

TEST(Decompressed, HasAnAbsoluteLimit) {
  const std::string text(1 << 20, 'x');
  const std::uint64_t before = most_unpacked_bytes();
  EXPECT_EQ(before, std::uint64_t{64} << 30);
  set_most_unpacked_bytes(4 << 20);
  for (const Filter filter : {Filter::gzip, Filter::zstd}) {
    EXPECT_EQ(expanded(compressed(filter, text, 4)).size(), 4U << 20);
    EXPECT_TRUE(
        error_of(compressed(filter, text, 5)).starts_with("a.csv.gz: expands to more than "));
  }
  set_most_unpacked_bytes(before);
}

TEST(Decompressed, LeavesOtherBytesAlone) {
  for (const std::string text :
       {"", "a", "\x1F", "timestamp,gpu\n", "\x28\xB5\x2F", "PK\x03\x04"}) {
    EXPECT_EQ(expanded(text), text);
  }
}

TEST(Decompressed, SaysWhenAFileIsCutOffOrDamaged) {
  const std::string text = many_rows();
  for (const Filter filter : {Filter::gzip, Filter::zstd}) {
    const std::string packed = compressed(filter, text);
    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{20}}) {
      EXPECT_TRUE(error_of(packed.substr(0, size)).starts_with("a.csv.gz: cannot be expanded: "))
          << size << ": " << error_of(packed.substr(0, size));
    }
    std::string damaged = packed;
    for (std::size_t i = packed.size() / 3; i < packed.size() / 2; ++i) damaged[i] ^= 0x55;
    EXPECT_TRUE(error_of(damaged).starts_with("a.csv.gz: cannot be expanded: "))
        << error_of(damaged);
  }
}

TEST(Decompressed, ComparesTheChecksumOfGzip) {
  std::string packed = compressed(Filter::gzip, many_rows());
  packed[packed.size() - 5] ^= 1;  // the checksum; the size follows it
  EXPECT_EQ(error_of(packed), "a.csv.gz: cannot be expanded: incorrect data check");
  packed[packed.size() - 5] ^= 1;
  packed.back() ^= 1;
  EXPECT_EQ(error_of(packed), "a.csv.gz: cannot be expanded: incorrect length check");
}

TEST(Decompressed, PassesOverWhatPadsGzip) {
  const std::string packed = compressed(Filter::gzip, "text");
  for (const std::size_t most : {test::kWhole, std::size_t{1}}) {
    EXPECT_EQ(expanded(packed + std::string(1000, '\0'), most), "text");
    EXPECT_EQ(expanded(packed + packed + "rest", most), "texttext");
  }
  EXPECT_EQ(error_of(packed + "\x1F"), "a.csv.gz: cannot be expanded: truncated gzip input");
}

TEST(Decompressed, RefusesABomb) {
  const std::string bomb = compressed(Filter::zstd, std::string(1 << 20, '\0'), 1100);
  ASSERT_LT(bomb.size(), std::size_t{1} << 20);
  const auto source = decompressed(std::make_unique<MemorySource>(bomb), "bomb.zst");
  std::string chunk(1 << 20, '\0');
  EXPECT_THROW(while (source->read(chunk) > 0){}, FileError);
}

TEST(Decompressed, PassesOnWhatItsSourceThrows) {
  class Broken : public ByteSource {
   public:
    std::size_t read(std::span<char> into) override {
      if (std::exchange(was_read_, true)) throw FileError("disk", "read", EIO);
      return std::string_view("\x1F\x8B\x08\x00\x00\x00\x00\x00", 8).copy(into.data(), into.size());
    }

   private:
    bool was_read_ = false;
  };
  try {
    read_all(*decompressed(std::make_unique<Broken>(), "a"));
    FAIL();
  } catch (const FileError& error) {
    EXPECT_STREQ(error.what(), "disk: cannot read: Input/output error");
  }
}

}  // namespace archive_test
}  // namespace aggregate_power
