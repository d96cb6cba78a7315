// What sensors beside the GPUs saw in the windows of a run: compared, never summed.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/node_witness.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "energy/shares/node_meter.h"
#include "runs/measure/witnesses.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

class Witnesses {
 public:
  // Reads files and folders. Throws FileError if one cannot be opened, and Error if one cannot be
  // used or is given twice.
  Witnesses(const std::vector<std::string>& paths, const std::optional<Zone>& zone);
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
