// The interface through which an analysis receives a recording's readings.
#pragma once

#include <limits>
#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Consecutive rows of a recording. `states` is empty unless some analysis wants states; then
// states[i] belongs to readings[i].
struct Batch {
  std::span<const Reading> readings;
  RowStates states;
};

// One question about a recording, such as the energy in a window.
//
// All analyses of a recording see it together: each of its batches, in the file's order, goes to
// each of them. Recorders usually write rows in time order, so an analysis that needs an order
// relies on it, and needs no memory for it. An analysis that finds the order broken gets its
// readings once more, sorted, in bounded memory:
//
//   wants();                        // at any time, always the same
//   take(select(batch));            // for each batch of the file
//   if (out_of_order()) {
//     start_over();
//     take(sorted readings);        // several times
//   }
//
// Then its own finish() returns its findings. Its name, arguments and result differ from analysis
// to analysis and are not part of this class. finish() is not called if the file could not be read
// to its end. All calls come from one thread, which need not be the one that reads the file.
//
// A new analysis is a file of its own, and a line where the analyses of a recording are put
// together (runs/measurement.cpp). Virtual calls are made once per batch, never once per reading.
class Analysis {
 public:
  virtual ~Analysis() = default;

  enum class Order {
    any,              // in the file's order
    by_time,          // for each device, or for all
    by_rounded_time,  // by rounded_ms(), and within one millisecond in the file's order
  };
  static constexpr Window kAlways = {-std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};
  struct Wants {
    Order order = Order::any;
    // Sorted readings from other times may be left out, but need not be. In the file's order all
    // readings are given; take() skips those it does not need.
    Window window = kAlways;
    GpuQuantitySet states = {};  // of what the rows report about their GPUs besides power
  };
  virtual Wants wants() const { return {}; }

  // The readings that it takes from a batch; they stay valid until the next call. An analysis of
  // another quantity than power puts that quantity in place of the watts here.
  virtual std::span<const Reading> select(const Batch& batch) { return batch.readings; }

  // Sorted readings are only those with power (including negative power, or power of no device).
  virtual void take(std::span<const Reading> readings) = 0;

  // The readings taken do not have the order wanted, so nothing that depends on it is right. After
  // start_over() that is forgotten, and the same readings come again, sorted; findings that do not
  // depend on the order may be kept.
  virtual bool out_of_order() const { return false; }
  virtual void start_over() {}
};

}  // namespace aggregate_power
