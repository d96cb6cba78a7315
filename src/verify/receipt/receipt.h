// Verifies a measurement receipt or a publication record with the archives beside it.
// Contract-october.md 5.4.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"
#include "base/text/json_value.h"
#include "verify/run/verify_runs.h"
#include "verify/sweep/checks.h"

namespace aggregate_power {

// `path` is a normal path. The archives are looked for beside the file, as NAME.zip or ID.zip.
// Changes nothing. Throws FileError if the file itself cannot be opened.
Verification verify_receipt(const std::string& path, std::size_t most_threads);

// ---- What is checked of a receipt: its keys, its archives and what they say.
// Contract-october.md 5.4.

// ---- The archives of a receipt: which names, types and sizes they may hold, and what they hold
// Contract-october.md 5.4.

inline constexpr std::uint64_t kMostMemberBytes = std::uint64_t{10} << 30;
inline constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{20} << 30;  // unpacked

// Why a member must not be in an archive of a receipt; empty: it may be.
std::string name_fault(std::string_view name);

struct ArchiveMember {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;
};

// Receives the bytes of a member in pieces; an empty piece is its end.
using TakeMember = std::function<void(std::string_view piece)>;

// Reads an archive of any size in little memory. Its files, sorted by path; those in `wanted` are
// also passed on. Throws Error for an archive that breaks a rule, before anything is unpacked if
// its directory shows that; FileError for one that cannot be read.
std::vector<ArchiveMember> read_receipt_archive(
    const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted);

// ---- What the archives of a receipt must say of its points; contract-october.md 5.4

// `point` and `receipt` come from shaped_receipt().

// The evidence of the execution that a point names.
void check_execution(const JsonValue& receipt, const JsonValue& point, const JsonValue& execution,
                     PointFaults& faults);

// The only row of the normalized result with the point's concurrency, and its task; null: there is
// not exactly one, which is a fault.
const JsonValue* normalized_row(const JsonValue& point, const JsonValue& normalized,
                                PointFaults& faults);
void check_row(const JsonValue& point, const JsonValue& row, PointFaults& faults);

// The samples of an evaluation, one JSON object for each line, in pieces.
class EvaluationSamples {
 public:
  explicit EvaluationSamples(const JsonValue& point);

  void take(std::string_view piece);  // an empty one is the end
  // Coverage and score, after the end. `row` may be null; then only the coverage counts.
  void check(const JsonValue* row, PointFaults& faults) const;

 private:
  void take_line(std::string_view line);
  std::string fault_of(const JsonValue& sample);

  const JsonValue& point_;
  std::string task_;
  std::vector<std::string> filters_;
  std::uint64_t documents_ = 0;
  std::string line_;
  std::uint64_t lines_ = 0;
  std::vector<bool> met_;  // by document and filter
  std::uint64_t observed_ = 0;
  std::uint64_t strict_passed_ = 0;
  std::string fault_;  // the first one
};

// ---- The keys of receipts and publication records, and what each may hold;
// contract-october.md 5.4

// Both check a whole record: unknown keys, missing keys and wrong values are faults, which name
// the file. Keys that may be absent are added with what they then mean.
JsonValue shaped_receipt(const JsonValue& receipt, const std::string& name,
                         std::vector<PublicationFault>& faults);
JsonValue shaped_publication_record(const JsonValue& record, const std::string& name,
                                    std::vector<PublicationFault>& faults);

}  // namespace aggregate_power
