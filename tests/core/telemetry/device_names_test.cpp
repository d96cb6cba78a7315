// Device names to small numbers, and their order.
#include "core/telemetry/device_names.h"
#include "aggregate_power/gpu.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace device_names_test {

using Names = std::vector<std::string>;

TEST(DeviceNames, AreNumberedAsTheyAreFirstSeen) {
  DeviceNames devices;
  EXPECT_EQ(devices.find("1"), 0u);
  EXPECT_EQ(devices.find("GPU-0"), 1u);
  EXPECT_EQ(devices.find("0"), 2u);
  EXPECT_EQ(devices.find("GPU-0"), 1u);
  EXPECT_EQ(devices.find("1"), 0u);
  EXPECT_EQ(devices.names(), (Names{"1", "GPU-0", "0"}));
}

TEST(DeviceNames, KnowNoneForABlankCellOrASuperscript) {
  DeviceNames devices;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(devices.find(""), DeviceNames::kNone);
    EXPECT_EQ(devices.find(" \t"), DeviceNames::kNone);
    EXPECT_EQ(devices.find("\xC2\xA0"), DeviceNames::kNone);
    EXPECT_EQ(devices.find("\xC2\xB2"), DeviceNames::kNone);  // superscript two: int() fails
    EXPECT_EQ(devices.find("1\xC2\xB2"), DeviceNames::kNone);
    EXPECT_EQ(devices.find("a\xC2\xB2"), 0u) << "a letter makes it a name";
  }
  EXPECT_EQ(devices.names(), Names{"a\xC2\xB2"});
}

TEST(DeviceNames, AreRawTexts) {
  DeviceNames devices;
  const std::string texts[] = {"0", "00", "0.0", "+0", "\xD9\xA0", "gpu", "GPU", "\x01"};
  for (std::size_t i = 0; i < std::size(texts); ++i)
    EXPECT_EQ(devices.find(texts[i]), i) << texts[i];
  EXPECT_EQ(devices.find(" 00 "), 1u) << "but for the blanks around";
  EXPECT_EQ(devices.find("\xFF"), 8u);
  EXPECT_EQ(devices.find("\xEF\xBF\xBD"), 8u) << "what is no UTF-8 reads as U+FFFD";
}

TEST(DeviceNames, JoinHostAndNumber) {
  DeviceNames devices;
  EXPECT_EQ(devices.find("a", "0"), 0u);
  EXPECT_EQ(devices.find("b", "0"), 1u);
  EXPECT_EQ(devices.find(" a ", " 0 "), 0u);
  EXPECT_EQ(devices.find("a", ""), DeviceNames::kNone);
  EXPECT_EQ(devices.names(), (Names{"a/0", "b/0"}));
}

TEST(DeviceNames, AreTheSameInAnyOrderOfRows) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  DeviceNames devices;
  Names seen;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t number = dice.below(i < 200 ? 4 : 40);
    const std::string name =
        number % 3 == 0 ? fmt::format("{}", number % 10) : fmt::format("GPU-{}", number);
    const auto known = std::find(seen.begin(), seen.end(), name);
    const auto expected = static_cast<std::uint32_t>(known - seen.begin());
    if (known == seen.end()) seen.push_back(name);
    ASSERT_EQ(devices.find(name), expected) << name << ", TEST_SEED=" << seed;
  }
  EXPECT_EQ(devices.names(), seen);
}

TEST(DeviceNames, HaveOneInAFileWithoutAColumn) {
  DeviceNames devices;
  devices.add_only_device();
  EXPECT_EQ(devices.names(), Names{"0"});
}

// sorted(ids, key=lambda i: (0, int(i)) if i.isdigit() else (1, i)) of Python.
TEST(DeviceNameLess, SortsNumbersFirstAndByValue) {
  const Names expected = {"0",
                          "2",
                          "\xD9\xA3",
                          "10",
                          "99999999999999999998",
                          "99999999999999999999",
                          "-1",
                          "GPU-0",
                          "GPU-1",
                          "GPU-10",
                          "GPU-2",
                          "a",
                          "a/1",
                          "z",
                          "\xC3\xA9"};
  Names shuffled = expected;
  test::Dice dice(5);
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[dice.below(i)]);
  std::sort(shuffled.begin(), shuffled.end(), device_name_less);
  EXPECT_EQ(shuffled, expected);
}

TEST(DeviceNameLess, IsNeverTrueBothWays) {
  const Names names = {"0", "00", "000", "\xD9\xA0", "1", "01", "a", "", "10", "\xC2\xB2"};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_FALSE(device_name_less(a, b) && device_name_less(b, a)) << a << " " << b;
    }
  }
  EXPECT_FALSE(device_name_less("0", "00")) << "the same number";
}

}  // namespace device_names_test
}  // namespace aggregate_power
