// Checks a node's manifest and identity files, in the order of the original.
#include "packages/native/node.h"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::uint64_t kMostNodeManifestBytes = 1 << 20;

// In the order in which the collector writes them.
constexpr const char* kManifestKeys[] = {"schema_version",
                                         "collector",
                                         "vendor",
                                         "node",
                                         "rank",
                                         "role",
                                         "selected_gpu_indices",
                                         "expected_num_nodes",
                                         "job_id",
                                         "collector_revision",
                                         "clock_source",
                                         "clock_synchronized",
                                         "clock_observation",
                                         "collection_start_unix",
                                         "lifecycle",
                                         "collection_end_unix",
                                         "collector_exit_code"};

// A member that must exist. As in Python, the fault is the key in quotes.
const JsonValue& required(const JsonValue& manifest, const char* key) {
  const JsonValue* const value = manifest.find(key);
  if (value == nullptr) throw NativeFault("KeyError", fmt::format("'{}'", key));
  return *value;
}

std::optional<std::int64_t> whole_from(const JsonValue& value, std::int64_t least) {
  const auto number = value.as_integer();
  return number && *number >= least ? number : std::nullopt;
}

std::optional<Role> native_role(const JsonValue& role) {
  if (!role.is_string()) return std::nullopt;
  if (role.text == "aggregate") return Role::agg;
  return role.text == "agg" ? std::nullopt : role_of(role.text);
}

// The known members, in their usual order, as spelled in the file.
std::vector<std::pair<std::string, std::string>> spelled_members(const std::string& text) {
  std::map<std::string, std::string, std::less<>> spellings;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    spellings[std::string(member.key)] =
        text.substr(member.value_begin, member.value_end - member.value_begin);
  });
  std::vector<std::pair<std::string, std::string>> members;
  for (const char* const key : kManifestKeys) {
    const auto found = spellings.find(key);
    if (found != spellings.end()) members.emplace_back(key, found->second);
  }
  return members;
}

void read_node_manifest(const OpenedFile& file, NativeNode& node) {
  if (file.size() > kMostNodeManifestBytes)
    throw FileError(file.name(), "is too large for a manifest");
  const std::string text = read_whole(file, kPackageFile);
  try {
    node.manifest = parse_json(text);
  } catch (const JsonError& error) {
    throw NativeFault("JSONDecodeError", error.what());
  }
  if (!node.manifest.is_object()) throw native_value_fault("invalid_native_manifest");
  node.facts.manifest = spelled_members(text);
  node.facts.manifest_sha256 = sha256_of(*file.source());
}

// Sets what identifies the node and its run.
void identify_node(NativeNode& node) {
  const JsonValue& manifest = node.manifest;
  const auto rank = whole_from(required(manifest, "rank"), 0);
  const auto role = native_role(required(manifest, "role"));
  const bool is_native =
      equal_in_python(manifest.at("schema_version"), JsonValue::integer(1)) &&
      equal_in_python(manifest.at("collector"), JsonValue::string("inferencex-native-smi"));
  if (!is_native || !rank || !role || node.folder != fmt::format("node-{}", *rank)) {
    throw native_value_fault("invalid_native_manifest");
  }
  const auto count = whole_from(manifest.at("expected_num_nodes"), 1);
  const JsonValue& name = manifest.at("node");
  const JsonValue& job_id = manifest.at("job_id");
  const JsonValue& revision = manifest.at("collector_revision");
  const bool is_named = name.is_string() && !name.text.empty();
  if (!is_named || !job_id.is_string() || !revision.is_string() || !count) {
    throw native_value_fault("invalid_native_run_identity");
  }
  node.rank = *rank;
  node.role = *role;
  node.name = name.text;
  node.job_id = job_id.text;
  node.collector_revision = revision.text;
  node.expected_num_nodes = *count;
  node.is_identified = true;
}

// Nullopt: not a finite number.
std::optional<double> collection_time(const JsonValue& manifest, const char* key) {
  const JsonValue& value = required(manifest, key);
  if (value.kind == JsonKind::integer && !std::isfinite(value.as_double())) {
    throw NativeFault("OverflowError", fmt::format("{}: int too large to convert to float", key));
  }
  return value.is_finite_number() ? std::optional(value.as_double()) : std::nullopt;
}

// Whether the collector did its work, over the whole window, on the clock that all nodes share.
void check_collection(NativeNode& node, const std::optional<Window>& window) {
  const JsonValue& manifest = node.manifest;
  const auto add = [&](Reason reason, const std::string& what) {
    node.reasons.add(reason, fmt::format("{}: {}", printable(node.folder), what));
  };
  const auto is = [&](const char* key, const JsonValue& expected) {
    return equal_in_python(manifest.at(key), expected);
  };
  const auto shown = [&](const char* key) {
    return fmt::format("{} is {}", key, manifest.at(key).shown());
  };
  if (!is("lifecycle", JsonValue::string("complete"))) {
    add(Reason::native_collector_incomplete, shown("lifecycle"));
  } else if (!is("collector_exit_code", JsonValue::integer(0))) {
    add(Reason::native_collector_incomplete, shown("collector_exit_code"));
  }
  if (!is("clock_source", JsonValue::string("utc_ntp"))) {
    add(Reason::native_clock_not_synchronized, shown("clock_source"));
  } else if (!manifest.at("clock_synchronized").is_true()) {
    add(Reason::native_clock_not_synchronized, shown("clock_synchronized"));
  }
  const auto begin = collection_time(manifest, "collection_start_unix");
  const auto end = collection_time(manifest, "collection_end_unix");
  const bool covers = begin && end && *end > *begin &&
                      (!window || (*begin <= window->start_unix_s && *end >= window->end_unix_s));
  if (!covers) {
    add(Reason::native_collection_window_mismatch,
        fmt::format("it was collected from {} to {}", manifest.at("collection_start_unix").shown(),
                    manifest.at("collection_end_unix").shown()));
  }
}

std::vector<std::string> selected_indices(const JsonValue& manifest) {
  const JsonValue& selected = required(manifest, "selected_gpu_indices");
  const auto fault = [] { return native_value_fault("invalid_native_gpu_selection"); };
  if (!selected.is_array() || selected.items.empty()) throw fault();
  std::vector<std::string> indices;
  std::set<std::int64_t> met;
  for (const JsonValue& item : selected.items) {
    const auto index = whole_from(item, 0);
    if (!index || !met.insert(*index).second) throw fault();
    indices.push_back(std::to_string(*index));
  }
  return indices;
}

NativeVendor vendor_of(const JsonValue& manifest) {
  const JsonValue& vendor = required(manifest, "vendor");
  if (vendor.is_string() && vendor.text == "nvidia") return NativeVendor::nvidia;
  if (vendor.is_string() && vendor.text == "amd") return NativeVendor::amd;
  throw native_value_fault("unsupported_native_vendor");
}

// All of them are looked for before any is compared.
std::vector<NativeGpu> selected_gpus(const NativeIdentity& identity,
                                     const std::vector<std::string>& indices) {
  std::vector<NativeGpu> gpus;
  for (const std::string& index : indices) {
    const auto gpu = identity.find(index);
    if (gpu == identity.end()) throw NativeFault("KeyError", fmt::format("'{}'", index));
    gpus.push_back({index, gpu->second});
  }
  return gpus;
}

void identify_gpus(const NativePlace& place, NativeNode& node) {
  const std::vector<std::string> indices = selected_indices(node.manifest);
  const NativeVendor vendor = vendor_of(node.manifest);
  const auto open = [&](bool at_end) {
    return place.tree->open(native_file(place, node, native_identity_name(vendor, at_end)));
  };
  const OpenedFile before = open(false);
  node.identity_file = before.name();
  node.identity = read_native_identity(before, vendor);
  const OpenedFile after = open(true);
  const NativeIdentity at_end = read_native_identity(after, vendor);
  node.facts.identity_sha256 = sha256_of(*before.source());
  node.facts.identity_end_sha256 = sha256_of(*after.source());
  node.gpus = selected_gpus(node.identity, indices);
  for (const auto& [index, uuid] : node.gpus) {
    node.facts.physical_gpu_ids.emplace_back(index, uuid);
    const auto later = at_end.find(index);
    if (later != at_end.end() && later->second == uuid) continue;
    node.reasons.add(
        Reason::native_device_identity_changed,
        fmt::format("{}: GPU {} was {}, and {} at the end", printable(node.folder), index,
                    printable(uuid),
                    later == at_end.end() ? "is missing" : "is " + printable(later->second)));
  }
}

}  // namespace

std::string native_file(const NativePlace& place, const NativeNode& node, const char* name) {
  return path_below(place.power_dir, fmt::format("{}/{}", node.folder, name));
}

Reasons fail_native_node(NativeNode& node, const std::string& type, const std::string& detail) {
  node.error = {node.folder, type, one_line(detail)};
  Reasons reasons;
  reasons.add(Reason::native_node_invalid,
              fmt::format("{}: {}", printable(node.folder), one_line(detail)));
  return reasons;
}

NativeNode read_native_node(const NativePlace& place, const std::string& folder,
                            const std::optional<Window>& window) {
  NativeNode node{.folder = folder};
  node.facts.folder = folder;
  try {
    read_node_manifest(place.tree->open(native_file(place, node, "manifest.json")), node);
    identify_node(node);
    check_collection(node, window);
    identify_gpus(place, node);
    node.has_gpus = true;
  } catch (const NativeFault& fault) {
    node.reasons.add(fail_native_node(node, fault.type, fault.what()));
  } catch (const FileError& error) {
    const bool is_missing = error.code() == std::errc::no_such_file_or_directory;
    node.reasons.add(
        fail_native_node(node, is_missing ? "FileNotFoundError" : "OSError", error.what()));
  }
  return node;
}

// ---- Lists the nodes and the files of a native package.

namespace {

constexpr std::string_view kNodePrefix = "node-";

std::string file_of_node(const NativePlace& place, const std::string& node, const char* name) {
  return path_below(place.power_dir, node + "/" + name);
}

// Empty if the folder cannot be listed.
std::vector<TreeEntry> entries_of(const Tree& tree, const std::string& folder) {
  try {
    if (tree.has_folder(folder)) return sorted_entries(tree, folder);
  } catch (const FileError&) {
  }
  return {};
}

bool is_folder(const TreeEntry& entry) {
  return entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
}

}  // namespace

std::vector<std::string> native_nodes(const NativePlace& place) {
  std::vector<std::string> nodes;
  for (const TreeEntry& entry : entries_of(*place.tree, place.power_dir)) {
    if (!is_folder(entry) || !entry.name.starts_with(kNodePrefix)) continue;
    if (place.tree->find_file(file_of_node(place, entry.name, "manifest.json"))) {
      nodes.push_back(entry.name);
    }
  }
  return nodes;
}

bool is_native_package(const NativePlace& place) {
  if (place.tree->find_file(path_below(place.power_dir, "manifest.json"))) return false;
  return last_name(place.power_dir) == kNativeFolder || !native_nodes(place).empty();
}

std::vector<std::string> native_files(const NativePlace& place) {
  std::vector<std::string> files;
  for (const TreeEntry& entry : entries_of(*place.tree, place.power_dir)) {
    const std::string path = path_below(place.power_dir, entry.name);
    if (!is_folder(entry)) {
      files.push_back(path);
      continue;
    }
    for (const TreeEntry& file : entries_of(*place.tree, path)) {
      if (!is_folder(file)) files.push_back(path_below(path, file.name));
    }
  }
  return files;
}

// ---- Compares nodes with each other and with the numbers of GPUs asked for.

namespace {

std::string shown_texts(const std::set<std::string>& texts) {
  return printable(joined_text(texts, ", "), 200);
}

// The nodes count from 0 without a hole, and all state their number.
std::string topology_fault(std::span<const NativeNode> nodes) {
  std::set<std::int64_t> counts;
  std::set<std::int64_t> ranks;
  std::set<std::string> names;
  std::size_t identified = 0;
  for (const NativeNode& node : nodes) {
    if (!node.is_identified) continue;
    ++identified;
    counts.insert(node.expected_num_nodes);
    ranks.insert(node.rank);
    if (!names.insert(node.name).second) {
      return fmt::format("two nodes are named {}", printable(node.name));
    }
  }
  if (counts != std::set{static_cast<std::int64_t>(identified)}) {
    return fmt::format("{} nodes; expected_num_nodes is {}", identified, fmt::join(counts, ", "));
  }
  // As many different ranks as nodes, from 0 on: then the last one is their number less 1.
  const bool counts_up = ranks.size() == identified && *ranks.begin() == 0 &&
                         *ranks.rbegin() == static_cast<std::int64_t>(identified) - 1;
  return counts_up ? std::string() : fmt::format("the ranks are {}", fmt::join(ranks, ", "));
}

std::string run_fault(std::span<const NativeNode> nodes) {
  std::set<std::string> jobs;
  std::set<std::string> revisions;
  for (const NativeNode& node : nodes) {
    if (!node.is_identified) continue;
    jobs.insert(node.job_id);
    revisions.insert(node.collector_revision);
  }
  const auto is_one = [](const std::set<std::string>& texts) {
    return texts.size() == 1 && !texts.begin()->empty();
  };
  if (!is_one(jobs)) return fmt::format("job_id is '{}'", shown_texts(jobs));
  if (!is_one(revisions)) return fmt::format("collector_revision is '{}'", shown_texts(revisions));
  return {};
}

std::string counts_fault(std::span<const NativeNode> nodes, const RoleCounts& asked) {
  std::map<Role, std::int64_t> found;
  for (const NativeNode& node : nodes) {
    if (node.has_gpus) found[node.role] += static_cast<std::int64_t>(node.gpus.size());
  }
  const bool fits = asked.aggregate != 0
                        ? found[Role::prefill] == 0 && found[Role::decode] == 0 &&
                              found[Role::agg] == asked.aggregate
                        : found[Role::agg] == 0 && found[Role::prefill] == asked.prefill &&
                              found[Role::decode] == asked.decode;
  if (fits) return {};
  const auto shown = [](std::int64_t prefill, std::int64_t decode, std::int64_t aggregate) {
    return fmt::format("{} prefill, {} decode, {} aggregate", prefill, decode, aggregate);
  };
  return fmt::format("recorded {}; asked for {}",
                     shown(found[Role::prefill], found[Role::decode], found[Role::agg]),
                     shown(asked.prefill, asked.decode, asked.aggregate));
}

}  // namespace

std::int64_t total_of(const RoleCounts& gpus) {
  return gpus.prefill + gpus.decode + gpus.aggregate;
}

Reasons check_native_question(std::span<const NativeNode> nodes, const RoleCounts& gpus) {
  Reasons reasons;
  if (gpus.aggregate != 0 && (gpus.prefill != 0 || gpus.decode != 0)) {
    reasons.add(Reason::native_mixed_aggregate_role_topology,
                fmt::format("{} aggregate GPUs, and {} prefill and {} decode GPUs", gpus.aggregate,
                            gpus.prefill, gpus.decode));
  }
  if (nodes.empty()) reasons.add(Reason::native_manifests_missing);
  if (total_of(gpus) <= 0 || gpus.prefill < 0 || gpus.decode < 0 || gpus.aggregate < 0) {
    reasons.add(Reason::invalid_expected_gpu_count,
                fmt::format("{} GPUs were asked for, of all roles", total_of(gpus)));
  }
  return reasons;
}

Reasons check_native_nodes(std::span<const NativeNode> nodes, const RoleCounts& gpus) {
  Reasons reasons;
  const auto check = [&](Reason reason, std::string fault) {
    if (!fault.empty()) reasons.add(reason, std::move(fault));
  };
  check(Reason::native_node_topology_mismatch, topology_fault(nodes));
  check(Reason::native_run_identity_mismatch, run_fault(nodes));
  check(Reason::native_role_gpu_count_mismatch, counts_fault(nodes, gpus));
  return reasons;
}

}  // namespace aggregate_power
