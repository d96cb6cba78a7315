// The versions of the original whose rules can judge a run.
#pragma once

#include <string_view>

namespace aggregate_power {

// Contract.md describes the rules of August 2026, contract-october.md what changed in them since.
enum class Contract { august, october };

// What October changed.
struct ContractRules {
  std::string_view name;
  bool refuses_failed_benchmark = false;
  bool allows_rows_without_time = false;  // away from the window
  bool bounds_gap_energy = false;
  bool keeps_order_of_metrics = false;  // else the dashboard's come last
  bool has_full_audit = false;          // power_audit, and reasons of valid runs too
  bool hides_refused_package = false;   // its record says only the reasons
  bool groups_workers_by_host = false;
  bool trusts_package_evidence = false;  // what the recorder stored decides on gaps and bytes
  bool judges_own_window = false;        // faults elsewhere withhold nothing
  bool warns_of_packages = false;
  bool checks_run_name = false;      // against a package's window
  bool finds_gpus_of_node = false;   // of agents, from the aggregate
  bool names_audit_by_logs = false;  // in power_audit
  bool reads_environment = false;    // for a package that was handed over
};
inline constexpr ContractRules kContracts[] = {
    // by Contract
    {"august"},
    {"october", true, true, true, true, true, true, true, true, true, true, true, true, true, true},
};
constexpr const ContractRules& rules_of(Contract contract) {
  return kContracts[static_cast<int>(contract)];
}

constexpr std::string_view name(Contract contract) { return rules_of(contract).name; }
// Any other text is October's.
constexpr Contract contract_named(std::string_view text) {
  return text == kContracts[0].name ? Contract::august : Contract::october;
}

}  // namespace aggregate_power
