// Compares the manifest of a package with its samples and windows.
#include "packages/evidence.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// ---- What the producer writes in the manifest.

JsonValue texts(const std::vector<std::string>& texts) {
  JsonValue list = JsonValue::array();
  for (const std::string& text : texts) list.items.push_back(JsonValue::string(text));
  return list;
}

JsonValue observed_json(const std::vector<SeenDevice>& observed) {
  JsonValue list = JsonValue::array();
  for (const SeenDevice& device : observed) {
    JsonValue json = JsonValue::object();
    json.members = {{"hostname", JsonValue::string(device.key.hostname)},
                    {"gpu_index", JsonValue::integer(device.key.gpu_index)},
                    {"gpu_uuids", texts(device.uuids)},
                    {"first_sample_time_unix", JsonValue::real(device.first_unix_s)},
                    {"last_sample_time_unix", JsonValue::real(device.last_unix_s)}};
    list.items.push_back(std::move(json));
  }
  return list;
}

JsonValue validation_json(const WindowValidation& validation) {
  JsonValue gaps = JsonValue::object();
  for (const auto& [device, gap_s] : validation.gaps_s) {
    gaps.members.emplace_back(device, JsonValue::real(gap_s));
  }
  JsonValue json = JsonValue::object();
  json.members = {
      {"benchmark_type", JsonValue::string(validation.key.benchmark_type)},
      {"concurrency", JsonValue::integer(validation.key.concurrency)},
      {"window_file", validation.file ? JsonValue::string(*validation.file) : JsonValue()},
      {"power_coverage_valid", JsonValue::boolean(validation.codes.empty())},
      {"reason_codes", texts(validation.codes)},
      {"per_device_max_sample_gap_seconds", std::move(gaps)}};
  return json;
}

JsonValue faults_json(const std::vector<ArtifactFault>& faults) {
  JsonValue list = JsonValue::array();
  for (const ArtifactFault& fault : faults) {
    JsonValue json = JsonValue::object();
    json.members = {{"path", JsonValue::string(fault.path)}, {"reason_codes", texts({fault.code})}};
    list.items.push_back(std::move(json));
  }
  return list;
}

// ---- Each of these compares one member of the manifest.

// Rows that the producer wrote but that are no longer in the file as it wrote them.
std::uint64_t lost_rows(const PackageSamples& samples) {
  return samples.malformed.outside + samples.repeated.outside;
}

PackageFaults row_count_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  const auto rows = static_cast<std::int64_t>(evidence.samples.rows);
  if (equal_in_python(stored, JsonValue::integer(rows))) return faults;
  const auto count = stored.as_integer().value_or(-1);
  const auto lost = static_cast<std::int64_t>(lost_rows(evidence.samples));
  const bool is_elsewhere = evidence.wanted && count > rows && count <= rows + lost;
  faults.add(fmt::format("sample_row_count is {}, samples.csv has {} rows", stored.shown(), rows),
             is_elsewhere, "sample_row_count");
  return faults;
}

PackageFaults scrape_count_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  const std::int64_t last = evidence.samples.last_scrape;
  if (last >= 0 &&
      (stored.kind != JsonKind::integer || stored.as_double() <= static_cast<double>(last))) {
    faults.add(fmt::format("scrape_count is {}, the samples have scrape {}", stored.shown(), last));
  }
  return faults;
}

// Whether two devices differ only in when their samples begin or end, far from the window.
bool differ_elsewhere_only(const JsonValue& stored, const JsonValue& found,
                           const PackageWindow& wanted) {
  const auto is_outside = [&](const JsonValue& time) {
    return time.is_finite_number() &&
           (time.as_double() < wanted.start_unix_s - kPackageMaxSampleGapS ||
            time.as_double() > *wanted.end_unix_s + kPackageMaxSampleGapS);
  };
  return stored.members.size() == found.members.size() &&
         std::ranges::all_of(found.members, [&](const auto& member) {
           const JsonValue& other = stored.at(member.first);
           if (equal_in_python(other, member.second)) return true;
           return member.first.ends_with("_sample_time_unix") && is_outside(other) &&
                  is_outside(member.second);
         });
}

PackageFaults observed_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  if (evidence.observed.empty()) faults.add("observed_devices is empty");
  const JsonValue found = observed_json(evidence.observed);
  if (equal_in_python(stored, found)) return faults;
  // A row lost far from the window may have been a device's first or last.
  const bool is_elsewhere =
      lost_rows(evidence.samples) > 0 && evidence.wanted &&
      std::ranges::equal(stored.items, found.items, [&](const JsonValue& a, const JsonValue& b) {
        return differ_elsewhere_only(a, b, *evidence.wanted);
      });
  faults.add("observed_devices is not what samples.csv shows", is_elsewhere, "observed_devices");
  return faults;
}

PackageFaults validation_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  JsonValue list = JsonValue::array();
  bool is_elsewhere = evidence.wanted.has_value();
  for (const WindowValidation& validation : evidence.validations) {
    list.items.push_back(validation_json(validation));
    if (!evidence.wanted || validation.key != evidence.wanted->key) continue;
    is_elsewhere &= std::ranges::any_of(stored.items, [&](const JsonValue& item) {
      return equal_in_python(item, list.items.back());
    });
  }
  if (equal_in_python(stored, list)) return faults;
  faults.add("window_validations is not what the windows and samples show", is_elsewhere,
             "window_validations");
  return faults;
}

PackageFaults artifact_error_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  const auto& wanted = evidence.wanted;
  if (equal_in_python(stored, faults_json(evidence.scan.faults))) return faults;
  const bool is_elsewhere = wanted && stored.is_array() &&
                            std::ranges::all_of(evidence.scan.faults,
                                                [&](const ArtifactFault& fault) {
                                                  return concerns_others(fault, wanted);
                                                }) &&
                            std::ranges::none_of(stored.items, [&](const JsonValue& item) {
                              return item.at("path").text == wanted->file;
                            });
  faults.add("artifact_errors is not what the folder of windows shows", is_elsewhere,
             "artifact_errors");
  return faults;
}

PackageFaults repetition_faults(const PackageContent& content,
                                const std::optional<PackageWindow>& wanted) {
  PackageFaults faults;
  if (keys_of(content.devices).size() != content.devices.size()) {
    faults.add("expected_devices names a device twice");
  }
  std::set<WindowKey> windows;
  bool is_elsewhere = wanted.has_value();
  for (const WindowKey& key : content.windows) {
    const bool is_new = windows.insert(key).second;
    if (!is_new && wanted && key == wanted->key) is_elsewhere = false;
  }
  if (windows.size() == content.windows.size()) return faults;
  faults.add("expected_windows names a window twice", is_elsewhere, "expected_windows");
  return faults;
}

}  // namespace

PackageFaults evidence_faults(const PackageContent& content, const PackageEvidence& evidence) {
  const JsonValue& manifest = content.manifest;
  PackageFaults faults = row_count_faults(manifest.at("sample_row_count"), evidence);
  faults.add(scrape_count_faults(manifest.at("scrape_count"), evidence));
  faults.add(observed_faults(manifest.at("observed_devices"), evidence));
  faults.add(validation_faults(manifest.at("window_validations"), evidence));
  faults.add(artifact_error_faults(manifest.at("artifact_errors"), evidence));
  faults.add(repetition_faults(content, evidence.wanted));
  if (const auto fault = clock_fault(manifest)) faults.add(*fault);
  return faults;
}

}  // namespace aggregate_power
