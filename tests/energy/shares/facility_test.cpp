// Energy at the facility's meter, priced hour by hour.
#include "energy/shares/facility.h"

#include <gtest/gtest.h>

#include "core/energy/curve.h"

namespace aggregate_power {
namespace facility_energy_test {

constexpr double kSix = 1732946400;  // 2024-11-30T06:00:00Z
constexpr double kHour = 3600;

EnergyRate hourly(std::vector<double> per_kwh, double first_unix_s = kSix) {
  return {.source = "rates.csv", .per_kwh = std::move(per_kwh), .first_unix_s = first_unix_s};
}

EnergyRate flat(double per_kwh) { return {.per_kwh = {per_kwh}}; }

Window from_six(double start_h, double end_h) {
  return {kSix + start_h * kHour, kSix + end_h * kHour};
}

std::optional<double> never(Window) {
  ADD_FAILURE() << "no part was needed";
  return std::nullopt;
}

EnergyInPart constant(double watts) {
  return [watts](Window part) { return watts * part.duration_s(); };
}

TEST(FacilityFigures, AreSplitAtTheHour) {
  // 3600 W from 06:30 to 07:30: 1.8 MJ, 0.5 kWh, in each hour.
  const auto figures = facility_figures({.carbon = hourly({501, 419})}, from_six(0.5, 1.5),
                                        3600 * 3600, constant(3600));
  ASSERT_EQ(figures.stretches.size(), 2U);
  EXPECT_EQ(figures.stretches[0].measured_j, 1.8e6 * 3.6);
  EXPECT_EQ(figures.stretches[0].window.end_unix_s, kSix + kHour);
  // 3.6 kW for an hour: 1.8 kWh in each.
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 1.8 * 501 + 1.8 * 419);
  EXPECT_EQ(figures.energy_j, std::nullopt);
  EXPECT_TRUE(figures.assumption.empty());
}

TEST(FacilityFigures, TakeTheEnergyOfEachHourFromItsPower) {
  // 7200 W until 07:00, then nothing: 1 kWh, all of it in the first hour.
  const PowerTrace trace(
      "0", {{kSix, 7200}, {kSix + kHour, 7200}, {kSix + kHour + 1e-6, 0}, {kSix + 2 * kHour, 0}},
      Interpolation::linear);
  const Window window = from_six(0.5, 1.5);
  const auto figures =
      facility_figures({.carbon = hourly({500, 100})}, window, trace.energy_j(window),
                       [&](Window part) { return trace.energy_j(part); });
  EXPECT_NEAR(*figures.carbon_g, 3.6 * 500, 1e-5);  // the mean would give 3.6 * 300
}

TEST(FacilityFigures, AreAllMultipliedByThePue) {
  const FacilityRates rates{.pue = 1.25, .carbon = flat(400), .price = flat(0.2)};
  const auto figures = facility_figures(rates, from_six(0, 2), 7.2e6, never);  // 2 kWh, 1 kW
  EXPECT_DOUBLE_EQ(*figures.power_w, 1250);
  EXPECT_DOUBLE_EQ(*figures.energy_j, 9e6);
  EXPECT_DOUBLE_EQ(*figures.cost, 0.5);
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 1000);
}

TEST(FacilityFigures, NeedNoPartsWithinOneHour) {
  const auto figures = facility_figures({.price = hourly({3, 5, 7})}, from_six(1, 2), 3.6e6, never);
  EXPECT_DOUBLE_EQ(*figures.cost, 5);
  ASSERT_EQ(figures.stretches.size(), 1U);
}

TEST(FacilityFigures, MayBeNegativeMoney) {
  const auto figures =
      facility_figures({.price = hourly({-1, 0.5})}, from_six(0, 2), 2 * 3.6e6, constant(1000));
  EXPECT_DOUBLE_EQ(*figures.cost, -0.5);
  EXPECT_DOUBLE_EQ(*mean_price_per_kwh(figures), -0.25);
}

TEST(FacilityFigures, HaveHoursOfTwoRatesThatBeginAtDifferentTimes) {
  const FacilityRates rates{.carbon = hourly({100, 200}),
                            .price = hourly({1, 2, 3}, kSix - kHour / 2)};
  const auto figures = facility_figures(rates, from_six(0, 2), 2 * 3.6e6, constant(1000));
  ASSERT_EQ(figures.stretches.size(), 4U);
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 300);
  EXPECT_DOUBLE_EQ(*figures.cost, 0.5 * 1 + 1 * 2 + 0.5 * 3);
}

TEST(FacilityFigures, AreMissingWhereTheHoursDoNotReach) {
  const FacilityRates rates{.pue = 1.5, .carbon = hourly({100}), .price = flat(1)};
  for (const Window window : {from_six(0.5, 1.001), from_six(-0.001, 0.5), from_six(3, 4)}) {
    const auto figures = facility_figures(rates, window, 3.6e6, never);
    EXPECT_EQ(figures.carbon_g, std::nullopt);
    EXPECT_EQ(figures.reasons, std::vector<std::string>{"carbon_series_too_short"});
    EXPECT_DOUBLE_EQ(*figures.cost, 1.5);
    EXPECT_DOUBLE_EQ(*figures.energy_j, 5.4e6);
  }
  const auto whole = facility_figures(rates, from_six(0, 1), 3.6e6, never);
  EXPECT_DOUBLE_EQ(*whole.carbon_g, 150);
  EXPECT_TRUE(whole.reasons.empty());
}

TEST(FacilityFigures, AreMissingWhereThePartsAreNotTheWhole) {
  const FacilityRates rates{.pue = 2, .price = hourly({1, 2})};
  for (const EnergyInPart& part :
       {constant(999), EnergyInPart([](Window) { return std::optional<double>(); })}) {
    const auto figures = facility_figures(rates, from_six(0, 2), 7.2e6, part);
    EXPECT_EQ(figures.cost, std::nullopt);
    EXPECT_EQ(figures.reasons, std::vector<std::string>{"hourly_energy_unknown"});
    EXPECT_DOUBLE_EQ(*figures.energy_j, 14.4e6);
  }
}

// 2 kWh with a PUE of 1.5 is 3 kWh, each of them at 0.2: only what is by the hour is lost.
TEST(FacilityFigures, KeepWhatIsTheSameInAllHours) {
  const FacilityRates rates{.pue = 1.5, .carbon = hourly({100, 200}), .price = flat(0.2)};
  const auto figures = facility_figures(rates, from_six(0, 2), 7.2e6, constant(999));
  EXPECT_DOUBLE_EQ(*figures.cost, 0.6);
  EXPECT_EQ(figures.carbon_g, std::nullopt);
  EXPECT_EQ(figures.reasons, std::vector<std::string>{"hourly_energy_unknown"});
}

TEST(FacilityFigures, OfATotalAssumeConstantPower) {
  const FacilityRates rates{.carbon = hourly({501, 419})};
  const auto figures = facility_figures_of_total(rates, from_six(0.75, 1.75), 3.6e6);
  EXPECT_DOUBLE_EQ(*figures.carbon_g, 0.25 * 501 + 0.75 * 419);
  EXPECT_EQ(figures.assumption, "constant power in the window");
  EXPECT_EQ(facility_figures_of_total(rates, from_six(1, 2), 3.6e6).assumption, "");
}

TEST(FacilityFigures, OfATotalWithoutAWindowNeedRatesWithoutHours) {
  const FacilityRates rates{.pue = 1.5, .carbon = hourly({501}), .price = flat(2)};
  const auto figures = facility_figures_of_total(rates, {}, 3.6e6);
  EXPECT_DOUBLE_EQ(*figures.cost, 3);
  EXPECT_DOUBLE_EQ(*figures.energy_j, 5.4e6);
  EXPECT_EQ(figures.carbon_g, std::nullopt);
  EXPECT_EQ(figures.power_w, std::nullopt);
  EXPECT_EQ(figures.reasons, std::vector<std::string>{"window_unknown"});
  EXPECT_TRUE(facility_figures_of_total({.price = flat(2)}, {}, 3.6e6).reasons.empty());
}

TEST(FacilityFigures, AreSharedByEnergy) {
  const auto figures =
      facility_figures({.pue = 2, .carbon = flat(400)}, from_six(0, 1), 3.6e6, never);
  const auto part = share_of(figures, 0.25);
  EXPECT_DOUBLE_EQ(*part.carbon_g, 200);
  EXPECT_DOUBLE_EQ(*part.energy_j, 1.8e6);
  EXPECT_EQ(part.cost, std::nullopt);
}

TEST(PerMillion, NeedsTokens) {
  EXPECT_DOUBLE_EQ(*per_million(3.0, 2'000'000), 1.5);
  EXPECT_EQ(per_million(3.0, 0), std::nullopt);
  EXPECT_EQ(per_million(std::nullopt, 5), std::nullopt);
  EXPECT_EQ((TokenCounts{0, 5}).total(), 0);
  EXPECT_EQ((TokenCounts{4, 5}).total(), 9);
}

TEST(RatedStretches, ReachTheWindowsEdgesWithEveryFractionOfASecond) {
  // Hours that begin at odd milliseconds, and a window that begins with one of them.
  const EnergyRate rate = hourly({1, 2, 3, 4}, kSix + 0.123);
  const Window window{kSix + 0.123 + kHour, kSix + 0.123 + 3 * kHour};
  const auto stretches = rated_stretches({.price = rate}, window);
  ASSERT_EQ(stretches.size(), 2U);
  EXPECT_EQ(*stretches[0].price_per_kwh, 2);
  EXPECT_EQ(*stretches[1].price_per_kwh, 3);
}

}  // namespace facility_energy_test
}  // namespace aggregate_power
