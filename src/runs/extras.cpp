// One row for each of them, in the order in which they are added.
#include "runs/extras.h"

namespace aggregate_power {
namespace {

struct Extra {
  void (*refuse)(const RunOptions& run, Result& result);
  void (*add)(ExtraInput& input, Result& result);
};
constexpr Extra kExtras[] = {{refuse_idle, add_idle}, {refuse_uncertainty, add_uncertainty}};

}  // namespace

void add_extras(ExtraInput input, Result& result) {
  for (const Extra& extra : kExtras) extra.add(input, result);
}

void refuse_extras(const RunOptions& run, Result& result) {
  for (const Extra& extra : kExtras) extra.refuse(run, result);
}

}  // namespace aggregate_power
