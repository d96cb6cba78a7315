// Reads an objective, and holds each request against it.
#include "energy/shares/good_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/shown_number.h"
#include "core/load/benchmark.h"
#include "core/model/code_descriptions.h"

namespace aggregate_power::shares {
namespace {

constexpr const char* kSloForm =
    "expected limits such as ttft=500ms,tpot=30ms,e2e=10s, each perhaps with a percentage of the requests before it as in p90:ttft=500ms";

[[noreturn]] void refuse_slo(std::string_view term, const std::string& why) {
  throw Error(fmt::format("'{}': {}", printable(term, 80), why));
}

LatencyKind latency_kind(std::string_view term, std::string_view text) {
  for (const LatencyKind kind : {LatencyKind::ttft, LatencyKind::tpot, LatencyKind::e2e}) {
    if (text == name(kind)) return kind;
  }
  if (text == "itl") {
    refuse_slo(term, "the time between tokens is limited by its mean over a request: tpot");
  }
  refuse_slo(term, kSloForm);
}

double limit_s(std::string_view term, std::string_view text) {
  const std::size_t digits = text.find_last_of("0123456789.") + 1;
  const std::string_view unit = text.substr(digits);
  const double value = nearest_double(text.substr(0, digits)).value_or(0);
  if (!(value > 0) || !std::isfinite(value)) refuse_slo(term, "expected a time above 0");
  if (unit == "ms") return value / 1e3;
  if (unit == "s") return value;
  if (!unit.empty()) refuse_slo(term, "the unit of a limit is ms or s");
  refuse_slo(term, fmt::format("{} has no unit: write {}ms or {}s", text, term, term));
}

double slo_share(std::string_view term, std::string_view text) {
  const double percent = nearest_double(text).value_or(0);
  if (percent > 0 && percent <= 100) return percent / 100;
  refuse_slo(term, "expected a percentage such as p90: before the limit");
}

SloLimit slo_limit(std::string_view term) {
  SloLimit limit{.text = std::string(term)};
  std::string_view rest = term;
  const std::size_t colon = rest.find(':');
  if (colon != rest.npos) {
    if (!rest.starts_with('p')) refuse_slo(term, kSloForm);
    limit.share = slo_share(term, rest.substr(1, colon - 1));
    rest.remove_prefix(colon + 1);
  }
  const std::size_t sign = rest.find('=');
  if (sign == rest.npos) refuse_slo(term, kSloForm);
  limit.kind = latency_kind(term, rest.substr(0, sign));
  limit.most_s = limit_s(term, rest.substr(sign + 1));
  return limit;
}

constexpr double kNormal975 = 1.959963984540054;  // 97.5 % of the normal distribution

// ---- Requests

// Two clocks' readings of one instant differ by rounding.
constexpr double kRounding_s = 1e-6;
// A first token that is this much later than the end is rounded: it came with the end.
constexpr double kSameEnd_s = 1e-3;

bool is_candidate(const RequestTimes& request) { return !request.is_warm_up && !request.cancelled; }

// Of a request that is not streamed, all tokens arrive at its end.
bool is_streamed(const RequestTimes& request) {
  const auto ttft = latency_s(request, LatencyKind::ttft);
  const auto e2e = latency_s(request, LatencyKind::e2e);
  return ttft && e2e && (request.output_tokens == 1 || *ttft < *e2e - kRounding_s);
}

bool has_first_token(const RequestTimes& request) {
  return latency_s(request, LatencyKind::ttft).has_value();
}

bool needs_first_token(const SloLimit& limit) { return limit.kind != LatencyKind::e2e; }
bool needs_tokens(const SloLimit& limit) { return limit.kind == LatencyKind::tpot; }

// Why no request of the list can be held against the limits; empty: some can.
std::string_view lack_of(std::span<const RequestTimes> requests, const Slo& slo) {
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(requests, [&](const RequestTimes& request) {
      return is_candidate(request) && !request.failed && is(request);
    });
  };
  const auto succeeded = [](const RequestTimes&) { return true; };
  const auto has_tokens = [](const RequestTimes& request) { return request.output_tokens >= 0; };
  if (!any(succeeded)) return {};
  if (std::ranges::any_of(slo.limits, needs_first_token)) {
    if (!any(has_first_token)) return "no_first_token";
    if (!any(is_streamed)) return "not_streamed";
  }
  if (std::ranges::any_of(slo.limits, needs_tokens) && !any(has_tokens)) return "no_output_tokens";
  return {};
}

// Where requests end that count.
Window counted_window(std::span<const RequestTimes> requests, Window window) {
  const double most_s = most_difference_s(window);
  const bool fits = std::ranges::all_of(requests, [&](const RequestTimes& request) {
    return !is_candidate(request) || !request.has_times() ||
           (request.start_s >= window.start_unix_s - most_s &&
            request.end_s <= window.end_unix_s + most_s);
  });
  return fits ? Window{window.start_unix_s - most_s, window.end_unix_s + most_s} : window;
}

double tokens_of_window(const RequestTimes& request, Window window) {
  const auto tokens = static_cast<double>(request.output_tokens);
  if (!request.has_times()) return tokens;
  const bool has_first =
      request.first_token_s >= request.start_s && request.first_token_s <= request.end_s;
  const double from_s = has_first ? request.first_token_s : request.start_s;
  if (!(request.end_s > from_s)) return tokens;
  const double inside_s = request.end_s - std::max(from_s, window.start_unix_s);
  return tokens * std::clamp(inside_s / (request.end_s - from_s), 0.0, 1.0);
}

class RequestJudge {
 public:
  RequestJudge(std::span<const RequestTimes> requests, Window window, const Slo& slo)
      : window_(counted_window(requests, window)), slo_(slo) {
    judged_.work.slo = slo;
    judged_.work.duration_s = window.duration_s();
    judged_.work.kept.resize(slo.limits.size());
    judged_.work.range_s.assign(slo.limits.size(), {std::numeric_limits<double>::infinity(), 0});
    judged_.work.output_tokens = 0;
  }

  void take(const RequestTimes& request) {
    const RequestOutcome outcome = outcome_of(request);
    judged_.outcomes.push_back(outcome);
    if (outcome == RequestOutcome::not_counted) return;
    GoodWork& work = judged_.work;
    ++work.requests;
    ++count_of(outcome);
    if (outcome != RequestOutcome::good || !work.output_tokens) return;
    if (request.output_tokens < 0) return work.output_tokens.reset();
    *work.output_tokens += tokens_of_window(request, window_);
  }

  JudgedRequests finish() { return std::move(judged_); }

 private:
  std::size_t& count_of(RequestOutcome outcome) {
    GoodWork& work = judged_.work;
    if (outcome == RequestOutcome::good) return work.good;
    if (outcome == RequestOutcome::late) return work.late;
    return outcome == RequestOutcome::failed ? work.failed : work.unknown;
  }

  RequestOutcome outcome_of(const RequestTimes& request) {
    GoodWork& work = judged_.work;
    const auto leave_out = [](std::size_t& count) {
      ++count;
      return RequestOutcome::not_counted;
    };
    if (request.is_warm_up) return leave_out(work.warm_up);
    if (request.cancelled) return leave_out(work.cancelled);
    if (request.has_times() && !window_.contains(request.end_s)) return leave_out(work.outside);
    return request.failed ? RequestOutcome::failed : latencies_of(request);
  }

  // Counts each limit by itself.
  RequestOutcome latencies_of(const RequestTimes& request) {
    bool is_known = true;
    bool is_late = false;
    for (std::size_t i = 0; i < slo_.limits.size(); ++i) {
      const auto seconds = latency_s(request, slo_.limits[i].kind);
      is_known = is_known && seconds;
      if (!seconds) continue;
      Interval& range_s = judged_.work.range_s[i];
      range_s = {std::min(range_s.low, *seconds), std::max(range_s.high, *seconds)};
      const bool is_kept = *seconds <= slo_.limits[i].most_s + 1e-9;
      judged_.work.kept[i] += is_kept ? 1 : 0;
      is_late = is_late || !is_kept;
    }
    return is_late    ? RequestOutcome::late
           : is_known ? RequestOutcome::good
                      : RequestOutcome::unknown;
  }

  Window window_;
  const Slo& slo_;
  JudgedRequests judged_;
};

}  // namespace

Slo parse_slo(std::string_view text) {
  Slo slo;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view term = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(term.size() + 1, rest.size()));
    SloLimit limit = slo_limit(strip(term));
    const auto is_same = [&](const SloLimit& other) { return other.kind == limit.kind; };
    if (std::ranges::any_of(slo.limits, is_same)) {
      refuse_slo(term, fmt::format("{} is limited twice", name(limit.kind)));
    }
    slo.limits.push_back(std::move(limit));
  }
  if (slo.limits.empty()) refuse_slo(text, kSloForm);
  return slo;
}

std::optional<double> latency_s(const RequestTimes& request, LatencyKind kind) {
  const auto stated_or = [](double stated, double from_s, double to_s) {
    const double seconds = std::isnan(stated) ? to_s - from_s : stated;
    return seconds >= 0 && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
  };
  const auto e2e = stated_or(request.stated_e2e_s, request.start_s, request.end_s);
  const auto ttft = stated_or(request.stated_ttft_s, request.start_s, request.first_token_s);
  if (kind == LatencyKind::e2e)
    return ttft && e2e && *ttft > *e2e + kSameEnd_s ? std::nullopt : e2e;
  // 0 is what generators write that saw no first token.
  if (!ttft || *ttft == 0 || !e2e || *ttft > *e2e + kRounding_s) return std::nullopt;
  if (kind == LatencyKind::ttft) return ttft;
  if (request.output_tokens < 0) return std::nullopt;
  if (request.output_tokens <= 1) return 0;
  return std::max(0.0, *e2e - *ttft) / static_cast<double>(request.output_tokens - 1);
}

JudgedRequests judge_requests(std::span<const RequestTimes> requests, Window window,
                              const Slo& slo) {
  RequestJudge judge(requests, window, slo);
  for (const RequestTimes& request : requests) judge.take(request);
  JudgedRequests judged = judge.finish();
  std::string_view lack = lack_of(requests, slo);
  if (lack.empty() && judged.work.requests == 0) lack = "no_request_in_window";
  if (!lack.empty()) judged.work.refused = no_request_energy(lack);
  return judged;
}

double quantile_share(const SloLimit& limit) { return limit.share < 1 ? limit.share : 0.99; }

std::vector<LatencyQuantile> latency_quantiles(std::span<const RequestTimes> requests,
                                               std::span<const RequestOutcome> outcomes,
                                               const Slo& slo) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<LatencyQuantile> quantiles;
  for (const SloLimit& limit : slo.limits) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (outcomes[i] == RequestOutcome::not_counted) continue;
      const auto latency =
          outcomes[i] == RequestOutcome::failed ? std::nullopt : latency_s(requests[i], limit.kind);
      seconds.push_back(latency.value_or(kInfinite));
    }
    std::ranges::sort(seconds);
    const double share = quantile_share(limit);
    const auto n = static_cast<double>(seconds.size());
    const double spread = kNormal975 * std::sqrt(n * share * (1 - share));
    const auto ranked = [&](double rank) {
      if (rank > n) return kInfinite;
      return rank < 1 ? 0 : seconds[static_cast<std::size_t>(rank) - 1];
    };
    quantiles.push_back(
        {share,
         ranked(std::max(1.0, std::ceil(n * share - 1e-9))),
         {ranked(std::floor(n * share - spread)), ranked(std::ceil(n * share + spread) + 1)}});
  }
  return quantiles;
}

std::vector<std::string> slo_doubts(const Slo& slo, const GoodWork& work) {
  constexpr double kOtherUnit = 100;  // units are 1000 apart
  std::vector<std::string> doubts;
  for (std::size_t i = 0; i < slo.limits.size(); ++i) {
    const SloLimit& limit = slo.limits[i];
    const Interval& range_s = work.range_s[i];
    if (limit.most_s > work.duration_s) {
      doubts.push_back(fmt::format(
          "--slo {}: is longer than the window of {:.3g} s, so no request can miss it: is the unit right?",
          limit.text, work.duration_s));
    } else if (range_s.high > 0 && work.kept[i] == 0) {
      doubts.push_back(
          fmt::format("--slo {}: no request kept it; the fastest took {} ms: is the unit right?",
                      limit.text, shown_number(1e3 * range_s.low)));
    } else if (range_s.high > 0 && kOtherUnit * range_s.high < limit.most_s) {
      doubts.push_back(fmt::format(
          "--slo {}: the slowest request took {} ms, so none could miss it: is the unit right, of the limit and in the list?",
          limit.text, shown_number(1e3 * range_s.high)));
    }
  }
  return doubts;
}

Interval wilson_interval(std::size_t count, std::size_t all) {
  if (all == 0) return {0, 1};
  const auto n = static_cast<double>(all);
  const double share = static_cast<double>(count) / n;
  const double middle =
      (share + kNormal975 * kNormal975 / (2 * n)) / (1 + kNormal975 * kNormal975 / n);
  const double half = kNormal975 / (1 + kNormal975 * kNormal975 / n) *
                      std::sqrt(share * (1 - share) / n + kNormal975 * kNormal975 / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Interval quotient_interval(double above, const Interval& above_bounds, double below,
                           const Interval& below_bounds) {
  const double quotient = above / below;
  const double down =
      std::hypot(std::log(above / above_bounds.low), std::log(below_bounds.high / below));
  const double up =
      std::hypot(std::log(above_bounds.high / above), std::log(below / below_bounds.low));
  return {quotient * std::exp(-down), quotient * std::exp(up)};
}

}  // namespace aggregate_power::shares
