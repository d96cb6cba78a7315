// What is asked of a recording's readings, and how whoever asks gets them.
#pragma once

#include <limits>
#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Rows of a recording that follow each other. `states` is empty unless somebody wants states; then
// states[i] belongs to readings[i].
struct Batch {
  std::span<const Reading> readings;
  std::span<const GpuState> states;
};

// One question to a recording, such as the energy of a window.
//
// All analyses of a recording see it together: each of its batches, in the file's order, goes to
// each of them. Recorders mostly write rows in time order, so an analysis that needs an order
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
// Then its own finish() says what was found. Its name, arguments and result differ from analysis to
// analysis and are no part of this class. finish() is not called when the file could not be read to
// its end. One thread calls all of this; it need not be the one that reads the file.
//
// A new analysis is a file of its own, and a line where the analyses of a recording are put
// together (runs/measurement.cpp). Calls are virtual once a batch, never once a reading.
class Analysis {
 public:
  virtual ~Analysis() = default;

  enum class Order {
    any,              // as the file has them
    by_time,          // of each device, or of all
    by_rounded_time,  // by rounded_ms(), those of one millisecond as the file has them
  };
  static constexpr Window kAlways = {-std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};
  struct Wants {
    Order order = Order::any;
    // Readings of other times may be left out where they are sorted; they need not be. In the
    // file's order all are given: take() passes over those it has no use for.
    Window window = kAlways;
    bool states = false;  // what the rows say of their GPUs besides power
  };
  virtual Wants wants() const { return {}; }

  // What it takes of a batch: readings that stay where they are until the next call. Who looks at
  // another quantity than power puts that in the place of the watts here.
  virtual std::span<const Reading> select(const Batch& batch) { return batch.readings; }

  // Of readings that are sorted, there are only those with power (negative, or of no device, too).
  virtual void take(std::span<const Reading> readings) = 0;

  // What was taken does not have the order wanted: nothing that depends on it is right. After
  // start_over() it is forgotten, and the same readings come again, sorted; what does not depend on
  // the order may be kept.
  virtual bool out_of_order() const { return false; }
  virtual void start_over() {}
};

}  // namespace aggregate_power
