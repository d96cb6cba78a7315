// What names in an artifact store say.
#include "aggregate_power/jobs/artifact_names.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

bool is_json_name(std::string_view name) {
  return std::ranges::any_of(kCompressions, [&](std::string_view compression) {
    return name.ends_with(compression) &&
           name.substr(0, name.size() - compression.size()).ends_with(".json");
  });
}

bool is_compressed_or(std::string_view name, std::string_view plain) {
  return std::ranges::any_of(kCompressions, [&](std::string_view compression) {
    return name == fmt::format("{}{}", plain, compression);
  });
}

}  // namespace

Artifact artifact_of(std::string_view name) {
  using Kind = Artifact::Kind;
  if (name == "results_bmk") return {Kind::no_run, {}};
  constexpr std::pair<std::string_view, Kind> kPrefixes[] = {
      {"eval_gpu_metrics_", Kind::no_run},
      {"power_audit_", Kind::power_audit},
      {"gpu_metrics_", Kind::gpu_metrics},
      {"bmk_agentic_", Kind::bmk_agentic},
      {"bmk_", Kind::bmk},
      {"agentic_", Kind::agentic},
  };
  for (const auto& [prefix, kind] : kPrefixes) {
    if (name.starts_with(prefix)) return {kind, std::string(name.substr(prefix.size()))};
  }
  return {};
}

bool is_multinode_name(std::string_view name) {
  const std::size_t at = name.rfind("_gpus_");
  if (at == std::string_view::npos) return false;
  name.remove_prefix(at);
  for (const std::string_view word : {"_gpus_", "_ctx_", "_gen_"}) {
    if (name.empty() && word == "_ctx_") return true;
    if (!name.starts_with(word)) return false;
    name.remove_prefix(word.size());
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0) return false;
    name.remove_prefix(digits);
  }
  return name.empty();
}

bool can_be_result(std::string_view name) {
  return is_json_name(name) && !name.starts_with("agg_") &&
         !name.starts_with("power_validation_") && !name.ends_with("_context.json") &&
         name.find("_identity") == std::string_view::npos;
}

bool is_telemetry_name(std::string_view name) { return is_compressed_or(name, "gpu_metrics.csv"); }

bool is_records_name(std::string_view name) { return is_compressed_or(name, kProfileRecords); }

}  // namespace aggregate_power
