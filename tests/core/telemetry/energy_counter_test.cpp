// Names and numbers of energy counters.
#include "core/telemetry/energy_counter.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace energy_counter_test {

// "NAME in UNIT", with " times N" for a resolution in column N; empty: none.
std::string chosen(const std::vector<std::string>& header, const char* schema = "generic",
                   const std::vector<std::string>& first_row = {}) {
  const auto found = choose_counter_column(header, schema, first_row);
  if (!found) return {};
  EXPECT_EQ(found->index, 1U);
  return found->counter.name + " in " + found->counter.unit +
         (found->resolution ? " times " + std::to_string(*found->resolution) : "");
}

TEST(EnergyCounter, IsFoundByItsNameAndUnit) {
  EXPECT_EQ(chosen({"t", "energy_mj"}), "energy_mj in mJ");
  EXPECT_EQ(chosen({"t", "total_energy_consumption [mJ]"}), "total_energy_consumption [mJ] in mJ");
  EXPECT_EQ(chosen({"Timestamp", " GPU Energy Consumed (J)"}, "xpu-smi"),
            "GPU Energy Consumed (J) in J");
  EXPECT_EQ(chosen({"t", "Accumulated Energy (uJ)"}, "rocm-smi"), "Accumulated Energy (uJ) in uJ");
  EXPECT_EQ(chosen({"t", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}),
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION in mJ");
  EXPECT_EQ(chosen({"t", "total_energy_consumption"}, "amd-smi"), "total_energy_consumption in J");
  EXPECT_EQ(chosen({"t", "energy_accumulator", "counter_resolution"}),
            "energy_accumulator in resolution in uJ times 2");
  EXPECT_EQ(chosen({"t", "gpu_energy_kwh"}), "gpu_energy_kwh in kWh");
  EXPECT_EQ(chosen({"t", "energy [Wh]"}), "energy [Wh] in Wh");
}

TEST(EnergyCounter, MayHaveItsUnitInTheCells) {
  EXPECT_EQ(chosen({"t", "total_energy_consumption"}, "nvidia-smi", {"0", " 1234.5 mJ"}),
            "total_energy_consumption in mJ");
  EXPECT_EQ(chosen({"t", "energy"}, "generic", {"0", "0.25 kWh"}), "energy in kWh");
  EXPECT_EQ(chosen({"t", "energy"}, "generic", {"0", "1234.5"}), "");
  EXPECT_EQ(chosen({"t", "energy"}, "generic", {"0"}), "");
}

TEST(EnergyCounter, IsNotGuessed) {
  EXPECT_EQ(chosen({"t", "energy"}), "");     // since when?
  EXPECT_EQ(chosen({"t", "ENERGY_MJ"}), "");  // milli or mega?
  EXPECT_EQ(chosen({"t", "cpu_energy_j"}), "");
  EXPECT_EQ(chosen({"t", "energy_per_token_j"}), "");
  EXPECT_EQ(chosen({"t", "energy_j", "gpu_energy_mj"}), "");  // which?
}

TEST(EnergyCounter, MayHaveAnUnknownUnit) {
  for (const char* const name :
       {"energy_counter", "energy_accumulator", "total_energy_consumption", "energy_consumed",
        "gpu_energy_consumption", "Total Energy", "cumulative_energy", "accumulated energy used"}) {
    EXPECT_EQ(chosen({"t", name}), name + std::string(" in unknown"));
    EXPECT_FALSE(choose_counter_column(std::vector<std::string>{"t", name}, "generic")
                     ->counter.is_unit_stated);
  }
  EXPECT_EQ(chosen({"t", "energy_mj", "energy_counter"}), "energy_mj in mJ");
  EXPECT_EQ(chosen({"t", "energy_counter", "total_energy"}), "");  // which?
  for (const char* const name : {"energy_per_token", "energy_rate", "cpu_energy_total",
                                 "energy_cost", "energy_consumed_cpu", "energy_saved"}) {
    EXPECT_EQ(chosen({"t", name}), "") << name;
  }
}

TEST(EnergyCounter, HasJoules) {
  EXPECT_DOUBLE_EQ(parse_counter("238749445947", 1e-3).value(), 238749445.947);
  EXPECT_DOUBLE_EQ(parse_counter("0.000001", 1e6).value(), 1);
  EXPECT_DOUBLE_EQ(parse_counter("7000018721 mJ", 1e-3).value(), 7000018.721);
  EXPECT_DOUBLE_EQ(parse_counter("12.5 J", 1).value(), 12.5);
  EXPECT_DOUBLE_EQ(parse_counter("2kWh", 3.6e6).value(), 7.2e6);
  for (const char* none : {"", "N/A", "-1", "nan", "inf", "12 J", "18446744073709551615",
                           "9223372036854775794", "2147483632"}) {
    EXPECT_FALSE(parse_counter(none, 1e-3)) << none;
  }
}

}  // namespace energy_counter_test
}  // namespace aggregate_power
