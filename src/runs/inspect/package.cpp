// Shows what was found in a package.
#include "runs/inspect/inspect.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "packages/native/node.h"
#include "packages/srt_slurm/validate.h"

namespace aggregate_power::runs {
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
    text += fmt::format(
        "window {}: {}\n", printable(window.key.text()),
        window.codes.empty() ? "valid" : fmt::format("{}", fmt::join(window.codes, ", ")));
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

}  // namespace aggregate_power::runs
