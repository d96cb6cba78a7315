// The energy of each process in each of a list of windows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generators/windows_file.h"
#include "runs/windows/window_report.h"
#include "runs/windows/window_energy.h"
#include "runs/windows/windows.h"

namespace aggregate_power {

// Prints what each process used in each window, and adds to the outcome what is to be said. GPUs
// are those with samples of power. Recordings without processes give the totals of their GPUs, and
// exit status 1.
void print_processes(const WindowsRequest& request, const Traces& traces,
                     const std::vector<NamedWindow>& windows, WindowReportFacts facts,
                     const std::function<void(const std::string&)>& print, WindowsOutcome& outcome);

}  // namespace aggregate_power
