// Recomputes one finished run of a store: from its pieces to what is to be written, or to why
// nothing is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "energy/zone_witnesses.h"
#include "results/transaction.h"
#include "store/recompute_options.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"
#include "store/zone_cases.h"

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

  // What is to be written, if anything; and the files on disk that were read for it, with their
  // facts at that time.
  std::unique_ptr<WritePlan> plan;
  std::vector<std::pair<std::string, FileFacts>> inputs;
};

// Why a run cannot be recomputed, whatever its pieces: it has no aggregate, or the aggregate is in
// an archive and there is no other folder for results. Returns nullopt if it can.
std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options);

// Recomputes a run that is not refused. It is not recomputable if it has no pieces of some kind. If
// there are several, the ones that fit each other are taken, provided that only these do. Never
// throws because of the run. `witnesses` are those of the zone besides the recording; without them,
// a run whose zone nothing states has no outcome yet.
Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses = nullptr);

// Whether the files that were read for it have not changed.
bool inputs_are_unchanged(const Recomputed& recomputed);

}  // namespace aggregate_power
