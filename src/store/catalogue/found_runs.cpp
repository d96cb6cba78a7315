// Keeps what a walk found as texts, and groups it by name.
#include "store/catalogue/found_runs.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "store/catalogue/layouts.h"

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

std::pair<std::uint8_t, std::string_view> parts_of(std::string_view entry) {
  return {static_cast<std::uint8_t>(entry[0]), entry.substr(1)};
}

std::string with_letter(Layout layout, const std::string& text) {
  return layout_row(layout).letter + text;
}

// A folder's name never contains a slash.
std::string kept_text(const StoredRun& run) {
  return with_letter(run.layout,
                     fmt::format("{}/{}", run.artifact, store_path_text(run.aggregate)));
}

KeptRun kept_run(const std::string& name, std::string_view text) {
  KeptRun kept;
  kept.run.name = name;
  kept.run.layout = layout_of_letter(text[0]);
  const std::size_t artifact_end = text.find('/');
  kept.run.artifact = text.substr(1, artifact_end - 1);
  kept.aggregate_text = text.substr(artifact_end + 1);
  return kept;
}

std::optional<StoredRun> bare_run(const std::string& name,
                                  const std::vector<std::string>& entries) {
  StoredRun run;
  run.name = name;
  for (const std::string& entry : entries) {
    const auto [kind, text] = parts_of(entry);
    if (kind == kTelemetry && run.folder.display.empty()) {
      run.layout = Layout::bmk;
      run.folder.display = display_of(text);
    } else if (kind == kBare) {
      run.layout = layout_of_letter(text[0]);
      run.folder.display = display_of(text.substr(1));
    }
  }
  return run.folder.display.empty() ? std::nullopt : std::optional(std::move(run));
}

MetName met_name(const std::string& name, const std::vector<std::string>& entries) {
  MetName met;
  met.name = name;
  Namesakes namesakes;
  for (const std::string& entry : entries) {
    const auto [kind, text] = parts_of(entry);
    if (kind < namesakes.pieces.size()) {
      // One too many shows that there are too many.
      std::vector<std::string>& pieces = namesakes.pieces[kind];
      if (pieces.size() <= kMostCandidates) pieces.emplace_back(text);
    }
    namesakes.runs += kind == kRun;
    if (kind == kWaiting) met.waiting.push_back(kept_run(name, text));
    if (kind == kFound) met.found.push_back(kept_run(name, text));
    met.is_listed |= kind == kListed;
    met.is_run |= kind == kRun && text.empty();
    met.is_artifact |= kind == kRun && text == kOfArtifact;
  }
  met.namesakes = std::make_shared<const Namesakes>(std::move(namesakes));
  met.bare = bare_run(name, entries);
  return met;
}

}  // namespace

void MetRuns::add(std::uint8_t kind, std::string_view name, std::string_view text) {
  const std::lock_guard guard(mutex_);
  entries_.add(scattered_key(name), fmt::format("{}{}", static_cast<char>(kind), text));
}

void MetRuns::add_listed(const std::string& name) { add(kListed, name, {}); }

void MetRuns::add_run(const StoredRun& run) {
  add(kRun, run.name, {});
  // Several runs may share one artifact.
  if (run.artifact != run.name) add(kRun, run.artifact, kOfArtifact);
}

void MetRuns::add_bare(const StoredRun& run) {
  add(kBare, run.name, with_letter(run.layout, store_path_text(run.folder)));
}

void MetRuns::add_piece(PieceKind kind, const std::string& name, const StorePath& place) {
  add(static_cast<std::uint8_t>(kind), name, store_path_text(place));
}

void MetRuns::keep_waiting(const StoredRun& run) { add(kWaiting, run.name, kept_text(run)); }

void MetRuns::keep_found(const StoredRun& run) { add(kFound, run.name, kept_text(run)); }

void MetRuns::for_each_name(const std::function<void(MetName)>& take) {
  entries_.for_each_key([&](const std::string& key, const std::vector<std::string>& entries) {
    take(met_name(name_of_key(key), entries));
  });
}

// ---- Matches runs against the glob and the shard.

bool Selection::has_artifact(const std::string& artifact) const {
  const std::string_view label = recorder_label(artifact);
  return text_hash(label.empty() ? artifact : label) % shards == shard;
}

bool Selection::has_run(const std::string& name, const std::string& artifact) const {
  if (!has_artifact(artifact)) return false;
  return only.empty() || ::fnmatch(only.c_str(), name.c_str(), 0) == 0;
}

// ---- Reads the list of the runs that are wanted.

namespace {

constexpr std::size_t kMostLineBytes = 65536;
constexpr std::string_view kNoStore = "none";  // sorted after the numbers of stores

std::string normal_absolute(const std::string& path) {
  std::error_code ignored;
  return normal_path(std::filesystem::absolute(path, ignored).string());
}

// A route only leads down, and text after a NUL would be ignored.
bool is_route(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  return std::ranges::count(separated(path, '/'), "..") == 0;
}

// Passes each line without its end and anything after a tab.
void read_lines(const std::string& file, const std::function<void(const std::string&)>& take) {
  const auto source = open_source(file);
  std::array<char, 65536> chunk;
  std::string line;
  const auto end_line = [&] {
    line.resize(std::min(line.find('\t'), line.size()));
    if (line.ends_with('\r')) line.pop_back();
    if (!strip(line).empty()) take(line);
    line.clear();
  };
  while (const std::size_t count = source->read(chunk)) {
    for (const char c : std::string_view(chunk.data(), count)) {
      if (c == '\n') {
        end_line();
      } else if (line.size() == kMostLineBytes) {
        throw Error(
            fmt::format("--runs: {}: a line is longer than {} bytes: this is not a list of runs",
                        file, kMostLineBytes));
      } else {
        line.push_back(c);
      }
    }
  }
  end_line();
}

}  // namespace

RunList::RunList(const std::string& file, const std::vector<StorePath>& stores,
                 const std::function<void(const std::string&)>& take_name)
    : stores_(stores) {
  read_lines(file, [&](const std::string& line) {
    if (line.find('/') != std::string::npos || line.ends_with(".json")) return add_path(line);
    has_names_ = true;
    take_name(line);
  });
}

void RunList::add_path(const std::string& line) {
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    const auto route = route_below(stores_[i], line);
    if (!route) continue;
    const auto store = std::make_shared<const StorePath>(stores_[i]);
    return paths_.add(scattered_key(child(store, *route).display), std::to_string(i));
  }
  paths_.add(scattered_key(line), kNoStore);
}

void RunList::for_each_path(
    const std::function<void(const std::string&, const StorePath* store)>& take) {
  paths_.for_each_key([&](const std::string& path, const std::vector<std::string>& stores) {
    const std::string& store = stores.front();
    take(name_of_key(path), store == kNoStore ? nullptr : &stores_[std::stoul(store)]);
  });
}

std::optional<std::string> route_below(const StorePath& store, const std::string& path) {
  const std::string wanted = normal_absolute(path);
  std::array<std::string, 2> spellings = {normal_absolute(store.path), {}};
  try {
    spellings[1] = resolve_links(store.path);
  } catch (const FileError&) {  // then only by its given name
  }
  for (const std::string& folder : spellings) {
    const std::string start = folder.ends_with('/') ? folder : folder + '/';
    if (folder.empty() || !wanted.starts_with(start)) continue;
    std::string route = wanted.substr(start.size());
    if (is_route(route)) return route;
  }
  return std::nullopt;
}

}  // namespace aggregate_power
