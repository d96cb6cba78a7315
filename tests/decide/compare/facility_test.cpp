// Pricing what was published of runs.
#include "decide/compare/facility.h"

#include <limits>

#include <gtest/gtest.h>

#include "runs/measure/facility.h"

namespace aggregate_power {
namespace run_facility_test {

constexpr double kSix = 1732946400;  // 2024-11-30T06:00:00Z

PublishedRun run_of(double start_unix_s, double duration_s) {
  PublishedRun run;
  run.state = PowerState::valid;
  run.numbers = {{.key = "total_gpu_energy_j", .value = 3.6e6}};
  run.start_unix_s = start_unix_s;
  run.duration_s = duration_s;
  run.input_tokens = 4'000'000;
  run.output_tokens = 1'000'000;
  return run;
}

EnergyRate of_carbon() {
  return {.source = "miso.json", .per_kwh = {501, 419}, .first_unix_s = kSix};
}

TEST(RunFacility, AssumesConstantPowerAcrossHours) {
  // A quarter of an hour before 07:00, three after it.
  const FacilityRates rates{.pue = 2.0, .carbon = of_carbon()};
  const FacilityFigures figures = facility_of(run_of(kSix + 2700, 3600), rates);
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 2 * (0.25 * 501 + 0.75 * 419));
  EXPECT_DOUBLE_EQ(*figures.power_w, 2000);
  const Json json = facility_json(rates, "gpu", figures, tokens_of(run_of(kSix, 3600)));
  EXPECT_EQ(json["assumption"], "constant power in the window");
  EXPECT_DOUBLE_EQ(json["facility_energy_j_per_million_output_tokens"], 7.2e6);
  EXPECT_DOUBLE_EQ(json["facility_energy_j_per_million_tokens"], 7.2e6 / 5);
  EXPECT_TRUE(json["cost"].is_null());
}

TEST(RunFacility, NeedsNoAssumptionInOneHour) {
  const FacilityFigures figures = facility_of(run_of(kSix, 3600), {.carbon = of_carbon()});
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 501);
  EXPECT_EQ(figures.assumption, "");
}

TEST(RunFacility, GivesNoHoursToAWindowThatIsUnknown) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const PublishedRun& run : {run_of(0, 60), run_of(kSix, 0), run_of(nan, nan)}) {
    const FacilityFigures figures =
        facility_of(run, {.carbon = of_carbon(), .price = EnergyRate{.per_kwh = {0.25}}});
    EXPECT_EQ(figures.carbon_g, std::nullopt);
    EXPECT_DOUBLE_EQ(*figures.cost, 0.25);
    EXPECT_EQ(figures.reasons, std::vector<std::string>{"window_unknown"});
  }
}

TEST(RunFacility, NamesItsNumbers) {
  for (const char* const key : {"cost", "cost_per_million_tokens", "carbon_gco2e",
                                "facility_energy_j_per_million_output_tokens"}) {
    EXPECT_TRUE(is_facility_key(key)) << key;
  }
  for (const char* const key : {"", "costs", "cost_per_million", "total_gpu_energy_j"}) {
    EXPECT_FALSE(is_facility_key(key)) << key;
  }
}

TEST(RunFacility, ScalesTheSpreadOfTheEnergy) {
  PublishedRun run = run_of(kSix, 3600);
  run.numbers[0].flowed = Spread{3.6e6, 0.1e6, 3.4e6, 3.8e6};
  std::vector<PublishedRun> runs = {run};
  std::vector<std::string> warnings;
  add_facility_numbers({.price = EnergyRate{.per_kwh = {-2}}}, runs, warnings);
  const auto cost = runs[0].number("cost");
  ASSERT_TRUE(cost && cost->flowed);
  EXPECT_DOUBLE_EQ(cost->value, -2);
  EXPECT_DOUBLE_EQ(cost->flowed->low, -2 * 3.8 / 3.6);
  EXPECT_DOUBLE_EQ(cost->flowed->high, -2 * 3.4 / 3.6);
  EXPECT_DOUBLE_EQ(cost->flowed->standard_uncertainty, 2 * 0.1 / 3.6);
  EXPECT_TRUE(warnings.empty());
}

TEST(RunFacility, SaysNothingOfARunWithoutEnergy) {
  PublishedRun run = run_of(kSix, 3600);
  run.numbers.clear();
  const FacilityRates rates{.pue = 1.2};
  EXPECT_EQ(facility_of(run, rates).reasons, std::vector<std::string>{"no_energy_published"});
  run.state = PowerState::not_valid;
  EXPECT_EQ(facility_of(run, rates).reasons, std::vector<std::string>{"power_not_valid"});
  EXPECT_EQ(facility_of(run, rates).energy_j, std::nullopt);
}

}  // namespace run_facility_test
}  // namespace aggregate_power
