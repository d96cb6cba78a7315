// A finished run to its files, and to what its caller is told.
#include "results/deliver.h"

#include <fmt/format.h>

namespace aggregate_power {
namespace {

class Delivery {
 public:
  Delivery(const FinishedRun& run, const DeliveryOptions& options)
      : run_(run), options_(options), reasons_(run.reasons) {}

  CommandOutput deliver() {
    delivered_.err = run_.warnings;
    if (options_.dry_run) {
      show_changes();
    } else {
      write();
    }
    print();
    if (options_.dry_run) delivered_.out.push_back("dry run: nothing was written");
    delivered_.exit_status = reasons_.empty() || !options_.require_power ? 0 : 1;
    return std::move(delivered_);
  }

 private:
  void write() {
    const WriteOutcome outcome_so_far = carry_out(run_.plan);
    reasons_.add(outcome_so_far.reasons);
    for (const std::string& warning : outcome_so_far.warnings) delivered_.err.push_back(warning);
    note_record(outcome_so_far.record_fault, outcome_so_far.record_obstacle);
  }

  void show_changes() {
    const Preview changes = preview(run_.plan);
    reasons_.add(changes.reasons);
    note_record(changes.record_fault, changes.record_obstacle);
    delivered_.out = changes.lines;
  }

  void note_record(const std::string& fault, Obstacle obstacle) {
    if (!fault.empty()) reasons_.add(Reason::validation_result_unwritable, fault, obstacle);
  }

  void print() {
    if (reasons_.empty()) {
      delivered_.out.push_back(run_.success_line);
      return;
    }
    std::string line = fmt::format("power not valid: {}", reasons_.text());
    const std::string& record_path = run_.plan.record_path;
    const bool has_record = !record_path.empty() && !options_.dry_run &&
                            !reasons_.contains(Reason::validation_result_unwritable);
    if (has_record) line += "; see " + record_path;
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
  CommandOutput delivered_;
};

}  // namespace

CommandOutput deliver(const FinishedRun& run, const DeliveryOptions& options) {
  return Delivery(run, options).deliver();
}

}  // namespace aggregate_power
