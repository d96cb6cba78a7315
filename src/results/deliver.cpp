// A finished run to its files, and to what its caller is told.
#include "results/deliver.h"

#include <fmt/format.h>

namespace aggregate_power {
namespace {

class Delivery {
 public:
  Delivery(const FinishedRun& run, const DeliveryOptions& options)
      : run_(run), options_(options), reasons_(run.reasons) {}

  Delivered deliver() {
    delivered_.err = run_.warnings;
    if (options_.dry_run) {
      show_changes();
    } else {
      write();
    }
    tell();
    if (options_.dry_run) delivered_.out.push_back("dry run: nothing was written");
    delivered_.exit_status = reasons_.empty() || !options_.require_power ? 0 : 1;
    return std::move(delivered_);
  }

 private:
  void write() {
    const Published published = publish(run_.publication);
    reasons_.add(published.reasons);
    for (const std::string& warning : published.warnings) delivered_.err.push_back(warning);
    note_sidecar(published.sidecar_fault, published.sidecar_obstacle);
  }

  void show_changes() {
    const Preview changes = preview(run_.publication);
    reasons_.add(changes.reasons);
    note_sidecar(changes.sidecar_fault, changes.sidecar_obstacle);
    delivered_.out = changes.lines;
  }

  void note_sidecar(const std::string& fault, Obstacle obstacle) {
    if (!fault.empty()) reasons_.add(Reason::validation_result_unwritable, fault, obstacle);
  }

  void tell() {
    if (reasons_.empty()) {
      delivered_.out.push_back(run_.success_line);
      return;
    }
    std::string line = fmt::format("power not valid: {}", reasons_.text());
    const std::string& sidecar_path = run_.publication.sidecar_path;
    const bool has_sidecar = !sidecar_path.empty() && !options_.dry_run &&
                             !reasons_.contains(Reason::validation_result_unwritable);
    if (has_sidecar) line += "; see " + sidecar_path;
    delivered_.err.push_back(line);
    tell_remedies(reasons_);
    tell_remedies(run_.causes);
    for (const std::string& hint : run_.hints) delivered_.err.push_back("  " + hint);
  }

  void tell_remedies(const Reasons& reasons) {
    for (const Reasons::Entry& entry : reasons.entries()) {
      delivered_.err.push_back(
          fmt::format("  {}: {}", code(entry.reason), remedy(entry.reason, entry.obstacle)));
    }
  }

  const FinishedRun& run_;
  const DeliveryOptions& options_;
  Reasons reasons_;
  Delivered delivered_;
};

}  // namespace

Delivered deliver(const FinishedRun& run, const DeliveryOptions& options) {
  return Delivery(run, options).deliver();
}

}  // namespace aggregate_power
