// Reads the aggregate's members and hashes its text.
#include "core/record/aggregate.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/files/hash.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "core/energy/metrics.h"
#include "core/load/benchmark.h"
#include "core/record/edits.h"

namespace aggregate_power {
namespace {

InputFile hashed(std::string role, const ContentHash& hash) {
  return {std::move(role), hash.bytes(), hash.hex()};
}

}  // namespace

InputFile hashed_text(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return hashed("", hash);
}

InputFile hashed_others(std::string_view text) {
  ContentHash hash;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (member.key_kept && is_our_key(member.key)) return;
    hash.add(text.substr(member.key_begin, member.value_end - member.key_begin));
    hash.add({"\0", 1});
  });
  return hashed("aggregate_result", hash);
}

StatedGpus gpus_stated_in(std::string_view text) {
  std::map<std::string, std::string, std::less<>> members;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (!member.key_kept || member.kind == JsonKind::null || member.text.empty()) return;
    std::string_view value = member.text;
    if (member.kind == JsonKind::string) value = value.substr(1, value.size() - 2);
    members.insert_or_assign(std::string(member.key), std::string(value));
  });
  const auto text_of = [&](std::string_view key) {
    const auto found = members.find(key);
    return found == members.end() ? std::nullopt : std::optional(found->second);
  };
  const auto prefill = stated_count(text_of("num_prefill_gpu").value_or(""));
  const auto decode = stated_count(text_of("num_decode_gpu").value_or(""));
  if (prefill && decode && *prefill + *decode > 0) return {*prefill + *decode, {}};
  return stated_gpus(text_of);
}

std::optional<std::int64_t> gpus_of(std::string_view text) { return gpus_stated_in(text).count; }

RoleGpus role_gpus_of(std::string_view text) {
  RoleGpus gpus;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (member.kind != JsonKind::integer) return;
    if (member.key == "num_prefill_gpu") gpus.prefill = python_int(std::string(member.scalar));
    if (member.key == "num_decode_gpu") gpus.decode = python_int(std::string(member.scalar));
  });
  return gpus;
}

std::string hardware_of(std::string_view text) {
  std::string hardware;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (member.key != "hw" || member.kind != JsonKind::string) return;
    const auto value = nlohmann::json::parse(
        text.substr(member.value_begin, member.value_end - member.value_begin), nullptr, false);
    if (value.is_string()) hardware = value.get<std::string>();
  });
  return hardware;
}

std::string benchmark_failure_in(ByteSource& aggregate) {
  JsonValue outcome;
  scan_json(aggregate, [&](const JsonMember& member) {
    if (member.key == "benchmark_outcome") outcome = outcome_in(member);
  });
  return benchmark_failure(outcome, {}, {});
}

std::vector<std::pair<std::string, double>> metrics_in(std::string_view text) {
  std::vector<std::pair<std::string, double>> metrics;
  const std::vector<std::string_view> keys = all_metric_keys();
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (std::ranges::find(keys, member.key) == keys.end()) return;
    const auto value = python_float(std::string(member.scalar));
    if (value) metrics.emplace_back(member.key, *value);
  });
  return metrics;
}

}  // namespace aggregate_power
