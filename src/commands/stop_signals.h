// Ctrl-C and SIGTERM as a request to end, instead of the end.
#pragma once

#include <csignal>

#include <array>

namespace aggregate_power {

inline constexpr std::array kStopSignals = {SIGINT, SIGTERM};

// While it lives, the first of these signals sets the flag of base/interruption.h; the next ends
// the process as ever. One that was ignored stays ignored, as in a shell's background jobs. Nor
// does a closed pipe end the process until let_pipes_end(), or after such a signal: Ctrl-C also
// ends what reads our lines. Without a signal all is in the end as it was before.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Nothing is under way any more that a closed pipe could break off.
  void let_pipes_end();

 private:
  std::array<struct sigaction, kStopSignals.size()> before_{};
  struct sigaction pipe_before_ {};
};

}  // namespace aggregate_power
