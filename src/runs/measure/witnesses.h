// What sensors beside the GPUs saw, in JSON and in the table of windows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/node_witness.h"
#include "base/report/document.h"

namespace aggregate_power {

// Whether all of these GPUs, of so many recordings, are those of one node: of one host, or of one
// recording that names none.
bool are_of_one_node(const std::vector<std::string>& gpus, std::size_t recordings);

// One witness in one window. The GPUs' share is known if it includes the GPUs.
struct WitnessView {
  const WitnessFacts& facts;
  const WitnessEnergy& seen;
  double duration_s = 0;
  std::optional<double> gpu_energy_j = {};

  std::optional<double> gpu_ratio() const;
  // The GPUs cannot use more than what includes them. Empty: they do not.
  std::string doubt() const;
};

// {"witness": "energy", "energy_j": 1.5, ...}
std::string witness_json(const WitnessView& view);
// The list of all witnesses: what they are, and what totals are in their own span, and whether the
// GPUs are compared with them.
std::string witnesses_json(const std::vector<WitnessFacts>& facts, bool is_one_node);

// A block below a table of windows.
class WitnessBlock {
 public:
  WitnessBlock(const std::vector<WitnessFacts>& facts, bool is_one_node, std::size_t name_columns);

  // `name` as the table has it. Totals of other spans are left out here.
  void add(std::string_view name, double duration_s, std::optional<double> gpu_energy_j,
           const std::vector<WitnessEnergy>& seen);
  std::string text() const;

 private:
  void add_row(std::string_view name, std::size_t witness, const WitnessView& view,
               std::string& text) const;

  const std::vector<WitnessFacts>& facts_;
  bool is_one_node_;
  std::vector<std::string> shown_names_;
  std::optional<TextTable> table_;
  std::string rows_;
};

}  // namespace aggregate_power
