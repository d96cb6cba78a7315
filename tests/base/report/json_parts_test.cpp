#include "base/report/json_parts.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace json_parts_test {

TEST(JsonObject, KeepsItsMembersInTheirOrder) {
  JsonObject object;
  EXPECT_EQ(JsonObject().take().dump(), "{}");
  object.set("b", 1);
  object.set("a", nullptr);
  object.set("c", "x");
  EXPECT_EQ(std::move(object).take().dump(), R"({"b":1,"a":null,"c":"x"})");
}

TEST(JsonObject, KeepsTheLastValueOfAKeyInItsFirstPlace) {
  JsonObject object;
  object.set("a", 1);
  object.set("b", 2);
  object.set("a", 3);
  EXPECT_EQ(std::move(object).take().dump(), R"({"a":3,"b":2})");
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParsedJson, DiscardsWhatIsNestedTooDeep) {
  EXPECT_TRUE(parsed_json(nested(1000)).is_array());
  for (const std::size_t levels : {1001U, 100000U}) {
    EXPECT_TRUE(parsed_json(nested(levels)).is_discarded()) << levels;
    EXPECT_TRUE(parsed_json("{\"a\": 1, \"b\": " + nested(levels) + "}").is_discarded()) << levels;
    EXPECT_TRUE(parsed_json(std::string(levels, '[')).is_discarded()) << levels;
  }
  EXPECT_TRUE(parsed_json("{").is_discarded());
  const std::string text = R"("\\\"[{)" + std::string(2000, '[') + '"';  // a string of brackets
  EXPECT_TRUE(parsed_json(text).is_string());
  EXPECT_TRUE(parsed_json("[" + text + ", 1]").is_array());
  EXPECT_EQ(parsed_json(R"({"a": [1, {"b": 2}]})").dump(), R"({"a":[1,{"b":2}]})");
}

TEST(FindMember, ReturnsNullForWhatIsMissing) {
  const Json object = {{"a", 1}};
  EXPECT_EQ(find_member(object, "a"), &object.at("a"));
  EXPECT_EQ(find_member(object, "b"), nullptr);
  EXPECT_EQ(find_member(Json::array({1}), "a"), nullptr);
  EXPECT_EQ(find_member(Json(), "a"), nullptr);
}

}  // namespace json_parts_test
}  // namespace aggregate_power
