// Treats Ctrl-C and SIGTERM as a request to end, instead of ending at once.
#pragma once

#include <csignal>

#include <array>

namespace aggregate_power {

inline constexpr std::array kStopSignals = {SIGINT, SIGTERM};

// While this object lives, the first of these signals sets the flag of base/interruption.h; the
// next one ends the process as usual. A signal that was ignored stays ignored, as in a shell's
// background jobs. A closed pipe does not end the process either, until let_pipes_end() or after
// such a signal: Ctrl-C also ends the program that reads our lines. Without a signal, everything is
// finally as it was before.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // To be called when no work is left that a closed pipe could break off.
  void let_pipes_end();

 private:
  std::array<struct sigaction, kStopSignals.size()> before_{};
  struct sigaction pipe_before_ {};
};

}  // namespace aggregate_power
