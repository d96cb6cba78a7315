// Elements of arrays that are laid out like the one before are visited as any others.
#include "base/text/json_elements.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text/json.h"
#include "test_util.h"

namespace aggregate_power {
namespace json_elements_test {

using test::kWhole;
using test::StutterSource;

// Writes down what is visited, and checks numbers against strtod().
class Noter : public JsonVisitor {
 public:
  void begin(std::size_t path) override { all += fmt::format("{{{}\n", path); }
  void end(std::size_t path) override { all += fmt::format("}}{}\n", path); }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    all += fmt::format("{} {} {}\n", path, static_cast<int>(kind), text);
  }
  void scalars(std::size_t path, std::span<const JsonScalar> some) override {
    for (const JsonScalar& one : some) check(one);
    JsonVisitor::scalars(path, some);
  }
  void pairs(std::size_t path, std::size_t item, std::span<const JsonPair> some) override {
    for (const JsonPair& pair : some) check(pair[0]), check(pair[1]);
    JsonVisitor::pairs(path, item, some);
  }
  std::string all;
  int numbers = 0;

 private:
  void check(const JsonScalar& scalar) {
    if (std::isnan(scalar.number)) return;
    ++numbers;
    const std::string text(scalar.text);
    char* end = nullptr;
    EXPECT_EQ(scalar.number, std::strtod(text.c_str(), &end)) << text;
    EXPECT_EQ(*end, '\0') << text;
  }
};

Noter visited(const std::string& text, std::size_t piece) {
  constexpr std::array<std::string_view, 3> kPaths = {"v[]", "p[]", "p[][]"};
  static const JsonPaths paths(kPaths);
  Noter noter;
  StutterSource source(text, piece);
  try {
    walk_json(source, paths, noter, JsonTexts::several);
  } catch (const JsonError& error) {
    noter.all += error.what();
  }
  return noter;
}

// Each byte of an element amid others, replaced by each other one.
TEST(AlikeElements, AreVisitedAsIfNoneWasBefore) {
  for (const std::string element : {"400.25,", "1777118400,", "0.5,", "7,",
                                    "[1777118400.125,\"0.25\"],", "[1, \"22\"], ", " 10.5,"}) {
    std::string text = element.find('[') == element.npos ? "{\"v\":[" : "{\"p\":[";
    for (int i = 0; i < 4; ++i) text += element;
    const std::size_t begin = text.size();
    text += element + element + element.substr(0, element.find_last_of(',')) + "]}";
    EXPECT_GE(visited(text, kWhole).numbers, 6) << text;
    for (std::size_t at = begin; at < begin + element.size(); ++at) {
      const char kept = text[at];
      for (int c = 0; c < 256; ++c) {
        text[at] = static_cast<char>(c);
        ASSERT_EQ(visited(text, kWhole).all, visited(text, 1).all) << text;
      }
      text[at] = kept;
    }
    for (std::size_t size = begin; size < text.size(); ++size) {
      const std::string cut = text.substr(0, size);
      ASSERT_EQ(visited(cut, kWhole).all, visited(cut, 1).all) << cut;
    }
  }
}

TEST(AlikeElements, HaveTheNearestNumbers) {
  std::minstd_rand random(20260427);
  const auto digits = [&](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int i = 0; i < 2'000; ++i) {
    const std::size_t whole = 1 + random() % 15;
    const std::size_t places = random() % 10;
    std::string text = "{\"v\":[";
    for (int j = 0; j < 12; ++j) {
      text += (whole == 1 ? "" : "1") + digits(whole - (whole == 1 ? 0 : 1));
      if (places > 0) text += "." + digits(places);
      text += ",";
    }
    const Noter found = visited(text + "0]}", kWhole);
    EXPECT_EQ(found.numbers, whole + places + (places > 0 ? 1 : 0) <= 16 ? 12 : 0) << text;
    EXPECT_EQ(found.all, visited(text + "0]}", 1).all);
  }
}

TEST(AlikeElements, AreVisitedTheSameWhateverTheirSizes) {
  std::minstd_rand random(20260428);
  for (int i = 0; i < test::rounds(500); ++i) {
    std::string text = "{\"p\":[";
    const unsigned most_places = 1 + random() % 4;
    for (int j = 0; j < 300; ++j) {
      text += fmt::format("[{}.{},\"{}.{}\"],", 1777118400 + j, j % 10, random() % 700,
                          std::string(1 + random() % most_places, '5'));
    }
    text += "[1,2]]}";
    ASSERT_EQ(visited(text, kWhole).all, visited(text, 1).all) << text;
    ASSERT_EQ(visited(text, 50 + random() % 500).all, visited(text, 1).all) << text;
  }
}

}  // namespace json_elements_test
}  // namespace aggregate_power
