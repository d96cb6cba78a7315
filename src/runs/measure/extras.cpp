// One row for each of them, in the order in which they are added.
#include "runs/measure/extras.h"

#include <utility>

namespace aggregate_power {
namespace {

struct Extra {
  void (*refuse)(const RunOptions& run, Result& result);
  void (*add)(ExtraInput& input, Result& result);
};
constexpr Extra kExtras[] = {{refuse_idle, add_idle},
                             {refuse_uncertainty, add_uncertainty},
                             {runs::refuse_salvage, runs::add_salvage}};

}  // namespace

void add_extras(ExtraInput input, Result& result) {
  for (const Extra& extra : kExtras) extra.add(input, result);
}

void add_extras_of_package(ExtraInput input, Result& result) {
  RunOptions without_idle = input.run;
  without_idle.idle.clear();
  add_extras({without_idle, std::move(input.recordings), std::move(input.hardware)}, result);
  refuse_idle_of_package(input.run, result);
}

void refuse_extras(const RunOptions& run, Result& result) {
  for (const Extra& extra : kExtras) extra.refuse(run, result);
}

}  // namespace aggregate_power
