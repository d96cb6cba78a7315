// Blocks dealt to workers, and what they give out in order.
#include "core/telemetry/parallel_read.h"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "recorders/breaking_source.h"

namespace aggregate_power {
namespace parallel_read_test {

constexpr std::size_t kBlock = 1000;

std::size_t end_of_line(std::string_view bytes) { return bytes.rfind('\n') + 1; }

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

// What all workers gave out.
struct Given {
  std::string text;
  std::size_t times = 0;
  std::size_t fails_after = std::string::npos;  // so many times
};

class Copier : public BlockWorker {
 public:
  explicit Copier(Given& given) : given_(given) {}

  void read(BlockSource& blocks) override {
    std::array<char, kBlock> buffer;
    while (const std::size_t size = blocks.read(buffer)) {
      read_.append(buffer.data(), size);
      if (read_.find("fault") != read_.npos) throw std::runtime_error("a fault in the text");
    }
  }
  void give() override {
    if (given_.times++ == given_.fails_after) throw std::runtime_error("no more");
    given_.text += read_;
    read_.clear();
  }
  void forget() override { read_.clear(); }

 private:
  Given& given_;
  std::string read_;
};

std::string read_all(const StreamParts& parts, std::size_t workers, Given& given) {
  std::vector<std::unique_ptr<BlockWorker>> all;
  while (all.size() < workers) all.push_back(std::make_unique<Copier>(given));
  try {
    parallel_read(parts, kBlock, all);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(ParallelRead, GivesOutAllBytesInOrder) {
  for (const std::size_t workers : {1, 2, 3, 8}) {
    for (const int count : {0, 1, 50, 5'000}) {
      const std::string text = lines(count);
      test::BreakingSource source(text, std::string::npos, "a.txt");
      Given given;
      EXPECT_EQ(read_all({"beginning\n", "ahead\n", source, end_of_line}, workers, given), "");
      EXPECT_EQ(given.text, "beginning\nahead\n" + text) << count << " lines, " << workers;
      if (workers > 1) {
        EXPECT_GE(given.times, text.size() / kBlock);
      }
    }
  }
}

TEST(ParallelRead, GivesTheRestToOneWhereItCannotCut) {
  const std::string text = lines(300) + "\"" + lines(3'000);
  test::BreakingSource source(text, std::string::npos, "a.txt");
  const auto cut_off = [](std::string_view bytes) {
    return bytes.find('"') == bytes.npos ? end_of_line(bytes) : 0;
  };
  Given given;
  EXPECT_EQ(read_all({{}, {}, source, cut_off}, 3, given), "");
  EXPECT_EQ(given.text, text);
  EXPECT_LE(given.times, 5U);
}

TEST(ParallelRead, GivesTheBytesBeforeAFaultOfTheSource) {
  for (const std::size_t workers : {1, 3}) {
    const std::string text = lines(3'000);
    test::BreakingSource source(text, 12'345, "a.txt");
    Given given;
    EXPECT_EQ(read_all({{}, {}, source, end_of_line}, workers, given),
              FileError("a.txt", "read", EIO).what());
    EXPECT_EQ(given.text, text.substr(0, 12'345));
  }
}

TEST(ParallelRead, ThrowsTheFirstFaultInTheOrderOfTheStream) {
  for (int i = 0; i < 20; ++i) {
    const std::string good = lines(500);
    const std::string text = good + "fault 1\n" + lines(500) + "fault 2\n" + lines(500);
    test::BreakingSource source(text, std::string::npos, "a.txt");
    Given given;
    EXPECT_EQ(read_all({{}, {}, source, end_of_line}, 3, given), "a fault in the text");
    EXPECT_TRUE(given.text.starts_with(good));
    EXPECT_EQ(given.text.find("fault 2"), given.text.npos);
  }
}

TEST(ParallelRead, EndsWhenGivingThrows) {
  for (const std::size_t workers : {1, 3}) {
    test::BreakingSource source(lines(3'000), std::string::npos, "a.txt");
    Given given;
    given.fails_after = workers == 1 ? 0 : 2;
    EXPECT_EQ(read_all({{}, {}, source, end_of_line}, workers, given), "no more");
    EXPECT_EQ(given.times, given.fails_after + 1);
  }
}

}  // namespace parallel_read_test
}  // namespace aggregate_power
