// Compares matrix, aggregate and audit record of a point.
#include "verify/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/record/record_read.h"

namespace aggregate_power {
namespace {

constexpr double kEnergyRelative = 1e-4;
constexpr double kEnergyAbsoluteJ = 0.01;

std::string with_prefix(std::string_view role, std::string_view key) {
  return role.empty() ? std::string(key) : fmt::format("{}_{}", role, key);
}

// A worker's parallelism: its keys in the matrix and in the aggregate. `default_1` may be absent.
struct Factor {
  const char* in_row;
  const char* in_aggregate;
  bool default_1_in_aggregate;
  bool multiplies_gpus;
};
constexpr Factor kFactors[] = {{"tp", "tp", false, true},
                               {"pp", "pp", true, true},
                               {"dcp-size", "dcp_size", true, false},
                               {"pcp-size", "pcp_size", true, true},
                               {"ep", "ep", false, false}};

// The product of counts that are not negative; nullopt if one is not a count, or it is too large.
std::optional<std::int64_t> product(std::initializer_list<std::optional<std::int64_t>> counts) {
  std::int64_t all = 1;
  for (const auto& count : counts) {
    if (!count || *count < 0) return std::nullopt;
    if (*count > 0 && all > std::numeric_limits<std::int32_t>::max() / *count) return std::nullopt;
    all *= *count;
  }
  return all;
}

JsonValue factor_of(const JsonValue& worker, const char* key) {
  const JsonValue* const factor = worker.find(key);
  // The matrix must say TP; all others are 1 if it does not.
  if (factor == nullptr && std::string_view(key) != "tp") return JsonValue::integer(1);
  return factor == nullptr ? JsonValue() : *factor;
}

bool is_on(const JsonValue& value) {
  return value.is_true() || (value.is_string() && value.text == "true");
}

bool is_switch(const JsonValue& value) {
  return value.is_null() || value.kind == JsonKind::boolean || value.text == "true" ||
         value.text == "false";
}

// The layout of one kind of worker. `role` is empty for workers that do everything.
std::optional<std::int64_t> check_workers(const JsonValue& worker, const JsonValue& aggregate,
                                          std::string_view role, PointFaults& faults) {
  const JsonValue count = role.empty() ? JsonValue::integer(1) : worker.at("num-worker");
  const auto gpus =
      product({factor_of(worker, "tp").as_integer(), factor_of(worker, "pp").as_integer(),
               factor_of(worker, "pcp-size").as_integer(), count.as_integer()});
  const std::string of = role.empty() ? "" : fmt::format(" of {}", role);
  if (!gpus) {
    faults.add(fmt::format("the matrix does not say how many GPUs the workers{} have", of));
    return std::nullopt;
  }
  const auto expect = [&](const std::string& key, const JsonValue& expected) {
    faults.expect(fmt::format("'{}' of the aggregate", key), expected, aggregate.at(key));
  };
  if (!role.empty()) {
    expect(with_prefix(role, "num_workers"), count);
    expect(fmt::format("num_{}_gpu", role), JsonValue::integer(*gpus));
  }
  // Without workers for decode there is no layout of them.
  const bool is_none = role == "decode" && *gpus == 0;
  for (const Factor& factor : kFactors) {
    const std::string key = with_prefix(role, factor.in_aggregate);
    JsonValue expected = factor_of(worker, factor.in_row);
    if (is_none) expected = JsonValue::integer(factor.default_1_in_aggregate ? 1 : 0);
    if (factor.default_1_in_aggregate && aggregate.find(key) == nullptr) {
      faults.expect(fmt::format("'{}' of the aggregate, which is 1 if absent", key), expected,
                    JsonValue::integer(1));
    } else {
      expect(key, expected);
    }
  }
  const std::string key = with_prefix(role, "dp_attention");
  const JsonValue& attention = aggregate.at(key);
  if (!is_switch(attention) || is_on(attention) != is_on(worker.at("dp-attn"))) {
    faults.add(fmt::format("'{}' of the aggregate", key),
               is_on(worker.at("dp-attn")) ? "true" : "false", attention.shown());
  }
  return gpus;
}

double sum_j(const std::vector<Device>& devices, std::string_view role) {
  double sum = 0;
  for (const Device& device : devices) {
    if (role.empty() || device.role == role) sum += device.energy_j.as_double();
  }
  return sum;
}

void check_energy(const std::vector<Device>& devices, std::string_view role,
                  const JsonValue& aggregate, const std::string& key, PointFaults& faults) {
  const JsonValue& total = aggregate.at(key);
  const double sum = sum_j(devices, role);
  if (total.is_number() && is_same_energy(sum, total.as_double())) return;
  faults.add(fmt::format("'{}' of the aggregate, against the sum of the GPUs", key),
             json_number(sum), total.shown());
}

// num_gpus; else what the other counts of the aggregate make.
JsonValue published_gpus(const RequiredPoint& point, const JsonValue& aggregate) {
  if (!aggregate.at("num_gpus").is_null()) return aggregate.at("num_gpus");
  const auto count = [&](const char* key) {
    const JsonValue* const value = aggregate.find(key);
    return value == nullptr ? std::optional<std::int64_t>(1) : value->as_integer();
  };
  if (!point.is_multinode) {
    const auto gpus = product({aggregate.at("tp").as_integer(), count("pp"), count("pcp_size")});
    return gpus ? JsonValue::integer(*gpus) : JsonValue();
  }
  const auto prefill = aggregate.at("num_prefill_gpu").as_integer();
  const auto decode = aggregate.at("num_decode_gpu").as_integer();
  const auto is_count = [](const auto& gpus) {
    return gpus && *gpus >= 0 && *gpus <= std::numeric_limits<std::int32_t>::max();
  };
  if (!is_count(prefill) || !is_count(decode)) return {};
  return JsonValue::integer(*prefill + *decode);
}

void check_roles(const RequiredPoint& point, const JsonValue& aggregate,
                 const std::vector<Device>& devices, PointFaults& faults) {
  for (const char* const role : {"prefill", "decode"}) {
    if (!point.is_disaggregated()) continue;
    const auto count = std::ranges::count(devices, role, &Device::role);
    const std::string key = fmt::format("num_{}_gpu", role);
    const JsonValue& said = aggregate.at(key);
    if (!is_positive(said) || !equal_in_python(said, JsonValue::integer(count))) {
      faults.add(fmt::format("'{}' of the aggregate, against the GPUs of that role", key),
                 std::to_string(count), said.shown());
    }
    check_energy(devices, role, aggregate, fmt::format("{}_gpu_energy_j", role), faults);
  }
  if (point.is_disaggregated()) return;
  for (const Device& device : devices) {
    if (device.role == "aggregate") continue;
    faults.add(fmt::format("the role of {}/{}", device.node, device.gpu_uuid), "aggregate",
               device.role);
  }
}

}  // namespace

bool is_same_energy(double a_j, double b_j) {
  if (!std::isfinite(a_j) || !std::isfinite(b_j)) return false;
  const double allowed =
      std::max(kEnergyRelative * std::max(std::fabs(a_j), std::fabs(b_j)), kEnergyAbsoluteJ);
  return std::fabs(a_j - b_j) <= allowed;
}

void check_aggregate(const RequiredPoint& point, const JsonValue& aggregate, PointFaults& faults) {
  faults.begin(1);
  const JsonValue& version = aggregate.at("power_metric_schema_version");
  if (version.kind != JsonKind::integer || version.as_integer() != 2) {
    faults.add("'power_metric_schema_version' of the aggregate", "2", version.shown());
  }
  const JsonValue& valid = power_verdict(aggregate);
  if (!valid.is_number() || valid.as_double() != 1) {
    faults.add("'power_valid' of the aggregate", "1", valid.shown());
  }
  std::vector<const char*> keys = {"avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j",
                                   "joules_per_output_token"};
  if (point.is_disaggregated()) {
    keys.insert(keys.end(), {"prefill_gpu_energy_j", "decode_gpu_energy_j",
                             "prefill_joules_per_input_token", "decode_joules_per_output_token"});
  }
  for (const char* const key : keys) {
    if (is_positive(aggregate.at(key))) continue;
    faults.add(fmt::format("'{}' of the aggregate", key), "a number above 0",
               aggregate.at(key).shown());
  }
}

std::optional<std::int64_t> check_topology(const RequiredPoint& point, const JsonValue& aggregate,
                                           PointFaults& faults) {
  faults.begin(2);
  const JsonValue& row = *point.row;
  if (!point.is_multinode) return check_workers(row, aggregate, "", faults);
  const auto prefill = check_workers(row.at("prefill"), aggregate, "prefill", faults);
  const auto decode = check_workers(row.at("decode"), aggregate, "decode", faults);
  if (!prefill || !decode) return std::nullopt;
  return *prefill + *decode;
}

void check_verdict(const JsonValue& record, PointFaults& faults) {
  faults.begin(4);
  if (!is_power_valid(record)) {
    faults.add("'power_valid' of the audit record", "true", power_verdict(record).shown());
  }
  const JsonValue& start = record.at("benchmark_window").at("start_time_unix");
  const JsonValue& end = record.at("benchmark_window").at("end_time_unix");
  if (is_positive(start) && is_positive(end) && end.as_double() > start.as_double()) return;
  faults.add("the window of the audit record", "an end after its start, both above 0",
             fmt::format("{} to {}", start.shown(), end.shown()));
}

JsonValue check_devices(const RequiredPoint& point, const JsonValue& aggregate,
                        const JsonValue& record, const std::vector<Device>& devices,
                        std::optional<std::int64_t> required_gpus, PointFaults& faults) {
  faults.begin(5);
  const JsonValue count = JsonValue::integer(static_cast<std::int64_t>(devices.size()));
  for (const char* const key : {"observed_gpu_count", "expected_gpu_count"}) {
    faults.expect(fmt::format("'{}' of the audit record, against its GPUs", key), count,
                  record.at(key));
  }
  JsonValue published = published_gpus(point, aggregate);
  faults.expect("the GPUs of the aggregate, against those of the audit record", count, published);
  if (required_gpus) {
    faults.expect("the GPUs of the matrix, against those of the audit record", count,
                  JsonValue::integer(*required_gpus));
  }
  faults.begin(6);
  check_roles(point, aggregate, devices, faults);
  faults.begin(7);
  if (point.is_multinode) {
    std::set<std::string> nodes;
    for (const Device& device : devices) nodes.insert(device.node);
    faults.expect("'node-count' of the matrix, against the nodes of the GPUs",
                  JsonValue::integer(static_cast<std::int64_t>(nodes.size())),
                  point.row->at("node-count"));
  }
  faults.begin(8);
  check_energy(devices, "", aggregate, "total_gpu_energy_j", faults);
  return published;
}

}  // namespace aggregate_power
