// Energy snapshots: contract.md B.8.
#include "recorders/recorder_context.h"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.h"
#include "base/text/csv.h"
#include "test_util.h"

namespace aggregate_power {
namespace energy_snapshot_test {

using Joules = std::map<std::string, double>;

std::optional<Joules> read(const std::string& text) {
  test::StutterSource source(text, 7);
  return read_energy_snapshot(source);
}

TEST(ReadEnergySnapshot, ReadsWhatAmdSmiWrites) {
  EXPECT_EQ(
      read_energy_snapshot(*open_source(test::testdata("snapshots/amd-smi-energy-start.csv"))),
      (Joules{{"0", 178319501.682}, {"1", 178400000.0}}));
  EXPECT_EQ(read_energy_snapshot(*open_source(test::testdata("snapshots/amd-smi-energy-end.csv"))),
            (Joules{{"0", 178324501.682}}))
      << "GPU 1 has N/A";
}

TEST(ReadEnergySnapshot, NeedsBothColumnsAsTheyAreSpelled) {
  EXPECT_EQ(read("gpu,total_energy_consumption\n0,5\n"), (Joules{{"0", 5}}));
  EXPECT_EQ(read(" total_energy_consumption , x,\tgpu \r\n5,x, 0 \r\n"), (Joules{{"0", 5}}));
  for (const char* text :
       {"", "\n", "gpu\n0\n", "GPU,total_energy_consumption\n0,5\n",
        "gpu,Total_Energy_Consumption\n0,5\n", "gpu,energy\n0,5\n",
        "gpu,total_energy_consumption\n", "0,5\n1,6\n", "gpu,total_energy_consumption\n0,N/A\n",
        "gpu,total_energy_consumption\n,5\n", "gpu,total_energy_consumption\n0\n"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

// Python's float().
TEST(ReadEnergySnapshot, ReadsNumbersAsPythonDoes) {
  const struct {
    const char* cell;
    std::optional<double> joules;
  } cases[] = {
      {"1", 1},        {"1.5", 1.5},  {"1e3", 1000},    {"1_000", 1000}, {".5", 0.5},
      {"5.", 5},       {"+5", 5},     {"-5", -5},       {" 5 ", 5},      {"1_0.5_0", 10.5},
      {"\xD9\xA3", 3}, {"0", 0},      {"1__0", {}},     {"_1", {}},      {"1_", {}},
      {"1_.5", {}},    {"inf", {}},   {"-inf", {}},     {"nan", {}},     {"infinity", {}},
      {"0x10", {}},    {"1e400", {}}, {"", {}},         {"N/A", {}},     {"5 J", {}},
      {"1e", {}},      {"+-5", {}},   {"\xC2\xB2", {}},
  };
  for (const auto& c : cases) {
    Joules expected = {{"other", 7}};
    if (c.joules) expected["0"] = *c.joules;
    EXPECT_EQ(read(std::string("gpu,total_energy_consumption\n0,") + c.cell + "\nother,7\n"),
              expected)
        << '\'' << c.cell << '\'';
  }
}

TEST(ReadEnergySnapshot, TheLastRowOfAGpuCounts) {
  EXPECT_EQ(read("gpu,total_energy_consumption\n0,5\n0,6\n0,N/A\n\n1,7\n"),
            (Joules{{"0", 6}, {"1", 7}}));
}

TEST(ReadEnergySnapshot, PassesOverLinesThatAreNoRows) {
  EXPECT_EQ(read("WARNING: slow\n\ngpu,total_energy_consumption\n0,5\n"
                 "gpu,total_energy_consumption\n1,6"),
            (Joules{{"0", 5}, {"1", 6}}));
}

TEST(ReadEnergySnapshot, RefusesACellThatIsTooLong) {
  EXPECT_THROW(read("gpu,total_energy_consumption\n\"0,5\n" + std::string(140000, 'x')), CsvError);
}

}  // namespace energy_snapshot_test
}  // namespace aggregate_power
