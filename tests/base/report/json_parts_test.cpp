#include "base/report/json_parts.h"

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

}  // namespace json_parts_test
}  // namespace aggregate_power
