// Groups runs by what they were asked to do, and finds the configurations that no other one beats.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "decide/compare/compare.h"
#include "decide/recommend/recommend.h"
#include "decide/recommend/run_limits.h"

namespace aggregate_power {
namespace {

const CompareRule kByEnergy = {.metric = kDefaultCompareMetric};

// Of several runs the mean, and the widest bounds.
FrontNumber number_of_runs(const std::vector<const PublishedRun*>& runs, const std::string& key) {
  FrontNumber number{0, std::numeric_limits<double>::infinity(), 0};
  for (const PublishedRun* const run : runs) {
    const auto one = run->number(key);
    const double value = one ? one->value : std::numeric_limits<double>::infinity();
    number.value += value / static_cast<double>(runs.size());
    number.low = std::min(number.low, one && one->flowed ? one->flowed->low : value);
    number.high = std::max(number.high, one && one->flowed ? one->flowed->high : value);
  }
  return number;
}

FrontNumber energy_of_point(const FrontPoint& point, const CompareRule& rule) {
  const RunComparison repeats = compare_repeats(point.runs, {}, rule);
  FrontNumber number;
  if (!repeats.base.statistics) return number;
  number.value = repeats.base.statistics->mean;
  if (repeats.base.statistics->low) number.low = *repeats.base.statistics->low;
  if (repeats.base.statistics->high) number.high = *repeats.base.statistics->high;
  return number;
}

FrontNumber quality_of_point(const FrontPoint& point, const std::string& key) {
  FrontNumber number;
  for (const PublishedRun* const run : point.runs) {
    number.value += sweep_number(run->text_of(key)) / static_cast<double>(point.runs.size());
  }
  return number;
}

bool is_more_better(const std::string& key, const FrontQuestion& question) {
  return key == question.quality_key;
}

// Whether one energy is less than the other by more than what is not known.
bool is_certainly_less(const FrontPoint& a, const FrontPoint& b) {
  const RunComparison both = compare_repeats(a.runs, b.runs, kByEnergy);
  return both.change && both.change->low > 0;
}

class FrontMaker {
 public:
  FrontMaker(SloFront& front, const FrontQuestion& question) : front_(front), question_(question) {}

  void mark() {
    std::ranges::stable_sort(front_.points, {},
                             [](const FrontPoint& point) { return point.numbers.front().value; });
    for (FrontPoint& point : front_.points) {
      point.is_on_front = std::ranges::none_of(
          front_.points, [&](const FrontPoint& other) { return beats(other, point); });
      for (const FrontPoint& other : front_.points) {
        if (&other == &point || is_certainly_less(point, other) || is_certainly_less(other, point))
          continue;
        point.ties.push_back(other.name);
      }
    }
    mark_knee();
    find_cheapest();
  }

 private:
  // As a number that is better if it is less.
  double cost(const FrontPoint& point, std::size_t i) const {
    const double value = point.numbers[i].value;
    return is_more_better(front_.keys[i], question_) ? -value : value;
  }

  bool is_better_by_interval(const FrontPoint& a, const FrontPoint& b, std::size_t i) const {
    if (i == 0) return is_certainly_less(a, b);
    // A quality is stated without bounds: every difference counts.
    if (is_more_better(front_.keys[i], question_)) return cost(a, i) < cost(b, i);
    return a.numbers[i].high < b.numbers[i].low;
  }

  bool beats(const FrontPoint& a, const FrontPoint& b) const {
    if (&a == &b) return false;
    bool is_better = false;
    for (std::size_t i = 0; i < front_.keys.size(); ++i) {
      if (!(cost(a, i) <= cost(b, i))) return false;
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
    const FrontNumber& with = holds->numbers.front();
    const FrontNumber& without = front_.points.front().numbers.front();
    FrontNumber price{with.value - without.value};
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

Json number_json(const FrontNumber& number) {
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
    point.numbers.push_back(number_of_runs(point.runs, compare::latency_key(limit)));
  }
  if (!question.quality_key.empty()) {
    point.numbers.push_back(quality_of_point(point, question.quality_key));
  }
  point.holds = std::ranges::all_of(point.runs, [](const PublishedRun* run) {
    return run->number(compare::kSloHolds)->value > 0;
  });
  const FrontNumber good = number_of_runs(point.runs, compare::kGoodMetric);
  if (std::isfinite(good.value)) {
    point.joules_per_good_token = energy_of_point(point, {.metric = compare::kGoodMetric}).value;
  }
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

std::string number_text(const FrontNumber& number) {
  if (!std::isfinite(number.value)) return "never";
  const bool has_bounds = std::isfinite(number.low) && std::isfinite(number.high);
  return has_bounds ? shown_range(number.value, number.low, number.high)
                    : shown_number(number.value);
}

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
          fmt::format("{} {}", shown_number(*point.joules_per_good_token), compare::kGoodMetric),
          2);
    }
    if (!point.ties.empty()) {
      text += fact("", fmt::format("its energy ties with {}", fmt::join(point.ties, "; ")), 2);
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
  return {
      {"work", front.work},
      {"keys", front.keys},
      {"points",
       list_of(front.points,
               [](const FrontPoint& point) -> Json {
                 return {
                     {"name", point.name},
                     {"runs",
                      list_of(point.runs, [](const PublishedRun* run) { return Json(run->name); })},
                     {"numbers", list_of(point.numbers, number_json)},
                     {"joules_per_good_output_token", number_or_null(point.joules_per_good_token)},
                     {"holds", point.holds},
                     {"front", point.is_on_front},
                     {"knee", point.is_knee},
                     {"ties", point.ties}};
               })},
      {"cheapest_that_holds", or_null(front.cheapest_that_holds)},
      {"price", front.price ? number_json(*front.price) : Json()}};
}

}  // namespace aggregate_power
