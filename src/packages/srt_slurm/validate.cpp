// Recomputes a package and compares the verdicts.
#include "packages/srt_slurm/validate.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "packages/srt_slurm/check.h"
#include "packages/srt_slurm/manifest.h"
#include "packages/srt_slurm/package.h"
#include "packages/srt_slurm/package_codes.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power::packages {
namespace {

// With these no package is publishable, required or not.
constexpr std::string_view kNeverPublished[] = {"exporter_launch_failed",
                                                "endpoint_resolution_failed"};

template <std::size_t N>
bool is_one_of(const std::string_view (&codes)[N], std::string_view code) {
  return std::ranges::find(codes, code) != std::end(codes);
}

bool is_text(const JsonValue& value) { return value.is_string() && !value.text.empty(); }

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

// ---- What the consumer does not check of the manifest: rules 2 to 8

void warn_of_identity(const JsonValue& manifest, std::vector<std::string>& warnings) {
  constexpr std::pair<const char*, const char*> kExpected[] = {
      {"source_metric", "DCGM_FI_DEV_POWER_USAGE"},
      {"power_scope", "gpu_device_board_as_reported_by_dcgm"}};
  for (const auto& [key, expected] : kExpected) {
    const JsonValue& found = manifest.at(key);
    if (is_text(found) && found.text != expected) {
      warnings.push_back(fmt::format("{} is {}, expected '{}'", key, found.shown(), expected));
    }
  }
  if (manifest.at("schema_version").kind != JsonKind::integer) {
    warnings.push_back(
        fmt::format("schema_version is {}, expected 1", manifest.at("schema_version").shown()));
  }
  for (const char* const key : {"producer_version", "job_id", "run_name"}) {
    if (!is_text(manifest.at(key))) {
      warnings.push_back(fmt::format("{} is not a non-empty string", key));
    }
  }
  const JsonValue& commit = manifest.at("producer_git_commit");
  if (!commit.is_null() && !(commit.is_string() && is_commit(commit.text))) {
    warnings.emplace_back("producer_git_commit is neither null nor a commit of 40 or 64 digits");
  }
}

void warn_of_numbers(const JsonValue& manifest, std::vector<std::string>& warnings) {
  const JsonValue& interval = manifest.at("sample_interval_seconds");
  if (interval.is_finite_number() && interval.as_double() > kPackageMaxSampleGapS) {
    warnings.push_back(fmt::format("sample_interval_seconds exceeds the {:.1f}s coverage limit",
                                   kPackageMaxSampleGapS));
  }
  const JsonValue& longest = manifest.at("max_scrape_duration_seconds");
  if (!longest.is_null() && !(longest.is_finite_number() && longest.as_double() >= 0)) {
    warnings.emplace_back("max_scrape_duration_seconds is neither null nor a number from 0 on");
  }
  const JsonValue& digest = manifest.at("samples_sha256");
  if (digest.is_null()) warnings.emplace_back("samples_sha256 is missing");
}

void warn_of_codes(const JsonValue& manifest, std::vector<std::string>& warnings) {
  if (manifest.at("publication_valid").kind != JsonKind::boolean) {
    warnings.emplace_back("publication_valid is neither true nor false");
  }
  std::set<std::string> met;
  std::set<std::string> unknown;
  bool has_duplicates = false;
  for (const JsonValue& code : manifest.at("reason_codes").items) {
    if (!code.is_string()) continue;
    has_duplicates |= !met.insert(code.text).second;
    if (!is_disk_code(code.text) && !is_runtime_code(code.text)) {
      unknown.insert(code.shown());
    }
  }
  if (!unknown.empty()) {
    warnings.push_back(
        fmt::format("reason_codes contains unknown v1 values: {}", fmt::join(unknown, ", ")));
  }
  if (has_duplicates) warnings.emplace_back("reason_codes contains duplicates");
}

void warn_of_exporter(const JsonValue& manifest, std::vector<std::string>& warnings) {
  const JsonValue& exporter = manifest.at("dcgm_exporter");
  if (!exporter.is_object()) return;
  const JsonValue& digest = exporter.at("container_image_sha256");
  if (!digest.is_string() || !is_sha256(digest.text)) {
    warnings.emplace_back("dcgm_exporter.container_image_sha256 is not a SHA-256 digest");
  }
  const auto port = exporter.at("port").as_integer();
  if (!port || *port < 1 || *port > 65535) {
    warnings.emplace_back("dcgm_exporter.port is not a port from 1 to 65535");
  }
  if (!is_text(exporter.at("command"))) {
    warnings.emplace_back("dcgm_exporter.command is not a non-empty string");
  }
}

// ---- Rules 18 and 19

// The codes that files show, as the recorder would list them.
std::set<std::string> recomputed_codes(const Package& package) {
  std::set<std::string> codes;
  for (const PackageFault& fault : package.faults) {
    const std::string code = fault.text.substr(0, fault.text.find_first_of(" :"));
    if (is_disk_code(code)) codes.insert(code);
  }
  for (const WindowValidation& window : package.validations) {
    codes.insert(window.codes.begin(), window.codes.end());
  }
  for (const ArtifactFault& fault : package.scan.faults) codes.insert(fault.code);
  return codes;
}

std::set<std::string> stored_codes(const JsonValue& manifest) {
  std::set<std::string> codes;
  for (const JsonValue& code : manifest.at("reason_codes").items) {
    if (code.is_string() && is_disk_code(code.text)) codes.insert(code.text);
  }
  return codes;
}

bool is_never_published(const JsonValue& manifest) {
  const auto& codes = manifest.at("reason_codes").items;
  return std::ranges::any_of(codes, [](const JsonValue& code) {
    return code.is_string() && is_one_of(kNeverPublished, code.text);
  });
}

void compare_verdicts(const JsonValue& manifest, const Package& package,
                      PackageValidation& validation) {
  const auto stored = stored_codes(manifest);
  const auto found = recomputed_codes(package);
  if (stored != found) {
    validation.failures.push_back(
        fmt::format("disk-derived reason_codes mismatch: stored [{}], recomputed [{}]",
                    fmt::join(stored, ", "), fmt::join(found, ", ")));
  }
  const bool recomputed = found.empty() && !is_never_published(manifest) &&
                          manifest_faults(manifest, Contract::october).empty();
  if (validation.stored_publication_valid != recomputed) {
    validation.failures.push_back(fmt::format("publication_valid is {}, recomputed {}",
                                              manifest.at("publication_valid").shown(),
                                              recomputed));
  } else if (!recomputed) {
    validation.failures.emplace_back("stored publication_valid is false");
  }
}

std::optional<std::string> stored_text(const JsonValue& value) {
  return value.is_string() ? std::optional(value.text) : std::nullopt;
}

void count_devices(const Package& package, PackageValidation& validation) {
  validation.observed_devices = package.observed.size();
  validation.stable_uuids = static_cast<std::size_t>(std::ranges::count_if(
      package.observed, [](const SeenDevice& device) { return device.uuids.size() == 1; }));
  validation.sample_rows = package.samples.rows;
  validation.windows = package.validations;
  validation.gap_rule = package.gap_rule;
  for (const WindowValidation& window : package.validations) {
    for (const auto& [device, gap_s] : window.gaps_s) {
      validation.max_sample_gap_s = std::max(validation.max_sample_gap_s.value_or(0), gap_s);
    }
  }
}

}  // namespace

PackageValidation validate_package(const PackagePlace& place, Contract contract) {
  PackageValidation validation;
  Findings findings;
  auto manifest = read_manifest(place, findings);
  if (!manifest) {
    for (const Reasons::Entry& entry : findings.reasons.entries()) {
      validation.failures.push_back(fmt::format("{}: {}", code(entry.reason), entry.detail));
    }
    return validation;
  }
  PackageContent content;
  content.manifest = std::move(*manifest);
  const JsonValue& stored = content.manifest.at("publication_valid");
  if (stored.kind == JsonKind::boolean) validation.stored_publication_valid = stored.is_true();
  validation.producer_git_commit = stored_text(content.manifest.at("producer_git_commit"));
  validation.job_id = stored_text(content.manifest.at("job_id"));
  for (auto* const warn : {warn_of_identity, warn_of_numbers, warn_of_codes, warn_of_exporter}) {
    warn(content.manifest, validation.warnings);
  }
  try {
    content.devices = expected_devices(content.manifest);
    content.windows = expected_windows(content.manifest);
  } catch (const Error& error) {
    validation.failures.push_back(fmt::format("manifest malformed: {}", error.what()));
    return validation;
  }
  validation.expected_devices = content.devices.size();
  PackageRequest request;
  request.contract = contract;
  request.allows_same_stamp = true;
  const Package package = recompute_package(place, content, request);
  for (const PackageFault& fault : package.faults) validation.failures.push_back(fault.text);
  count_devices(package, validation);
  compare_verdicts(content.manifest, package, validation);
  if (package.samples.same_stamp.any()) {
    validation.warnings.emplace_back(
        "scrapes of one device have the same timestamp: dashboards refuse that (timestamp_non_monotonic)");
  }
  append(validation.warnings, package.warnings);
  return validation;
}

}  // namespace aggregate_power::packages
