// The reports of energy that a package's recorder writes itself: power_energy_report.json,
// power_energy_report.jsonl and power_energy_cN.json. They are witnesses. Contract-october.md 9.7.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "packages/srt_slurm/package.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power::packages {

// What we measure of the CPUs over a window, in joules.
using MeasureCpus = std::function<std::optional<CpuPower>(Window window)>;

// The reports of the load of `selected`, from the log directory and from the folder of the load's
// result, each leg compared with our energy over the report's own window. Never throws because of
// the files; one that cannot be read is in `warnings`, and so is each leg that differs.
std::vector<ReportedEnergy> compare_energy_reports(const PackagePlace& place,
                                                   const PackageContent& content,
                                                   const SelectedWindow& selected,
                                                   const MeasureCpus& measure_cpus,
                                                   std::vector<std::string>& warnings);

}  // namespace aggregate_power::packages
