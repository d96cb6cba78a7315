// Whether this process was asked to end: a signal handler sets a flag, and long work checks it.
//
// There is one flag for the process, because signals are sent to the process. Nothing sets it
// unless a command installs a handler that does.
#pragma once

namespace aggregate_power {

// Thrown to break off work. It is not a std::exception: nothing is wrong with the files that were
// read, so code that records faults of inputs lets it pass.
struct Interrupted {};

// The first signal counts. May be called from a signal handler.
void interrupt(int signal) noexcept;

// The signal; 0 if there was none.
int interrupting_signal() noexcept;

// Throws Interrupted after a signal.
void throw_if_interrupted();

}  // namespace aggregate_power
