// Groups runs by what they were asked to do, and finds the configurations that no other one beats.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "decide/compare/compare.h"
#include "decide/recommend/recommend.h"
#include "decide/recommend/run_limits.h"
#include "energy/shares/good_work.h"

namespace aggregate_power {
namespace {

const CompareRule kByEnergy = {.metric = kDefaultCompareMetric};

NumberOfRuns energy_of_point(const FrontPoint& point, const CompareRule& rule) {
  const RunComparison repeats = compare_repeats(point.runs, {}, rule);
  NumberOfRuns number;
  if (!repeats.base.statistics) return number;
  number.value = repeats.base.statistics->mean;
  if (repeats.base.statistics->low) number.low = *repeats.base.statistics->low;
  if (repeats.base.statistics->high) number.high = *repeats.base.statistics->high;
  return number;
}

// How many answers the quality of a run is known by; 0: unknown.
double questions_of(const PublishedRun& run, const FrontQuestion& question) {
  for (const std::string& key : {question.quality_key + "_questions", std::string("questions")}) {
    const double stated = sweep_number(run.text_of(key));
    if (stated >= 1) return stated;
  }
  return question.questions;
}

// Repeats of a configuration answer the same questions: the interval is one run's, of the fewest.
NumberOfRuns quality_of_point(const FrontPoint& point, const FrontQuestion& question) {
  NumberOfRuns number;
  double questions = std::numeric_limits<double>::infinity();
  for (const PublishedRun* const run : point.runs) {
    const double value = sweep_number(run->text_of(question.quality_key));
    number.value += value / static_cast<double>(point.runs.size());
    questions = std::min(questions, questions_of(*run, question));
  }
  constexpr double kMostQuestions = 1e12;
  if (!(questions >= 1 && questions < kMostQuestions && number.value >= 0 && number.value <= 1)) {
    return number;
  }
  const Interval bounds =
      shares::wilson_interval(static_cast<std::size_t>(std::round(number.value * questions)),
                              static_cast<std::size_t>(questions));
  return {number.value, bounds.low, bounds.high};
}

bool has_bounds(const NumberOfRuns& number) {
  return std::isfinite(number.low) && std::isfinite(number.high);
}

bool is_more_better(const std::string& key, const FrontQuestion& question) {
  return key == question.quality_key;
}

class FrontMaker {
 public:
  FrontMaker(SloFront& front, const FrontQuestion& question) : front_(front), question_(question) {}

  void mark() {
    std::ranges::stable_sort(front_.points, {},
                             [](const FrontPoint& point) { return point.numbers.front().value; });
    std::vector<std::vector<const PublishedRun*>> runs;
    for (const FrontPoint& point : front_.points) runs.push_back(point.runs);
    is_less_ = certain_rises(std::move(runs), kByEnergy);
    for (FrontPoint& point : front_.points) {
      point.ties.resize(front_.keys.size());
      for (const FrontPoint& other : front_.points) {
        for (std::size_t i = 0; i < front_.keys.size() && &other != &point; ++i) {
          if (is_tie(point, other, i)) point.ties[i].push_back(place(other));
        }
      }
    }
    // Ties are not transitive: in a ring each point would beat another one.
    for (const bool may_tie : {true, false}) {
      for (FrontPoint& point : front_.points) {
        point.is_on_front = std::ranges::none_of(
            front_.points, [&](const FrontPoint& other) { return beats(other, point, may_tie); });
      }
      if (std::ranges::any_of(front_.points, &FrontPoint::is_on_front)) break;
    }
    mark_knee();
    find_cheapest();
  }

 private:
  std::size_t place(const FrontPoint& point) const {
    return static_cast<std::size_t>(&point - front_.points.data());
  }

  // Whether one energy is less than the other by more than what is not known.
  bool is_certainly_less(const FrontPoint& a, const FrontPoint& b) const {
    return is_less_[place(a) * front_.points.size() + place(b)];
  }

  // As a number that is better if it is less.
  double cost(const FrontPoint& point, std::size_t i) const {
    const double value = point.numbers[i].value;
    return is_more_better(front_.keys[i], question_) ? -value : value;
  }

  bool is_better_by_interval(const FrontPoint& a, const FrontPoint& b, std::size_t i) const {
    if (i == 0) return is_certainly_less(a, b);
    if (!is_more_better(front_.keys[i], question_)) return a.numbers[i].high < b.numbers[i].low;
    // Of a quality that is stated without questions every difference counts.
    if (!has_bounds(a.numbers[i]) || !has_bounds(b.numbers[i])) return cost(a, i) < cost(b, i);
    return a.numbers[i].low > b.numbers[i].high;
  }

  bool is_tie(const FrontPoint& a, const FrontPoint& b, std::size_t i) const {
    return !is_better_by_interval(a, b, i) && !is_better_by_interval(b, a, i);
  }

  // A number without bounds ties with none that is less.
  bool is_as_good(const FrontPoint& a, const FrontPoint& b, std::size_t i, bool may_tie) const {
    if (cost(a, i) <= cost(b, i)) return true;
    return may_tie && has_bounds(a.numbers[i]) && has_bounds(b.numbers[i]) && is_tie(a, b, i);
  }

  bool beats(const FrontPoint& a, const FrontPoint& b, bool may_tie) const {
    if (&a == &b) return false;
    bool is_better = false;
    for (std::size_t i = 0; i < front_.keys.size(); ++i) {
      if (!is_as_good(a, b, i, may_tie)) return false;
      is_better = is_better || is_better_by_interval(a, b, i);
    }
    return is_better;
  }

  void mark_knee() {
    std::vector<FrontPoint*> front;
    for (FrontPoint& point : front_.points) {
      if (point.is_on_front) front.push_back(&point);
    }
    if (front.size() < 3) return;
    FrontPoint* knee = nullptr;
    double least = 1 - 1e-9;  // on the plane: rounding alone bends no front
    for (FrontPoint* const point : front) {
      double sum = 0;
      for (std::size_t i = 0; i < front_.keys.size(); ++i) {
        const auto by_cost = [&](const FrontPoint* one) { return cost(*one, i); };
        const double low = cost(*std::ranges::min(front, {}, by_cost), i);
        const double high = cost(*std::ranges::max(front, {}, by_cost), i);
        if (high > low && std::isfinite(high)) sum += (cost(*point, i) - low) / (high - low);
      }
      if (sum < least) {
        least = sum;
        knee = point;
      }
    }
    if (knee != nullptr) knee->is_knee = true;
  }

  void find_cheapest() {
    const auto holds = std::ranges::find_if(front_.points, &FrontPoint::holds);
    if (holds == front_.points.end()) return;
    front_.cheapest_that_holds = static_cast<std::size_t>(holds - front_.points.begin());
    const NumberOfRuns& with = holds->numbers.front();
    const NumberOfRuns& without = front_.points.front().numbers.front();
    NumberOfRuns price{with.value - without.value};
    if (holds == front_.points.begin()) {
      price = {0, 0, 0};
    } else if (std::isfinite(with.high) && std::isfinite(without.low)) {
      price.low = price.value - std::hypot(with.value - with.low, without.high - without.value);
      price.high = price.value + std::hypot(with.high - with.value, without.value - without.low);
    }
    front_.price = price;
  }

  SloFront& front_;
  const FrontQuestion& question_;
  std::vector<bool> is_less_;  // by the places of two points
};

// With the power limit, if nothing else in it says that.
Configuration configuration_of_point(const PublishedRun& run, const FrontQuestion& question) {
  Configuration configuration = configuration_of(run, question.keys);
  const SweptLimit limit = limit_of_run(run, question.limit_key);
  const auto limit_w = limit.asked_w ? limit.asked_w : limit.in_force_w;
  const auto is_limit = [](const auto& member) {
    return member.first.find("limit") != std::string::npos;
  };
  if (limit_w && std::ranges::none_of(configuration, is_limit)) {
    configuration.emplace_back("limit_w", fmt::format("{:.6g}", *limit_w));
  }
  return configuration;
}

Json number_json(const NumberOfRuns& number) {
  return {{"value", number_or_null(number.value)},
          {"low", number_or_null(number.low)},
          {"high", number_or_null(number.high)}};
}

std::vector<std::string> keys_of(const FrontQuestion& question) {
  std::vector<std::string> keys = {kDefaultCompareMetric};
  for (const SloLimit& limit : question.slo.limits) keys.push_back(compare::latency_key(limit));
  if (!question.quality_key.empty()) keys.push_back(question.quality_key);
  return keys;
}

void set_numbers(const FrontQuestion& question, FrontPoint& point) {
  point.numbers.push_back(energy_of_point(point, kByEnergy));
  for (const SloLimit& limit : question.slo.limits) {
    point.numbers.push_back(compare::number_of_runs(point.runs, compare::latency_key(limit)));
  }
  if (!question.quality_key.empty()) {
    point.numbers.push_back(quality_of_point(point, question));
  }
  point.holds = std::ranges::all_of(point.runs, [](const PublishedRun* run) {
    return run->number(compare::kSloHolds)->value > 0;
  });
  const NumberOfRuns good = compare::number_of_runs(point.runs, compare::kGoodMetric);
  const auto has_good = [](const PublishedRun* run) {
    return run->number(compare::kGoodMetric).has_value();
  };
  if (std::ranges::all_of(point.runs, has_good)) {
    point.joules_per_good_token =
        std::isfinite(good.value) ? energy_of_point(point, {.metric = compare::kGoodMetric}).value
                                  : good.value;
  }
  const NumberOfRuns missed = compare::number_of_runs(point.runs, compare::kMissedShare);
  if (std::isfinite(missed.value)) point.missed_share = missed;
}

}  // namespace

std::vector<SloFront> slo_fronts(const std::vector<const PublishedRun*>& runs,
                                 const FrontQuestion& question) {
  using Points = std::map<Configuration, FrontPoint, ConfigurationLess>;
  std::map<Configuration, Points, ConfigurationLess> works;
  for (const PublishedRun* const run : runs) {
    if (!run->number(compare::kSloHolds) || !run->number(kDefaultCompareMetric)) continue;
    Configuration configuration = configuration_of_point(*run, question);
    works[work_of(configuration)][std::move(configuration)].runs.push_back(run);
  }
  std::vector<SloFront> fronts;
  for (auto& [work, points] : works) {
    SloFront& front = fronts.emplace_back();
    if (!work.empty()) front.work = configuration_text(work);
    front.keys = keys_of(question);
    std::vector<Configuration> configurations;
    for (const auto& [configuration, point] : points) configurations.push_back(configuration);
    const std::vector<std::string> differing = distinguishing_keys(configurations);
    for (auto& [configuration, point] : points) {
      point.name = distinguishing_text(configuration, differing);
      if (point.name.empty()) point.name = configuration_text(configuration);
      set_numbers(question, point);
      front.points.push_back(std::move(point));
    }
    FrontMaker(front, question).mark();
  }
  return fronts;
}

std::string number_text(const NumberOfRuns& number) {
  if (!std::isfinite(number.value)) return "never";
  return has_bounds(number) ? shown_range(number.value, number.low, number.high)
                            : shown_number(number.value);
}

std::string good_token_text(double joules) {
  return std::isfinite(joules) ? shown_number(joules) : "infinite (a run has no good request)";
}

namespace {

// "its energy ties with A; B; C and 12 others"
std::string tie_text(const SloFront& front, const FrontPoint& point, std::size_t key) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::size_t>& ties = point.ties[key];
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ties.size(), kMostNamed); ++i) {
    names.push_back(one_line(front.points[ties[i]].name));
  }
  const std::size_t others = ties.size() - names.size();
  return fmt::format("its {} ties with {}{}", key == 0 ? "energy" : front.keys[key],
                     fmt::join(names, "; "),
                     others > 0 ? fmt::format(" and {}", counted(others, "other")) : "");
}

}  // namespace

std::string front_text(const SloFront& front, const Slo& slo) {
  std::string text =
      fmt::format("{}{}{}\n", one_line(front.work), front.work.empty() ? "" : ": ", slo.text());
  for (const FrontPoint& point : front.points) {
    std::vector<std::string> marks;
    if (point.holds) marks.emplace_back("holds");
    if (point.is_on_front) marks.emplace_back("front");
    if (point.is_knee) marks.emplace_back("knee");
    text += fmt::format("{} ({} {}){}{}\n", one_line(point.name), point.runs.size(),
                        point.runs.size() == 1 ? "run" : "runs", marks.empty() ? "" : ": ",
                        fmt::join(marks, ", "));
    for (std::size_t i = 0; i < front.keys.size(); ++i) {
      text += fact("", fmt::format("{} {}", number_text(point.numbers[i]), front.keys[i]), 2);
    }
    if (point.joules_per_good_token) {
      text += fact(
          "",
          fmt::format("{} {}", good_token_text(*point.joules_per_good_token), compare::kGoodMetric),
          2);
    }
    if (point.missed_share) {
      text += fact("", compare::missed_share_text(*point.missed_share), 2);
    }
    for (std::size_t i = 0; i < front.keys.size(); ++i) {
      if (!point.ties[i].empty()) text += fact("", tie_text(front, point, i), 2);
    }
  }
  return text + front_verdict(front) + "\n";
}

std::string front_verdict(const SloFront& front) {
  if (!front.cheapest_that_holds) return "no configuration keeps the objective";
  return fmt::format("cheapest that keeps it: {}; the objective costs {} J per output token",
                     one_line(front.points[*front.cheapest_that_holds].name),
                     number_text(*front.price));
}

Json front_json(const SloFront& front) {
  const auto names = [&](const std::vector<std::size_t>& places) {
    return list_of(places, [&](std::size_t place) { return Json(front.points[place].name); });
  };
  return {
      {"work", front.work},
      {"keys", front.keys},
      {"points",
       list_of(front.points,
               [&](const FrontPoint& point) -> Json {
                 return {
                     {"name", point.name},
                     {"runs",
                      list_of(point.runs, [](const PublishedRun* run) { return Json(run->name); })},
                     {"numbers", list_of(point.numbers, number_json)},
                     {"joules_per_good_output_token", number_or_null(point.joules_per_good_token)},
                     {"holds", point.holds},
                     {"front", point.is_on_front},
                     {"knee", point.is_knee},
                     {"ties", names(point.ties.front())},
                     {"ties_by_number", list_of(point.ties, names)},
                     {"missed_energy_share",
                      point.missed_share ? number_json(*point.missed_share) : Json()}};
               })},
      {"cheapest_that_holds", or_null(front.cheapest_that_holds)},
      {"price", front.price ? number_json(*front.price) : Json()}};
}

}  // namespace aggregate_power
