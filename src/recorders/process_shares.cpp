// Numbers the processes, and sorts the records by GPU.
#include "recorders/recorders.h"

#include <algorithm>
#include <map>

#include "base/text/characters.h"
#include "base/text/timestamp.h"
#include "recorders/aipowermeter.h"

namespace aggregate_power {
namespace {

class ShareKeeper {
 public:
  explicit ShareKeeper(const Zone& zone) : stamps_(zone) {}

  void take(const AipmRecord& record) {
    const auto stamp = stamps_.parse(strip(record.date));
    if (!stamp) return;
    if (!record.attributable.empty() && !record.drawn.empty()) {
      ++shares_.attributed;
      shares_.above_drawn += record.is_above_drawn() ? 1 : 0;
    }
    for (const AipmOfGpu& of : record.drawn) {
      const auto found = std::ranges::find(record.processes, of.gpu, &AipmProcesses::gpu);
      const bool is_known = found != record.processes.end();
      ShareRecord& kept = gpu(of.gpu).records.emplace_back();
      kept.unix_s = stamp->unix_s;
      kept.is_known = is_known;
      if (!is_known) continue;
      shares_.has_processes = true;
      for (const AipmUse& use : found->uses) {
        if (use.use > 0) kept.uses.push_back({number_of(use.process), use.use});
      }
    }
  }

  ProcessShares finish() && {
    for (ProcessShares::Gpu& gpu : shares_.gpus) {
      std::ranges::stable_sort(gpu.records, {}, &ShareRecord::unix_s);
    }
    return std::move(shares_);
  }

 private:
  ProcessShares::Gpu& gpu(const std::string& name) {
    const auto found = std::ranges::find(shares_.gpus, name, &ProcessShares::Gpu::name);
    if (found != shares_.gpus.end()) return *found;
    shares_.gpus.push_back({name, {}});
    return shares_.gpus.back();
  }
  std::size_t number_of(const std::string& process) {
    const auto [place, is_new] = numbers_.try_emplace(process, shares_.processes.size());
    if (is_new) shares_.processes.push_back(process);
    return place->second;
  }

  StampParser stamps_;
  ProcessShares shares_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

const ProcessShares::Gpu* ProcessShares::find(const std::string& gpu) const {
  const auto found = std::ranges::find(gpus, gpu, &Gpu::name);
  return found == gpus.end() ? nullptr : &*found;
}

ProcessShares read_process_shares(ByteSource& source, const Zone& zone) {
  ShareKeeper keeper(zone);
  AipmWalk walk([&](const AipmRecord& record) { keeper.take(record); }, [] {});
  try {
    walk_aipm_records(source, walk);
  } catch (const JsonError&) {  // reading its power says what is wrong
  }
  return std::move(keeper).finish();
}

}  // namespace aggregate_power
