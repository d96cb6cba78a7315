// The table of layouts.
#include "store/catalogue/layouts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/decimal.h"
#include "generators/aiperf.h"

namespace aggregate_power {
namespace {

using Kind = Artifact::Kind;

bool never(const FolderMarks&) { return false; }

bool holds_agents(const FolderMarks& folder, std::string_view run) {
  return (is_agents_folder(folder) || folder.has_agents) &&
         agentic_concurrency(folder.artifact.run, fmt::format("{}.json", run));
}

bool holds_multinode(const FolderMarks& folder, std::string_view run) {
  return !is_agents_folder(folder) && (folder.has_package || gpus_in_name(run));
}

bool holds_power_audit(const FolderMarks& folder, std::string_view) {
  return folder.artifact.kind == Kind::power_audit;
}

bool holds_bmk(const FolderMarks& folder, std::string_view) {
  return folder.artifact.kind == Kind::bmk;
}

bool holds_any(const FolderMarks& folder, std::string_view) { return !is_agents_folder(folder); }

bool lacks_multinode(const FolderMarks& folder) {
  return folder.artifact.kind == Kind::power_audit && folder.has_package;
}

bool lacks_power_audit(const FolderMarks& folder) {
  return folder.artifact.kind == Kind::power_audit;
}

// The first row that matches counts.
constexpr LayoutRow kRows[] = {
    {.layout = Layout::agentic,
     .name = "agentic",
     .letter = 'a',
     .is_of_agents = true,
     .before_run = "",
     .holds = holds_agents,
     .lacks = is_agents_folder,
     .find_pieces = pieces_of_agents},
    {.layout = Layout::multinode,
     .name = "multinode",
     .letter = 'm',
     .holds = holds_multinode,
     .lacks = lacks_multinode,
     .find_pieces = pieces_of_package},
    {.layout = Layout::power_audit,
     .name = "power_audit",
     .letter = 'p',
     .holds = holds_power_audit,
     .lacks = lacks_power_audit,
     .find_pieces = pieces_of_nodes},
    {.layout = Layout::bmk,
     .name = "bmk",
     .letter = 'b',
     .holds = holds_bmk,
     .lacks = never,
     .find_pieces = pieces_of_nodes},
    {.layout = Layout::folder,
     .name = "folder",
     .letter = 'f',
     .holds = holds_any,
     .lacks = never,
     .find_pieces = pieces_of_nodes},
};

}  // namespace

bool is_agents_folder(const FolderMarks& marks) {
  return marks.artifact.kind == Kind::agentic || marks.artifact.kind == Kind::bmk_agentic;
}

const LayoutRow& layout_row(Layout layout) {
  return *std::ranges::find(kRows, layout, &LayoutRow::layout);
}

Layout layout_of_letter(char letter) {
  return std::ranges::find(kRows, letter, &LayoutRow::letter)->layout;
}

std::string aggregate_name(const StoredRun& run) {
  return fmt::format("{}{}.json", layout_row(run.layout).before_run, run.name);
}

std::optional<NamedRun> run_of_aggregate(const FolderMarks& folder, std::string_view file) {
  if (!file.ends_with(".json") || is_pytorch_copy(file)) return std::nullopt;
  const std::string stem = path_stem(file);
  for (const LayoutRow& row : kRows) {
    if (!stem.starts_with(row.before_run)) continue;
    const std::string_view run = std::string_view(stem).substr(row.before_run.size());
    if (row.holds(folder, run)) return NamedRun{std::string(run), row.layout};
  }
  return std::nullopt;
}

std::optional<Layout> layout_without_aggregate(const FolderMarks& folder) {
  for (const LayoutRow& row : kRows) {
    if (row.lacks(folder)) return row.layout;
  }
  return std::nullopt;
}

// ---- Parses the names of artifacts, results and recordings.

namespace {

bool is_json_name(std::string_view name) {
  return std::ranges::any_of(kCompressions, [&](std::string_view compression) {
    return name.ends_with(compression) &&
           name.substr(0, name.size() - compression.size()).ends_with(".json");
  });
}

std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view behind) {
  if (text.size() < before.size() + behind.size() || !text.starts_with(before) ||
      !text.ends_with(behind)) {
    return std::nullopt;
  }
  return text.substr(before.size(), text.size() - before.size() - behind.size());
}

}  // namespace

std::string_view recorder_label(std::string_view name) {
  constexpr std::string_view kConcurrency = "_conc";
  constexpr std::string_view kRecipe = "_recipe-";
  constexpr std::size_t kRecipeDigits = 16;
  const std::size_t at = name.rfind(kConcurrency);
  if (at == name.npos) return {};
  name.remove_prefix(at + kConcurrency.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || !name.substr(digits).starts_with('_')) return {};
  name.remove_prefix(digits + 1);
  const std::size_t recipe = name.rfind(kRecipe);
  if (recipe != name.npos && name.size() == recipe + kRecipe.size() + kRecipeDigits) {
    name = name.substr(0, recipe);
  }
  return name.starts_with("gpus_") ? std::string_view() : name;
}

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
    const auto count = from_text<std::int64_t>(digits);
    if (!count) return std::nullopt;
    counts[met++] = *count;
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

std::optional<std::int64_t> concurrency_in_name(std::string_view name) {
  if (!gpus_in_name(name)) return std::nullopt;
  name = name.substr(0, name.rfind("_gpus_"));
  constexpr std::string_view kRate = "_req_rate_";
  const std::size_t rate = name.rfind(kRate);
  if (rate != name.npos && name.find('_', rate + kRate.size()) == name.npos) {
    name = name.substr(0, rate);
  }
  const std::string_view digits = name.substr(name.find_last_not_of("0123456789") + 1);
  name.remove_suffix(digits.size());
  const bool is_named =
      name.ends_with("_c") || name.ends_with("_conc") || name.ends_with("_concurrency_");
  return is_named ? from_text<std::int64_t>(digits) : std::nullopt;
}

bool is_pytorch_copy(std::string_view name) { return name.ends_with(".pytorch.json"); }

bool can_be_result(std::string_view name) {
  return is_json_name(name) && !is_pytorch_copy(name) && !name.starts_with("agg_") &&
         !name.starts_with("power_validation_") && !name.ends_with("_context.json") &&
         name.find("_identity") == std::string_view::npos;
}

bool is_recording_name(std::string_view name) {
  constexpr std::string_view kBegin = "gpu_metrics";
  return name.starts_with(kBegin) && std::ranges::any_of(kCompressions, [&](std::string_view end) {
           return name.ends_with(fmt::format(".csv{}", end));
         });
}

bool is_telemetry_name(std::string_view name) { return is_compressed_or(name, "gpu_metrics.csv"); }

std::optional<std::string> agentic_concurrency(std::string_view run, std::string_view name) {
  const auto rest = between(name, run, ".json");
  if (!rest || rest->empty()) return rest ? std::optional<std::string>("") : std::nullopt;
  const auto number = between(*rest, "_conc", "");
  return number ? written_concurrency(*number) : std::nullopt;
}

}  // namespace aggregate_power
