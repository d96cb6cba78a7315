// Treats Ctrl-C and SIGTERM as a request to end, instead of ending at once.
#pragma once

#include <csignal>

#include <array>

namespace aggregate_power {

inline constexpr std::array kStopSignals = {SIGINT, SIGTERM};

// From then on, the first of these signals sets the flag of base/interruption.h, and the next one
// ends the process as usual. It stays so when this object is gone: a signal in the process's last
// moment does not make finished work look killed. A signal that was ignored stays ignored, as in a
// shell's background jobs. While this object lives, a closed pipe does not end the process either,
// until let_pipes_end() or after such a signal: Ctrl-C also ends the program that reads our lines.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // To be called when no work is left that a closed pipe could break off.
  void let_pipes_end();

 private:
  struct sigaction pipe_before_ {};
};

}  // namespace aggregate_power
