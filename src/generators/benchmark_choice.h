// Which of several benchmarks in a result is meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate_power/request.h"
#include "core/load/load_files.h"

namespace aggregate_power {

// "2: request_rate=4.0 max_concurrency=8"; benchmarks count from 1.
std::string benchmark_label(const LoadReading& reading, std::size_t number);

struct SelectedLoads {
  std::vector<LoadReading> loads;
  std::vector<std::size_t> numbers;  // of each among all of the result, from 1
  std::string fault;                 // why none is selected; lists the benchmarks there are
};

// `selection` is N, "last", "all" or KEY=VALUE, which may match several; empty: the only one.
SelectedLoads select_loads(std::vector<LoadReading> loads, const std::string& selection);

// Whether it has one of these forms.
bool is_selection(const std::string& text);

// ---- How many requests of a load were in flight at once.

// Takes the requests in any order; 16 bytes for each whose times are known.
class PeakInFlight {
 public:
  void take(const RequestTimes& request);

  std::size_t requests() const { return starts_.size(); }
  // One that ends when another starts is not in flight with it.
  std::size_t peak() const;

 private:
  std::vector<double> starts_;
  std::vector<double> ends_;
};

}  // namespace aggregate_power
