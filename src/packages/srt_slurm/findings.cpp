// Collects reasons and their sentences.
#include "packages/srt_slurm/findings.h"

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostDetail = 1000;  // characters of a message

}  // namespace

std::string shortened(const std::string& detail) { return printable(detail, kMostDetail); }

bool is_accepted(const Findings& findings, std::span<const Reason> accepts) {
  Reasons open = findings.reasons;
  Reasons accepted;
  open.accept(accepts, accepted);
  return open.empty();
}

void Findings::add(Reason reason, const std::string& detail) {
  reasons.add(reason, shortened(detail));
  if (!detail.empty()) failures.push_back(detail);
}

void Findings::add(const Reasons& others) {
  for (const Reasons::Entry& entry : others.entries()) add(entry.reason, entry.detail);
}

void Findings::add(const Findings& others) {
  reasons.add(others.reasons);
  failures.insert(failures.end(), others.failures.begin(), others.failures.end());
}

}  // namespace aggregate_power
