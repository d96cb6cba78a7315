// Whether this process was asked to end: a signal handler says so, and long work looks.
//
// The one flag of the process, as signals are the process's own. Nothing sets it unless a command
// installs a handler that does.
#pragma once

namespace aggregate_power {

// Thrown where work is broken off. Not a std::exception: nothing is wrong with what was read, so
// whoever records faults of inputs lets it pass.
struct Interrupted {};

// The first signal counts. May be called from a signal handler.
void interrupt(int signal) noexcept;

// The signal; 0 while there was none.
int interrupting_signal() noexcept;

// Throws Interrupted after a signal.
void throw_if_interrupted();

}  // namespace aggregate_power
