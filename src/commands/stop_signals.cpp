// Handles Ctrl-C and SIGTERM.
#include "commands/stop_signals.h"

#include <tuple>

#include "base/interruption.h"

namespace aggregate_power {
namespace {

// Calls only what a signal handler may call.
void on_stop_signal(int signal) {
  interrupt(signal);
  for (const int each : kStopSignals) std::ignore = ::signal(each, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    std::ignore = ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    std::ignore = ::sigaction(signal, &action, nullptr);
  }
  action = {};
  action.sa_handler = SIG_IGN;
  std::ignore = ::sigaction(SIGPIPE, &action, &pipe_before_);
}

void StopSignals::let_pipes_end() {
  if (interrupting_signal() != 0) return;
  std::ignore = ::sigaction(SIGPIPE, &pipe_before_, nullptr);
}

StopSignals::~StopSignals() { let_pipes_end(); }

}  // namespace aggregate_power
