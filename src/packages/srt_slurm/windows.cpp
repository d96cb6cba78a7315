// Reads and checks the windows of a package.
#include "packages/srt_slurm/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/whole_file.h"

namespace aggregate_power {
namespace {

// False if the path leads up, or out of the root.
bool is_safe_below(const PackagePlace& place, const std::string& root, std::string_view relative) {
  if (relative.empty() || relative.starts_with('/') || relative.starts_with('~') ||
      relative.find('\0') != relative.npos) {
    return false;
  }
  const std::string path = normal_path(relative);
  if (path == "." || path == ".." || path.starts_with("../") || path.ends_with("/..") ||
      path.find("/../") != path.npos) {
    return false;
  }
  std::string above = place.tree->resolved(root);
  const std::string below = place.tree->resolved(path_below(root, path));
  if (below.empty()) return false;
  if (!above.empty() && !above.ends_with('/')) above += '/';
  return (below + '/').starts_with(above);
}

bool has_ending(const PackageWindow& window) { return window.end_unix_s && window.duration_s; }

// The end that a window states must agree with its status.
bool is_consistent(const PackageWindow& window, const JsonValue& json) {
  const JsonValue& reason = json.at("reason");
  const bool has_reason = reason.is_string() && !reason.text.empty();
  const bool has_neither =
      json.at("benchmark_end_time_unix").is_null() && json.at("duration").is_null();
  if (window.status == "running") return has_neither && reason.is_null();
  if (window.status == "interrupted") return has_neither && has_reason;
  if (!has_ending(window) || *window.duration_s <= 0) return false;
  return window.is_completed() ? reason.is_null() : has_reason;
}

bool is_status(const JsonValue& status) {
  constexpr std::string_view kAllowed[] = {"running", "completed", "failed", "interrupted"};
  return status.is_string() && std::ranges::find(kAllowed, status.text) != std::end(kAllowed);
}

std::optional<double> finite(const JsonValue& value) {
  return value.is_finite_number() ? std::optional(value.as_double()) : std::nullopt;
}

std::optional<std::int64_t> concurrency_of(const JsonValue& value, const PackageDialect& dialect) {
  const bool counts = value.kind == JsonKind::boolean && dialect.is_lax_with_numbers;
  return counts ? std::optional<std::int64_t>(value.is_true() ? 1 : 0) : value.as_integer();
}

bool is_known_version(const JsonValue& version, const PackageDialect& dialect) {
  return dialect.is_lax_with_numbers ? equal_in_python(version, JsonValue::integer(1))
                                     : version.as_integer() == 1;
}

// Returns nullopt if it cannot be read.
std::optional<JsonValue> read_window(const PackagePlace& place, const std::string& file) {
  try {
    const OpenedFile opened = place.tree->open(path_below(place.power_dir, file));
    if (opened.size() > kMostWindowBytes) return std::nullopt;
    return parse_json(read_whole(opened, kPackageFile));
  } catch (const FileError&) {
    return std::nullopt;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

// A file that is not a window, and why: one of the producer's reasons.
struct NoWindow {
  const char* code;
};

std::variant<PackageWindow, NoWindow> parse_window(const PackagePlace& place,
                                                   const std::string& name,
                                                   const PackageDialect& dialect) {
  constexpr NoWindow kMalformed = {"measurement_window_malformed"};
  PackageWindow window;
  window.file = "windows/" + name;
  const auto json = read_window(place, window.file);
  if (!json || !json->is_object()) return kMalformed;
  const auto concurrency = concurrency_of(json->at("concurrency"), dialect);
  const auto start = finite(json->at("benchmark_start_time_unix"));
  if (!is_known_version(json->at("schema_version"), dialect) ||
      json->at("clock_source").text != "head_node_unix_clock" || !is_status(json->at("status")) ||
      !json->at("benchmark_type").is_string() || !concurrency || !start) {
    return kMalformed;
  }
  window.key = {json->at("benchmark_type").text, *concurrency};
  window.status = json->at("status").text;
  window.start_unix_s = *start;
  window.end_unix_s = finite(json->at("benchmark_end_time_unix"));
  window.duration_s = finite(json->at("duration"));
  const JsonValue& result_path = json->at("result_path");
  if (!result_path.is_string() || !is_safe_below(place, place.logs_root, result_path.text) ||
      path_stem(normal_path(result_path.text)) != path_stem(name)) {
    return NoWindow{"measurement_window_result_path_invalid"};
  }
  window.result_path = result_path.text;
  if (!is_consistent(window, *json)) return kMalformed;
  return window;
}

// Adds a window; two windows of one load are duplicates, and neither counts.
void add_window(WindowScan& scan, const PackageWindow& window, const PackageDialect& dialect) {
  const auto [known, is_new] = scan.windows.emplace(window.key, window);
  if (is_new) return;
  const auto duplicate = [&](const std::string& path) {
    scan.faults.push_back({path, "measurement_window_duplicate"});
  };
  const bool is_first_time = scan.duplicates.insert(window.key).second;
  if (is_first_time || dialect.repeats_first_duplicate) duplicate(known->second.file);
  duplicate(window.file);
}

}  // namespace

Window span_of(const PackageWindow& window) { return {window.start_unix_s, *window.end_unix_s}; }

WindowScan scan_windows(const PackagePlace& place, const PackageDialect& dialect) {
  WindowScan scan;
  const std::string folder = path_below(place.power_dir, "windows");
  if (!place.tree->has_folder(folder)) return scan;
  const auto invalid = [&](const std::string& path) {
    scan.faults.push_back({path, "measurement_window_artifact_path_invalid"});
  };
  if (!is_safe_below(place, place.power_dir, "windows")) {
    invalid("windows");
    return scan;
  }
  for (const TreeEntry& entry : sorted_entries(*place.tree, folder)) {
    const std::string file = "windows/" + entry.name;
    const bool is_file =
        entry.kind == TreeEntry::Kind::file && !place.tree->is_link(path_below(folder, entry.name));
    const bool has_suffix = entry.name.ends_with(".json") && entry.name != ".json";
    if (!is_file || (dialect.needs_json_suffix && !has_suffix)) {
      invalid(file);
      continue;
    }
    const auto parsed = parse_window(place, entry.name, dialect);
    if (const auto* fault = std::get_if<NoWindow>(&parsed)) {
      scan.faults.push_back({file, fault->code});
    } else {
      add_window(scan, std::get<PackageWindow>(parsed), dialect);
    }
  }
  for (const WindowKey& key : scan.duplicates) scan.windows.erase(key);
  return scan;
}

std::vector<PackageWindow> windows_of(const WindowScan& scan, const JsonValue& concurrency) {
  std::vector<PackageWindow> windows;
  for (const auto& [key, window] : scan.windows) {
    if (window.is_completed() &&
        equal_in_python(concurrency, JsonValue::integer(key.concurrency))) {
      windows.push_back(window);
    }
  }
  return windows;
}

std::string result_fault(const PackagePlace& place, const PackageWindow& window,
                         const PackageDialect& dialect) {
  const std::string path = path_below(place.logs_root, window.result_path);
  const std::array<std::pair<std::string_view, double>, 3> wanted = {{
      {"benchmark_start_time_unix", window.start_unix_s},
      {"benchmark_end_time_unix", *window.end_unix_s},
      {"duration", *window.duration_s},
  }};
  std::array<JsonValue, 3> found;
  try {
    if (!place.tree->find_file(path)) return "measurement_window_result_missing";
    const auto source = place.tree->open(path).source();
    const JsonKind kind = scan_json(*source, [&](const JsonMember& member) {
                            for (std::size_t i = 0; i < wanted.size(); ++i) {
                              if (!member.key_kept || member.key != wanted[i].first) continue;
                              found[i] = {member.kind, std::string(member.scalar)};
                            }
                          }).kind;
    if (kind != JsonKind::object) return "measurement_window_result_mismatch";
  } catch (const FileError&) {
    return "measurement_window_result_missing";
  } catch (const JsonError&) {
    return "measurement_window_result_missing";
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_allowed = found[i].is_finite_number() ||
                            (dialect.is_lax_with_numbers && found[i].kind == JsonKind::boolean);
    if (!is_allowed || !equal_in_python(found[i], JsonValue::real(wanted[i].second))) {
      return "measurement_window_result_mismatch";
    }
  }
  const double wall_s = *window.end_unix_s - window.start_unix_s;
  if (dialect.needs_positive_span && wall_s <= 0) {
    return "measurement_window_result_mismatch";
  }
  const double tolerance_s = std::max(0.5, 0.01 * *window.duration_s);
  return std::abs(wall_s - *window.duration_s) > tolerance_s ? "measurement_window_clock_mismatch"
                                                             : "";
}

}  // namespace aggregate_power
