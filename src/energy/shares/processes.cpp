// Goes from record to record through the window.
#include "energy/shares/processes.h"

#include <algorithm>

namespace aggregate_power {
namespace {

void divide_stretch(double energy_j, double idle_j, const ShareRecord& record,
                    DividedEnergy& divided) {
  if (!record.is_known) {
    divided.unknown_j += energy_j;
    return;
  }
  if (record.uses.empty()) {
    divided.idle_j += energy_j;
    return;
  }
  double all_uses = 0;
  for (const ProcessUse& use : record.uses) all_uses += use.use;
  const double each_idle_j = idle_j / static_cast<double>(record.uses.size());
  for (const ProcessUse& use : record.uses) {
    ProcessEnergy& process = divided.processes[use.process];
    process.energy_j += (energy_j - idle_j) * (use.use / all_uses) + each_idle_j;
    process.idle_power_j += each_idle_j;
  }
}

}  // namespace

DividedEnergy divide_energy(const PowerTrace& power, std::span<const ShareRecord> records,
                            std::size_t processes, double idle_w, Window window) {
  DividedEnergy divided{std::vector<ProcessEnergy>(processes)};
  auto record = std::ranges::upper_bound(records, window.start_unix_s, {}, &ShareRecord::unix_s);
  double from = window.start_unix_s;
  for (; record != records.end() && from < window.end_unix_s; ++record) {
    const double to = std::min(record->unix_s, window.end_unix_s);
    if (!(from < to)) continue;  // several records of one time
    const double energy_j = power.energy_j({from, to});
    divide_stretch(energy_j, std::min(energy_j, idle_w * (to - from)), *record, divided);
    from = to;
  }
  return divided;
}

}  // namespace aggregate_power
