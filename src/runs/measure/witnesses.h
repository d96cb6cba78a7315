// What sensors beside the GPUs saw, in JSON and in the table of windows.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/report/document.h"
#include "base/text/time_zone.h"
#include "energy/shares/node_meter.h"
#include "runs/evaluate/run_options.h"

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
Json witness_json(const WitnessView& view);
// The list of all witnesses: what they are, and what totals are in their own span, and whether the
// GPUs are compared with them.
Json witnesses_json(const std::vector<WitnessFacts>& facts, bool is_one_node);

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

// ---- What sensors beside the GPUs saw in the windows of a run: compared, never summed.

class Witnesses {
 public:
  // Reads files and folders. Throws FileError if one cannot be opened, and Error if one cannot be
  // used or is given twice. With `faults`, those that cannot be opened or used are left out, and
  // why is there, by their paths.
  Witnesses(const std::vector<std::string>& paths, const std::optional<Zone>& zone,
            std::map<std::string, std::string>* faults = nullptr);
  Witnesses(const Witnesses&) = delete;
  Witnesses& operator=(const Witnesses&) = delete;

  std::vector<WitnessEnergy> measure(Window window) const;  // in the order of facts()
  // Totals are compared in their own spans. `gpus` says what all GPUs used.
  void compare_totals(const std::function<WitnessEnergy(Window)>& gpus);

  const std::vector<WitnessFacts>& facts() const { return facts_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void tell_apart(std::string (*before)(const WitnessFacts&));

  std::deque<NodeWitness> witnesses_;
  std::deque<WitnessMeter> meters_;
  std::vector<WitnessFacts> facts_;
  std::vector<std::string> warnings_;
};

// The windows in which the GPUs used more than what includes them, which is not possible on one
// node.
class WitnessDoubts {
 public:
  explicit WitnessDoubts(bool is_one_node) : is_one_node_(is_one_node) {}

  void look_at(std::string_view window, const WitnessView& view);
  void tell(std::vector<std::string>& notes) const;  // the first, and how many there are

 private:
  bool is_one_node_;
  std::size_t count_ = 0;
  std::string first_;
};

// Adds what the witnesses of a run on one node saw in its window, or why one could not be read,
// which changes no number and no verdict.
void add_witnesses(const RunOptions& request, Result& result);

}  // namespace aggregate_power
