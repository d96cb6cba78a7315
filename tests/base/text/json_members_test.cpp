// Values of a JSON text that is in memory, without a tree.
#include "base/text/json_value.h"

#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace json_members_test {

JsonMemberText member(const std::string& text) {
  JsonMemberText value;
  EXPECT_TRUE(find_members(text, {{"a", value}})) << text;
  return value;
}

TEST(FindMembers, TakesTheLastOfAKeyAndLooksIntoNoOther) {
  EXPECT_EQ(member(R"({"a": 1, "b": {"a": 2}, "\u0061" :[3] })").spelling, "[3]");
  EXPECT_EQ(member(R"({"b": {"a": 2}})").spelling, "");
  EXPECT_EQ(member(R"({"a": null})").spelling, "null");
  JsonMemberText value;
  EXPECT_FALSE(find_members("[1]", {{"a", value}}));
  EXPECT_THROW(find_members("{", {{"a", value}}), JsonError);
}

TEST(JsonMemberText, MeansWhatATreeWouldSayOfAScalar) {
  EXPECT_TRUE(member("{}").scalar().is_null());
  EXPECT_TRUE(member(R"({"a": null})").scalar().is_null());
  EXPECT_TRUE(member(R"({"a": true})").scalar().is_true());
  EXPECT_EQ(member(R"({"a": -12})").scalar().as_integer(), -12);
  EXPECT_EQ(member(R"({"a": 1.50e1 })").scalar().as_double(), 15);
  const std::string text = R"({"a": "x\u00e9\n"})";
  EXPECT_EQ(member(text).scalar().text, "x\u00e9\n");
  EXPECT_TRUE(member(R"({"a": [1]})").scalar().is_array());
  EXPECT_TRUE(member(R"({"a": {"b": 1}})").scalar().is_object());
}

TEST(JsonMemberText, IsTruthyAsATreeIs) {
  for (const char* const spelling : {"null", "0.0", "\"\"", "[]", "{}", "{ }", "[\n]"}) {
    const std::string text = std::string("{\"a\": ") + spelling + "}";
    EXPECT_FALSE(member(text).is_truthy()) << spelling;
  }
  for (const char* const spelling : {"true", "1", "\" \"", "[0]", "[[]]", "{\"b\": 0}"}) {
    const std::string text = std::string("{\"a\": ") + spelling + "}";
    EXPECT_TRUE(member(text).is_truthy()) << spelling;
  }
  EXPECT_FALSE(member("{}").is_truthy());
}

}  // namespace json_members_test
}  // namespace aggregate_power
