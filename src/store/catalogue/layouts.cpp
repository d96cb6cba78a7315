// The table of layouts.
#include "store/catalogue/layouts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files/path.h"
#include "store/catalogue/pieces.h"

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
     .is_of_agents = false,
     .before_run = "agg_",
     .holds = holds_multinode,
     .lacks = lacks_multinode,
     .find_pieces = pieces_of_package},
    {.layout = Layout::power_audit,
     .name = "power_audit",
     .letter = 'p',
     .is_of_agents = false,
     .before_run = "agg_",
     .holds = holds_power_audit,
     .lacks = lacks_power_audit,
     .find_pieces = pieces_of_nodes},
    {.layout = Layout::bmk,
     .name = "bmk",
     .letter = 'b',
     .is_of_agents = false,
     .before_run = "agg_",
     .holds = holds_bmk,
     .lacks = never,
     .find_pieces = pieces_of_nodes},
    {.layout = Layout::folder,
     .name = "folder",
     .letter = 'f',
     .is_of_agents = false,
     .before_run = "agg_",
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

}  // namespace aggregate_power
