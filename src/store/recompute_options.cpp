// The options of a run, for its record.
#include "store/recompute_options.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/power_unit.h"

namespace aggregate_power {

Origin one_node_origin(const RecomputeOptions& options) {
  Origin origin;
  origin.contract = options.contract;
  origin.schema_version = options.schema_version;
  origin.expected_num_gpus =
      options.expected_num_gpus ? std::to_string(*options.expected_num_gpus) : "auto";
  origin.timezone = options.zone ? options.zone->name() : options.one_witness ? "evidence" : "auto";
  origin.max_sample_gap_s = options.max_sample_gap_s;
  if (options.columns.power_unit) origin.power_unit = unit_symbol(*options.columns.power_unit);
  origin.select = options.select;
  using enum RunOptions::Accepted;
  if (options.accepted_window != exact) {
    origin.window = options.accepted_window == estimated ? "estimated" : "wrapped";
  }
  origin.idle = options.idle;
  origin.uncertainty = options.uncertainty;
  origin.columns = fmt::format("{}", fmt::join(options.columns.all, ","));
  return origin;
}

Origin package_origin(const RecomputeOptions& options) {
  Origin origin;  // packages have no other options
  origin.contract = options.contract;
  origin.expected_num_gpus = origin.timezone = "auto";
  origin.expected_producer_sha = options.expected_producer_sha;
  origin.salvage = options.salvage;
  origin.idle = options.idle;
  origin.uncertainty = options.uncertainty;
  return origin;
}

}  // namespace aggregate_power
