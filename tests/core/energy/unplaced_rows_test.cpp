// Which rows without a usable time may be rows of the window.
#include "core/energy/integrate.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace unplaced_rows_test {

constexpr Window kBand = {100, 200};
constexpr std::optional<double> kBad = std::nullopt;

bool may_be_inside(const std::vector<std::optional<double>>& rows) {
  UnplacedRows unplaced(kBand);
  bool found = false;
  for (const auto& unix_s : rows) {
    if (!unix_s) {
      unplaced.add();
    } else {
      found |= unplaced.add(*unix_s);
    }
  }
  return found || unplaced.may_be_inside();
}

TEST(UnplacedRows, AreElsewhereBetweenTwoRowsOnOneSideOfTheBand) {
  const struct {
    std::string what;
    std::vector<std::optional<double>> rows;
    bool may_be_inside;
  } cases[] = {
      {"none", {50, 150, 250}, false},
      {"no row at all", {}, false},
      {"before", {50, kBad, 99, 150}, false},
      {"after", {150, 201, kBad, kBad, 250}, false},
      {"in it", {50, 120, kBad, 130}, true},
      {"into it", {99, kBad, 100}, true},
      {"out of it", {200, kBad, 201}, true},
      {"across it", {99, kBad, 201}, true},
      {"the first", {kBad, 50, 150}, true},
      {"the last", {150, 250, kBad}, true},
      {"one of two", {50, kBad, 60, 150, kBad, 160}, true},
      {"where GPUs' rows are interleaved", {50, 48, kBad, 51, 49, 150}, false},
      {"before a step back", {50, kBad, 60, 40, 150}, true},
      {"after a step back", {250, 150, 250, kBad, 260}, true},
      {"a step back alone", {250, 150}, false},
  };
  for (const auto& c : cases) EXPECT_EQ(may_be_inside(c.rows), c.may_be_inside) << c.what;
}

}  // namespace unplaced_rows_test
}  // namespace aggregate_power
