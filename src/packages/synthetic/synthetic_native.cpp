// Writes native packages: each node's own recording, identity and manifest.
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/report/json_parts.h"
#include "packages/native/identity.h"
#include "packages/native/native_place.h"
#include "packages/synthetic/synthetic.h"
#include "recorders/synthetic_power.h"

namespace aggregate_power {
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
