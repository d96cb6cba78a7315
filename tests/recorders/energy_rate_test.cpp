// Reading prices and intensities of carbon.
#include "recorders/energy_rate.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace energy_rate_test {

constexpr double kSix = 1732946400;  // 2024-11-30T06:00:00Z

EnergyRate price(const std::string& text) {
  return energy_rate_in(text, "rates.csv", RateKind::price);
}

std::string fault_of(const std::string& text, RateKind kind = RateKind::price) {
  try {
    energy_rate_in(text, "rates.csv", kind);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(EnergyRate, IsReadFromATable) {
  const EnergyRate rate = price("time,value\n2024-11-30T06:00:00Z,0.25\n2024-11-30T07:00Z,-0.05\n");
  EXPECT_EQ(rate.first_unix_s, kSix);
  EXPECT_EQ(rate.per_kwh, (std::vector<double>{0.25, -0.05}));
  EXPECT_EQ(rate.end_unix_s(), kSix + 7200);
  EXPECT_EQ(hours_text(rate), "2024-11-30T06:00:00.000Z to 2024-11-30T08:00:00.000Z");
}

TEST(EnergyRate, TakesColumnsAndHoursInAnyOrderAndZonesOfAnyKind) {
  const EnergyRate rate = price(
      "# a comment\nzone, VALUE ,Time\n\nDE,3,2024-11-30T09:00:00+01:00\nDE,1,1732946400\n"
      "DE,2,2024-11-30T12:30:00+05:30\nDE,1,2024-11-30T06:00:00Z\n");
  EXPECT_EQ(rate.first_unix_s, kSix);
  EXPECT_EQ(rate.per_kwh, (std::vector<double>{1, 2, 3}));
}

TEST(EnergyRate, IsNeverGuessed) {
  EXPECT_EQ(fault_of("time,value\n2024-11-30T06:00:00,1\n"),
            "rates.csv:2: '2024-11-30T06:00:00' has no offset from UTC: write one, as in "
            "2024-11-30T06:00:00+01:00, or Z");
  EXPECT_EQ(fault_of("time,value\nnoon,1\n"),
            "rates.csv:2: 'noon' is not a time: expected ISO 8601 with an offset or Z, or Unix "
            "seconds");
  EXPECT_EQ(fault_of("time,value\n12.5,1\n"),
            "rates.csv:2: 12.5 is not Unix time, which is above 1e8");
  EXPECT_EQ(fault_of("time,value\n2024-11-30T06:00Z,\n"), "rates.csv:2: '' is not a number");
  EXPECT_EQ(fault_of("time,value\n2024-11-30T06:00Z,nan\n"), "rates.csv:2: 'nan' is not a number");
  EXPECT_EQ(fault_of("time,value\n2024-11-30T06:00Z\n"),
            "rates.csv:2: the row has 1 cells, too few for its columns");
  EXPECT_EQ(fault_of("time,value\n"), "rates.csv: it has no hour");
  EXPECT_EQ(fault_of(""), "rates.csv: it has no hour");
  EXPECT_EQ(fault_of("time,price\n"),
            "rates.csv:1: expected a CSV with the columns time and value");
}

TEST(EnergyRate, HasEachHourOnceAndNoneMissing) {
  const std::string head = "time,value\n2024-11-30T06:00Z,1\n";
  EXPECT_EQ(fault_of(head + "2024-11-30T08:00Z,2\n"),
            "rates.csv: hours are missing: 2024-11-30T08:00:00.000Z follows "
            "2024-11-30T06:00:00.000Z; add them, since values are never guessed");
  EXPECT_EQ(fault_of(head + "2024-11-30T06:50Z,2\n"),
            "rates.csv: expected one value an hour, or for each part of it, such as 15 min, and "
            "2024-11-30T06:50:00.000Z follows 2024-11-30T06:00:00.000Z by 50 min");
  EXPECT_EQ(fault_of(head + "2024-11-30T06:00Z,2\n"),
            "rates.csv: 2024-11-30T06:00:00.000Z has two values, 1 and 2");
  EXPECT_EQ(price(head + "2024-11-30T06:00Z,1\n").per_kwh.size(), 1U);
}

TEST(EnergyRate, MayHaveAValueForEachPartOfAnHour) {
  const EnergyRate rate = price("time,value\n1732946400,1\n1732948200,2\n1732947300,3\n");
  EXPECT_EQ(rate.step_s, 900);
  EXPECT_EQ(rate.per_kwh, (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(rate.end_unix_s(), kSix + 3 * 900);
}

TEST(EnergyRate, OfCarbonIsNotNegative) {
  const std::string text = "time,value\n2024-11-30T06:00Z,-1\n";
  EXPECT_EQ(price(text).per_kwh, std::vector<double>{-1});
  EXPECT_EQ(fault_of(text, RateKind::carbon), "rates.csv:2: -1 g of CO2e per kWh is below 0");
}

TEST(EnergyRate, IsReadFromAHistoryOfElectricityMaps) {
  const std::string history =
      R"({"zone":"DE","history":[{"carbonIntensity":419,"datetime":"2024-11-30T07:00:00.000Z"},)"
      R"({"carbonIntensity":501.5,"datetime":"2024-11-30T06:00:00.000Z"},)"
      R"({"carbonIntensity":null,"datetime":"2024-11-30T08:00:00.000Z"}]})";
  const EnergyRate rate = energy_rate_in(history, "de.json", RateKind::carbon);
  EXPECT_EQ(rate.zone, "DE");
  EXPECT_EQ(rate.first_unix_s, kSix);
  EXPECT_EQ(rate.per_kwh, (std::vector<double>{501.5, 419}));
  EXPECT_EQ(fault_of(history),
            "rates.csv: a history of Electricity Maps is one of carbon: a price is a number or a "
            "CSV with the columns time and value");
}

TEST(EnergyRate, RefusesOtherJson) {
  const auto fault = [](const std::string& text) { return fault_of(text, RateKind::carbon); };
  EXPECT_EQ(fault("[1]"),
            "rates.csv: expected a history of Electricity Maps, an object with a list 'history', "
            "or a CSV with the columns time and value");
  EXPECT_EQ(fault(R"({"history":[{"carbonIntensity":1}]})"),
            "rates.csv: history[0]: expected a text 'datetime'");
  EXPECT_EQ(fault(R"({"history":[{"datetime":"2024-11-30T06:00:00Z","carbonIntensity":"1"}]})"),
            "rates.csv: history[0]: expected a number 'carbonIntensity'");
  EXPECT_EQ(fault(R"({"history":[{"datetime":"2024-11-30T06:00:00Z"}]})"),
            "rates.csv: history[0]: expected a number 'carbonIntensity'");
  EXPECT_EQ(fault(R"({"history":[{"datetime":"2024-11-30T06:00:00","carbonIntensity":1}]})"),
            "rates.csv: history[0]: '2024-11-30T06:00:00' has no offset from UTC: write one, as in "
            "2024-11-30T06:00:00+01:00, or Z");
  EXPECT_EQ(fault(R"({"history":[)").substr(0, 12), "rates.csv:1:");
}

TEST(EnergyRate, MayBeANumber) {
  const EnergyRate rate = read_energy_rate("-0.05", RateKind::price);
  EXPECT_FALSE(rate.is_hourly());
  EXPECT_EQ(rate.per_kwh, std::vector<double>{-0.05});
}

TEST(FacilityDoubts, AreAboutUnits) {
  EXPECT_TRUE(facility_doubts({.pue = 3.0, .carbon = EnergyRate{.per_kwh = {0}}}).empty());
  EXPECT_EQ(facility_doubts({.pue = 3.01}).size(), 1U);
}

TEST(ReadFacilityRates, RefusesACarbonIntensityThatNoGridHas) {
  for (const char* const grams : {"0.4", "2001", "400000"}) {
    EXPECT_THROW(read_facility_rates({.carbon = grams}), Error) << grams;
  }
  EXPECT_EQ(read_facility_rates({.carbon = "400000/MWh"}).carbon->per_kwh.front(), 400);
  EXPECT_EQ(read_facility_rates({.carbon = "0"}).carbon->per_kwh.front(), 0);
}

}  // namespace energy_rate_test
}  // namespace aggregate_power
