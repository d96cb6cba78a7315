// One finished run of a store, recomputed: from its pieces to what is to be written, or to why
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
  std::string telemetry;  // as shown; empty: none
  std::string benchmark;

  Outcome outcome = Outcome::failed;
  bool valid = false;  // power is, now or as before
  Reasons reasons;
  std::vector<std::string> warnings;  // what is doubtful and yet no reason, for people
  std::vector<std::pair<std::string, double>> metrics;
  std::string timezone;
  std::optional<ZoneReport> zone_report;  // how the timezone was come by
  // The run among others of its recorder; it may have to wait for them, and then has no outcome.
  std::optional<ZoneCase> zone_case;
  std::string aggregate_text;  // store_path_text() of its aggregate, of one that waits
  std::optional<ZoneStanding> zone_standing;  // of one that waited

  // What is to be written, if anything; with what was read for it on disk, and what it was then.
  std::unique_ptr<WritePlan> plan;
  std::vector<std::pair<std::string, FileFacts>> inputs;
};

// Why a run cannot be recomputed, whatever its pieces: it has no aggregate, or that is in an
// archive and there is no other folder for results. Nothing: it can.
std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options);

// A run that is not refused. Without pieces of a kind it is not recomputable. Of several, those are
// taken that fit each other, if only these do. Never throws for what is wrong with the run.
// `witnesses` are those of the zone besides the recording; without them, a run whose zone nothing
// states has no outcome yet.
Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses = nullptr);

// Whether what was read for it is still what is there.
bool inputs_are_unchanged(const Recomputed& recomputed);

}  // namespace aggregate_power
