// Plans, simulates what was planned, compares.
#include "truth/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "decide/compare/compare.h"
#include "truth/rounds.h"
#include "truth/simulated_run.h"

namespace truth {
namespace {

using namespace aggregate_power;

// What a measurement adds to what a run used.
struct MeasuredError {
  double error = 0;
  double stated = 0;  // repeatability; both relative
};

// Of runs on the same boards: what the sensors would show with perfect time resolution counts.
std::vector<MeasuredError> measured_errors(std::size_t runs, std::uint64_t first_seed) {
  const RunClass serving = {.group = "plan",
                            .name = "serving",
                            .shapes = {Shape::serving},
                            .sensors = {Sensor::average_1s},
                            .periods_s = {0.2},
                            .is_punctual = true};
  std::vector<MeasuredError> errors;
  for (std::size_t i = 0; i < runs; ++i) {
    const SimulatedRun run = simulate(serving, first_seed + i);
    const EnergyEstimate estimate = estimate_energy(run.question);
    if (!estimate.is_available()) continue;
    double sensor_j = 0;
    for (const double joules : run.sensor_j) sensor_j += joules;
    errors.push_back({estimate.total.joules / sensor_j - 1,
                      estimate.total.repeatability_j() / estimate.total.joules});
  }
  return errors;
}

double root_mean_square(const std::vector<MeasuredError>& errors, double MeasuredError::*what) {
  double squares = 0;
  for (const MeasuredError& one : errors) squares += one.*what * (one.*what);
  return std::sqrt(squares / static_cast<double>(errors.size()));
}

// Runs of one comparison, one after the other.
class Bench {
 public:
  Bench(const PlanClass& of, const std::vector<MeasuredError>& errors, Random& random)
      : of_(of), errors_(errors), random_(random) {}

  void measure(double change, RepeatedValues& side) {
    const MeasuredError& error = errors_[random_.below(errors_.size())];
    const double used = 100 * (1 + change) * (1 + random_.normal(of_.spread)) *
                        (1 + of_.drift * static_cast<double>(runs_++));
    side.values.push_back({.value = used * (1 + error.error), .repeatability = error.stated});
  }

  // Base, new, new, base and so on.
  void measure_both(std::size_t repeats, double change, RunComparison& comparison) {
    for (std::size_t k = 0; k < repeats; ++k) {
      const bool base_first = comparison.base.repeats.values.size() % 2 == 0;
      if (base_first) measure(0, comparison.base.repeats);
      measure(change, comparison.next.repeats);
      if (!base_first) measure(0, comparison.base.repeats);
    }
  }

 private:
  const PlanClass& of_;
  const std::vector<MeasuredError>& errors_;
  Random& random_;
  std::size_t runs_ = 0;
};

PowerQuestion known_question(const PlanClass& of, const std::vector<MeasuredError>& errors) {
  return {.change = of.change,
          .margin = of.margin,
          .spread = std::hypot(of.spread, root_mean_square(errors, &MeasuredError::error)),
          .stated = root_mean_square(errors, &MeasuredError::stated)};
}

PowerQuestion piloted_question(const PlanClass& of, const std::vector<MeasuredError>& errors,
                               Random& random) {
  Bench bench(of, errors, random);
  RepeatedValues pilots;
  for (std::size_t k = 0; k < of.pilots; ++k) bench.measure(0, pilots);
  PowerQuestion question = power_question(pilots, pilots, 0, of.margin, kChangeAlpha);
  question.spread_freedom = static_cast<double>(of.pilots) - 1;
  question.change = of.change;
  return question;
}

PlanFigures figures_of(const PlanClass& of, const std::vector<MeasuredError>& errors,
                       std::size_t comparisons, Random& random) {
  PlanFigures figures{.of = of};
  PowerQuestion question = known_question(of, errors);
  const CompareRule rule = {.metric = "x", .margin = of.margin};
  const auto share = 1 / static_cast<double>(comparisons);
  std::size_t repeats = 0;
  double promised = 0;
  double change = of.change;
  for (std::size_t i = 0; i < comparisons; ++i) {
    if (of.pilots > 0) question = piloted_question(of, errors, random);
    if (of.pilots > 0 || i == 0) {
      repeats = repeats_for_power(question, kUsualPower).value_or(kMostRepeats);
      promised = decided_share(question, repeats, repeats);
    }
    if (of.at_smallest && i == 0) {
      change = smallest_change(question, kUsualPower, repeats).value_or(change);
      promised = kUsualPower;
    }
    RunComparison comparison;
    Bench(of, errors, random).measure_both(repeats, change, comparison);
    judge_change(comparison, rule);
    const ChangeVerdict right =
        change > of.margin ? ChangeVerdict::worse : ChangeVerdict::equivalent;
    figures.repeats += share * static_cast<double>(repeats);
    figures.promised += share * promised;
    if (comparison.verdict == right) {
      figures.right += share;
    } else if (comparison.verdict != ChangeVerdict::insufficient) {
      figures.wrong += share;
    }
  }
  return figures;
}

MoreFigures more_figures(const PlanClass& of, std::size_t repeats, std::size_t comparisons,
                         Random& random) {
  MoreFigures figures{
      .change = of.change, .margin = of.margin, .spread = of.spread, .repeats = repeats};
  const std::vector<MeasuredError> exact = {{}};
  const CompareRule rule = {.metric = "x", .margin = of.margin};
  std::vector<double> asked;
  double right = 0;
  for (std::size_t i = 0; i < comparisons; ++i) {
    RunComparison comparison;
    Bench bench(of, exact, random);
    bench.measure_both(repeats, of.change, comparison);
    judge_change(comparison, rule);
    if (comparison.verdict != ChangeVerdict::insufficient) continue;
    const auto more = more_repeats(comparison.base.repeats, comparison.next.repeats,
                                   *comparison.change, 0, of.margin, rule.alpha);
    if (!more) continue;  // it says that no number of repeats would decide
    asked.push_back(static_cast<double>(*more));
    bench.measure_both(*more, of.change, comparison);
    judge_change(comparison, rule);
    right += comparison.verdict == ChangeVerdict::worse ||
                     comparison.verdict == ChangeVerdict::equivalent
                 ? 1
                 : 0;
  }
  if (asked.empty()) return figures;
  std::ranges::sort(asked);
  figures.open = static_cast<double>(asked.size()) / static_cast<double>(comparisons);
  figures.more = asked[asked.size() / 2];
  figures.right = right / static_cast<double>(asked.size());
  return figures;
}

// Whether one of the looks says that something changed.
bool errs(std::size_t looks, std::size_t repeats_each, const std::vector<double>& alphas,
          Random& random) {
  const PlanClass of = {.name = {}, .spread = 0.005};
  const std::vector<MeasuredError> exact = {{}};
  Bench bench(of, exact, random);
  RunComparison comparison;
  bool found = false;
  for (std::size_t look = 0; look < looks && !found; ++look) {
    bench.measure_both(repeats_each, 0, comparison);
    const auto change =
        relative_change(comparison.base.repeats, comparison.next.repeats, 0, alphas[look]);
    found = change->low > 0 || change->high < 0;
  }
  return found;
}

}  // namespace

std::vector<PlanClass> plan_classes() {
  std::vector<PlanClass> classes;
  for (const double spread : {0.003, 0.005, 0.01, 0.02}) {
    for (const double change : {0.01, 0.02}) {
      classes.push_back({.name = "known", .change = change, .spread = spread});
    }
  }
  for (const double spread : {0.003, 0.005, 0.01}) {
    classes.push_back(
        {.name = "just found", .change = 0.01, .spread = spread, .at_smallest = true});
  }
  for (const double spread : {0.005, 0.01}) {
    classes.push_back({.name = "margin", .margin = 0.01, .spread = spread});
  }
  classes.push_back({.name = "change and margin", .change = 0.02, .margin = 0.01, .spread = 0.01});
  for (const std::size_t pilots : {3, 4, 5, 8, 20}) {
    classes.push_back({.name = "pilots", .change = 0.02, .spread = 0.01, .pilots = pilots});
    classes.push_back(
        {.name = "pilots", .change = 0.01, .spread = 0.01, .drift = 0.0001, .pilots = pilots});
  }
  classes.push_back({.name = "drift", .change = 0.01, .spread = 0.01, .drift = 0.0001});
  classes.push_back({.name = "drift", .change = 0.01, .spread = 0.01, .drift = 0.0002});
  return classes;
}

std::vector<PlanFigures> make_plan_table(std::size_t comparisons, std::uint64_t first_seed) {
  const std::vector<MeasuredError> errors = measured_errors(runs_of_each(60), first_seed);
  Random random(first_seed);
  std::vector<PlanFigures> table;
  for (const PlanClass& of : plan_classes()) {
    // Each comparison has a plan of its own, which takes time.
    const std::size_t fewer = of.pilots > 0 ? (comparisons + 3) / 4 : comparisons;
    table.push_back(figures_of(of, errors, fewer, random));
  }
  return table;
}

std::vector<MoreFigures> make_more_table(std::size_t comparisons, std::uint64_t first_seed) {
  std::vector<MoreFigures> table;
  Random random(first_seed);
  for (const double margin : {0.0, 0.02}) {
    for (const double change : {0.007, 0.01, 0.014, 0.02}) {
      for (const std::size_t repeats : {std::size_t{3}, std::size_t{5}, std::size_t{10}}) {
        const PlanClass of = {.name = {}, .change = change, .margin = margin, .spread = 0.01};
        table.push_back(more_figures(of, repeats, comparisons, random));
      }
    }
  }
  return table;
}

std::vector<LookFigures> make_look_table(const std::vector<std::size_t>& all_looks,
                                         std::size_t comparisons, std::size_t repeats_each,
                                         std::uint64_t first_seed) {
  std::vector<LookFigures> table;
  for (const std::size_t looks : all_looks) {
    LookFigures figures{.looks = looks};
    const auto rate = [&](const std::vector<double>& alphas) {
      Random random(first_seed);
      std::size_t errors = 0;
      for (std::size_t i = 0; i < comparisons; ++i)
        errors += errs(looks, repeats_each, alphas, random);
      return static_cast<double>(errors) / static_cast<double>(comparisons);
    };
    const auto alphas_by = [&](Spending spending) {
      std::vector<double> alphas;
      for (std::size_t k = 1; k <= looks; ++k) {
        alphas.push_back(look_alpha({.number = k, .planned = looks, .spending = spending}));
      }
      return alphas;
    };
    figures.plain = rate(std::vector<double>(looks, kChangeAlpha));
    figures.obrien_fleming = rate(alphas_by(Spending::obrien_fleming));
    figures.pocock = rate(alphas_by(Spending::pocock));
    table.push_back(figures);
  }
  return table;
}

std::string as_text(const std::vector<PlanFigures>& table) {
  std::string text =
      "in percent           change margin spread  drift pilots repeats promised   right  wrong\n";
  for (const PlanFigures& row : table) {
    text += fmt::format(
        "{:20} {:6.2f} {:6.2f} {:6.2f} {:6.3f} {:6} {:7.1f} {:8.1f} {:7.1f} {:6.1f}\n", row.of.name,
        100 * row.of.change, 100 * row.of.margin, 100 * row.of.spread, 100 * row.of.drift,
        row.of.pilots, row.repeats, 100 * row.promised, 100 * row.right, 100 * row.wrong);
  }
  return text;
}

std::string as_text(const std::vector<MoreFigures>& table) {
  std::string text = "in percent  change margin spread repeats   open    more   right\n";
  for (const MoreFigures& row : table) {
    text += fmt::format("{:18.2f} {:6.2f} {:6.2f} {:7} {:6.1f} {:7} {:7.1f}\n", 100 * row.change,
                        100 * row.margin, 100 * row.spread, row.repeats, 100 * row.open, row.more,
                        100 * row.right);
  }
  return text;
}

std::string as_text(const std::vector<LookFigures>& table) {
  std::string text =
      "looks   plain  O'Brien-Fleming  Pocock   (percent that find a change where there is none)\n";
  for (const LookFigures& row : table) {
    text += fmt::format("{:5} {:7.2f} {:16.2f} {:7.2f}\n", row.looks, 100 * row.plain,
                        100 * row.obrien_fleming, 100 * row.pocock);
  }
  return text;
}

}  // namespace truth
