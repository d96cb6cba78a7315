// Draws loads of each class and compares.
#include "truth/phase_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace truth {
namespace {

using aggregate_power::PhaseAnswer;
using aggregate_power::PhasePower;

void judge_phase(const PhasePower& power, double true_w, double& bias, double& error,
                 Coverage& coverage) {
  bias += power.watts / true_w - 1;
  error += std::abs(power.watts / true_w - 1);
  const double half_w = 1.96 * power.standard_error_w;
  coverage.add(power.watts - half_w, true_w, power.watts + half_w);
}

PhaseFigures figures_of(const RequestClass& wanted, std::size_t loads, std::uint64_t first_seed) {
  PhaseFigures figures{wanted.name, wanted.is_refused, loads};
  for (std::size_t i = 0; i < loads; ++i) {
    const RequestLoad load = simulate_requests(wanted, first_seed + i);
    const PhaseAnswer answer = phase_energy(load.question);
    if (!answer.energy.refused.empty()) continue;
    ++figures.given;
    if (answer.energy.model != wanted.model) continue;
    ++figures.right_model;
    judge_phase(answer.energy.prefill, load.prefill_w, figures.prefill_bias, figures.prefill_error,
                figures.prefill);
    judge_phase(answer.energy.decode, load.decode_w, figures.decode_bias, figures.decode_error,
                figures.decode);
    figures.width += answer.energy.prefill.standard_error_w / answer.energy.prefill.watts;
  }
  const auto judged = static_cast<double>(std::max<std::size_t>(1, figures.right_model));
  for (double* const sum : {&figures.prefill_bias, &figures.prefill_error, &figures.decode_bias,
                            &figures.decode_error, &figures.width}) {
    *sum /= judged;
  }
  return figures;
}

}  // namespace

std::vector<PhaseFigures> make_phase_table(std::size_t loads, std::uint64_t first_seed,
                                           const std::string& filter) {
  std::vector<PhaseFigures> table;
  std::uint64_t seed = first_seed;
  for (const RequestClass& each : request_classes()) {
    seed += 100000;
    if (each.name.find(filter) == std::string::npos) continue;
    table.push_back(figures_of(each, loads, seed));
  }
  return table;
}

std::string as_text(const std::vector<PhaseFigures>& table) {
  std::string text =
      fmt::format("{:26}{:>7}{:>7}{:>7}{:>9}{:>9}{:>9}{}{:>9}{:>9}{}\n", "", "loads", "given",
                  "model", "prefill", "+-", "s.e.", kCoverageHead, "decode", "+-", kCoverageHead);
  for (const PhaseFigures& row : table) {
    text += fmt::format("{:26}{:7}{:7}{:7}{:8.2f}%{:8.2f}%{:8.2f}%{}{:8.2f}%{:8.2f}%{}\n", row.name,
                        row.loads, row.given, row.right_model, 100 * row.prefill_bias,
                        100 * row.prefill_error, 100 * row.width, as_text(row.prefill),
                        100 * row.decode_bias, 100 * row.decode_error, as_text(row.decode));
  }
  return text;
}

}  // namespace truth
