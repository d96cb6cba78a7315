// The windows of a `dcgm-power` package.
#include "packages/windows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files/file.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr std::uint64_t kMostWindowBytes = 1 << 20;

// Nothing when it leads up, or out of the root.
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

// What a window says of its end must suit its status.
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

std::optional<std::int64_t> concurrency_of(const JsonValue& value, PackageDialect dialect) {
  const bool is_word = value.kind == JsonKind::boolean && dialect == PackageDialect::pinned;
  return is_word ? std::optional<std::int64_t>(value.is_true() ? 1 : 0) : value.as_integer();
}

class Parser {
 public:
  Parser(const PackagePlace& place, PackageDialect dialect) : place_(place), dialect_(dialect) {}

  // Nothing when it is no window; `fault` says why.
  std::optional<PackageWindow> parse(const std::string& name, std::string& fault) const {
    fault = "measurement_window_malformed";
    const auto json = read(path_below(place_.power_dir, "windows/" + name));
    if (!json || !json->is_object()) return std::nullopt;
    const JsonValue& version = json->at("schema_version");
    const bool is_known_version = dialect_ == PackageDialect::pinned
                                      ? equal_in_python(version, JsonValue::integer(1))
                                      : version.as_integer() == 1;
    const auto concurrency = concurrency_of(json->at("concurrency"), dialect_);
    const auto start = finite(json->at("benchmark_start_time_unix"));
    if (!is_known_version || json->at("clock_source").text != "head_node_unix_clock" ||
        !is_status(json->at("status")) || !json->at("benchmark_type").is_string() || !concurrency ||
        !start) {
      return std::nullopt;
    }
    PackageWindow window;
    window.file = "windows/" + name;
    window.key = {json->at("benchmark_type").text, *concurrency};
    window.status = json->at("status").text;
    window.start_unix_s = *start;
    window.end_unix_s = finite(json->at("benchmark_end_time_unix"));
    window.duration_s = finite(json->at("duration"));
    if (!json->at("result_path").is_string() ||
        !is_safe_below(place_, place_.logs_root, json->at("result_path").text) ||
        path_stem(normal_path(json->at("result_path").text)) != path_stem(name)) {
      fault = "measurement_window_result_path_invalid";
      return std::nullopt;
    }
    window.result_path = json->at("result_path").text;
    if (!is_consistent(window, *json)) return std::nullopt;
    fault.clear();
    return window;
  }

 private:
  std::optional<JsonValue> read(const std::string& path) const {
    try {
      const OpenedFile file = place_.tree->open(path);
      if (file.size() > kMostWindowBytes) return std::nullopt;
      return parse_json(read_all(*file.source()));
    } catch (const FileError&) {
      return std::nullopt;
    } catch (const JsonError&) {
      return std::nullopt;
    }
  }

  const PackagePlace& place_;
  PackageDialect dialect_;
};

}  // namespace

std::string_view dialect_name(PackageDialect dialect) {
  return dialect == PackageDialect::pinned ? "pinned" : "current";
}

std::string path_below(const std::string& root, const std::string& relative) {
  return root.empty() ? normal_path(relative) : normal_path(root + "/" + relative);
}

WindowScan scan_windows(const PackagePlace& place, PackageDialect dialect) {
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
  std::vector<TreeEntry> entries;
  place.tree->list(folder, [&](const TreeEntry& entry) { entries.push_back(entry); });
  std::ranges::sort(entries, {}, &TreeEntry::name);
  const Parser parser(place, dialect);
  for (const TreeEntry& entry : entries) {
    const std::string file = "windows/" + entry.name;
    const bool is_file =
        entry.kind == TreeEntry::Kind::file && !place.tree->is_link(path_below(folder, entry.name));
    const bool has_suffix = entry.name.ends_with(".json") && entry.name != ".json";
    if (!is_file || (dialect == PackageDialect::current && !has_suffix)) {
      invalid(file);
      continue;
    }
    std::string fault;
    const auto window = parser.parse(entry.name, fault);
    if (!window) {
      scan.faults.push_back({file, fault});
      continue;
    }
    const auto duplicate = [&](const std::string& path) {
      scan.faults.push_back({path, "measurement_window_duplicate"});
    };
    const auto known = scan.windows.find(window->key);
    if (known == scan.windows.end()) {
      scan.windows.emplace(window->key, *window);
      continue;
    }
    // Of a third one the producer now names that alone, where it once named the first again.
    const bool is_first_time = scan.duplicates.insert(window->key).second;
    if (is_first_time || dialect == PackageDialect::pinned) duplicate(known->second.file);
    duplicate(file);
  }
  for (const WindowKey& key : scan.duplicates) scan.windows.erase(key);
  return scan;
}

std::string result_fault(const PackagePlace& place, const PackageWindow& window,
                         PackageDialect dialect) {
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
    const bool is_number = found[i].is_number() || found[i].kind == JsonKind::boolean;
    const bool is_allowed =
        is_number && (dialect == PackageDialect::pinned || found[i].is_finite_number());
    if (!is_allowed || !equal_in_python(found[i], JsonValue::real(wanted[i].second))) {
      return "measurement_window_result_mismatch";
    }
  }
  const double wall_s = *window.end_unix_s - window.start_unix_s;
  if (dialect == PackageDialect::current && wall_s <= 0) {
    return "measurement_window_result_mismatch";
  }
  const double tolerance_s = std::max(0.5, 0.01 * *window.duration_s);
  return std::abs(wall_s - *window.duration_s) > tolerance_s ? "measurement_window_clock_mismatch"
                                                             : "";
}

}  // namespace aggregate_power
