// Reads the results in a folder.
#include "runs/window/results_beside.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/path.h"
#include "generators/generator_table.h"

namespace aggregate_power::runs {
namespace {

constexpr std::size_t kMostResults = 200;
constexpr std::size_t kMostShared = 64;
constexpr std::uint64_t kMostBytes = 16 << 20;
constexpr double kLeastShared_s = 1;
constexpr double kLeastSharedShare = 0.05;  // of the shorter window

// Those with the names of results, in the order of their names.
std::vector<std::string> results_beside(const Tree& tree, const std::string& path) {
  const std::string folder = beside(path, "");
  std::vector<TreeEntry> entries =
      sorted_entries(tree, folder.empty() && !tree.is_archive() ? "." : folder);
  std::erase_if(entries, [](const TreeEntry& entry) {
    const bool is_json = entry.name.ends_with(".json") || entry.name.ends_with(".jsonl");
    return entry.kind != TreeEntry::Kind::file || !is_json;
  });
  entries.resize(std::min(entries.size(), kMostResults));
  std::vector<std::string> paths;
  for (const TreeEntry& entry : entries) {
    std::string other = beside(path, entry.name);
    const auto facts = tree.find_file(other);
    if (other != path && facts && facts->bytes <= kMostBytes) paths.push_back(std::move(other));
  }
  return paths;
}

// What one benchmark of another result says.
struct OtherLoad {
  std::string_view generator;
  std::optional<WallStamp> end_stamp;  // only if it is certain whose result it is
  std::optional<Load> load;            // only if it states its window
};

// Empty: it is no result, and says nothing.
std::vector<OtherLoad> read_other_loads(const OpenedFile& file) {
  LoadFiles files;
  files.name = file.name();
  files.open = [&] { return decompressed(file.source(), file.name()); };
  std::vector<OtherLoad> loads;
  try {
    const bool is_certain = recognized(files) != nullptr;
    for (const LoadReading& reading : read_loads(files)) {
      loads.push_back({reading.generator, is_certain ? reading.clues.end_stamp : std::nullopt,
                       reading.states_window ? reading.load : std::nullopt});
    }
  } catch (const std::exception&) {
  }
  return loads;
}

// Reads each file once, however many runs are next to it.
std::vector<OtherLoad> known_loads(const OpenedFile& file) {
  constexpr std::size_t kMostRemembered = 4096;
  static std::mutex mutex;
  static std::unordered_map<std::string, std::vector<OtherLoad>> known;
  const std::string key =
      fmt::format("{}\n{} {}", file.name(), file.size(), file.facts().modified_ns);
  {
    const std::lock_guard guard(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const std::vector<OtherLoad> loads = read_other_loads(file);
  const std::lock_guard guard(mutex);
  if (known.size() == kMostRemembered) known.clear();
  known.emplace(key, loads);
  return loads;
}

// Empty also for a file that cannot be opened, which hides no other.
std::vector<OtherLoad> other_loads(const Tree& tree, const std::string& path) {
  try {
    return known_loads(tree.open(path));
  } catch (const FileError&) {
    return {};
  }
}

double shared_s(Window a, Window b) {
  return std::min(a.end_unix_s, b.end_unix_s) - std::max(a.start_unix_s, b.start_unix_s);
}

bool is_same_load(const Load& a, const Load& b) {
  const double near_s = std::min(kLeastShared_s, kLeastSharedShare * a.window.duration_s());
  return std::abs(a.window.start_unix_s - b.window.start_unix_s) <= near_s &&
         std::abs(a.window.end_unix_s - b.window.end_unix_s) <= near_s &&
         a.total_output_tokens == b.total_output_tokens && a.completed == b.completed;
}

// Whether a recording beside the result is named after it.
bool has_own_recording(const Tree& tree, const std::string& result, const std::string& telemetry) {
  const std::string stem = std::string(plain_stem(last_name(result)));
  const std::string_view name = last_name(telemetry);
  const auto is_of_word = [&](std::size_t at) {
    return at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])) != 0;
  };
  const std::size_t at = name.find(stem);
  const bool is_named = at != name.npos && !is_of_word(at - 1) && !is_of_word(at + stem.size());
  return is_named ||
         tree.find_file(beside(result, fmt::format("gpu_metrics_{}.csv", stem))).has_value();
}

// Empty: they did not run at the same time.
std::string same_time_text(const MeasuredResult& measured, const std::string& other,
                           const Load& own, const Load& theirs) {
  const auto has_aggregate = [&](const std::string& result) {
    const std::string name = fmt::format("agg_{}.json", plain_stem(last_name(result)));
    return measured.tree.find_file(beside(result, name)).has_value();
  };
  const std::string name = printable_path(std::string(last_name(other)));
  if (is_same_load(own, theirs)) {
    if (!has_aggregate(other) || !has_aggregate(measured.path)) return {};
    return fmt::format(
        "{} is a result of the same load, and has an aggregate of its own: one of the two is another configuration's, or the load counts twice",
        name);
  }
  const double both_s = shared_s(own.window, theirs.window);
  const double shorter_s = std::min(own.window.duration_s(), theirs.window.duration_s());
  if (both_s < std::max(kLeastShared_s, kLeastSharedShare * shorter_s)) return {};
  return fmt::format(
      "the load of {} ran at the same time for {:.1f} s: if it used the same GPUs, the energy of that time is that of both, and is in both numbers",
      name, both_s);
}

}  // namespace

bool is_of_run(std::string_view name) {
  return name.starts_with("agg_") || name.starts_with("power_validation") ||
         name.ends_with("_context.json") || name.find("_energy_start.") != name.npos ||
         name.find("_energy_end.") != name.npos;
}

std::vector<WallStamp> end_stamps_beside(const std::string& path, std::string_view generator) {
  std::vector<WallStamp> stamps;
  try {
    for (const std::string& other : results_beside(*disk_tree(), path)) {
      for (const OtherLoad& load : other_loads(*disk_tree(), other)) {
        if (load.generator == generator && load.end_stamp) stamps.push_back(*load.end_stamp);
      }
    }
  } catch (const std::exception&) {  // a folder that cannot be listed
  }
  return stamps;
}

std::vector<std::string> shared_energy_doubts(const MeasuredResult& measured,
                                              const LoadReading& load) {
  std::vector<std::string> doubts;
  if (!load.states_window || !load.load) return doubts;
  try {
    if (has_own_recording(measured.tree, measured.path, measured.telemetry)) return doubts;
    std::vector<std::string> others = results_beside(measured.tree, measured.path);
    std::erase_if(others, [](const std::string& other) { return is_of_run(last_name(other)); });
    if (others.size() > kMostShared) return doubts;
    for (const std::string& other : others) {
      if (has_own_recording(measured.tree, other, "")) continue;
      for (const OtherLoad& theirs : other_loads(measured.tree, other)) {
        if (!theirs.load) continue;
        std::string text = same_time_text(measured, other, *load.load, *theirs.load);
        if (!text.empty()) doubts.push_back(std::move(text));
      }
    }
  } catch (const std::exception&) {  // a folder that cannot be listed
  }
  return doubts;
}

}  // namespace aggregate_power::runs
