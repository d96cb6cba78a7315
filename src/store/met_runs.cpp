// Writes what a walk found to the disk index, and groups it by name.
#include "store/met_runs.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/layouts.h"

namespace aggregate_power {
namespace {

// The kinds of entries besides those of pieces. They are given out in this order.
constexpr auto kTelemetry = static_cast<std::uint8_t>(PieceKind::telemetry);
constexpr std::uint8_t kRun = 2;      // a run of that name, or with kOfArtifact the artifact that
                                      // contains runs
constexpr std::uint8_t kWaiting = 3;  // its aggregate
constexpr std::uint8_t kBare = 4;     // the folder
constexpr std::uint8_t kListed = 5;
constexpr std::uint8_t kFound = 6;  // its aggregate
constexpr const char* kOfArtifact = "artifact";

std::string with_letter(Layout layout, const std::string& text) {
  return layout_row(layout).letter + text;
}

// A folder's name never contains a slash.
std::string kept_text(const StoredRun& run) {
  return with_letter(run.layout,
                     fmt::format("{}/{}", run.artifact, store_path_text(run.aggregate)));
}

KeptRun kept_run(const IndexEntry& entry) {
  KeptRun kept;
  kept.run.name = entry.name;
  kept.run.layout = layout_of_letter(entry.text[0]);
  const std::size_t artifact_end = entry.text.find('/');
  kept.run.artifact = entry.text.substr(1, artifact_end - 1);
  kept.aggregate_text = entry.text.substr(artifact_end + 1);
  return kept;
}

std::optional<StoredRun> bare_run(const std::string& name, const std::vector<IndexEntry>& entries) {
  StoredRun run;
  run.name = name;
  for (const IndexEntry& entry : entries) {
    if (entry.kind == kTelemetry && run.folder.display.empty()) {
      run.layout = Layout::bmk;
      run.folder.display = display_of(entry.text);
    } else if (entry.kind == kBare) {
      run.layout = layout_of_letter(entry.text[0]);
      run.folder.display = display_of(std::string_view(entry.text).substr(1));
    }
  }
  return run.folder.display.empty() ? std::nullopt : std::optional(std::move(run));
}

MetName met_name(const std::string& name, const std::vector<IndexEntry>& entries) {
  MetName met;
  met.name = name;
  Namesakes namesakes;
  for (const IndexEntry& entry : entries) {
    if (entry.kind < namesakes.pieces.size()) {
      // One too many shows that there are too many.
      std::vector<std::string>& pieces = namesakes.pieces[entry.kind];
      if (pieces.size() <= kMostCandidates) pieces.push_back(entry.text);
    }
    namesakes.runs += entry.kind == kRun;
    if (entry.kind == kWaiting) met.waiting.push_back(kept_run(entry));
    if (entry.kind == kFound) met.found.push_back(kept_run(entry));
    met.is_listed |= entry.kind == kListed;
    met.is_run |= entry.kind == kRun && entry.text.empty();
    met.is_artifact |= entry.kind == kRun && entry.text == kOfArtifact;
  }
  met.namesakes = std::make_shared<const Namesakes>(std::move(namesakes));
  met.bare = bare_run(name, entries);
  return met;
}

}  // namespace

void MetRuns::add_listed(const std::string& name) { index_.add({kListed, name, {}}); }

void MetRuns::add_run(const StoredRun& run) {
  index_.add({kRun, run.name, {}});
  // Several runs may share one artifact.
  if (run.artifact != run.name) index_.add({kRun, run.artifact, kOfArtifact});
}

void MetRuns::add_bare(const StoredRun& run) {
  index_.add({kBare, run.name, with_letter(run.layout, store_path_text(run.folder))});
}

void MetRuns::add_piece(PieceKind kind, const std::string& name, const StorePath& place) {
  index_.add({static_cast<std::uint8_t>(kind), name, store_path_text(place)});
}

void MetRuns::keep_waiting(const StoredRun& run) {
  index_.add({kWaiting, run.name, kept_text(run)});
}

void MetRuns::keep_found(const StoredRun& run) { index_.add({kFound, run.name, kept_text(run)}); }

void MetRuns::for_each_name(const std::function<void(MetName)>& take) {
  index_.for_each_name([&](const std::string& name, const std::vector<IndexEntry>& entries) {
    take(met_name(name, entries));
  });
}

}  // namespace aggregate_power
