// CPU power of a package: numbers by hand, and each reason against it. Contract.md F.4.
#include "packages/srt_slurm/srt_slurm.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/record/dashboard_keys.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "test_util.h"

namespace aggregate_power {
namespace cpu_power_test {

using Json = nlohmann::ordered_json;
using Codes = std::vector<std::string>;
using test::Folder;
using test::put;

constexpr Window kWindow = {1000, 1010};
const CpuPowerRequest kRequest = {kWindow, {"a", "b"}, std::nullopt};

const char* const kV1 =
    "schema_version,timestamp_unix,hostname,source,sensor,socket_id,power_w,total_power_w\n";
const char* const kV2 =
    "schema_version,timestamp_unix,hostname,source,sensor,socket_id,power_w,cpu_rail_w,soc_w,"
    "dram_w,total_power_w\n";

// The socket's row at `unix_s`; nothing: there is none.
using Row = std::function<std::optional<std::string>(double unix_s, char host, int socket)>;

// Two hosts of two sockets each, every 2 s from 998 to 1012, which is around the window.
std::string samples(const Row& row, const char* header = kV1) {
  std::string text = header;
  for (double unix_s = 998; unix_s <= 1012; unix_s += 2) {
    for (const char host : {'a', 'b'}) {
      for (const int socket : {0, 1}) text += row(unix_s, host, socket).value_or("");
    }
  }
  return text;
}

std::string grace_row(double unix_s, char host, int socket, double watts = 100) {
  return fmt::format("1,{},{},acpi,Grace Power Socket {},{},{},\n", unix_s, host, socket, socket,
                     watts);
}
std::optional<std::string> grace(double unix_s, char host, int socket) {
  return grace_row(unix_s, host, socket);
}

std::optional<CpuPower> measure(const std::string& text,
                                const CpuPowerRequest& request = kRequest) {
  const Folder folder;
  put(folder / "cpu_manifest.json", "{}");
  put(folder / "samples.csv", text);
  return measure_cpu_power(*disk_tree(), {folder.path()}, request);
}

using Values = std::vector<std::pair<std::string, double>>;
Values metrics(const CpuPower& power) {
  Values values;
  for (const Metric& metric : power.metrics) values.emplace_back(metric.key, metric.value);
  return values;
}

TEST(CpuPower, IsTheSumOfTheSockets) {
  const auto power = measure(samples(grace));
  ASSERT_TRUE(power);
  EXPECT_TRUE(power->reasons.empty()) << power->reasons.text();
  EXPECT_EQ(power->sensor, CpuSensor::grace_socket);
  EXPECT_EQ(power->source, "acpi");
  EXPECT_EQ(power->expected_sockets, 4u);
  EXPECT_EQ(power->observed_sockets, 4u);
  EXPECT_EQ(power->rows, 8 * 4u);
  EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 100},
                                     {"avg_total_cpu_power_w", 400},
                                     {"total_cpu_energy_j", 4 * 100 * 10}}));
  EXPECT_EQ(power->energy_j, (Values{{"a/socket0/grace_socket", 1000},
                                     {"a/socket1/grace_socket", 1000},
                                     {"b/socket0/grace_socket", 1000},
                                     {"b/socket1/grace_socket", 1000}}));
  EXPECT_EQ(power->max_sample_gap_s[0], (Values::value_type{"a/socket0/grace_socket", 2}));
}

TEST(CpuPower, GivesRailsBesideTheGraceSensor) {
  const auto power = measure(samples(
      [](double unix_s, char host, int socket) {
        return fmt::format("2,{},{},acpi,CPU{}:cpuSidePowerUsageW,{},100,60,15,,\n", unix_s, host,
                           socket, socket);
      },
      kV2));
  EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 100},
                                     {"avg_total_cpu_power_w", 400},
                                     {"total_cpu_energy_j", 4000},
                                     {"avg_total_cpu_rail_power_w", 240},
                                     {"total_cpu_rail_energy_j", 2400},
                                     {"avg_total_cpu_sysio_power_w", 60},
                                     {"total_cpu_sysio_energy_j", 600}}));
}

TEST(CpuPower, DropsARailThatHasGapsAlone) {
  // One socket's CPU rail is blank for 6 s, another has no SysIO rail at all.
  const auto power = measure(samples(
      [](double unix_s, char host, int socket) {
        const bool is_gap = host == 'b' && socket == 1 && unix_s > 1002 && unix_s < 1008;
        return fmt::format("2,{},{},acpi,Grace Power Socket {},{},100,{},{},,\n", unix_s, host,
                           socket, socket, is_gap ? "" : "60",
                           host == 'a' && socket == 0 ? "" : "15");
      },
      kV2));
  EXPECT_TRUE(power->reasons.empty());
  EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 100},
                                     {"avg_total_cpu_power_w", 400},
                                     {"total_cpu_energy_j", 4000}}));
}

TEST(CpuPower, PrefersTheModuleAndTakesTheGraceSensorBesideIt) {
  const auto both = [](double unix_s, char host, int socket) {
    return grace_row(unix_s, host, socket) +
           fmt::format("1,{},{},acpi,Module Power Socket {},{},700,\n", unix_s, host, socket,
                       socket);
  };
  const auto power = measure(samples(both));
  EXPECT_EQ(power->sensor, CpuSensor::module);
  EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 100},
                                     {"avg_total_cpu_power_w", 400},
                                     {"total_cpu_energy_j", 4000},
                                     {"avg_total_module_power_w", 2800},
                                     {"total_module_energy_j", 28000}}));
  // A module that one socket lacks does not count.
  const auto some = measure(samples([&](double unix_s, char host, int socket) {
    return host == 'a' ? both(unix_s, host, socket) : grace_row(unix_s, host, socket);
  }));
  EXPECT_EQ(some->sensor, CpuSensor::grace_socket);
  EXPECT_EQ(metrics(*some).size(), 3u);
}

TEST(CpuPower, KnowsSensorsByTheirNames) {
  const struct {
    const char* name;
    std::optional<CpuSensor> sensor;
  } cases[] = {
      {"CPU0:cpuSidePowerUsageW", CpuSensor::grace_socket},
      {"CPU1:cpuPowerUsageW", CpuSensor::dcgm_cpu_rail},
      {"cpuPowerUsageW", std::nullopt},
      {"CPU0:x:cpuPowerUsageW", std::nullopt},
      {"Module Power Socket 0", CpuSensor::module},
      {"the module  power SOCKET 12 (W)", CpuSensor::module},
      {"Module Power Socket 0x", std::nullopt},
      {"Modules Power Socket 0", std::nullopt},
      {"Grace Power Socket 1", CpuSensor::grace_socket},
      {"Total Power Socket 0", CpuSensor::grace_socket},
      {"Total Input Power in uW Socket 0", CpuSensor::grace_socket},
      {"CPU Power Socket 0", std::nullopt},
      {"SysIO Power Socket 0", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(cpu_sensor(c.name), c.sensor) << c.name;
  EXPECT_EQ(cpu_sensor(std::string(100000, 'a')), std::nullopt);
}

// ---- Modules of version 3, contract-october.md 9.1. One host, both sockets alike.

const char* const kV3 =
    "schema_version,timestamp_unix,hostname,source,sensor,socket_id,power_w,cpu_rail_w,soc_w,"
    "dram_w,module_w,total_power_w\n";

std::string both_sockets(const std::string& cells_of_socket_0) {
  std::string other = cells_of_socket_0;
  for (std::size_t at = 0; (at = other.find("CPU0:cpuSidePowerUsageW,0", at)) != other.npos;) {
    other.replace(at, 25, "CPU1:cpuSidePowerUsageW,1");
  }
  return kV3 + cells_of_socket_0 + other;
}

const CpuPowerRequest kOneHost = {Window{1000.5, 1002}, {"h"}, std::nullopt};

TEST(CpuPower, OfVersion3HasModulesBesideTheSockets) {
  const auto power = measure(
      both_sockets("3,1000.0,h,acpi,CPU0:cpuSidePowerUsageW,0,94.0,40.0,5.0,,480.0,188.0\n"
                   "3,1001.0,h,acpi,CPU0:cpuSidePowerUsageW,0,96.0,41.0,5.0,,500.0,192.0\n"
                   "3,1002.0,h,acpi,CPU0:cpuSidePowerUsageW,0,100.0,42.0,5.0,,520.0,200.0\n"),
      kOneHost);
  EXPECT_EQ(power->sensor, CpuSensor::module);
  EXPECT_EQ(power->source, "acpi");
  EXPECT_TRUE(power->notes.empty());
  // Grace 145.75 J a socket, module 757.5 J, CPU rail 61.875 J, SysIO 7.5 J, in 1.5 s.
  EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 145.75 / 1.5},
                                     {"avg_total_cpu_power_w", 291.5 / 1.5},
                                     {"total_cpu_energy_j", 291.5},
                                     {"avg_total_module_power_w", 1010},
                                     {"total_module_energy_j", 1515},
                                     {"avg_total_cpu_rail_power_w", 82.5},
                                     {"total_cpu_rail_energy_j", 123.75},
                                     {"avg_total_cpu_sysio_power_w", 10},
                                     {"total_cpu_sysio_energy_j", 15}}));
}

// Rows of version 3 in which socket 1 of host b has the module's watts that `module` returns.
std::string with_modules(const std::function<std::string(double unix_s)>& module,
                         const char* source = "acpi", const char* kind = "cpuSidePowerUsageW") {
  return samples(
      [&](double unix_s, char host, int socket) {
        const bool is_last = host == 'b' && socket == 1;
        return fmt::format("3,{},{},{},CPU{}:{},{},100,,,,{},\n", unix_s, host, source, socket,
                           kind, socket, is_last ? module(unix_s) : "700");
      },
      kV3);
}

TEST(CpuPower, DropsModulesThatAreIncompleteWithoutAReason) {
  const struct {
    std::function<std::string(double)> module;
    const char* why;
  } cases[] = {
      {[](double) { return ""; }, "does not cover the window"},
      {[](double unix_s) { return unix_s < 1001 ? "" : "700"; }, "does not cover the window"},
      {[](double unix_s) { return unix_s == 1004 ? "" : "700"; },
       "has a gap of 4.000 s, at most 3 s are allowed"}};
  for (const auto& c : cases) {
    const auto power = measure(with_modules(c.module));
    EXPECT_TRUE(power->reasons.empty()) << power->reasons.text();
    EXPECT_EQ(power->sensor, CpuSensor::grace_socket);
    EXPECT_EQ(metrics(*power), (Values{{"avg_cpu_socket_power_w", 100},
                                       {"avg_total_cpu_power_w", 400},
                                       {"total_cpu_energy_j", 4000}}));
    EXPECT_EQ(power->notes, std::vector<std::string>{fmt::format(
                                "module power is left out: that of b/socket1 {}", c.why)});
  }
}

TEST(CpuPower, OfDcgmIsNotAcpiThoughItHasModules) {
  CpuPowerRequest request = kRequest;
  const std::string text = with_modules([](double) { return "700"; }, "dcgm", "cpuPowerUsageW");
  EXPECT_EQ(measure(text, request)->sensor, CpuSensor::module);
  EXPECT_EQ(measure(text, request)->source, "dcgm");
  request.expected_source = "acpi";
  EXPECT_EQ(measure(text, request)->reasons.codes(), Codes{"cpu_sensor_source_mismatch"});
}

// ---- What the hosts recorded.

TEST(CpuPower, IsTheHostsOwnWhereThePackageHasNone) {
  const std::string header =
      "schema_version,timestamp_unix,timestamp_local,hostname,source,sensor,socket_id,power_w,"
      "total_power_w,cpu_util_total,cpu_util_user,cpu_util_nice,cpu_util_sys,cpu_util_irq\n";
  // Version 3 has a row for each sensor: 100 W of the socket, 60 W of its rail, 700 W of its
  // module.
  const std::string text = samples(
      [](double unix_s, char host, int socket) {
        std::string rows;
        for (const auto& [sensor, watts] : {std::pair{"cpuSidePowerUsageW", 100},
                                            {"cpuRailPowerUsageW", 60},
                                            {"dramPowerUsageW", 9},
                                            {"modulePowerUsageW", 700}}) {
          rows += fmt::format("3,{},2026-09-08T11:20:00+02:00,{},acpi,CPU{}:{},{},{},None,,,,,\n",
                              unix_s, host, socket, sensor, socket, watts);
        }
        return rows;
      },
      header.c_str());
  const Folder folder;
  std::filesystem::create_directories(folder / "cpu_power");
  std::filesystem::create_directories(folder / "power/cpu");
  put(folder / "cpu_power/manifest.json", "{}");
  put(folder / "cpu_power/samples.csv", text);
  const CpuFolders folders = {folder / "power/cpu", folder / "cpu_power"};
  const auto own = measure_cpu_power(*disk_tree(), folders, kRequest);
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->reasons.empty()) << own->reasons.text();
  EXPECT_EQ(own->samples_file, "cpu_power/samples.csv");
  EXPECT_EQ(metrics(*own), (Values{{"avg_cpu_socket_power_w", 100},
                                   {"avg_total_cpu_power_w", 400},
                                   {"total_cpu_energy_j", 4000},
                                   {"avg_total_module_power_w", 2800},
                                   {"total_module_energy_j", 28000},
                                   {"avg_total_cpu_rail_power_w", 240},
                                   {"total_cpu_rail_energy_j", 2400}}));
  put(folder / "power/cpu/cpu_manifest.json", "{}");
  put(folder / "power/cpu/samples.csv", samples(grace));
  const auto both = measure_cpu_power(*disk_tree(), folders, kRequest);
  EXPECT_EQ(both->samples_file, "power/cpu/samples.csv");
  EXPECT_EQ(metrics(*both).size(), 3u);
}

// ---- Reasons.

Codes codes(const std::optional<CpuPower>& power) {
  EXPECT_TRUE(power->metrics.empty());
  EXPECT_TRUE(power->energy_j.empty());
  return power->reasons.codes();
}

TEST(CpuPower, IsNothingWithoutAFolderUnlessASourceIsExpected) {
  const Folder folder;
  EXPECT_FALSE(measure_cpu_power(*disk_tree(), {folder / "cpu"}, kRequest));
  CpuPowerRequest request = kRequest;
  request.expected_source = "acpi";
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), {folder / "cpu"}, request)),
            Codes{"cpu_artifacts_missing"});
}

TEST(CpuPower, NeedsItsFiles) {
  const Folder folder;
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), {folder.path()}, kRequest)),
            (Codes{"cpu_manifest_invalid", "cpu_samples_missing"}));
  put(folder / "samples.csv", samples(grace));
  for (const char* manifest : {"[]", "{", "", "\"{}\""}) {
    put(folder / "cpu_manifest.json", manifest);
    EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), {folder.path()}, kRequest)),
              Codes{"cpu_manifest_invalid"});
  }
  put(folder / "cpu_manifest.json", "{}");
  EXPECT_TRUE(measure_cpu_power(*disk_tree(), {folder.path()}, kRequest)->reasons.empty());
  std::filesystem::remove(folder / "samples.csv");
  std::filesystem::create_directory(folder / "samples.csv");
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), {folder.path()}, kRequest)),
            Codes{"cpu_samples_missing"});
}

TEST(CpuPower, SaysWhatIsWrongWithItsSamples) {
  EXPECT_EQ(codes(measure("a,b\n")), Codes{"cpu_samples_header_mismatch"});
  EXPECT_EQ(codes(measure(samples(grace) + "\n")), Codes{"cpu_samples_malformed"});
  const auto twice = measure(samples(grace) + grace_row(1002, 'b', 1));
  EXPECT_EQ(twice->reasons.text(), "cpu_samples_malformed (a sensor has the same timestamp twice)");
  CpuPowerRequest request = kRequest;
  request.window.reset();
  EXPECT_EQ(codes(measure(samples(grace), request)), Codes{"cpu_window_unavailable"});
}

TEST(CpuPower, NeedsTwoSocketsOfEachHostAndNoOther) {
  const auto count = [](const Row& row, std::vector<std::string> hosts = {"a", "b"}) {
    return codes(measure(samples(row), {kWindow, std::move(hosts), std::nullopt}));
  };
  const Codes mismatch = {"cpu_socket_count_mismatch"};
  EXPECT_EQ(count(grace, {"a"}), mismatch);
  EXPECT_EQ(count(grace, {"a", "b", "c"}), mismatch);
  EXPECT_EQ(count(grace, {}), mismatch);
  EXPECT_EQ(count([](double unix_s, char host, int socket) {
              return grace_row(unix_s, host, socket == 0 ? 0 : 2);
            }),
            mismatch);
  // A host named twice is one.
  EXPECT_TRUE(measure(samples(grace), {kWindow, {"a", "b", "a"}, std::nullopt})->reasons.empty());
}

TEST(CpuPower, NeedsOneKindOfSensorFromOneSource) {
  EXPECT_EQ(codes(measure(samples([](double unix_s, char host, int socket) {
              return host == 'a' ? grace_row(unix_s, host, socket)
                                 : fmt::format("1,{},b,dcgm,CPU{}:cpuPowerUsageW,{},50,\n", unix_s,
                                               socket, socket);
            }))),
            Codes{"cpu_sensor_kind_mixed"});
  EXPECT_EQ(codes(measure(samples([](double unix_s, char host, int socket) {
              return fmt::format("1,{},{},{},Grace Power Socket {},{},50,\n", unix_s, host,
                                 host == 'a' ? "acpi" : "hwmon", socket, socket);
            }))),
            Codes{"cpu_sensor_kind_mixed"});
}

TEST(CpuPower, MayBeAskedToComeFromASource) {
  CpuPowerRequest request = kRequest;
  request.expected_source = "acpi";
  EXPECT_TRUE(measure(samples(grace), request)->reasons.empty());
  request.expected_source = "dcgm";
  EXPECT_EQ(codes(measure(samples(grace), request)), Codes{"cpu_sensor_source_mismatch"});
  // ACPI knows no DCGM rail.
  request.expected_source = "acpi";
  EXPECT_EQ(codes(measure(samples([](double unix_s, char host, int socket) {
                            return fmt::format("1,{},{},acpi,CPU{}:cpuPowerUsageW,{},50,\n", unix_s,
                                               host, socket, socket);
                          }),
                          request)),
            Codes{"cpu_sensor_source_mismatch"});
}

TEST(CpuPower, NeedsSamplesAllOverTheWindow) {
  const auto without = [](double from_s, double to_s) {
    return codes(measure(samples([=](double unix_s, char host, int socket) {
      const bool is_gap = host == 'b' && socket == 0 && unix_s > from_s && unix_s < to_s;
      return is_gap ? std::nullopt : grace(unix_s, host, socket);
    })));
  };
  EXPECT_EQ(without(997, 1001), Codes{"cpu_window_not_bracketed"});
  EXPECT_EQ(without(1009, 1013), Codes{"cpu_window_not_bracketed"});
  EXPECT_EQ(without(1003, 1005), Codes{"cpu_sample_gap_exceeded"});  // 1002 to 1006
}

// The result of a package with nothing but this.
Result result_of(const CpuPower& power) {
  Result result;
  result.way = Way::package;
  result.package.emplace();
  result.cpu = power;
  return result;
}

Json recorded(const CpuPower& power) {
  return Json::parse(record_text(result_of(power))).at("cpu");
}

TEST(CpuPower, MustBeANumber) {
  const auto power = measure(samples([](double unix_s, char host, int socket) {
    return grace_row(unix_s, host, socket, std::numeric_limits<double>::max());
  }));
  EXPECT_EQ(power->reasons.codes(), Codes{"non_finite_power_metric"});
  EXPECT_TRUE(power->metrics.empty());
  EXPECT_EQ(recorded(*power)["per_series_energy_j"]["a/socket0/grace_socket"], nullptr);
}

// ---- What is written.

TEST(CpuPower, IsRecordedWithWhatItWasMadeOf) {
  EXPECT_EQ(
      recorded(*measure(samples(grace), {kWindow, {"a", "b"}, "acpi"})),
      Json::parse(R"({"cpu_power_valid": true, "reason_codes": [], "sensor_kind": "grace_socket",
        "source": "acpi", "sockets_per_host": 2, "expected_sockets": 4, "observed_sockets": 4,
        "sample_row_count": 32,
        "headline_preference": ["module", "grace_socket", "dcgm_cpu_rail"],
        "integration_method": "per_socket_trapezoidal_with_linear_boundary_interpolation",
        "max_sample_gap_seconds": 3.0,
        "per_series_max_sample_gap_s": {"a/socket0/grace_socket": 2.0,
          "a/socket1/grace_socket": 2.0, "b/socket0/grace_socket": 2.0,
          "b/socket1/grace_socket": 2.0},
        "per_series_energy_j": {"a/socket0/grace_socket": 1000.0,
          "a/socket1/grace_socket": 1000.0, "b/socket0/grace_socket": 1000.0,
          "b/socket1/grace_socket": 1000.0},
        "metrics": {"avg_cpu_socket_power_w": 100.0, "avg_total_cpu_power_w": 400.0,
          "total_cpu_energy_j": 4000.0}})"));
  const Json nothing = recorded(*measure("a,b\n"));
  EXPECT_EQ(nothing["cpu_power_valid"], false);
  EXPECT_EQ(nothing["reason_codes"], Json({"cpu_samples_header_mismatch"}));
  EXPECT_EQ(nothing["sensor_kind"], nullptr);
  EXPECT_EQ(nothing["source"], nullptr);
  EXPECT_EQ(nothing["metrics"], Json::object());
}

// Those of CPUs alone.
Json edits(const CpuPower& power) {
  Json json = Json::object();
  for (const JsonEdit& edit : edits_of(result_of(power), "")) {
    EXPECT_FALSE(json.contains(edit.key));
    if (edit.key == "cpu_power_valid" ||
        std::ranges::find(cpu_metric_keys(), edit.key) != cpu_metric_keys().end()) {
      json[edit.key] = edit.value;
    }
  }
  return json;
}

TEST(CpuPower, SetsOrRemovesItsKeysOfTheAggregate) {
  // A third of a watt more: three decimals.
  const Json valid = edits(*measure(samples([](double unix_s, char host, int socket) {
    return grace_row(unix_s, host, socket, 100 + 1 / 3.0);
  })));
  EXPECT_EQ(valid, Json::parse(R"({"cpu_power_valid": "1", "avg_cpu_socket_power_w": "100.333",
      "avg_total_cpu_power_w": "401.333", "total_cpu_energy_j": "4013.333",
      "avg_total_module_power_w": "", "total_module_energy_j": "",
      "avg_total_cpu_rail_power_w": "", "total_cpu_rail_energy_j": "",
      "avg_total_cpu_sysio_power_w": "", "total_cpu_sysio_energy_j": ""})"));
  const Json invalid = edits(*measure("a,b\n"));
  EXPECT_EQ(invalid.size(), valid.size());
  EXPECT_EQ(invalid["cpu_power_valid"], "0");
  EXPECT_EQ(invalid["total_cpu_energy_j"], "");
}

Json audited(const CpuPower& power) {
  std::vector<JsonEdit> edits;
  add_audit_keys(edits, result_of(power), "");
  return Json::parse(edits.at(1).value).at("cpu");
}

TEST(CpuPower, IsSummedUpInPowerAudit) {
  EXPECT_EQ(audited(*measure(samples(grace))),
            Json::parse(R"({"sensor_kind": "grace_socket", "source": "acpi",
                "expected_sockets": 4, "observed_sockets": 4, "sample_row_count": 32,
                "reason_codes": []})"));
  EXPECT_EQ(audited(*measure("a,b\n")), Json::parse(R"({"expected_sockets": 4,
                "observed_sockets": 0, "sample_row_count": 0,
                "reason_codes": ["cpu_samples_header_mismatch"]})"));
}

}  // namespace cpu_power_test
}  // namespace aggregate_power
