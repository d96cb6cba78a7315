// What good work of a run used: requests that met an objective, and answers that are correct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "core/load/load_files.h"
#include "energy/shares/good_work.h"
#include "generators/quality_file.h"
#include "generators/request_file.h"
#include "recorders/recording.h"
#include "runs/deployment/roles.h"
#include "runs/measure/requests.h"
#include "runs/measure/seen_power.h"

namespace aggregate_power::runs {

// The requests of a list that met `slo` in the window; moves them to its clock. `completed`: that
// the result states; 0: unknown, or it is of another window.
GoodWork good_work_of(RequestFile& file, const Slo& slo, Window window, bool is_tied,
                      std::int64_t completed,
                      std::vector<shares::RequestOutcome>* outcomes = nullptr);

// Those that count and are not good.
std::vector<bool> missed_requests(const std::vector<shares::RequestOutcome>& outcomes);

// Adds to a run that was measured what `run.options.slo` asks for. The doubts become warnings; the
// generator's own verdict is compared. `power`: null for several recordings. A list that cannot be
// read is a refusal.
struct GoodWorkInput {
  const RequestRun& run;
  const Recording& recording;
  const SeenPower* power;
  const LoadReading& load;
  bool is_window_given = false;  // by the caller: the counts may be of another window
};
void add_good_work(const GoodWorkInput& input, Result& result);

// ---- Roles: prefill and decode workers

// The GPUs of one role, together.
struct RoleWork {
  Role role = Role::agg;
  std::size_t gpus = 0;
  double energy_j = 0;
  // As far apart as if the errors of all its GPUs were one.
  std::optional<Interval> bounds_j = {};
};
// Of a run that is valid, all of whose GPUs have a role. The host of the shares is
// kRoleHost. Throws Error for roles that do not match the recorded GPUs.
inline constexpr const char* kRoleHost = "recording";
std::vector<RoleWork> work_of_roles(const std::vector<RoleShare>& shares, const Result& result);
// `work`: null: there is no objective.
Json roles_json(const std::vector<RoleWork>& roles, const GoodWork* work, double duration_s);
std::vector<std::string> role_texts(const std::vector<RoleWork>& roles, const GoodWork* work,
                                    double duration_s);

// ---- Correct answers

// Adds to a run that was measured what its answers cost. `model`: the measured run's; empty:
// unknown. Throws Error and FileError for what cannot be read, and Error for another model.
void add_correct_answers(const QualityOptions& options, const std::string& model, Result& result);

// Drops an interval that only people see: good work and answers are then of the published energy.
void drop_shown_interval(Result& result);

}  // namespace aggregate_power::runs
