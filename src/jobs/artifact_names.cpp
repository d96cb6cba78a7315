// What names in an artifact store say.
#include "aggregate_power/jobs/artifact_names.h"

#include <algorithm>
#include <charconv>
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

std::optional<NamedGpus> gpus_in_name(std::string_view name) {
  const std::size_t at = name.rfind("_gpus_");
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at);
  std::array<std::int64_t, 3> counts{};
  std::size_t met = 0;
  for (const std::string_view word : {"_gpus_", "_ctx_", "_gen_"}) {
    if (name.empty() && met == 1) break;
    if (!name.starts_with(word)) return std::nullopt;
    name.remove_prefix(word.size());
    const std::string_view digits =
        name.substr(0, std::min(name.find_first_not_of("0123456789"), name.size()));
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), counts[met++]);
    if (digits.empty() || error != std::errc()) return std::nullopt;
    name.remove_prefix(digits.size());
  }
  if (!name.empty()) return std::nullopt;
  NamedGpus gpus{counts[0], std::nullopt, std::nullopt};
  if (met == 3) {
    gpus.prefill = counts[1];
    gpus.decode = counts[2];
  }
  return gpus;
}

bool can_be_result(std::string_view name) {
  return is_json_name(name) && !name.starts_with("agg_") &&
         !name.starts_with("power_validation_") && !name.ends_with("_context.json") &&
         name.find("_identity") == std::string_view::npos;
}

bool is_telemetry_name(std::string_view name) { return is_compressed_or(name, "gpu_metrics.csv"); }

bool is_records_name(std::string_view name) { return is_compressed_or(name, kProfileRecords); }

}  // namespace aggregate_power
