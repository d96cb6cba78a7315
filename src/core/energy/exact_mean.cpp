// Sums doubles in fixed point and divides with exact rounding.
#include "core/energy/exact_mean.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace aggregate_power {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kMantissaBits = 53;
constexpr int kLowestExponent = -1074;

template <std::size_t N>
int bit_length(const std::array<std::uint64_t, N>& limbs) {
  for (std::size_t i = N; i-- > 0;) {
    if (limbs[i] != 0) return static_cast<int>(64 * i + std::bit_width(limbs[i]));
  }
  return 0;
}

template <std::size_t N>
std::uint64_t bits_from(const std::array<std::uint64_t, N>& limbs, int position) {
  const auto limb = static_cast<std::size_t>(position / 64);
  const int shift = position % 64;
  std::uint64_t bits = limbs[limb] >> shift;
  if (shift != 0 && limb + 1 < N) bits |= limbs[limb + 1] << (64 - shift);
  return bits;
}

template <std::size_t N>
bool any_below(const std::array<std::uint64_t, N>& limbs, int position) {
  for (int i = 0; i < position / 64; ++i) {
    if (limbs[static_cast<std::size_t>(i)] != 0) return true;
  }
  const std::uint64_t mask = (std::uint64_t{1} << (position % 64)) - 1;
  return (limbs[static_cast<std::size_t>(position / 64)] & mask) != 0;
}

template <std::size_t N>
void negate(std::array<std::uint64_t, N>& limbs) {
  bool carry = true;
  for (std::uint64_t& limb : limbs) {
    limb = ~limb + (carry ? 1 : 0);
    carry = carry && limb == 0;
  }
}

}  // namespace

void ExactMean::add(double value) {
  assert(std::isfinite(value));
  if (std::signbit(value)) {
    negate(limbs_);
    add(-value);
    negate(limbs_);
    return;
  }
  ++count_;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  // Subnormal numbers have no hidden bit, and the exponent of the smallest normal ones.
  const std::uint64_t mantissa = biased == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int position = biased == 0 ? 0 : biased - 1;

  Wide carry = static_cast<Wide>(mantissa) << (position % 64);
  // What leaves the highest limb is the change of sign.
  for (auto limb = static_cast<std::size_t>(position / 64); carry != 0 && limb < kLimbs; ++limb) {
    const Wide sum = static_cast<Wide>(limbs_[limb]) + static_cast<std::uint64_t>(carry);
    limbs_[limb] = static_cast<std::uint64_t>(sum);
    carry = (carry >> 64) + (sum >> 64);
  }
}

double ExactMean::mean() const {
  if (count_ == 0) return 0;
  if (limbs_.back() >> 63 != 0) {
    ExactMean opposite = *this;
    negate(opposite.limbs_);
    return -opposite.mean();
  }
  std::array<std::uint64_t, kLimbs> quotient{};
  Wide remainder = 0;
  for (std::size_t i = kLimbs; i-- > 0;) {
    if (remainder == 0 && limbs_[i] == 0) continue;  // dividing takes time, and most are 0
    const Wide part = remainder << 64 | limbs_[i];
    quotient[i] = static_cast<std::uint64_t>(part / count_);
    remainder = part % count_;
  }
  const int dropped = bit_length(quotient) - kMantissaBits;
  if (dropped <= 0) {
    // All bits of the quotient fit; the remainder of one unit decides the rounding.
    const bool above_half = 2 * remainder > count_;
    const bool tie = 2 * remainder == count_;
    const std::uint64_t kept = quotient[0] + (above_half || (tie && quotient[0] % 2 == 1) ? 1 : 0);
    return std::ldexp(static_cast<double>(kept), kLowestExponent);
  }
  std::uint64_t kept = bits_from(quotient, dropped) & ((std::uint64_t{1} << kMantissaBits) - 1);
  const bool half = (bits_from(quotient, dropped - 1) & 1) != 0;
  const bool more = remainder != 0 || any_below(quotient, dropped - 1);
  if (half && (more || kept % 2 == 1)) ++kept;
  return std::ldexp(static_cast<double>(kept), kLowestExponent + dropped);
}

}  // namespace aggregate_power
