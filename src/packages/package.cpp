// A `dcgm-power` package as a whole.
#include "packages/package.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"

namespace aggregate_power {
namespace {

Window span_of(const PackageWindow& window) { return {window.start_unix_s, *window.end_unix_s}; }

std::pair<double, double> start_and_end(const Window& window) {
  return {window.start_unix_s, window.end_unix_s};
}

JsonValue texts(const std::vector<std::string>& texts) {
  JsonValue list = JsonValue::array();
  for (const std::string& text : texts) list.items.push_back(JsonValue::string(text));
  return list;
}

std::vector<std::string> without_repetition(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    if (std::ranges::find(result, text) == result.end()) result.push_back(text);
  }
  return result;
}

// What the producer writes of each window that it expected.
struct Validation {
  WindowKey key;
  std::optional<std::string> file;
  std::vector<std::string> codes;             // empty: valid
  std::map<std::string, std::string> firsts;  // by code, for people: where it was found first
  std::vector<std::pair<std::string, double>> gaps_s;

  JsonValue json() const {
    JsonValue gaps = JsonValue::object();
    for (const auto& [device, gap_s] : gaps_s)
      gaps.members.emplace_back(device, JsonValue::real(gap_s));
    JsonValue json = JsonValue::object();
    json.members = {{"benchmark_type", JsonValue::string(key.benchmark_type)},
                    {"concurrency", JsonValue::integer(key.concurrency)},
                    {"window_file", file ? JsonValue::string(*file) : JsonValue()},
                    {"power_coverage_valid", JsonValue::boolean(codes.empty())},
                    {"reason_codes", texts(codes)},
                    {"per_device_max_sample_gap_seconds", std::move(gaps)}};
    return json;
  }
};

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

JsonValue faults_json(const std::vector<ArtifactFault>& faults) {
  JsonValue list = JsonValue::array();
  for (const ArtifactFault& fault : faults) {
    JsonValue json = JsonValue::object();
    json.members = {{"path", JsonValue::string(fault.path)}, {"reason_codes", texts({fault.code})}};
    list.items.push_back(std::move(json));
  }
  return list;
}

// Judges a package by one of the producer's dialects.
class Judge {
 public:
  Judge(const PackagePlace& place, const PackageContent& content, const JsonValue& concurrency,
        const PackageSamples& samples, std::span<const Window> windows, PackageDialect dialect,
        WindowScan scan)
      : place_(place), content_(content), samples_(samples), windows_(windows) {
    package_.dialect = dialect;
    package_.scan = std::move(scan);
    const auto wanted = windows_of(package_.scan, concurrency);
    if (wanted.size() == 1) wanted_ = wanted[0];
    for (std::uint32_t i = 0; i < samples.devices.size(); ++i) {
      if (samples.devices[i].uuids.empty()) continue;
      const SeenDevice& seen = samples.devices[i];
      package_.observed.push_back({seen.key, seen.uuids, seen.first_unix_s, seen.last_unix_s, {}});
      numbers_[seen.key] = i;
    }
    std::ranges::sort(package_.observed, {}, &SeenDevice::key);
  }

  // All of it but the samples.
  Package judge() {
    for (const std::string& fault : manifest_faults(content_.manifest)) add(fault);
    check_samples();
    check_devices();
    check_windows();
    check_evidence();
    if (wanted_) note_gaps();
    return std::move(package_);
  }

 private:
  bool is_pinned() const { return package_.dialect == PackageDialect::pinned; }

  void add(std::string text, bool is_elsewhere = false) {
    package_.faults.push_back({std::move(text), is_elsewhere});
  }

  void note_elsewhere(const std::string& name, std::uint64_t count = 1) {
    if (count > 0) package_.elsewhere[name] += count;
  }

  void check_samples() {
    const auto fault = [&](std::string_view code, bool is_elsewhere) {
      add(fmt::format("{} in samples.csv{}", code,
                      samples_.first_fault.empty() ? "" : " (" + samples_.first_fault + ")"),
          is_elsewhere);
    };
    if (samples_.is_missing) fault("samples_csv_missing", false);
    if (samples_.has_other_header) fault("samples_csv_header_mismatch", false);
    if (samples_.malformed.any() || samples_.blank_rows > 0) {
      fault("samples_csv_malformed", samples_.malformed.in_band == 0);
      note_elsewhere("blank_sample_row", samples_.blank_rows);
      note_elsewhere("malformed_sample_row", samples_.malformed.outside);
    }
    if (samples_.repeated.any()) {
      fault("duplicate_sample_row", samples_.repeated.in_band == 0);
      note_elsewhere("duplicate_sample_row", samples_.repeated.outside);
    }
    // A producer of today lets a stamp stay the same.
    const std::uint64_t same = is_pinned() ? samples_.same_stamp.in_band : 0;
    const std::uint64_t same_outside = is_pinned() ? samples_.same_stamp.outside : 0;
    if (samples_.turned_back.any() || same + same_outside > 0) {
      fault("timestamp_non_monotonic", samples_.turned_back.in_band + same == 0);
      note_elsewhere("timestamp_non_monotonic", samples_.turned_back.outside + same_outside);
    }
  }

  void check_devices() {
    package_.topology = topology_of(content_.devices);
    std::set<DeviceKey> expected;
    for (const ExpectedDevice& device : content_.devices) expected.insert(device.key);
    std::set<DeviceKey> observed;
    std::set<std::string> uuids;
    bool is_one_to_one = true;
    for (const SeenDevice& device : package_.observed) {
      observed.insert(device.key);
      is_one_to_one &= device.uuids.size() == 1 && uuids.insert(device.uuids[0]).second;
    }
    const auto fault = [&](std::string_view code, const std::string& which) {
      add(fmt::format("{} (device identity/topology{})", code, which));
    };
    const auto first_not_in = [](const std::set<DeviceKey>& a, const std::set<DeviceKey>& b) {
      const auto found = std::ranges::find_if(a, [&](const auto& key) { return !b.contains(key); });
      return found == a.end() ? std::string() : ": " + found->text();
    };
    const std::string missing = first_not_in(expected, observed);
    if (expected.empty() || !missing.empty()) fault("expected_device_missing", missing);
    const std::string unexpected = first_not_in(observed, expected);
    if (!unexpected.empty()) fault("unexpected_device", unexpected);
    if (!is_one_to_one) fault("gpu_uuid_changed", "");
    for (const std::string& conflict : package_.topology.conflicts) fault(conflict, "");
  }

  void check_windows() {
    for (const auto& [key, window] : package_.scan.windows) {
      if (std::ranges::find(content_.windows, key) == content_.windows.end()) {
        package_.scan.faults.push_back({window.file, "measurement_window_unexpected"});
      }
    }
    if (content_.windows.empty()) add("no expected measurement window");
    for (const WindowKey& key : content_.windows) {
      validations_.push_back(validation_of(key));
      const bool is_elsewhere = wanted_ && wanted_->key != key;
      for (const std::string& code : validations_.back().codes) {
        const auto first = validations_.back().firsts.find(code);
        const bool has_first = first != validations_.back().firsts.end();
        add(fmt::format("{} (window {}{})", code, key.text(),
                        has_first ? ": " + first->second : ""),
            is_elsewhere);
        if (is_elsewhere) note_elsewhere(code);
      }
    }
    for (const ArtifactFault& fault : package_.scan.faults) {
      const bool is_elsewhere = concerns_others(fault);
      add(fmt::format("{} ({})", fault.code, fault.path), is_elsewhere);
      if (is_elsewhere) note_elsewhere(fault.code);
    }
  }

  bool concerns_others(const ArtifactFault& fault) const {
    return wanted_ && fault.path != wanted_->file && fault.path != "windows";
  }

  const Validation& validation_of(const WindowKey& key) {
    const auto known = validation_by_key_.find(key);
    if (known != validation_by_key_.end()) return known->second;
    return validation_by_key_.emplace(key, validated(key)).first->second;
  }

  Validation validated(const WindowKey& key) {
    Validation validation;
    validation.key = key;
    const auto found = package_.scan.windows.find(key);
    if (found == package_.scan.windows.end()) {
      validation.codes = {package_.scan.duplicates.contains(key) ? "measurement_window_duplicate"
                                                                 : "measurement_window_missing"};
      return validation;
    }
    const PackageWindow& window = found->second;
    validation.file = window.file;
    if (!window.is_completed()) {
      validation.codes = {"measurement_window_incomplete"};
      return validation;
    }
    const std::string fault = result_fault(place_, window, package_.dialect);
    if (!fault.empty()) {
      validation.codes = {fault};
      return validation;
    }
    check_coverage(window, validation);
    return validation;
  }

  void check_coverage(const PackageWindow& window, Validation& validation) {
    std::set<DeviceKey> expected;
    for (const ExpectedDevice& device : content_.devices) expected.insert(device.key);
    for (const DeviceKey& key : expected) {
      const auto fault = [&](const char* code, const std::string& what) {
        validation.codes.emplace_back(code);
        validation.firsts.emplace(code, fmt::format("{}{}", key.text(), what));
      };
      const auto number = numbers_.find(key);
      if (number == numbers_.end()) {
        fault("measurement_window_not_bracketed", " has no samples");
        continue;
      }
      const SeenDevice& seen = samples_.devices[number->second];
      if (seen.uuids.size() != 1) {
        fault("gpu_uuid_changed", fmt::format(" has {} uuids", seen.uuids.size()));
        continue;
      }
      const auto gap_s = max_gap_s(seen, window);
      if (!gap_s) {
        fault("measurement_window_not_bracketed",
              fmt::format(" has samples from {:.3f} to {:.3f}, the window is {:.3f} to {:.3f}",
                          seen.first_unix_s, seen.last_unix_s, window.start_unix_s,
                          *window.end_unix_s));
        continue;
      }
      validation.gaps_s.emplace_back(fmt::format("{}/{}", key.hostname, seen.uuids[0]), *gap_s);
      if (*gap_s > kPackageMaxSampleGapS) {
        fault("sample_gap_exceeded",
              fmt::format(" has none for {:.3f} s, at most {} s", *gap_s, kPackageMaxSampleGapS));
      }
    }
    validation.codes = without_repetition(validation.codes);
    if (is_pinned() && !validation.codes.empty()) validation.gaps_s.clear();
  }

  // What the manifest says of the samples and windows must be what they are.
  void check_evidence() {
    const JsonValue& manifest = content_.manifest;
    check_row_count(manifest.at("sample_row_count"));
    const JsonValue& scrapes = manifest.at("scrape_count");
    const std::int64_t last = samples_.last_scrape;
    if (last >= 0 &&
        (scrapes.kind != JsonKind::integer || scrapes.as_double() <= static_cast<double>(last))) {
      add(fmt::format("scrape_count is {}, the samples have scrape {}", scrapes.shown(), last));
    }
    if (package_.observed.empty()) add("observed_devices is empty");
    check_observed(manifest.at("observed_devices"));
    check_validations(manifest.at("window_validations"));
    check_artifact_errors(manifest.at("artifact_errors"));
    check_repetition();
    if (const auto fault = clock_fault(manifest)) add(*fault);
  }

  void check_observed(const JsonValue& stored) {
    const JsonValue found = observed_json(package_.observed);
    if (equal_in_python(stored, found)) return;
    // A row that was lost far from the window may have been a device's first or last.
    const bool is_elsewhere =
        lost_rows() > 0 && wanted_ && stored.items.size() == found.items.size() &&
        std::ranges::equal(stored.items, found.items, [&](const JsonValue& a, const JsonValue& b) {
          return differ_elsewhere_only(a, b);
        });
    add("observed_devices is not what samples.csv shows", is_elsewhere);
    if (is_elsewhere) note_elsewhere("observed_devices");
  }

  bool differ_elsewhere_only(const JsonValue& stored, const JsonValue& found) const {
    const auto is_outside = [&](const JsonValue& time) {
      return time.is_finite_number() &&
             (time.as_double() < wanted_->start_unix_s - kPackageMaxSampleGapS ||
              time.as_double() > *wanted_->end_unix_s + kPackageMaxSampleGapS);
    };
    return stored.members.size() == found.members.size() &&
           std::ranges::all_of(found.members, [&](const auto& member) {
             const JsonValue& other = stored.at(member.first);
             if (equal_in_python(other, member.second)) return true;
             return member.first.ends_with("_sample_time_unix") && is_outside(other) &&
                    is_outside(member.second);
           });
  }

  // Rows that the producer wrote and that are not there any more as it wrote them.
  std::uint64_t lost_rows() const { return samples_.malformed.outside + samples_.repeated.outside; }

  void check_row_count(const JsonValue& stored) {
    const auto rows = static_cast<std::int64_t>(samples_.rows);
    if (equal_in_python(stored, JsonValue::integer(rows))) return;
    const auto count = stored.as_integer().value_or(-1);
    const auto lost = static_cast<std::int64_t>(lost_rows());
    const bool is_elsewhere = wanted_ && count > rows && count <= rows + lost;
    add(fmt::format("sample_row_count is {}, samples.csv has {} rows", stored.shown(), rows),
        is_elsewhere);
    if (is_elsewhere) note_elsewhere("sample_row_count");
  }

  void check_validations(const JsonValue& stored) {
    JsonValue list = JsonValue::array();
    bool is_elsewhere = wanted_.has_value();
    for (const Validation& validation : validations_) {
      list.items.push_back(validation.json());
      if (!wanted_ || validation.key != wanted_->key) continue;
      is_elsewhere &= std::ranges::any_of(stored.items, [&](const JsonValue& item) {
        return equal_in_python(item, list.items.back());
      });
    }
    if (equal_in_python(stored, list)) return;
    add("window_validations is not what the windows and samples show", is_elsewhere);
    if (is_elsewhere) note_elsewhere("window_validations");
  }

  void check_artifact_errors(const JsonValue& stored) {
    if (equal_in_python(stored, faults_json(package_.scan.faults))) return;
    const bool is_elsewhere =
        wanted_ && stored.is_array() &&
        std::ranges::all_of(package_.scan.faults,
                            [&](const ArtifactFault& fault) { return concerns_others(fault); }) &&
        std::ranges::none_of(stored.items, [&](const JsonValue& item) {
          return item.at("path").text == wanted_->file;
        });
    add("artifact_errors is not what the folder of windows shows", is_elsewhere);
    if (is_elsewhere) note_elsewhere("artifact_errors");
  }

  void check_repetition() {
    std::set<DeviceKey> devices;
    for (const ExpectedDevice& device : content_.devices) devices.insert(device.key);
    if (devices.size() != content_.devices.size()) {
      add("expected_devices names a device twice");
    }
    std::set<WindowKey> windows;
    bool is_elsewhere = wanted_.has_value();
    for (const WindowKey& key : content_.windows) {
      const bool is_new = windows.insert(key).second;
      if (!is_new && wanted_ && key == wanted_->key) is_elsewhere = false;
    }
    if (windows.size() == content_.windows.size()) return;
    add("expected_windows names a window twice", is_elsewhere);
    if (is_elsewhere) note_elsewhere("expected_windows");
  }

  // Nothing when the samples do not reach over the window.
  std::optional<double> max_gap_s(const SeenDevice& seen, const PackageWindow& window) const {
    if (seen.first_unix_s > window.start_unix_s || seen.last_unix_s < *window.end_unix_s ||
        seen.max_gaps_s.empty()) {
      return std::nullopt;
    }
    const auto at =
        std::ranges::lower_bound(windows_, start_and_end(span_of(window)), {}, start_and_end);
    return seen.max_gaps_s[static_cast<std::size_t>(at - windows_.begin())];
  }

  void note_gaps() {
    for (const auto& [key, number] : numbers_) {
      const auto gap_s = max_gap_s(samples_.devices[number], *wanted_);
      if (gap_s) package_.max_sample_gap_s[key] = *gap_s;
    }
  }

  const PackagePlace& place_;
  const PackageContent& content_;
  const PackageSamples& samples_;
  std::span<const Window> windows_;  // of SeenDevice::max_gaps_s
  std::optional<PackageWindow> wanted_;
  std::map<DeviceKey, std::uint32_t> numbers_;
  std::vector<Validation> validations_;
  std::map<WindowKey, Validation> validation_by_key_;
  Package package_;
};

bool has_fault_here(const Package& package) {
  return !std::ranges::all_of(package.faults, &PackageFault::is_elsewhere);
}

WindowScan scan_or_fault(const PackagePlace& place, PackageDialect dialect) {
  try {
    return scan_windows(place, dialect);
  } catch (const FileError&) {
    WindowScan scan;
    scan.faults.push_back({"windows", "measurement_window_artifact_path_invalid"});
    return scan;
  }
}

}  // namespace

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

Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request) {
  std::map<PackageDialect, WindowScan> scans;
  std::vector<Window> spans;
  std::optional<Window> wanted;
  for (const PackageDialect dialect : {PackageDialect::pinned, PackageDialect::current}) {
    WindowScan scan = scan_or_fault(place, dialect);
    for (const auto& [key, window] : scan.windows) {
      if (window.is_completed()) spans.push_back(span_of(window));
    }
    const auto windows = windows_of(scan, request.concurrency);
    if (!wanted && windows.size() == 1 && windows[0].start_unix_s < *windows[0].end_unix_s) {
      wanted = Window{windows[0].start_unix_s, *windows[0].end_unix_s};
    }
    scans.emplace(dialect, std::move(scan));
  }
  const Window band = wanted ? Window{wanted->start_unix_s - kPackageMaxSampleGapS,
                                      wanted->end_unix_s + kPackageMaxSampleGapS}
                             : Window{};
  std::ranges::sort(spans, {}, start_and_end);
  const auto is_same = [](const Window& a, const Window& b) {
    return start_and_end(a) == start_and_end(b);
  };
  spans.erase(std::unique(spans.begin(), spans.end(), is_same), spans.end());
  const auto begin = [&] {
    if (wanted && request.begin) request.begin(*wanted);
  };
  constexpr std::size_t kMostUnexpected = 1000;
  PackageSamplesRequest of_samples;
  of_samples.band = band;
  of_samples.windows = spans;
  of_samples.most_devices = content.devices.size() + kMostUnexpected;
  of_samples.take = [&](std::span<const PackageSample> some) {
    if (wanted && request.take) request.take(some);
  };
  of_samples.start_over = begin;
  PackageSamples samples;
  const std::string path = path_below(place.power_dir, "samples.csv");
  begin();
  try {
    samples = read_package_samples(place.tree->open(path), of_samples);
  } catch (const FileError&) {  // it cannot be opened
    samples.is_missing = !place.tree->find_file(path);
    if (!samples.is_missing) samples.malformed.in_band = 1;
  }
  const auto judged = [&](PackageDialect dialect) {
    return Judge(place, content, request.concurrency, samples, spans, dialect,
                 std::move(scans.at(dialect)))
        .judge();
  };
  // The version of the samples tells the producer's age, else what holds does.
  const bool is_current = samples.version == 2;
  Package package = judged(is_current ? PackageDialect::current : PackageDialect::pinned);
  if (!is_current && !package.faults.empty()) {
    Package other = judged(PackageDialect::current);
    const bool fits_better = request.salvage && has_fault_here(package) && !has_fault_here(other);
    if (other.faults.empty() || fits_better) package = std::move(other);
  }
  package.samples = std::move(samples);
  return package;
}

}  // namespace aggregate_power
