// Holds the requests of a run against an objective, and divides its energy by those that met it.
#include "runs/measure/good_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "core/load/benchmark.h"
#include "core/model/code_descriptions.h"
#include "core/record/request_json.h"
#include "energy/shares/good_work.h"
#include "runs/measure/interval_text.h"

namespace aggregate_power::runs {
namespace {

constexpr double kMostDifference = 0.01;  // between two counts of the same requests

bool is_near(double a, double b) {
  return std::abs(a - b) <= kMostDifference * std::max(std::abs(a), std::abs(b));
}

std::string rule_of(const std::string& code) {
  return std::string(word_in(request_refusals(), code)->rule);
}

void refuse(std::string_view code, std::string why, GoodWork& work) {
  work.refused = no_request_energy(code);
  work.why = std::move(why);
}

// A list with more or fewer successes is of another run, or not complete.
void refuse_other_list(std::int64_t completed, GoodWork& work) {
  const auto served = static_cast<double>(work.good + work.late + work.unknown);
  if (completed <= 0 || is_near(served, static_cast<double>(completed))) return;
  refuse("list_is_of_other_requests",
         fmt::format("{} lists {:.0f} successful requests of the window, and the result states {}",
                     printable_path(work.source), served, completed),
         work);
}

// A list with fewer successes than its own file states is not complete.
void refuse_short_list(const RequestFile& file, GoodWork& work) {
  const auto listed = std::ranges::count_if(file.requests, [](const RequestTimes& request) {
    return !request.failed && !request.is_warm_up;
  });
  if (listed >= file.completed ||
      is_near(static_cast<double>(listed), static_cast<double>(file.completed)))
    return;
  refuse("list_is_of_other_requests",
         fmt::format("{} lists {} successful requests and states {}", printable_path(work.source),
                     listed, file.completed),
         work);
}

// When requests without Unix times ran in a window that is not their load's, nobody knows.
std::string other_length(const RequestFile& file, Window window) {
  if (file.has_instants && !file.is_monotonic) return {};
  if (!(file.duration_s > 0) || is_length_of(window, file.duration_s)) return {};
  return fmt::format(
      "the requests of {} took {:.3f} s, and the given window has {:.3f} s: give the window of all of them",
      printable_path(file.source), file.duration_s, window.duration_s());
}

std::vector<std::string> count_doubts(std::int64_t completed, const GoodWork& work) {
  std::vector<std::string> doubts;
  const std::size_t served = work.good + work.late + work.unknown;
  if (completed > 0 && std::cmp_not_equal(served, completed)) {
    doubts.push_back(fmt::format("--slo: {} lists {} successful requests, and the result states {}",
                                 printable_path(work.source), served, completed));
  }
  if (work.unknown > 0) {
    doubts.push_back(fmt::format(
        "--slo: {} requests succeeded and lack a time that a limit needs, or have one that cannot be: they do not count as good",
        work.unknown));
  }
  if (work.outside > 0) {
    doubts.push_back(
        fmt::format("--slo: {} requests of the list ended outside the window: they do not count",
                    work.outside));
  }
  return doubts;
}

// What the generator says about an objective of its own.
std::vector<std::string> differences(const LoadReading& load, const GoodWork& work,
                                     const Slo& slo) {
  std::vector<std::string> texts;
  const auto compare = [&](std::optional<double> stated, double ours, const char* what) {
    if (!stated || is_near(*stated, ours)) return;
    texts.push_back(
        fmt::format("--slo: {} states {} {}, and by {} it is {}: its limits may be others",
                    load.generator, shown_number(*stated), what, slo.text(), shown_number(ours)));
  };
  const auto good = static_cast<double>(work.good);
  compare(load.stated_good, good, "good requests");
  if (!load.stated_good) {
    compare(load.stated_goodput_per_s, work.per_second(good), "good requests per second");
  }
  if (load.stated_constraints_met && *load.stated_constraints_met != work.holds()) {
    texts.push_back(
        fmt::format("--slo: by {} its own constraints were {}, and {} {}: its limits may be others",
                    load.generator, *load.stated_constraints_met ? "met" : "not met", slo.text(),
                    *load.stated_constraints_met ? "does not hold" : "holds"));
  }
  return texts;
}

void set_energy(const Result& result, GoodWork& work) {
  const auto energy = std::ranges::find(result.metrics, "total_gpu_energy_j", &Metric::key);
  if (!result.is_valid() || energy == result.metrics.end()) return;
  const results::BestNumber best = results::best_number(result, *energy);
  work.energy_j = best.value;
  work.energy_bounds_j = best.bounds;
}

void set_missed(const GoodWorkInput& input, RequestFile file,
                const std::vector<shares::RequestOutcome>& outcomes, Result& result,
                GoodWork& work) {
  if (!work.energy_j || input.power == nullptr || !file.has_instants) return;
  const auto missed = energy_of_requests(input.run, input.recording, *input.power, result,
                                         std::move(file.requests), missed_requests(outcomes));
  if (!missed) return;
  // The curve sums to what is published.
  work.missed_j = missed->joules / *value_of(result.metrics, "total_gpu_energy_j") * *work.energy_j;
  work.missed_bounds_j = missed->bounds;
}

}  // namespace

std::vector<bool> missed_requests(const std::vector<shares::RequestOutcome>& outcomes) {
  return mapped<bool>(outcomes, [](const shares::RequestOutcome outcome) {
    return outcome != shares::RequestOutcome::good &&
           outcome != shares::RequestOutcome::not_counted;
  });
}

GoodWork good_work_of(RequestFile& file, const Slo& slo, Window window, bool is_tied,
                      std::int64_t completed, std::vector<shares::RequestOutcome>* outcomes) {
  const bool is_assumed = file.place(window, is_tied);
  shares::JudgedRequests judged = shares::judge_requests(file.requests, window, slo);
  GoodWork& work = judged.work;
  if (is_assumed) work.assumptions.push_back(assumption("first_request_starts_with_window"));
  work.failed += file.unlisted_failures;
  work.requests += file.unlisted_failures;
  work.source = file.source;
  if (!work.refused.empty()) {
    work.why = fmt::format("{}: {}", printable_path(file.source), rule_of(work.refused));
  } else {
    refuse_short_list(file, work);
    refuse_other_list(completed, work);
  }
  work.good_share = shares::wilson_interval(work.good, work.requests);
  if (outcomes != nullptr) *outcomes = std::move(judged.outcomes);
  return std::move(work);
}

void add_good_work(const GoodWorkInput& input, Result& result) {
  const Slo& slo = input.run.options.slo;
  if (!slo.is_asked()) return;
  GoodWork& work = result.good_work.emplace();
  work.slo = slo;
  work.kept.resize(slo.limits.size());
  if (!result.load) return refuse("power_not_valid", rule_of("power_not_valid"), work);
  const std::string& path =
      input.run.options.file.empty() ? input.run.load_file : input.run.options.file;
  try {
    RequestFile file = read_requests(path, NeededTimes::latencies);
    const bool is_tied = result.window_source == window_source_name(WindowSource::tied) &&
                         is_same_file(path, input.run.load_file);
    const Window window = result.load->window;
    if (std::string why = input.is_window_given ? other_length(file, window) : ""; !why.empty()) {
      refuse("list_is_of_other_requests", std::move(why), work);
      result.warnings.push_back(fmt::format("--slo: {}: {}", work.refused, work.why));
      return;
    }
    const std::int64_t completed = input.is_window_given ? 0 : result.load->completed;
    std::vector<shares::RequestOutcome> outcomes;
    work = good_work_of(file, slo, window, is_tied, completed, &outcomes);
    if (work.refused.empty()) {
      set_energy(result, work);
      set_missed(input, std::move(file), outcomes, result, work);
      for (const auto& texts : {shares::slo_doubts(slo, work), count_doubts(completed, work),
                                differences(input.load, work, slo)}) {
        append(result.warnings, texts);
      }
    }
  } catch (const Error& error) {
    refuse("no_list_of_requests", error.what(), work);
  }
  if (work.refused.empty()) return;
  result.warnings.push_back(fmt::format("--slo: {}: {}", work.refused, work.why));
}

// ---- Roles

namespace {

// An energy of some of the GPUs over the good output tokens.
std::optional<EnergyRatio> role_per_token(const RoleWork& role, const GoodWork* work) {
  if (work == nullptr) return std::nullopt;
  GoodWork of_role = *work;
  of_role.energy_j = role.energy_j;
  of_role.energy_bounds_j = role.bounds_j;
  return energy_per(of_role, work->output_tokens);
}

double role_power_w(const RoleWork& role, double duration_s) {
  return role.energy_j / duration_s / static_cast<double>(role.gpus);
}

}  // namespace

std::vector<RoleWork> work_of_roles(const std::vector<RoleShare>& shares, const Result& result) {
  std::vector<RoleWork> roles;
  if (shares.empty() || !result.is_valid()) return roles;
  std::vector<RecordedGpu> gpus;
  for (const GpuResult& gpu : result.gpus) {
    gpus.emplace_back();
    gpus.back().host = kRoleHost;
    gpus.back().id = gpu.name;
  }
  const RoleAssignment assigned = assign_roles(shares, gpus);
  if (!assigned.reasons.empty()) throw Error("--role: " + assigned.reasons.text());
  const Uncertainty* const known = interval_of(result);
  for (const Role role : {Role::prefill, Role::decode, Role::agg}) {
    RoleWork work{.role = role};
    Interval bounds_j{0, 0};
    std::size_t bounded = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (assigned.roles[i] != role) continue;
      ++work.gpus;
      work.energy_j += result.gpus[i].energy.energy_j;
      if (known == nullptr || !known->energy.is_available()) continue;
      const auto own = std::ranges::find(known->energy.gpus, gpus[i].id, &GpuEstimate::name);
      if (own == known->energy.gpus.end()) continue;
      ++bounded;
      bounds_j = {bounds_j.low + own->energy.low_j(), bounds_j.high + own->energy.high_j()};
    }
    if (work.gpus == 0) continue;
    if (bounded == work.gpus) work.bounds_j = bounds_j;
    roles.push_back(work);
  }
  return roles;
}

Json roles_json(const std::vector<RoleWork>& roles, const GoodWork* work, double duration_s) {
  return list_of(roles, [&](const RoleWork& role) {
    Json json = {{"role", role_name(role.role)}, {"gpus", role.gpus}};
    set_ratio("energy_j", EnergyRatio{role.energy_j, role.bounds_j}, json);
    json["avg_power_w"] = rounded(role_power_w(role, duration_s), kAuditDecimals);
    set_ratio("joules_per_good_output_token", role_per_token(role, work), json);
    return json;
  });
}

std::vector<std::string> role_texts(const std::vector<RoleWork>& roles, const GoodWork* work,
                                    double duration_s) {
  std::vector<std::string> texts;
  for (const RoleWork& role : roles) {
    std::string text = fmt::format("{}, {} {}: {}, {} W each", role_name(role.role), role.gpus,
                                   role.gpus == 1 ? "GPU" : "GPUs",
                                   energy_ratio_text({role.energy_j, role.bounds_j}, " J"),
                                   shown_number(role_power_w(role, duration_s)));
    if (const auto ratio = role_per_token(role, work)) {
      text += ", " + energy_ratio_text(*ratio, " J per good output token");
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// ---- Correct answers

namespace {

AnswerQuality stated_quality(const QualityOptions& options, std::vector<std::string>& warnings) {
  if (!options.file.empty()) return generators::read_quality(options.file, warnings);
  const std::string why =
      generators::impossible_share(options.accuracy.value_or(0), options.questions.value_or(0));
  if (!why.empty()) throw Error("--accuracy: " + why);
  return {.evaluator = "stated",
          .what = "accuracy",
          .accuracy = options.accuracy.value_or(0),
          .questions = options.questions.value_or(0)};
}

void check_model(const AnswerQuality& quality, const std::string& model,
                 std::vector<std::string>& warnings) {
  if (quality.model.empty() || model.empty()) {
    warnings.push_back(fmt::format(
        "--quality: {} does not name its model, so nothing says that its speed and its quality are of one configuration",
        quality.model.empty() ? "the evaluation" : "the run"));
  } else if (!generators::is_same_model(quality.model, model)) {
    throw Error(fmt::format("--quality: it is of the model {}, and the run is of {}",
                            printable(quality.model, 100), printable(model, 100)));
  }
}

void set_joules(const Result& result, CorrectAnswers& correct) {
  const double accuracy = correct.quality.accuracy;
  const auto each = std::ranges::find(result.metrics, "joules_per_successful_query", &Metric::key);
  if (!result.is_valid()) {
    correct.refused = "the run has no energy";
  } else if (each == result.metrics.end()) {
    correct.refused = "the result does not say how many requests it has";
  } else if (!(accuracy > 0)) {
    correct.refused = "no answer is correct";
  }
  if (!correct.refused.empty()) return;
  const results::BestNumber best = results::best_number(result, *each);
  correct.joules = best.value / accuracy;
  correct.bounds.reset();
  if (best.bounds && best.bounds->low > 0) {
    correct.bounds =
        shares::quotient_interval(best.value, *best.bounds, accuracy, correct.accuracy_bounds);
  }
}

}  // namespace

void add_correct_answers(const QualityOptions& options, const std::string& model, Result& result) {
  CorrectAnswers& correct = result.answers.emplace();
  const AnswerQuality& quality = correct.quality = stated_quality(options, result.warnings);
  check_model(quality, model, result.warnings);
  const double count = std::round(quality.accuracy * static_cast<double>(quality.questions));
  correct.accuracy_bounds = shares::wilson_interval(static_cast<std::size_t>(count),
                                                    static_cast<std::size_t>(quality.questions));
  set_joules(result, correct);
}

void drop_shown_interval(Result& result) {
  result.shown_interval.reset();
  if (result.answers) set_joules(result, *result.answers);
  if (!result.good_work || !result.good_work->energy_j) return;
  GoodWork& work = *result.good_work;
  const double estimate_j = *work.energy_j;
  set_energy(result, work);
  if (work.missed_j) *work.missed_j *= *work.energy_j / estimate_j;
  work.missed_bounds_j.reset();
}

}  // namespace aggregate_power::runs
