// What became of one finished run of a store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/text/json_patch.h"
#include "core/record/transaction.h"
#include "store/catalogue/stored_run.h"
#include "store/backfill/zone_cases.h"

namespace aggregate_power {

enum class Outcome {
  patched,
  unchanged,
  not_valid,
  not_recomputable,
  not_writable,
  ambiguous,
  failed,
};
inline constexpr int kOutcomes = 7;
std::string_view outcome_name(Outcome outcome);

// Holds no file open, so that many can wait.
struct Recomputed {
  StoredRun run;          // without trees
  std::string telemetry;  // its displayed path; empty: none
  std::string benchmark;

  Outcome outcome = Outcome::failed;
  bool valid = false;  // its power is valid, now or as before
  Reasons reasons;
  std::vector<std::string> warnings;  // doubts that are not reasons, for people
  std::vector<std::pair<std::string, double>> metrics;
  std::string timezone;
  std::optional<ZoneReport> zone_report;  // how the timezone was found
  // The run among others of its recorder; if it has to wait for them, it has no outcome yet.
  std::optional<ZoneCase> zone_case;
  std::string aggregate_text;                 // store_path_text() of its aggregate, if it waits
  std::optional<ZoneStanding> zone_standing;  // if it waited

  // Our members of the aggregate before, as text; only where it is patched in its place.
  std::vector<JsonEdit> before;
  bool had_record = false;  // an audit record will be replaced
  std::string record_path;  // of the record, where the aggregate is patched in its place

  // What is to be written, if anything; and the files on disk that were read for it, with their
  // facts at that time.
  std::unique_ptr<WritePlan> plan;
  std::vector<std::pair<std::string, FileFacts>> inputs;

  bool is_written() const { return outcome == Outcome::patched || outcome == Outcome::not_valid; }
  // Whether its aggregate has the metrics, now or as before.
  bool stands() const { return outcome == Outcome::patched || outcome == Outcome::unchanged; }
};

// Whether the files that were read for it have not changed.
bool inputs_are_unchanged(const Recomputed& recomputed);

}  // namespace aggregate_power
