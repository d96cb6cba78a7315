// Sums of components.
#include "energy/energy_interval.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>

#include "energy/placed_readings.h"
#include "energy/sum_of.h"

namespace aggregate_power {
namespace {

enum class Sharing { each, all, model, sampling };

struct Source {
  ExplainedWord word;
  bool systematic;
  Sharing sharing;
  char evaluation;
  bool is_accuracy;
};

constexpr Source kSources[] = {
    {{"sensor_gain_shared",
      "the gain of all boards of one model is off alike: 2.2 % of E - 88 W · t",
      "compare runs on the same boards by `repeatability`, in which it cancels; state a calibration with `--sensor-accuracy`"},
     true,
     Sharing::model,
     'B',
     true},
    {{"sensor_gain_each", "the gain of each board is off by itself: 2.9 % of E - 88 W · t",
      "as for the gain of all; with more GPUs it matters less"},
     true,
     Sharing::each,
     'B',
     true},
    {{"sensor_offset", "the offset of each board: 4.9 W · t",
      "as for the gain; at higher power it matters less"},
     true,
     Sharing::each,
     'B',
     true},
    {{"sampling_and_edges",
      "what readings leave open, inside and at the edges: wᵀA⁻¹w, and 1.5 % of a sensor's window at each edge",
      "sample more often, measure for longer, or record an energy counter"},
     false,
     Sharing::sampling,
     'A',
     false},
    {{"moments_for_means",
      "moments stand for means: their scatter over the root of how many are independent, times the share of time that is not seen",
      "sample more often, or record the average or an energy counter"},
     false,
     Sharing::sampling,
     'A',
     false},
    {{"time_not_seen",
      "a load in step with a sensor that looks a part of the time: 1 % (moments: 1.5 %)",
      "record an energy counter, or the average"},
     true,
     Sharing::sampling,
     'B',
     false},
    {{"time_between_windows",
      "a period that is not the window, so that some time is missing or counted twice: the share of it × a hidden swing of 3 to 8 %",
      "sample twice in each window of the sensor, or record an energy counter"},
     true,
     Sharing::sampling,
     'B',
     false},
    {{"window_known", "the sensor's window W is known to 6 %: the change of the estimate with W",
      "measure for longer: it matters at the edges only"},
     true,
     Sharing::all,
     'B',
     false},
    {{"sensor_window_unknown", "several windows are possible: the spread of their estimates",
      "name the GPU with `--gpu`, or record `name` and `power.draw.average`, too"},
     true,
     Sharing::all,
     'B',
     false},
    {{"counter_construction", "whether a counter integrates all the time is not known: 0.15 %",
      "nothing"},
     true,
     Sharing::each,
     'B',
     false},
    {{"stamp_cut",
      "stamps of whole seconds: the slope at the edges × the uncertainty of the recorder's loop",
      "record stamps with fractions of a second"},
     true,
     Sharing::all,
     'B',
     false},
    {{"timing",
      "the delay, and the clocks of recorder and load generator: the slope at the edges × their uncertainty",
      "synchronize the clocks and state how well with `--clock-uncertainty`; measure for longer"},
     true,
     Sharing::all,
     'B',
     false},
    {{"clock_offset", "a window that was shifted to the load: the slope at the edges × 0.15 s",
      "synchronize the clocks of recorder and load generator"},
     true,
     Sharing::all,
     'B',
     false},
    {{"window_place",
      "a window whose place is an estimate (`--window estimated`): the change if it moves by its half width, / √3",
      "use a window that the result states: see `aggregate-power help measure`"},
     true,
     Sharing::all,
     'B',
     false},
};

const Source& source_of(const std::string& name) {
  const auto* const source =
      std::ranges::find_if(kSources, [&](const Source& one) { return name == one.word.code; });
  assert(source != std::end(kSources));
  return *source;
}

double root_of_squares(const Estimate& estimate, bool accuracy) {
  double sum = 0;
  for (const Component& part : estimate.components) {
    if (accuracy || !part.is_accuracy) sum += part.joules * part.joules;
  }
  return std::sqrt(sum);
}

double joules_of(const Estimate& estimate, std::string_view name) {
  for (const Component& part : estimate.components) {
    if (part.name == name) return part.joules;
  }
  return 0;
}

double combined_j(const Source& source, std::span<const CombinedGpu> gpus, double correlation) {
  double linear = 0;
  double squares = 0;
  std::map<std::string, double> by_model;
  for (const CombinedGpu& gpu : gpus) {
    const double joules = joules_of(*gpu.energy, source.word.code);
    linear += joules;
    squares += joules * joules;
    by_model[gpu.model] += joules;
  }
  double of_models = 0;
  for (const auto& [model, joules] : by_model) of_models += joules * joules;
  switch (source.sharing) {
    case Sharing::all:
      return linear;
    case Sharing::model:
      return std::sqrt(of_models);
    case Sharing::sampling:
      return std::sqrt((1 - correlation) * squares + correlation * linear * linear);
    case Sharing::each:
      break;
  }
  return std::sqrt(squares);
}

// Samples of two GPUs are of one round if they are this near.
constexpr double kOneRound_s = 0.01;

// What a GPU showed at each of another's stamps.
std::vector<Sample> shown_at(std::span<const Sample> stamps, std::span<const Sample> samples) {
  std::vector<Sample> shown;
  shown.reserve(stamps.size());
  std::size_t place = 0;
  for (const Sample& stamp : stamps) {
    while (place + 1 < samples.size() && samples[place + 1].unix_s <= stamp.unix_s + kOneRound_s) {
      ++place;
    }
    shown.push_back(samples[place]);
  }
  return shown;
}

// Of the changes of two GPUs at the same instants.
double correlation_of(std::span<const Sample> one, std::span<const Sample> other) {
  double products = 0;
  double squares = 0;
  double others = 0;
  for (std::size_t i = 1; i < one.size(); ++i) {
    const double a = one[i].watts - one[i - 1].watts;
    const double b = other[i].watts - other[i - 1].watts;
    products += a * b;
    squares += a * a;
    others += b * b;
  }
  return squares > 0 && others > 0 ? products / std::sqrt(squares * others) : 0;
}

// Sums of products of the changes of each two GPUs that were asked in the same rounds, the first
// few with all: in pieces that stay in the cache.
class ChangeProducts {
 public:
  // Nullopt: they were not.
  static std::optional<ChangeProducts> of(std::span<const std::span<const Sample>> gpus,
                                          std::size_t firsts) {
    ChangeProducts products(gpus.size(), firsts);
    for (const std::span<const Sample> gpu : gpus) {
      const bool is_alike = gpu.size() == gpus[0].size() &&
                            (gpu.empty() || gpu.front().unix_s == gpus[0].front().unix_s);
      if (!is_alike) return std::nullopt;
    }
    for (std::size_t first = 1; first < gpus[0].size(); first += kPiece) {
      const std::size_t count = std::min(kPiece, gpus[0].size() - first);
      if (!products.take_changes(gpus, first, count)) return std::nullopt;
      products.add(count);
    }
    return products;
  }

  double correlation(std::size_t one, std::size_t other) const {
    const double squares = squares_w2_[one] * squares_w2_[other];
    return squares > 0 ? products_w2_[one * gpus_ + other] / std::sqrt(squares) : 0;
  }

 private:
  static constexpr std::size_t kPiece = 256;

  ChangeProducts(std::size_t gpus, std::size_t firsts)
      : gpus_(gpus), changes_w_(gpus * kPiece), products_w2_(firsts * gpus), squares_w2_(gpus) {}

  // Returns false if the samples are not of the same rounds.
  bool take_changes(std::span<const std::span<const Sample>> gpus, std::size_t first,
                    std::size_t count) {
    const Sample* const before = gpus[0].data() + (first - 1);
    const Sample* const stamps = before + 1;
    bool are_common = true;
    for (std::size_t i = 0; i < count; ++i) {
      are_common &= stamps[i].unix_s > before[i].unix_s + kOneRound_s;
    }
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      const Sample* const last = gpus[gpu].data() + (first - 1);
      const Sample* const samples = last + 1;
      double* const changes_w = changes_w_.data() + gpu * kPiece;
      for (std::size_t i = 0; i < count; ++i) {
        are_common &= samples[i].unix_s == stamps[i].unix_s;
        changes_w[i] = samples[i].watts - last[i].watts;
      }
    }
    return are_common;
  }

  void add(std::size_t count) {
    const auto product = [&](std::size_t one, std::size_t other) {
      const double* const a = changes_w_.data() + one * kPiece;
      const double* const b = changes_w_.data() + other * kPiece;
      return sum_of(0, count, [&](std::size_t i) { return a[i] * b[i]; });
    };
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) squares_w2_[gpu] += product(gpu, gpu);
    for (std::size_t one = 0; one * gpus_ < products_w2_.size(); ++one) {
      for (std::size_t other = one + 1; other < gpus_; ++other) {
        products_w2_[one * gpus_ + other] += product(one, other);
      }
    }
  }

  std::size_t gpus_;
  std::vector<double> changes_w_;    // of one piece, kPiece for each GPU
  std::vector<double> products_w2_;  // of one and another at one * gpus_ + other
  std::vector<double> squares_w2_;
};

}  // namespace

std::span<const ExplainedWord> component_words() {
  static const std::vector<ExplainedWord> words = [] {
    std::vector<ExplainedWord> all;
    for (const Source& source : kSources) all.push_back(source.word);
    return all;
  }();
  return words;
}

Component component(const std::string& name, double joules) {
  const Source& source = source_of(name);
  const bool shared = source.sharing == Sharing::all || source.sharing == Sharing::model;
  return {name, joules, source.systematic, shared, source.evaluation, source.is_accuracy};
}

double Estimate::standard_uncertainty_j() const { return root_of_squares(*this, true); }
double Estimate::repeatability_j() const { return root_of_squares(*this, false); }
double Estimate::low_j() const {
  return std::max(0.0, joules - kCoverageFactor * standard_uncertainty_j());
}
double Estimate::high_j() const { return joules + kCoverageFactor * standard_uncertainty_j(); }
double Estimate::repeatability_low_j() const {
  return std::max(0.0, joules - kCoverageFactor * repeatability_j());
}
double Estimate::repeatability_high_j() const {
  return joules + kCoverageFactor * repeatability_j();
}

void add_accuracy(Estimate& estimate, const SensorAccuracy& accuracy, double duration_s) {
  const double turned_j = std::abs(estimate.joules - accuracy.pivot_w * duration_s);
  estimate.components.push_back(component("sensor_gain_shared", accuracy.shared_gain * turned_j));
  estimate.components.push_back(component("sensor_gain_each", accuracy.each_gain * turned_j));
  estimate.components.push_back(component("sensor_offset", accuracy.offset_w * duration_s));
}

Estimate combine(std::span<const CombinedGpu> gpus, double correlation) {
  Estimate total;
  for (const CombinedGpu& gpu : gpus) total.joules += gpu.energy->joules;
  for (const Source& source : kSources) {
    const double joules = combined_j(source, gpus, correlation);
    if (joules > 0) total.components.push_back(component(std::string(source.word.code), joules));
  }
  return total;
}

double change_correlation(std::span<const std::span<const Sample>> gpus, Window window) {
  // Pairs with the first few are enough for a mean.
  constexpr std::size_t kMostFirsts = 4;
  const std::size_t firsts = std::min(gpus.size(), kMostFirsts);
  std::vector<std::span<const Sample>> inside;
  for (const std::span<const Sample> gpu : gpus) inside.push_back(samples_in(gpu, window));
  const std::optional<ChangeProducts> products = ChangeProducts::of(inside, firsts);
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < firsts; ++i) {
    const std::span<const Sample> stamps = inside[i];
    const std::vector<Sample> own = products ? std::vector<Sample>() : shown_at(stamps, gpus[i]);
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      ++pairs;
      if (stamps.empty()) continue;
      sum +=
          products ? products->correlation(i, j) : correlation_of(own, shown_at(stamps, gpus[j]));
    }
  }
  return pairs > 0 ? std::clamp(sum / static_cast<double>(pairs), 0.0, 1.0) : 0;
}

}  // namespace aggregate_power
