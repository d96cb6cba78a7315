// The files of a package of several nodes, from sections of an input: checked as for a run, which
// must end with a verdict, and give numbers only if it is valid.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/files/file.h"
#include "fuzz/fuzz_util.h"
#include "packages/srt_slurm/check.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

std::optional<OpenedFile> opened(const std::string& path) {
  try {
    return OpenedFile(path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

}  // namespace

// The first byte decides about the options; the rest are sections, see fuzz_util.h.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  folder.clear();
  folder.put_sections(fuzz::text_of(data + 1, size - 1));
  PackageQuestion question;
  question.place = {disk_tree(), folder.at("power"), folder.path()};
  question.result_name = "run.json";
  question.result = opened(folder.at("run.json"));
  question.result_fault = "missing";
  question.contract = (data[0] & 1) != 0 ? Contract::august : Contract::october;
  question.salvage = (data[0] & 2) != 0;
  question.keys = (data[0] & 4) != 0 ? RowKeys::all : RowKeys::seed;
  question.role_gpus.prefill = 2;
  question.role_gpus.decode = 2;
  question.expected_producer_sha = "0123456789abcdef0123456789abcdef01234567";
  const Result result = check_package(question);
  require(result.is_valid() == result.reasons.empty());
  for (const Metric& metric : result.metrics) {
    require(!result.is_valid() || std::isfinite(metric.value));
  }
  return 0;
}
