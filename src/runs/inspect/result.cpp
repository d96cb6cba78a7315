// Shows what a result says, and what it lacks.
#include "base/files/tree.h"
#include "packages/native/node.h"
#include "packages/srt_slurm/validate.h"
#include "runs/inspect/inspect.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "base/text/show_time.h"
#include "core/load/result_values.h"
#include "core/record/record_write.h"
#include "generators/benchmark_choice.h"
#include "generators/generator_table.h"
#include "generators/windows_file.h"
#include "recorders/foreign_format.h"

namespace aggregate_power {
namespace {

// What a window can be had from, if the result does not state it.
std::string clue_text(const LoadReading& load) {
  const WindowClues& clues = load.clues;
  if (clues.monotonic) {
    return "tied, if the recorder wrote clock_pairs beside its recording";
  }
  if (clues.local_window)
    return "exact with --result-timezone; else estimated, in the recording's zone where the power agrees";
  const bool has_stamp = clues.end_stamp || clues.start_stamp;
  if (has_stamp && load.work.reported_duration_s > 0 && !clues.may_pause) {
    return fmt::format("estimated, from a stamp and {:.3f} s", load.work.reported_duration_s);
  }
  if (clues.session) {
    return fmt::format("session, from {} to {}", unix_and_iso(clues.session->start_unix_s),
                       unix_and_iso(clues.session->end_unix_s));
  }
  return "wrapped, if 'aggregate-power-monitor run' recorded it; or given with --start and --end";
}

std::string window_text(const LoadReading& load) {
  if (!load.load) return fmt::format("not in the result: {}", load.no_window);
  const Window window = load.load->window;
  return fmt::format("exact: {} to {} ({:.3f} s)", unix_and_iso(window.start_unix_s),
                     unix_and_iso(window.end_unix_s), window.duration_s());
}

std::string counts_text(const LoadReading& load) {
  const Load& counts = load.load ? *load.load : load.work;
  const auto shown = [](std::int64_t count) {
    return count > 0 ? fmt::format("{}", count) : std::string("-");
  };
  return fmt::format("{} requests ({} failed), {} tokens in, {} out{}", shown(counts.completed),
                     load.failed_requests, shown(counts.total_input_tokens),
                     shown(counts.total_output_tokens),
                     load.has_approximate_counts ? ", approximately" : "");
}

std::string load_text(const LoadReading& load, const PeakInFlight& peak) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fact(what, one_line(value));
  };
  line("window", window_text(load));
  if (!load.load) line("  possible", clue_text(load));
  line("counts", counts_text(load));
  if (peak.requests() > 0) {
    line("requests",
         fmt::format("{} with times, at most {} in flight", peak.requests(), peak.peak()));
  }
  if (load.gpus) line("GPUs", fmt::format("{}", *load.gpus));
  if (load.stated_energy_j) line("energy", fmt::format("{:.1f} J stated", *load.stated_energy_j));
  for (const Reasons::Entry& entry : load.reasons.entries()) {
    line("missing", fmt::format("{}: {}", code(entry.reason), entry.detail));
  }
  for (const std::string& note : load.notes) line("note", note);
  if (!load.failure.empty()) line("note", fmt::format("benchmark_failed: {}", load.failure));
  return text;
}

Json load_json(const LoadReading& load, std::size_t number) {
  const Load& counts = load.load ? *load.load : load.work;
  Json settings = Json::object();
  for (const auto& [key, value] : load.settings) settings[key] = value;
  Json window;
  if (load.load) {
    window = {{"start_unix", load.load->window.start_unix_s},
              {"end_unix", load.load->window.end_unix_s}};
  }
  return {{"benchmark", number},
          {"settings", std::move(settings)},
          {"window", std::move(window)},
          {"window_text", load.load ? window_text(load) : clue_text(load)},
          {"duration_s", counts.reported_duration_s},
          {"completed_requests", counts.completed},
          {"failed_requests", load.failed_requests},
          {"input_tokens", counts.total_input_tokens},
          {"output_tokens", counts.total_output_tokens},
          {"counts_are_approximate", load.has_approximate_counts},
          {"reasons", load.reasons.codes()}};
}

}  // namespace

std::optional<std::string> unrecognized_json(const std::string& path) {
  constexpr std::size_t kMostShown = 12;
  const std::string text = read_up_to(*load_file(path).open(), kHeadBytes);
  const std::optional<ForeignFormat> format = foreign_format(text);
  if (!format || !format->may_be_result) return std::nullopt;
  std::vector<std::string> keys;
  const ResultHead head = result_head(text);
  for (std::string_view key : head.keys) {
    if (key.starts_with("[].")) key.remove_prefix(3);
    if (key.find_first_of(".[") == key.npos) keys.push_back(printable(key, 60));
  }
  const bool are_more = keys.size() > kMostShown;
  if (are_more) keys.resize(kMostShown);
  return fmt::format(
      "this is JSON, but not a result that is recognized; its keys: {}{}; 'aggregate-power help generators' lists the results that are read; without one: 'aggregate-power measure --start TIME --end TIME --telemetry FILE.csv'; telemetry must be a CSV",
      keys.empty() ? "none" : joined_text(keys, ", "), are_more ? ", ..." : "");
}

namespace {

// What a JSON file of ours is, and what reads it; empty: another program wrote it.
std::string own_file_text(const nlohmann::json& json, const std::string& file) {
  if (!json.is_object()) return {};
  const std::string schema = json.contains("schema") && json["schema"].is_string()
                                 ? json["schema"].get<std::string>()
                                 : std::string();
  if (schema.starts_with("aggregate-power/")) {
    const std::string command = schema.substr(16, schema.rfind('-') - 16);
    const bool is_of_runs = json.contains("runs") && json["runs"].is_array();
    return fmt::format(
        "what 'aggregate-power {}' printed as JSON{}{}", command,
        is_of_runs ? fmt::format(", of {} run(s)", json["runs"].size()) : "",
        command == "measure" ? fmt::format("; 'aggregate-power compare {}' reads it", file) : "");
  }
  if (!json.contains(kPowerValid)) return {};
  if (json.contains("benchmark_window") || json.contains("selected_window")) {
    return fmt::format("an audit record; 'aggregate-power verify {}' checks it", file);
  }
  return fmt::format("an aggregate with power{}; 'aggregate-power compare {}' reads it",
                     json.contains("window_source") ? ", of 'aggregate-power measure --out'" : "",
                     file);
}

}  // namespace

std::optional<InspectReport> inspect_own_file(const InspectRequest& request) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  const std::string head = read_up_to(*load_file(request.file).open(), kHeadBytes);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos || head[first] != '{') return std::nullopt;
  const auto json = nlohmann::json::parse(read_up_to(*load_file(request.file).open(), kMostBytes),
                                          nullptr, false);
  const std::string file = printable_path(request.file);
  const std::string text = own_file_text(json, file);
  if (text.empty()) return std::nullopt;
  InspectReport report;
  report.out = request.json
                   ? indented_lines(Json({{"file", request.file}, {"is", text}}))
                   : fmt::format("file       {}\nis         {}\n", one_line(file), one_line(text));
  return report;
}

std::optional<InspectReport> inspect_result(const InspectRequest& request) {
  LoadFiles files = load_file(request.file);
  const LoadGenerator* const generator = recognized(files);
  if (generator == nullptr) return std::nullopt;
  PeakInFlight peak;
  files.request = [&](const RequestTimes& times) { peak.take(times); };
  const std::vector<LoadReading> loads = read_loads(files);
  InspectReport report;
  Json benchmarks = Json::array();
  report.out = fact("file", one_line(printable_path(request.file))) +
               fact("result", fmt::format("of {}", generator->name));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads.size() > 1) {
      report.out += "\n" + fact("benchmark", benchmark_label(loads[i], i + 1));
    }
    report.out += load_text(loads[i], loads.size() == 1 ? peak : PeakInFlight());
    benchmarks.push_back(load_json(loads[i], i + 1));
    if (loads[i].reasons.contains(Reason::invalid_benchmark_result)) report.exit_status = 1;
  }
  if (request.json) {
    const Json json = {{"result_of", generator->name}, {"benchmarks", std::move(benchmarks)}};
    report.out = indented_lines(json);
  }
  return report;
}

// ---- Shows the windows of a CSV of Zeus, with the energies that it states.

namespace {

bool is_monotonic(const std::vector<NamedWindow>& windows) {
  return std::ranges::any_of(windows, [](const NamedWindow& named) {
    return named.window.start_unix_s < kFirstAbsoluteUnixS;
  });
}

double logged_sum_j(const NamedWindow& named) {
  return summed(named.logged_j, [](const auto& each) { return each.second; });
}

std::string log_text(const std::string& file, const std::vector<NamedWindow>& windows) {
  const TextTable table("[window <32] [GPU <4] [seconds >10.3f] [joules >12.3f] [mean W >9.2f]");
  std::string text =
      fact("file", one_line(printable_path(file))) +
      fact("log", "of Zeus: windows and their energies, no samples") +
      fact("clock", is_monotonic(windows) ? "monotonic: the times do not say when the windows were"
                                          : "Unix time") +
      fact("windows", std::to_string(windows.size())) + "\n" + table.head();
  for (const NamedWindow& named : windows) {
    std::string name = printable(named.name, 29);
    const double duration_s = named.window.duration_s();
    const auto line = [&](const std::string& gpu, double joules) {
      table.add({std::exchange(name, {}), gpu, duration_s, joules,
                 duration_s > 0 ? TextCell(joules / duration_s) : TextCell("-")},
                text);
    };
    if (named.logged_j.size() != 1) line("all", logged_sum_j(named));
    for (const auto& [gpu, joules] : named.logged_j) line(printable(gpu), joules);
  }
  return text;
}

Json log_json(const std::vector<NamedWindow>& windows) {
  return {{"log_of", "Zeus"},
          {"clock", is_monotonic(windows) ? "monotonic" : "unix"},
          {"windows", list_of(windows, [](const NamedWindow& named) -> Json {
             return {{"name", named.name},
                     {"start", named.window.start_unix_s},
                     {"duration_s", named.window.duration_s()},
                     {"energy_j", logged_sum_j(named)},
                     {"gpus", list_of(named.logged_j, [](const auto& member) -> Json {
                        return {{"gpu", member.first}, {"energy_j", member.second}};
                      })}};
           })}};
}

}  // namespace

std::optional<InspectReport> inspect_windows_log(const InspectRequest& request) {
  const auto source = as_utf8(decompressed(open_source(request.file), request.file));
  if (!is_zeus_log(read_up_to(*source, kHeadBytes))) return std::nullopt;
  InspectReport report;
  try {
    WindowsFileOptions options;
    options.any_clock = true;
    const auto windows = read_windows_file(request.file, options);
    report.out = request.json ? indented_lines(log_json(windows)) : log_text(request.file, windows);
  } catch (const Error& error) {
    report.exit_status = 1;
    report.err.push_back(error.what());
    if (!request.json) return report;
    const Json broken = {{"log_of", "Zeus"},
                         {"clock", nullptr},
                         {"windows", Json::array()},
                         {"fault", error.what()}};
    report.out = indented_lines(broken);
  }
  return report;
}

// ---- What was found in a package

namespace {

PackagePlace asked_place(const InspectRequest& request) {
  PackagePlace place{disk_tree(), request.file, request.logs_root};
  const std::string below = path_below(request.file, "power");
  const bool is_log_directory = !place.tree->find_file(path_below(request.file, "manifest.json")) &&
                                place.tree->has_folder(below);
  if (is_log_directory) place.power_dir = below;
  if (place.logs_root.empty()) {
    place.logs_root = is_log_directory ? request.file : normal_path(request.file + "/..");
  }
  return place;
}

Json package_json(const PackagePlace& place, const packages::PackageValidation& found) {
  return {{"package", printable_path(place.power_dir)},
          {"validation_ok", found.is_publishable()},
          {"publication_valid", aggregate_power::or_null(found.stored_publication_valid)},
          {"producer_git_commit", aggregate_power::or_null(found.producer_git_commit)},
          {"job_id", aggregate_power::or_null(found.job_id)},
          {"expected_devices", found.expected_devices},
          {"observed_devices", found.observed_devices},
          {"stable_uuids", found.stable_uuids},
          {"sample_rows", found.sample_rows},
          {"max_sample_gap_seconds", aggregate_power::or_null(found.max_sample_gap_s)},
          {"gap_rule", text_or_null(found.gap_rule)},
          {"windows", list_of(found.windows,
                              [&](const WindowValidation& window) -> Json {
                                return {{"benchmark_type", window.key.benchmark_type},
                                        {"concurrency", window.key.concurrency},
                                        {"window_file", aggregate_power::or_null(window.file)},
                                        {"valid", window.codes.empty()},
                                        {"reason_codes", window.codes}};
                              })},
          {"failures", found.failures},
          {"warnings", found.warnings}};
}

// What each line of facts begins with is the name of its member.
std::string package_text(const Json& json, const packages::PackageValidation& found) {
  std::string text;
  for (const char* const name :
       {"package", "validation_ok", "publication_valid", "producer_git_commit", "job_id",
        "expected_devices", "observed_devices", "stable_uuids", "sample_rows", "windows"}) {
    const Json& value = json[name];
    text += fmt::format("{} {}\n", name,
                        value.is_null()     ? "-"
                        : value.is_array()  ? std::to_string(value.size())
                        : value.is_string() ? printable(value.get<std::string>())
                                            : line_text(value));
  }
  text +=
      fmt::format("max_sample_gap_seconds {}\n",
                  found.max_sample_gap_s ? fmt::format("{:.3f}", *found.max_sample_gap_s) : "-");
  for (const WindowValidation& window : found.windows) {
    text += fmt::format("window {}: {}\n", printable(window.key.text()),
                        window.codes.empty() ? "valid" : joined_text(window.codes, ", "));
  }
  for (const std::string& failure : found.failures) text += "FAIL " + failure + "\n";
  for (const std::string& warning : found.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace

InspectReport inspect_package(const InspectRequest& request, Json& json) {
  InspectReport report;
  const PackagePlace place = asked_place(request);
  if (!place.tree->has_folder(place.power_dir)) {
    report.exit_status = 2;
    report.err.push_back(
        fmt::format("{}: expected the folder of a package", printable_path(place.power_dir)));
    return report;
  }
  if (is_native_package({place.tree, place.power_dir})) {
    report.exit_status = 2;
    report.err.push_back(fmt::format(
        "{}: a native package, which has no verdict of a recorder; 'multinode' checks it with its result",
        printable_path(place.power_dir)));
    return report;
  }
  const packages::PackageValidation found = packages::validate_package(place, request.contract);
  report.exit_status = found.is_publishable() ? 0 : 1;
  json = package_json(place, found);
  report.out = package_text(json, found);
  return report;
}

}  // namespace aggregate_power
