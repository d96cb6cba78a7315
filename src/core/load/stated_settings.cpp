// The spellings of load generators, and of scripts around them.
#include "core/load/stated_settings.h"

#include <algorithm>
#include <vector>

#include "base/text/characters.h"

namespace aggregate_power::loads {
namespace {

struct Spellings {
  std::string_view name;
  std::string_view keys;  // with a blank between
};
constexpr Spellings kSpellings[] = {
    {"hw", "hw hardware gpu_model"},
    {"framework", "framework engine"},
    {"backend", "backend"},
    {"model", "model_id model model_name model_filename"},
    {"precision", "precision dtype"},
    {"quantization", "quantization"},
    {"tp", "tp tp_size tensor_parallel_size"},
    {"pp", "pp pp_size pipeline_parallel_size"},
    {"ep", "ep ep_size expert_parallel_size"},
    {"dp", "dp dp_size data_parallel_size"},
    {"dp_attention", "dp_attention enable_dp_attention"},
    {"dataset", "dataset_name"},
    {"scenario_type", "scenario"},
    {"input_len", "input_len random_input_len isl n_prompt"},
    {"output_len", "output_len random_output_len osl n_gen"},
    {"conc", "max_concurrency conc num_concurrency num_concurrent_requests streams"},
    {"request_rate", "request_rate rate"},
    {"num_prompts", "num_prompts"},
    {"batch_size", "batch_size"},
    {"max_num_seqs", "max_num_seqs"},
};

}  // namespace

std::span<const SettingName> setting_names() {
  static const std::vector<SettingName> names = [] {
    std::vector<SettingName> all;
    for (const Spellings& setting : kSpellings) {
      for (const std::string_view key : blank_separated(setting.keys))
        all.push_back({key, setting.name});
    }
    return all;
  }();
  return names;
}

std::string_view setting_name(std::string_view path) {
  const std::string_view key = path.substr(path.rfind('.') + 1);
  const auto found = std::ranges::find(setting_names(), key, &SettingName::key);
  return found == setting_names().end() ? std::string_view() : found->name;
}

}  // namespace aggregate_power::loads
