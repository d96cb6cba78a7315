// Reads the aggregate's members and hashes its text.
#include "results/aggregate_json.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/files/byte_source.h"
#include "base/files/hash.h"
#include "base/text/json.h"
#include "base/text/python_number.h"
#include "energy/metrics.h"
#include "loads/benchmark_outcome.h"
#include "results/edits.h"

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

std::optional<std::int64_t> gpus_of(std::string_view text) {
  constexpr std::array<std::string_view, 5> kKeys = {"tp", "pp", "pcp_size", "num_prefill_gpu",
                                                     "num_decode_gpu"};
  std::array<std::optional<std::int64_t>, kKeys.size()> counts;
  bool is_strange = false;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    const auto key = std::ranges::find(kKeys, member.key);
    if (key == kKeys.end()) return;
    const auto value =
        member.kind == JsonKind::integer ? python_int(std::string(member.scalar)) : std::nullopt;
    is_strange |= key < kKeys.begin() + 3 && !value;
    counts[static_cast<std::size_t>(key - kKeys.begin())] = value;
  });
  constexpr std::int64_t kMost = 1'000'000;  // no product of three overflows
  for (const auto& count : counts) {
    if (count && (*count < 0 || *count > kMost)) return std::nullopt;
  }
  if (counts[3] && counts[4] && *counts[3] + *counts[4] > 0) return *counts[3] + *counts[4];
  if (is_strange || (!counts[0] && !counts[1] && !counts[2])) return std::nullopt;
  const std::int64_t product =
      counts[0].value_or(1) * counts[1].value_or(1) * counts[2].value_or(1);
  return product > 0 ? std::optional(product) : std::nullopt;
}

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
