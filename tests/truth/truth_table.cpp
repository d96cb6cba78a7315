// Simulates, estimates, compares.
#include "truth/truth_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace truth {
namespace {

using aggregate_power::EnergyEstimate;

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

bool has_verdict(const EnergyEstimate& estimate, const std::string& code) {
  return std::ranges::any_of(estimate.verdicts, [&](const auto& one) { return one.code == code; });
}

void count(VerdictFigures& figures, bool due, bool given) {
  ++(due ? figures.due : figures.not_due);
  if (given) ++(due ? figures.found : figures.false_alarms);
}

std::string line_of(const ClassFigures& one) {
  const Figures& f = one.figures;
  return fmt::format(
      "{:9} {:22} {:5} {:7.3f} {:7.3f} {:8.3f} {:7.2f}{} {:7.2f}{} {:6.1f} {:6.2f}\n", one.group,
      one.name, f.runs, 100 * f.mean_error, 100 * f.p95_error, 100 * f.trapezoid_error,
      100 * f.repeatability_width, as_text(f.repeatability), 100 * f.full_width, as_text(f.full),
      100 * f.share_given, f.root_mean_square_sigmas);
}

}  // namespace

Judged judge(const SimulatedRun& run, const EnergyEstimate& estimate) {
  Judged judged;
  judged.has_interval = estimate.is_available();
  if (!judged.has_interval) return judged;
  const double sensor_j = sum_of(run.sensor_j);
  const double true_j = sum_of(run.true_j);
  const auto& total = estimate.total;
  judged.error = std::abs(total.joules / sensor_j - 1);
  judged.trapezoid_error = std::abs(estimate.published_j / sensor_j - 1);
  judged.repeatability_width =
      (total.repeatability_high_j() - total.repeatability_low_j()) / total.joules;
  judged.full_width = (total.high_j() - total.low_j()) / total.joules;
  judged.repeatability.add(total.repeatability_low_j(), sensor_j, total.repeatability_high_j());
  judged.full.add(total.low_j(), true_j, total.high_j());
  judged.repeatability_sigmas = (total.joules - sensor_j) / total.repeatability_j();
  return judged;
}

Figures figures_of(const std::vector<Judged>& judged) {
  Figures figures;
  figures.runs = judged.size();
  std::vector<double> errors;
  for (const Judged& one : judged) {
    if (!one.has_interval) continue;
    errors.push_back(one.error);
    figures.mean_error += one.error;
    figures.trapezoid_error += one.trapezoid_error;
    figures.repeatability_width += one.repeatability_width;
    figures.full_width += one.full_width;
    figures.repeatability.add(one.repeatability);
    figures.full.add(one.full);
    figures.root_mean_square_sigmas += one.repeatability_sigmas * one.repeatability_sigmas;
  }
  if (errors.empty()) return figures;
  const double given = static_cast<double>(errors.size());
  for (double* const figure :
       {&figures.mean_error, &figures.trapezoid_error, &figures.repeatability_width,
        &figures.full_width, &figures.root_mean_square_sigmas}) {
    *figure /= given;
  }
  figures.root_mean_square_sigmas = std::sqrt(figures.root_mean_square_sigmas);
  std::ranges::sort(errors);
  figures.p95_error = errors[static_cast<std::size_t>(0.95 * (given - 1))];
  figures.share_given = given / static_cast<double>(judged.size());
  return figures;
}

TruthTable make_truth_table(std::size_t runs, std::uint64_t first_seed, const std::string& filter,
                            bool verbose) {
  TruthTable table;
  VerdictFigures stuck = {"stuck_sensor"};
  VerdictFigures capped = {"power_capped"};
  VerdictFigures clock = {"clock_offset_suspected"};
  VerdictFigures sparse = {"under_sampled_window"};
  std::vector<std::pair<std::string, std::vector<Judged>>> groups;
  std::vector<Judged> all;
  const std::vector<RunClass> classes = run_classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const RunClass& run_class = classes[c];
    if ((run_class.group + " " + run_class.name).find(filter) == std::string::npos) continue;
    std::vector<Judged> judged;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::uint64_t seed = seed_of(first_seed, c, i);
      const SimulatedRun run = simulate(run_class, seed);
      const EnergyEstimate estimate = estimate_energy(run.question);
      judged.push_back(judge(run, estimate));
      count(stuck, run.is_stuck,
            has_verdict(estimate, stuck.code) ||
                std::ranges::count(estimate.reasons, "stuck_all_window") > 0);
      if (!judged.back().has_interval) continue;
      count(capped, run.is_capped, has_verdict(estimate, capped.code));
      count(clock, run.is_clock_off, has_verdict(estimate, clock.code));
      count(sparse, run.is_under_sampled, has_verdict(estimate, sparse.code));
      if (!verbose) continue;
      const Judged& one = judged.back();
      fmt::print(
          "{} seed {} {} {:.1f} s x {} GPUs, every {} s: error {:+.4f} % ({:.3f} %), "
          "{:.2f} sigmas, width {:.4f} %:",
          run_class.name, seed, name_of(run.shape), run.question.window.duration_s(),
          run.question.gpus.size(), run.period_s,
          100 * std::copysign(one.error, one.repeatability_sigmas), 100 * one.trapezoid_error,
          one.repeatability_sigmas, 100 * one.repeatability_width);
      for (const auto& part : estimate.total.components) {
        if (!part.is_accuracy) {
          fmt::print(" {} {:.4f}", part.name, 100 * part.joules / estimate.total.joules);
        }
      }
      for (const auto& part : estimate.corrections) {
        fmt::print(" [{} {:.2f}]", part.name, 100 * part.joules / estimate.total.joules);
      }
      for (const auto& verdict : estimate.verdicts) fmt::print(" {}", verdict.code);
      for (const auto& assumed : estimate.assumptions) fmt::print(" {}", assumed);
      fmt::print("\n");
    }
    table.classes.push_back({run_class.group, run_class.name, figures_of(judged)});
    if (groups.empty() || groups.back().first != run_class.group) {
      groups.push_back({run_class.group, {}});
    }
    auto& group = groups.back().second;
    group.insert(group.end(), judged.begin(), judged.end());
    const bool is_of_goals = run_class.group != "clock" && !run_class.is_punctual &&
                             run_class.has_limit && !run_class.is_long;
    if (is_of_goals) all.insert(all.end(), judged.begin(), judged.end());
  }
  for (const auto& [name, judged] : groups) table.groups.push_back({name, "", figures_of(judged)});
  table.groups.push_back({"all", "", figures_of(all)});
  table.verdicts = {stuck, capped, clock, sparse};
  return table;
}

const Figures& TruthTable::group(const std::string& name) const {
  for (const ClassFigures& one : groups) {
    if (one.group == name) return one.figures;
  }
  throw std::out_of_range("no group " + name);
}

const VerdictFigures& TruthTable::verdict(const std::string& code) const {
  for (const VerdictFigures& one : verdicts) {
    if (one.code == code) return one;
  }
  throw std::out_of_range("no verdict " + code);
}

std::string as_text(const TruthTable& table) {
  std::string text = fmt::format(
      "in percent                         runs   error     p95  trapez.  repeat.{0}    full{0}  "
      "given sigmas\n",
      kCoverageHead);
  for (const ClassFigures& one : table.classes) text += line_of(one);
  text += '\n';
  for (const ClassFigures& one : table.groups) text += line_of(one);
  text += '\n';
  for (const VerdictFigures& one : table.verdicts) {
    text += fmt::format("{:24} recall {:5.1f} % of {}, false alarms {:5.2f} % of {}\n", one.code,
                        100 * one.recall(), one.due, 100 * one.alarm_rate(), one.not_due);
  }
  return text;
}

}  // namespace truth
