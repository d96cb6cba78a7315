// Parses and assigns the roles of GPUs.
#include "runs/deployment/roles.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

std::optional<RoleShare::Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = from_text<std::uint64_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : from_text<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return RoleShare::Range{*first, *last};
}

Role parse_role_name(std::string_view name, std::string_view text) {
  const std::optional<Role> role = role_of(name);
  if (!role) {
    throw Error(fmt::format("--role: expected prefill, decode or agg before '=', got '{}'",
                            printable(text)));
  }
  return *role;
}

// Parses one --role, word by word.
class RoleParser {
 public:
  RoleParser(std::string_view text, std::span<const std::string> hosts)
      : text_(text), hosts_(hosts) {
    const std::size_t equals = text.find('=');
    const bool has_name = equals != std::string_view::npos;
    role_ = parse_role_name(has_name ? text.substr(0, equals) : "", text);
    rest_ = text.substr(equals + 1);
  }

  std::vector<RoleShare> parse() {
    while (true) {
      const std::size_t comma = rest_.find(',');
      take(rest_.substr(0, comma));
      if (comma == std::string_view::npos) return std::move(shares_);
      rest_.remove_prefix(comma + 1);
    }
  }

 private:
  void take(std::string_view word) {
    const std::size_t colon = word.find(':');
    if (colon != std::string_view::npos) {
      host_ = known_host(word.substr(0, colon));
      add(word.substr(colon + 1));
    } else if (host_.empty() || (is_host(word) && !parse_range(word))) {
      shares_.push_back({role_, known_host(word), std::nullopt, {}});
      host_.clear();
    } else {
      add(word);
    }
  }

  void add(std::string_view gpu) {
    if (gpu.empty()) fault("expected a GPU after '" + printable(host_) + ":'");
    RoleShare share{role_, host_, parse_range(gpu), {}};
    if (!share.range) share.id = gpu;
    if (share.range && share.range->first > share.range->last) {
      fault(fmt::format("expected FIRST-LAST, got '{}'", gpu));
    }
    shares_.push_back(std::move(share));
  }

  bool is_host(std::string_view word) const {
    return std::ranges::find(hosts_, word) != hosts_.end();
  }

  std::string known_host(std::string_view word) const {
    if (!is_host(word)) {
      constexpr std::size_t kMostShown = 16;
      const auto display = hosts_.first(std::min(hosts_.size(), kMostShown));
      fault(fmt::format("unknown host '{}'; known: {}{}", printable(word),
                        printable(joined_text(display, ", "), 400),
                        display.size() < hosts_.size() ? ", ..." : ""));
    }
    return std::string(word);
  }

  [[noreturn]] void fault(const std::string& what) const {
    throw Error(fmt::format("--role: {} in '{}'", what, printable(text_)));
  }

  std::string_view text_;
  std::string_view rest_;
  std::span<const std::string> hosts_;
  Role role_ = Role::agg;
  std::string host_;  // whose GPUs the words are; empty after a host that is named alone
  std::vector<RoleShare> shares_;
};

bool overlap(const RoleShare& a, const RoleShare& b) {
  if (a.host != b.host) return false;
  const auto is_whole = [](const RoleShare& share) { return !share.range && share.id.empty(); };
  if (is_whole(a) || is_whole(b)) return true;
  if (a.range && b.range) return a.range->first <= b.range->last && b.range->first <= a.range->last;
  return !a.range && !b.range && a.id == b.id;
}

void refuse_overlaps(std::span<const RoleShare> shares) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!overlap(shares[i], shares[j])) continue;
      throw Error(fmt::format("--role: {} ({}) and {} ({}) share GPUs", printable(shares[j].text()),
                              role_name(shares[j].role), printable(shares[i].text()),
                              role_name(shares[i].role)));
    }
  }
}

bool has(const RoleShare& share, const RecordedGpu& gpu) {
  if (share.host != gpu.host) return false;
  if (share.range) {
    const auto index = from_text<std::uint64_t>(gpu.index.empty() ? gpu.id : gpu.index);
    return index && *index >= share.range->first && *index <= share.range->last;
  }
  return share.id.empty() || share.id == gpu.id || share.id == gpu.uuid || share.id == gpu.index;
}

// The part of a share that was not recorded: "hostA: no GPU 4"; empty if all of it was.
std::string missing_of(const RoleShare& share, std::span<const RecordedGpu> gpus) {
  std::set<std::uint64_t> indices;
  bool any = false;
  for (const RecordedGpu& gpu : gpus) {
    if (!has(share, gpu)) continue;
    any = true;
    if (share.range)
      indices.insert(*from_text<std::uint64_t>(gpu.index.empty() ? gpu.id : gpu.index));
  }
  if (!share.range) {
    if (any) return {};
    return fmt::format("{}: no GPU {}", printable(share.host), printable(share.id));
  }
  std::uint64_t next = share.range->first;
  for (const std::uint64_t index : indices) {
    if (index != next) break;
    if (index == share.range->last) return {};
    ++next;
  }
  return fmt::format("{}: no GPU {}", printable(share.host), next);
}

}  // namespace

std::string RoleShare::text() const {
  if (range && range->first != range->last) {
    return fmt::format("{}:{}-{}", host, range->first, range->last);
  }
  if (range) return fmt::format("{}:{}", host, range->first);
  return id.empty() ? host : host + ":" + id;
}

std::vector<RoleShare> parse_roles(std::span<const std::string> texts,
                                   std::span<const std::string> hosts) {
  std::vector<RoleShare> shares;
  for (const std::string& text : texts) {
    append(shares, RoleParser(text, hosts).parse());
  }
  refuse_overlaps(shares);
  return shares;
}

RoleAssignment assign_roles(std::span<const RoleShare> shares, std::span<const RecordedGpu> gpus) {
  RoleAssignment result;
  const auto mismatch = [&](std::string detail) {
    result.reasons.add(Reason::topology_env_mismatch, std::move(detail));
  };
  for (const RoleShare& share : shares) {
    if (std::string missing = missing_of(share, gpus); !missing.empty()) mismatch(missing);
  }
  for (const RecordedGpu& gpu : gpus) {
    const auto is_its = [&](const RoleShare& share) { return has(share, gpu); };
    const auto count = std::ranges::count_if(shares, is_its);
    const std::string name = fmt::format("{}: GPU {}", printable(gpu.host), printable(gpu.id));
    if (!shares.empty() && count == 0) mismatch(name + " has no role");
    if (count > 1) mismatch(name + " is named twice");
    result.roles.push_back(count > 0 ? std::ranges::find_if(shares, is_its)->role : Role::agg);
  }
  return result;
}

}  // namespace aggregate_power
