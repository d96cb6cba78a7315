// Walks along the power and the requests' starts, first tokens and ends.
#include "energy/shares/requests.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "core/energy/curve.h"

namespace aggregate_power {
namespace {

// A request gets a weight, or another one, or loses it.
enum class Turn : std::uint8_t { starts, answers, ends };

struct WeightChange {
  double unix_s;
  std::uint32_t request;
  Turn turn;
};

std::vector<WeightChange> changes_of(std::span<const SharingRequest> requests, Window window) {
  std::vector<WeightChange> changes;
  changes.reserve(3 * requests.size());
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const SharingRequest& request = requests[i];
    const double start_s = std::max(request.in_flight.start_unix_s, window.start_unix_s);
    const double end_s = std::min(request.in_flight.end_unix_s, window.end_unix_s);
    if (!(start_s < end_s)) continue;
    changes.push_back({start_s, i, Turn::starts});
    if (!std::isnan(request.first_token_s)) {
      changes.push_back({std::clamp(request.first_token_s, start_s, end_s), i, Turn::answers});
    }
    changes.push_back({end_s, i, Turn::ends});
  }
  std::ranges::sort(changes, {}, [](const WeightChange& change) {
    return std::tuple(change.unix_s, change.turn, change.request);
  });
  return changes;
}

// The energy of consecutive stretches of a curve.
class CurveWalk {
 public:
  explicit CurveWalk(std::span<const Sample> knots) : knots_(knots), at_(knots.front()) {}

  // From where the last call ended.
  double joules_until(double unix_s) {
    double joules = 0;
    for (; right_ < knots_.size() && knots_[right_].unix_s <= unix_s; ++right_) {
      joules += go_to(knots_[right_]);
    }
    if (right_ < knots_.size() && unix_s > at_.unix_s) {
      joules += go_to({unix_s, watts_at(unix_s, knots_[right_ - 1], knots_[right_])});
    }
    return joules;
  }

 private:
  double go_to(Sample next) {
    const Sample from = std::exchange(at_, next);
    return (next.unix_s - from.unix_s) * (from.watts + next.watts) / 2.0;
  }

  std::span<const Sample> knots_;
  Sample at_;
  std::size_t right_ = 1;  // the first knot behind at_
};

// Energy per weight since the window's start. A request has gained its weight times what was added
// while it had it.
class ShareLedger {
 public:
  explicit ShareLedger(std::span<const SharingRequest> requests)
      : requests_(requests), shares_(requests.size()), energy_{.joules = {}} {
    energy_.joules.resize(requests.size());
  }

  void spend(double joules) {
    if (in_flight_ == 0) {
      unattributed_.add(joules);
    } else if (weighty_ == 0) {
      per_request_.add(joules / static_cast<double>(in_flight_));
    } else {
      per_weight_.add(joules / weights_.value());
    }
  }

  void take(const WeightChange& change) {
    const SharingRequest& request = requests_[change.request];
    Share& share = shares_[change.request];
    energy_.joules[change.request] += share.weight * per_weight_.since(share.per_weight);
    if (change.turn == Turn::starts) {
      share.per_request = per_request_;
      ++in_flight_;
    }
    set_weight(share, change.turn == Turn::starts    ? request.weight_before
                      : change.turn == Turn::answers ? request.weight_after
                                                     : 0);
    if (change.turn == Turn::ends) {
      energy_.joules[change.request] += per_request_.since(share.per_request);
      --in_flight_;
    }
  }

  SharedEnergy finish() {
    energy_.unattributed_j = unattributed_.value();
    return std::move(energy_);
  }

 private:
  struct Share {
    double weight = 0;
    LongSum per_weight = {};   // when it got that weight
    LongSum per_request = {};  // when it started
  };

  void set_weight(Share& share, double weight) {
    weighty_ += (weight > 0) - (share.weight > 0);
    weights_.add(-share.weight);
    weights_.add(weight);
    if (weighty_ == 0) weights_ = {};  // nothing is left of rounding
    share.weight = weight;
    share.per_weight = per_weight_;
  }

  std::span<const SharingRequest> requests_;
  std::vector<Share> shares_;
  SharedEnergy energy_;
  LongSum per_weight_;
  LongSum per_request_;  // while no request in flight has a weight
  LongSum unattributed_;
  LongSum weights_;
  std::int64_t in_flight_ = 0;
  std::int64_t weighty_ = 0;  // requests in flight with a weight
};

}  // namespace

SharedEnergy share_energy(const FleetPower& power, std::span<const SharingRequest> requests) {
  const auto knots = power.knots();
  ShareLedger ledger(requests);
  CurveWalk walk(knots);
  for (const WeightChange& change :
       changes_of(requests, {knots.front().unix_s, knots.back().unix_s})) {
    ledger.spend(walk.joules_until(change.unix_s));
    ledger.take(change);
  }
  ledger.spend(walk.joules_until(knots.back().unix_s));
  return ledger.finish();
}

// ---- Shares the fleet's power among the requests in flight.

void FailedShare::add(Window in_flight, bool failed) {
  const auto one = static_cast<std::int8_t>(failed ? 1 : 0);
  changes_.push_back({in_flight.start_unix_s, 1, one});
  changes_.push_back({in_flight.end_unix_s, -1, static_cast<std::int8_t>(-one)});
}

double FailedShare::energy_j(const FleetPower& power) {
  std::ranges::sort(changes_, {}, &Change::unix_s);
  double joules = 0;
  std::int64_t in_flight = 0;
  std::int64_t failed = 0;
  for (std::size_t i = 0; i + 1 < changes_.size(); ++i) {
    in_flight += changes_[i].in_flight;
    failed += changes_[i].failed;
    // Among changes at one instant an end may come before its start; no time passes between them.
    if (failed <= 0 || in_flight <= 0) continue;
    joules += power.energy_j(changes_[i].unix_s, changes_[i + 1].unix_s) *
              static_cast<double>(failed) / static_cast<double>(in_flight);
  }
  return joules;
}

}  // namespace aggregate_power
