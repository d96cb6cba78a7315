// The energy of a package's window: gathered while its samples are read, then given to its GPUs,
// roles and workers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "core/energy/integrate.h"
#include "core/energy/metrics.h"
#include "energy/uncertainty/gather.h"
#include "energy/zones/window_doubts.h"
#include "packages/srt_slurm/check.h"
#include "packages/srt_slurm/package.h"
#include "packages/srt_slurm/shared_samples.h"
#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

// Readings that only repeat what an exporter had cached. Contract-october.md section 8, row 18.

// Counts how often a GPU's power is exactly that of the sample before, inside one window. The power
// of a busy GPU hardly ever is.
class StaleReadings {
 public:
  // Starts, or starts over, with this window.
  void begin(Window window);
  // Takes samples, those of each device in time order.
  void take(std::span<const PackageSample> samples);

  struct Device {
    std::uint32_t number = 0;  // of PackageSample::device
    double share = 0;          // of its samples
  };
  // The busy device with the largest share: its mean power is at least half of the largest. Returns
  // nullopt if there are no samples.
  std::optional<Device> worst() const;

 private:
  struct Count {
    double last_w = std::numeric_limits<double>::quiet_NaN();
    double sum_w = 0;
    std::uint64_t samples = 0;
    std::uint64_t repeats = 0;
    double mean_w() const { return samples == 0 ? 0 : sum_w / static_cast<double>(samples); }
  };

  Window window_;
  std::vector<Count> devices_;  // by number
};

// Names of GPUs for the record: "host/UUID", or "host/index" for a GPU without exactly one UUID.
using Labels = std::map<DeviceKey, std::string>;
Labels labels_of(std::span<const SeenDevice> observed);
std::string label_of(const DeviceKey& key, const Labels& labels);

// The energies over the window, in the order of the manifest's GPUs.
struct PackageEnergy {
  std::vector<GpuResult> gpus;     // by the names of the record
  std::vector<std::string> roles;  // of these GPUs
  MeasuredEnergy sums;             // of all GPUs and of each role; nothing else
};

// Sees each sample of a package once.
class PackageMeter {
 public:
  struct Wants {
    bool fleet = false;     // the total power of all GPUs at every instant
    bool states = false;    // their states, too
    bool readings = false;  // the samples themselves
  };
  explicit PackageMeter(Wants wants) : wants_(wants), power_(wants.fleet, wants.states) {}

  // Starts, or starts over, with this window.
  void begin(Window window);
  // Takes samples, those of each device in time order.
  void take(std::span<const PackageSample> samples);
  // Instead of these two: what somebody else measured. Then there is no bound, and no doubt.
  void use(WindowPower measured);

  // To be called once. What was requested; empty if no window was found.
  FleetMeasurement fleet(const Package& package);
  // Of a package that has samples and a role for each GPU of its manifest.
  PackageEnergy energy(const PackageContent& content, const Package& package);
  // To be called at most once, for a package that covers its window. Sets the GPUs, the workers and
  // the bound of `result`, and the metrics if they are numbers; returns what speaks against them.
  Findings integrate(const PackageContent& content, const Package& package, const RoleCounts& asked,
                     const FleetMeasurement& fleet, Result& result);
  // Before the first samples: limits, in W, that some GPU may have.
  void watch_limits(std::vector<double> limits_w) { watched_w_ = std::move(limits_w); }
  // Of the samples of a device in the window, those at one of these limits; nullopt: not counted.
  std::optional<double> share_at(std::uint32_t device, double limit_w) const;
  // The samples around the window, by the names of the record, if they are wanted; to be called at
  // most once.
  std::vector<GatheredReadings> readings(const PackageContent& content, const Package& package);
  // Whether the load of the manifest's GPUs is in the window.
  energy::WindowDoubts place_doubts(const PackageContent& content, const Package& package);
  // What is odd about the readings of a GPU, for people.
  std::optional<std::string> doubt(const Package& package,
                                   const std::optional<std::string>& source_metric) const;

 private:
  void gather(std::span<const PackageSample> samples);
  void keep(std::span<const Reading> readings);
  void compare_with_limits(std::span<const PackageSample> samples);

  Wants wants_;
  WindowPower power_;
  // Of `readings`, while they are wanted.
  struct Around {
    Window window;
    Samples samples;
    StateNotes notes;
  };
  std::optional<Around> around_;
  Samples kept_{kAlways};
  GapBound gaps_{{}};
  struct Compared {
    std::uint64_t samples = 0;
    std::vector<std::uint64_t> at_limit;  // by watched_w_
  };
  Window window_;
  std::vector<double> watched_w_;
  std::vector<Compared> compared_;  // by device
  StaleReadings stale_;
  bool has_samples_ = true;
};

}  // namespace aggregate_power

namespace aggregate_power::packages {

// ---- The reports of energy that a package's recorder writes itself: power_energy_report.json,
// power_energy_report.jsonl and power_energy_cN.json. They are witnesses. Contract-october.md 9.7.

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
