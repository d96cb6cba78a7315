// Writes packages scrape by scrape, with what their recorder would have stored about them.
#include "packages/synthetic/synthetic.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/report/json_parts.h"
#include "base/text/json.h"
#include "packages/native/identity.h"
#include "packages/native/node.h"
#include "packages/srt_slurm/gap_rules.h"

namespace aggregate_power {
namespace {

constexpr double kRecorderMargin_s =
    1;  // the recorder starts and ends this long before and after scraping
constexpr const char* kProducer = "0123456789abcdef0123456789abcdef01234567";
constexpr const char* kImage = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
constexpr const char* kBenchmarkType = "sa-bench";
constexpr const char* kFolder = "synthetic";  // of the result

// How one exporter's readings are named. Null: it has none.
struct ExporterNames {
  SyntheticExporter exporter;
  const char* power;
  const char* scope;
  const char* utilization;
  const char* sm_active;
  const char* temperature;
  int port;
  const char* command;
};
constexpr ExporterNames kExporters[] = {
    {SyntheticExporter::dcgm, "DCGM_FI_DEV_POWER_USAGE", "gpu_device_board_as_reported_by_dcgm",
     "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", nullptr, 9400, "dcgm-exporter"},
    {SyntheticExporter::amd, "gpu_power_usage",
     "gpu_device_power_as_reported_by_amd_device_metrics_exporter", "gpu_gfx_activity", nullptr,
     "gpu_junction_temperature", 19500, "env AMD_GPU_GET_CACHE_TTL=0s amd-metrics-exporter"},
    {SyntheticExporter::custom, "gpu_power_watts", "gpu_power_as_reported_by_custom_exporter",
     "gpu_utilization", nullptr, "gpu_temperature", 9100, "custom-exporter"},
};

const ExporterNames& names_of(SyntheticExporter exporter) {
  return *std::ranges::find(kExporters, exporter, &ExporterNames::exporter);
}

// One GPU, and what its rows say.
struct RecordedDevice {
  std::string host;
  int index = 0;
  int number = 0;  // of all nodes together
  std::string uuid;
  double first_unix_s = 0;
  double last_unix_s = 0;
  SampleGaps gaps = {};
  bool is_bracketed = false;
};

std::string uuid_by(SyntheticExporter exporter, std::size_t node, int index) {
  switch (exporter) {
    case SyntheticExporter::dcgm:
      return fmt::format("GPU-{:08x}-0000-0000-0000-{:012x}", node, index);
    case SyntheticExporter::amd:
      return fmt::format("6923{:06X}{:06X}", node, index);
    case SyntheticExporter::custom:
      return fmt::format("gpu-{}-{}", node, index);
  }
  return {};
}

// The samples of a package, and what they are evidence of.
class SampleWriter {
 public:
  explicit SampleWriter(const SyntheticPackageOptions& options)
      : options_(options),
        window_(benchmark_window(options.telemetry)),
        random_(options.telemetry.seed) {
    const std::vector<SyntheticNode> nodes = synthetic_nodes(options);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (int index = 0; index < nodes[i].gpus; ++index) {
        devices_[nodes[i].name].push_back({nodes[i].name, index, nodes[i].first_gpu + index,
                                           uuid_by(options.exporter, i, index)});
      }
    }
    text_ = "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w";
    if (version() >= 2) text_ += ",gpu_util_pct,sm_active";
    if (version() >= 3) text_ += ",temperature_c";
    text_ += "\r\n";
    for (scrapes_ = 0; scrapes_ <= last_tick(options.telemetry); ++scrapes_) scrape();
  }

  const std::string& text() const { return text_; }
  std::int64_t scrapes() const { return scrapes_; }
  std::int64_t rows() const { return rows_; }

  // Sorted by host, then by index.
  std::vector<const RecordedDevice*> devices() const {
    std::vector<const RecordedDevice*> all;
    for (const auto& [host, devices] : devices_) {
      for (const RecordedDevice& device : devices) all.push_back(&device);
    }
    return all;
  }

 private:
  int version() const { return options_.samples_version; }

  // The GPUs of a host are asked for together, so they share the stamp.
  void scrape() {
    const SyntheticOptions& telemetry = options_.telemetry;
    const double elapsed_s = static_cast<double>(scrapes_) * telemetry.interval_s;
    for (auto& [host, devices] : devices_) {
      const double unix_s =
          telemetry.start_unix_s + elapsed_s + telemetry.jitter_s * random_.symmetric();
      for (RecordedDevice& device : devices) {
        note(device, unix_s);
        write_row(device, unix_s, elapsed_s);
      }
    }
  }

  void note(RecordedDevice& device, double unix_s) {
    if (scrapes_ == 0) {
      device.first_unix_s = unix_s;
    } else if (unix_s > window_.start_unix_s && device.last_unix_s < window_.end_unix_s) {
      device.gaps.add(device.last_unix_s, unix_s, window_, kPackageMaxSampleGapS);
    }
    device.last_unix_s = unix_s;
    device.is_bracketed =
        device.first_unix_s <= window_.start_unix_s && unix_s >= window_.end_unix_s;
  }

  void write_row(const RecordedDevice& device, double unix_s, double elapsed_s) {
    const ExporterNames& names = names_of(options_.exporter);
    text_ += fmt::format(
        "{},{},{},{},{},{},{}", version(), json_number(unix_s), scrapes_, device.host, device.index,
        device.uuid,
        json_number(synthetic_watts(options_.telemetry, device.number, elapsed_s, random_)));
    if (version() >= 2) text_ += names.sm_active != nullptr ? ",97.0,0.9" : ",97.0,";
    if (version() >= 3) text_ += names.temperature != nullptr ? ",60.0" : ",";
    text_ += "\r\n";
    ++rows_;
  }

  const SyntheticPackageOptions& options_;
  Window window_;
  SyntheticRandom random_;
  std::map<std::string, std::vector<RecordedDevice>> devices_;  // by host, as they are sorted
  std::string text_;
  std::int64_t scrapes_ = 0;
  std::int64_t rows_ = 0;
};

void require_coverage(const SampleWriter& samples) {
  for (const RecordedDevice* const device : samples.devices()) {
    if (!device->is_bracketed) {
      throw Error(
          "--package: the samples do not cover the benchmark: give --phase for a time before and after it");
    }
    if (device->gaps.longest_s > kPackageMaxSampleGapS) {
      throw Error(fmt::format("--package: the samples are {:.3f} s apart, at most {} s are allowed",
                              device->gaps.longest_s, kPackageMaxSampleGapS));
    }
  }
}

// ---- Manifest

Json expected_devices_json(const SyntheticPackageOptions& options) {
  Json devices = Json::array();
  std::map<Role, int> workers;
  for (const SyntheticNode& node : synthetic_nodes(options)) {
    const int worker = workers[node.role]++;
    const Json group = node.role == Role::agg ? Json() : Json(node.role == Role::prefill ? 0 : 1);
    for (int index = 0; index < node.gpus; ++index) {
      const Json assignment = {{"worker_role", role_name(node.role)},
                               {"worker_index", worker},
                               {"worker_process", 0},
                               {"het_group", group}};
      devices.push_back({{"hostname", node.name},
                         {"gpu_index", index},
                         {"assignments", Json::array({assignment})}});
    }
  }
  return devices;
}

Json observed_devices_json(const SampleWriter& samples) {
  return aggregate_power::list_of(samples.devices(),
                                  [&](const RecordedDevice* const device) -> Json {
                                    return {{"hostname", device->host},
                                            {"gpu_index", device->index},
                                            {"gpu_uuids", Json::array({device->uuid})},
                                            {"first_sample_time_unix", device->first_unix_s},
                                            {"last_sample_time_unix", device->last_unix_s}};
                                  });
}

Json window_validation(const SampleWriter& samples, const std::string& stem) {
  Json gaps = Json::object();
  for (const RecordedDevice* const device : samples.devices()) {
    gaps[fmt::format("{}/{}", device->host, device->uuid)] = device->gaps.longest_s;
  }
  return {{"benchmark_type", kBenchmarkType},
          {"concurrency", kSyntheticConcurrency},
          {"window_file", fmt::format("windows/{}.json", stem)},
          {"power_coverage_valid", true},
          {"reason_codes", Json::array()},
          {"per_device_max_sample_gap_seconds", std::move(gaps)}};
}

// What later versions of the samples state about their further columns.
void add_column_metrics(const SyntheticPackageOptions& options, Json& manifest) {
  if (options.samples_version == 1) return;
  const ExporterNames& names = names_of(options.exporter);
  const auto metric = [](const char* column, const char* source, const char* unit) {
    return source == nullptr ? Json()
                             : Json{{"column", column}, {"source_metric", source}, {"unit", unit}};
  };
  Json utilization = Json::array({metric("gpu_util_pct", names.utilization, "percent")});
  if (names.sm_active != nullptr) {
    utilization.push_back(metric("sm_active", names.sm_active, "ratio"));
  }
  manifest["samples_schema_version"] = options.samples_version;
  manifest["utilization_metrics"] = std::move(utilization);
  if (options.samples_version == 2) return;
  manifest["temperature_metric"] = metric("temperature_c", names.temperature, "celsius");
}

Json manifest_of(const SyntheticPackageOptions& options, const SampleWriter& samples,
                 const std::string& stem) {
  const ExporterNames& names = names_of(options.exporter);
  const SyntheticOptions& telemetry = options.telemetry;
  Json manifest = {{"schema_version", 1},
                   {"producer", "srt-slurm.dcgm-power"},
                   {"producer_version", "synthetic"},
                   {"producer_git_commit", kProducer},
                   {"source_metric", names.power},
                   {"unit", "W"},
                   {"power_scope", names.scope}};
  add_column_metrics(options, manifest);
  double last_unix_s = telemetry.start_unix_s;
  for (const RecordedDevice* const device : samples.devices()) {
    last_unix_s = std::max(last_unix_s, device->last_unix_s);
  }
  manifest.update(
      {{"timestamp_source", "head_node_unix_clock"},
       {"job_id", "synthetic"},
       {"run_name", "synthetic"},
       {"sample_interval_seconds", telemetry.interval_s},
       {"request_timeout_seconds", 2.0},
       {"max_scrape_duration_seconds", 0.05},
       {"required", true},
       {"started_at_unix", telemetry.start_unix_s - telemetry.jitter_s - kRecorderMargin_s},
       {"stopped_at_unix", last_unix_s + kRecorderMargin_s},
       {"status", "complete"},
       {"publication_valid", true},
       {"dcgm_exporter",
        {{"container_image_resolved", "synthetic"},
         {"container_image_sha256", kImage},
         {"port", names.port},
         {"command", names.command}}},
       {"expected_devices", expected_devices_json(options)},
       {"observed_devices", observed_devices_json(samples)},
       {"expected_windows", Json::array({{{"benchmark_type", kBenchmarkType},
                                          {"concurrency", kSyntheticConcurrency}}})},
       {"scrape_count", samples.scrapes()},
       {"sample_row_count", samples.rows()},
       {"samples_sha256", sha256_of(samples.text())},
       {"window_validations", Json::array({window_validation(samples, stem)})},
       {"artifact_errors", Json::array()},
       {"clock_sync_failures", Json::array()},
       {"reason_codes", Json::array()}});
  return manifest;
}

// As srt-slurm names results: "results_concurrency_64_gpus_8_ctx_4_gen_4".
std::string result_stem(const SyntheticPackageOptions& options) {
  std::map<Role, int> gpus;
  for (const SyntheticNode& node : synthetic_nodes(options)) gpus[node.role] += node.gpus;
  std::string stem =
      fmt::format("results_concurrency_{}_gpus_{}", kSyntheticConcurrency, options.telemetry.gpus);
  if (gpus[Role::agg] == 0) {
    stem += fmt::format("_ctx_{}_gen_{}", gpus[Role::prefill], gpus[Role::decode]);
  }
  return stem;
}

Json window_json(const Window& window, const std::string& result_path) {
  return {{"schema_version", 1},
          {"benchmark_type", kBenchmarkType},
          {"result_path", result_path},
          {"concurrency", kSyntheticConcurrency},
          {"benchmark_start_time_unix", window.start_unix_s},
          {"benchmark_end_time_unix", window.end_unix_s},
          {"duration", window.duration_s()},
          {"clock_source", "head_node_unix_clock"},
          {"status", "completed"},
          {"reason", nullptr}};
}

}  // namespace

std::vector<SyntheticNode> synthetic_nodes(const SyntheticPackageOptions& options) {
  std::vector<SyntheticNode> nodes;
  const int gpus = options.telemetry.gpus / options.nodes;
  for (int i = 0; i < options.nodes; ++i) {
    const Role role = options.prefill_nodes == 0  ? Role::agg
                      : i < options.prefill_nodes ? Role::prefill
                                                  : Role::decode;
    nodes.push_back({fmt::format("node-{}", i), i * gpus, gpus, role});
  }
  return nodes;
}

std::vector<SyntheticFile> synthetic_package(const SyntheticPackageOptions& options,
                                             const std::string& result) {
  const SampleWriter samples(options);
  require_coverage(samples);
  const std::string stem = result_stem(options);
  const std::string result_path = fmt::format("{}/{}.json", kFolder, stem);
  const Json window = window_json(benchmark_window(options.telemetry), result_path);
  return {
      {"power/manifest.json",
       indented_lines(manifest_of(options, samples, stem), JsonCharacters::utf8)},
      {"power/samples.csv", samples.text()},
      {fmt::format("power/windows/{}.json", stem), indented_lines(window, JsonCharacters::utf8)},
      {"power/power-producer-sha.txt", fmt::format("{}\n", kProducer)},
      {"power/exporter-image.sha256", fmt::format("{}\n", kImage)},
      {result_path, result}};
}

// ---- Writes native packages: each node's own recording, identity and manifest.

namespace {

constexpr double kCollectorMargin_s =
    1;  // collectors start and end this long before and after the samples

std::string uuid_of_gpu(NativeVendor vendor, std::size_t rank, int index) {
  return vendor == NativeVendor::nvidia
             ? fmt::format("GPU-{:08x}-0000-0000-0000-{:012x}", rank, index)
             : fmt::format("{:08x}-0000-1000-8000-{:012x}", rank, index);
}

std::string identity_text(NativeVendor vendor, std::size_t rank, int gpus) {
  std::string csv = "index, uuid\n";
  Json list = Json::array();
  for (int index = 0; index < gpus; ++index) {
    const std::string uuid = uuid_of_gpu(vendor, rank, index);
    csv += fmt::format("{}, {}\n", index, uuid);
    list.push_back({{"gpu", index}, {"uuid", uuid}});
  }
  return vendor == NativeVendor::nvidia ? csv : indented_text(list, JsonCharacters::utf8);
}

std::string collector_manifest(const SyntheticPackageOptions& options, const SyntheticNode& node,
                               NativeVendor vendor, std::size_t rank) {
  const SyntheticOptions& telemetry = options.telemetry;
  Json indices = Json::array();
  for (int index = 0; index < node.gpus; ++index) indices.push_back(index);
  const double start_unix_s = telemetry.start_unix_s;
  const double last_s = static_cast<double>(last_tick(telemetry)) * telemetry.interval_s;
  const Json manifest = {
      {"schema_version", 1},
      {"collector", "inferencex-native-smi"},
      {"vendor", vendor == NativeVendor::nvidia ? "nvidia" : "amd"},
      {"node", node.name},
      {"rank", rank},
      {"role", node.role == Role::agg ? "aggregate" : std::string(role_name(node.role))},
      {"selected_gpu_indices", std::move(indices)},
      {"expected_num_nodes", options.nodes},
      {"job_id", "synthetic"},
      {"collector_revision", "0123456789abcdef0123456789abcdef01234567"},
      {"clock_source", "utc_ntp"},
      {"clock_synchronized", true},
      {"clock_observation", "synthetic"},
      {"collection_start_unix", start_unix_s - kCollectorMargin_s},
      {"lifecycle", "complete"},
      {"collection_end_unix", start_unix_s + last_s + kCollectorMargin_s},
      {"collector_exit_code", 0}};
  return indented_lines(manifest, JsonCharacters::utf8);
}

std::string recording_of(const SyntheticOptions& all, const SyntheticNode& node, std::size_t rank) {
  SyntheticOptions own = all;
  own.gpus = node.gpus;
  own.first_gpu = node.first_gpu;
  own.seed = all.seed + rank;
  own.zone = Zone::fixed(0);
  std::string text;
  write_synthetic(own, [&](std::string_view bytes) { text += bytes; });
  return text;
}

}  // namespace

std::vector<SyntheticFile> synthetic_native_package(const SyntheticPackageOptions& options) {
  const NativeVendor vendor = options.telemetry.schema == SyntheticSchema::amd_smi
                                  ? NativeVendor::amd
                                  : NativeVendor::nvidia;
  std::vector<SyntheticFile> files;
  const std::vector<SyntheticNode> nodes = synthetic_nodes(options);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const SyntheticNode& node = nodes[rank];
    const auto add = [&](const char* name, std::string text) {
      files.push_back({fmt::format("{}/node-{}/{}", kNativeFolder, rank, name), std::move(text)});
    };
    const std::string identity = identity_text(vendor, rank, node.gpus);
    add("manifest.json", collector_manifest(options, node, vendor, rank));
    add("gpu_metrics.csv", recording_of(options.telemetry, node, rank));
    add(native_identity_name(vendor, false), identity);
    add(native_identity_name(vendor, true), identity);
  }
  return files;
}

}  // namespace aggregate_power
