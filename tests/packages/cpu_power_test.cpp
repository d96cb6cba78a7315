// CPU power of a package: numbers by hand, and each reason against it. Contract.md F.4.
#include "packages/cpu_power.h"

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

#include "results/dashboard_keys.h"
#include "results/edits.h"
#include "results/record.h"
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
  return measure_cpu_power(*disk_tree(), folder.path(), request);
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

// ---- Reasons.

Codes codes(const std::optional<CpuPower>& power) {
  EXPECT_TRUE(power->metrics.empty());
  EXPECT_TRUE(power->energy_j.empty());
  return power->reasons.codes();
}

TEST(CpuPower, IsNothingWithoutAFolderUnlessASourceIsExpected) {
  const Folder folder;
  EXPECT_FALSE(measure_cpu_power(*disk_tree(), folder / "cpu", kRequest));
  CpuPowerRequest request = kRequest;
  request.expected_source = "acpi";
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), folder / "cpu", request)),
            Codes{"cpu_artifacts_missing"});
}

TEST(CpuPower, NeedsItsFiles) {
  const Folder folder;
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), folder.path(), kRequest)),
            (Codes{"cpu_manifest_invalid", "cpu_samples_missing"}));
  put(folder / "samples.csv", samples(grace));
  for (const char* manifest : {"[]", "{", "", "\"{}\""}) {
    put(folder / "cpu_manifest.json", manifest);
    EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), folder.path(), kRequest)),
              Codes{"cpu_manifest_invalid"});
  }
  put(folder / "cpu_manifest.json", "{}");
  EXPECT_TRUE(measure_cpu_power(*disk_tree(), folder.path(), kRequest)->reasons.empty());
  std::filesystem::remove(folder / "samples.csv");
  std::filesystem::create_directory(folder / "samples.csv");
  EXPECT_EQ(codes(measure_cpu_power(*disk_tree(), folder.path(), kRequest)),
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
  add_dashboard_keys(edits, result_of(power), "");
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
