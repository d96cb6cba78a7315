// Compares what GPUs show in the same rounds.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/energy/curve.h"

namespace aggregate_power {
namespace {

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
    bool are_rounds = true;
    for (std::size_t i = 0; i < count; ++i) {
      are_rounds &= stamps[i].unix_s > before[i].unix_s + kOneRound_s;
    }
    std::uint64_t differences = 0;  // of the stamps
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      const Sample* const last = gpus[gpu].data() + (first - 1);
      const Sample* const samples = last + 1;
      double* const changes_w = changes_w_.data() + gpu * kPiece;
      for (std::size_t i = 0; i < count; ++i) {
        differences |= std::bit_cast<std::uint64_t>(samples[i].unix_s) ^
                       std::bit_cast<std::uint64_t>(stamps[i].unix_s);
        changes_w[i] = samples[i].watts - last[i].watts;
      }
    }
    return are_rounds && differences == 0;
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
