// Compares the manifest of a package with its samples and windows.
#include "packages/srt_slurm/package.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// ---- What the producer writes in the manifest.

JsonValue texts(const std::vector<std::string>& texts) {
  JsonValue list = JsonValue::array();
  for (const std::string& text : texts) list.items.push_back(JsonValue::string(text));
  return list;
}

JsonValue list_of(JsonValue item) {
  JsonValue list = JsonValue::array();
  list.items.push_back(std::move(item));
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

enum class FaultyWindowGaps { kept, omitted };

JsonValue validation_json(const WindowValidation& validation, FaultyWindowGaps form) {
  JsonValue gaps = JsonValue::object();
  if (form == FaultyWindowGaps::kept || validation.codes.empty()) {
    for (const auto& [device, gap_s] : validation.gaps_s) {
      gaps.members.emplace_back(device, JsonValue::real(gap_s));
    }
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

// ---- Comparing rows

// Whether a stored row says what was found.
bool is_same_row(const JsonValue& stored, const JsonValue& found, Contract contract) {
  if (!rules_of(contract).trusts_package_evidence || !stored.is_object())
    return equal_in_python(stored, found);
  return std::ranges::all_of(found.members, [&](const auto& member) {
    const JsonValue* const other = stored.find(member.first);
    return other != nullptr && equal_in_python(*other, member.second);
  });
}

bool are_same_rows(const JsonValue& stored, const JsonValue& found, Contract contract) {
  return stored.is_array() && stored.items.size() == found.items.size() &&
         std::ranges::equal(stored.items, found.items, [&](const auto& a, const auto& b) {
           return is_same_row(a, b, contract);
         });
}

bool is_same_validation(const JsonValue& stored, const WindowValidation& validation,
                        Contract contract) {
  using enum FaultyWindowGaps;
  return is_same_row(stored, validation_json(validation, kept), contract) ||
         (rules_of(contract).trusts_package_evidence &&
          is_same_row(stored, validation_json(validation, omitted), contract));
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
  if (are_same_rows(stored, found, evidence.contract)) return faults;
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
  if (is_as_stored(stored, evidence.validations, evidence.contract)) return faults;
  bool is_elsewhere = evidence.wanted.has_value();
  for (const WindowValidation& validation : evidence.validations) {
    if (!evidence.wanted || validation.key != evidence.wanted->key) continue;
    is_elsewhere &= std::ranges::any_of(stored.items, [&](const JsonValue& item) {
      return is_same_validation(item, validation, evidence.contract);
    });
  }
  faults.add("window_validations is not what the windows and samples show", is_elsewhere,
             "window_validations");
  return faults;
}

PackageFaults artifact_error_faults(const JsonValue& stored, const PackageEvidence& evidence) {
  PackageFaults faults;
  const auto& wanted = evidence.wanted;
  if (are_same_rows(stored, faults_json(evidence.scan.faults), evidence.contract)) return faults;
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

// The recorder ran while the samples were taken. Not judged in August.
PackageFaults recorded_time_faults(const JsonValue& manifest, const PackageEvidence& evidence) {
  PackageFaults faults;
  if (!rules_of(evidence.contract).trusts_package_evidence || evidence.observed.empty())
    return faults;
  const auto first = std::ranges::min_element(evidence.observed, {}, &SeenDevice::first_unix_s);
  const auto last = std::ranges::max_element(evidence.observed, {}, &SeenDevice::last_unix_s);
  for (std::string& fault : lifecycle_faults(manifest, first->first_unix_s, last->last_unix_s)) {
    faults.add(std::move(fault));
  }
  return faults;
}

}  // namespace

bool is_as_stored(const JsonValue& stored, const std::vector<WindowValidation>& validations,
                  Contract contract) {
  return stored.is_array() && stored.items.size() == validations.size() &&
         std::ranges::equal(stored.items, validations, [&](const auto& item, const auto& row) {
           return is_same_validation(item, row, contract);
         });
}

std::vector<std::string> unknown_members(const JsonValue& manifest) {
  const std::pair<std::string_view, JsonValue> rows[] = {
      {"observed_devices", observed_json({SeenDevice()})},
      {"window_validations", list_of(validation_json(WindowValidation(), FaultyWindowGaps::kept))},
      {"artifact_errors", faults_json({ArtifactFault()})}};
  std::set<std::string> unknown;
  for (const auto& [list, known] : rows) {
    for (const JsonValue& row : manifest.at(list).items) {
      for (const auto& [key, value] : row.members) {
        if (known.items[0].find(key) == nullptr)
          unknown.insert(fmt::format("{}.{}", list, printable(key)));
      }
    }
  }
  return {unknown.begin(), unknown.end()};
}

PackageFaults evidence_faults(const PackageContent& content, const PackageEvidence& evidence) {
  const JsonValue& manifest = content.manifest;
  PackageFaults faults = row_count_faults(manifest.at("sample_row_count"), evidence);
  faults.add(scrape_count_faults(manifest.at("scrape_count"), evidence));
  faults.add(observed_faults(manifest.at("observed_devices"), evidence));
  faults.add(validation_faults(manifest.at("window_validations"), evidence));
  faults.add(artifact_error_faults(manifest.at("artifact_errors"), evidence));
  faults.add(repetition_faults(content, evidence.wanted));
  faults.add(recorded_time_faults(manifest, evidence));
  if (const auto fault = clock_fault(manifest)) {
    faults.add(*fault);
    faults.list.back().is_of_clock = true;
  }
  return faults;
}

}  // namespace aggregate_power
