// Writes the measurement window of a load of agents on several nodes, and its formal result.
// Contract-october.md 9.4.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "generators/aiperf.h"
#include "runs/deployment/run_kinds.h"

namespace aggregate_power::runs {
namespace {

constexpr const char* kWindowFolder = "SRT_MEASUREMENT_WINDOW_DIR";
// Launchers of August set these, too.
constexpr const char* kResultRoot = "SRT_MEASUREMENT_WINDOW_RESULT_ROOT";
constexpr const char* kBenchmarkType = "SRT_MEASUREMENT_WINDOW_BENCHMARK_TYPE";
constexpr const char* kConcurrencies = "SRT_MEASUREMENT_WINDOW_CONCURRENCIES";

constexpr const char* kOnlyBenchmarkType = "custom";

// Empty: it is not set, or empty.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Where links lead. Throws Error if there is no such folder, or if its path is relative.
std::string resolved_folder(const std::string& what, const std::string& path) {
  const auto tree = disk_tree();
  if (!path.starts_with('/') || !tree->has_folder(path)) {
    throw Error(
        fmt::format("{}: expected the absolute path of a folder, got '{}'", what, printable(path)));
  }
  return tree->resolved(path);
}

void require_below(const std::string& what, const std::string& path, const std::string& root) {
  if (is_in(path, root)) return;
  throw Error(fmt::format("{}: '{}' is not below '{}'", what, printable(path), printable(root)));
}

// The folder that contains the results of all loads.
std::string root_of(const std::string& windows) {
  if (last_name(windows) != "windows") {
    throw Error(fmt::format("{}: expected a folder that is called 'windows', got '{}'",
                            kWindowFolder, printable(windows)));
  }
  const std::string named = variable(kResultRoot);
  if (!named.empty()) {
    const std::string root = resolved_folder(kResultRoot, named);
    require_below(kWindowFolder, windows, root);
    return root;
  }
  const std::string package = windows.substr(0, windows.rfind('/'));
  const std::string root = package.substr(0, std::min(package.rfind('/'), package.size()));
  if (root.empty()) {
    throw Error(fmt::format("{}: '{}' is too near to '/'", kWindowFolder, printable(windows)));
  }
  return root;
}

void check_benchmark_type() {
  const std::string type = variable(kBenchmarkType);
  if (type.empty() || type == kOnlyBenchmarkType) return;
  throw Error(fmt::format("{}: expected '{}', got '{}'", kBenchmarkType, kOnlyBenchmarkType,
                          printable(type)));
}

// The loads of the job, if it names them: each once, this one among them.
void check_concurrencies(const std::string& concurrency) {
  const std::string all = variable(kConcurrencies);
  if (all.empty()) return;
  std::istringstream words(all);
  std::set<std::string> met;
  for (std::string word; words >> word;) {
    if (!written_concurrency(word) || !met.insert(word).second) {
      throw Error(fmt::format("{}: expected different numbers from 1, got '{}'", kConcurrencies,
                              printable(all)));
    }
  }
  if (met.contains(concurrency)) return;
  throw Error(fmt::format("{}: {} is not among '{}'", kConcurrencies, concurrency, printable(all)));
}

struct Place {
  std::string window;       // the file
  std::string result;       // the file
  std::string result_path;  // relative to the root
};

// Throws Error if the environment is not of such a load.
Place window_place(const RunSpec& run, std::int64_t concurrency) {
  if (concurrency <= 0) {
    throw Error(fmt::format("--concurrency: expected a number from 1, got {}", concurrency));
  }
  const std::string windows = resolved_folder(kWindowFolder, variable(kWindowFolder));
  const std::string root = root_of(windows);
  check_benchmark_type();
  check_concurrencies(std::to_string(concurrency));
  const std::string folder = resolved_folder("--result-dir", run.result_dir);
  require_below("--result-dir", folder, root);
  const std::string name = fmt::format("agentic_power_concurrency_{}.json", concurrency);
  const std::string result = path_below(folder, name);
  return {path_below(windows, name), result, result.substr(root == "/" ? 1 : root.size() + 1)};
}

double now_unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string result_text(const Load& load, std::int64_t concurrency) {
  return indented_text({{"max_concurrency", concurrency},
                        {"benchmark_start_time_unix", load.window.start_unix_s},
                        {"benchmark_end_time_unix", load.window.end_unix_s},
                        {"duration", load.reported_duration_s},
                        {"completed", load.completed},
                        {"total_input_tokens", load.total_input_tokens},
                        {"total_output_tokens", load.total_output_tokens}});
}

// Without a load it is running.
std::string window_file_text(const Place& place, std::int64_t concurrency,
                             const std::optional<Load>& load) {
  const auto if_over = [&](double number) { return load ? Json(number) : Json(); };
  const Window window = load ? load->window : Window{now_unix_s(), 0};
  return indented_text({{"schema_version", 1},
                        {"benchmark_type", kOnlyBenchmarkType},
                        {"result_path", place.result_path},
                        {"concurrency", concurrency},
                        {"benchmark_start_time_unix", window.start_unix_s},
                        {"benchmark_end_time_unix", if_over(window.end_unix_s)},
                        {"duration", if_over(window.duration_s())},
                        {"clock_source", "head_node_unix_clock"},
                        {"status", load ? "completed" : "running"},
                        {"reason", nullptr}});
}

void put(const RunSpec& run, const std::string& path, const std::string& text,
         CommandOutput& output) {
  if (!run.dry_run) {
    replace_file(path, text);
    return;
  }
  require_replaceable(path);
  output.out.push_back(fmt::format("{}: would be written", path));
}

}  // namespace

CommandOutput write_agentic_window(const RunSpec& run, LoadState state, std::int64_t concurrency) {
  CommandOutput output;
  const auto fail = [&](const std::string& what, const std::string& why) {
    output.exit_status = run.require_power ? 1 : 0;
    output.original_err.push_back(fmt::format("[agentx_power] {}: {}", what, why));
    return output;
  };
  Place place;
  try {
    place = window_place(run, concurrency);
  } catch (const Error& error) {
    return fail("Invalid formal measurement-window contract for multinode AgentX", error.what());
  }
  std::optional<Load> load;
  if (state == LoadState::completed) {
    const LoadReading reading = read_agents_profile(run);
    if (!reading.reasons.empty()) {
      return fail("Failed to complete formal measurement-window contract", reading.reasons.text());
    }
    load = reading.load;
  }
  try {
    if (load) put(run, place.result, result_text(*load, concurrency), output);
    put(run, place.window, window_file_text(place, concurrency, load), output);
  } catch (const std::exception& error) {
    return fail("Failed to write formal measurement-window contract", error.what());
  }
  if (run.dry_run) output.out.emplace_back("dry run: nothing was written");
  return output;
}

}  // namespace aggregate_power::runs
