// Compares nodes with each other and with the numbers of GPUs asked for.
#include "packages/native/topology.h"

#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

std::string shown_texts(const std::set<std::string>& texts) {
  return printable(fmt::format("{}", fmt::join(texts, ", ")), 200);
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
