// The spellings of load generators, and of scripts around them.
#include "core/load/stated_settings.h"

#include <algorithm>

namespace aggregate_power::loads {
namespace {

constexpr SettingName kNames[] = {{"hw", "hw"},
                                  {"hardware", "hw"},
                                  {"gpu_model", "hw"},
                                  {"framework", "framework"},
                                  {"engine", "framework"},
                                  {"backend", "backend"},
                                  {"model_id", "model"},
                                  {"model", "model"},
                                  {"model_name", "model"},
                                  {"model_filename", "model"},
                                  {"precision", "precision"},
                                  {"dtype", "precision"},
                                  {"quantization", "quantization"},
                                  {"tp", "tp"},
                                  {"tp_size", "tp"},
                                  {"tensor_parallel_size", "tp"},
                                  {"pp", "pp"},
                                  {"pp_size", "pp"},
                                  {"pipeline_parallel_size", "pp"},
                                  {"ep", "ep"},
                                  {"ep_size", "ep"},
                                  {"expert_parallel_size", "ep"},
                                  {"dp", "dp"},
                                  {"dp_size", "dp"},
                                  {"data_parallel_size", "dp"},
                                  {"dp_attention", "dp_attention"},
                                  {"enable_dp_attention", "dp_attention"},
                                  {"dataset_name", "dataset"},
                                  {"scenario", "scenario_type"},
                                  {"input_len", "input_len"},
                                  {"random_input_len", "input_len"},
                                  {"isl", "input_len"},
                                  {"n_prompt", "input_len"},
                                  {"output_len", "output_len"},
                                  {"random_output_len", "output_len"},
                                  {"osl", "output_len"},
                                  {"n_gen", "output_len"},
                                  {"max_concurrency", "conc"},
                                  {"conc", "conc"},
                                  {"num_concurrency", "conc"},
                                  {"num_concurrent_requests", "conc"},
                                  {"streams", "conc"},
                                  {"request_rate", "request_rate"},
                                  {"rate", "request_rate"},
                                  {"num_prompts", "num_prompts"},
                                  {"batch_size", "batch_size"},
                                  {"max_num_seqs", "max_num_seqs"}};

}  // namespace

std::span<const SettingName> setting_names() { return kNames; }

std::string_view setting_name(std::string_view path) {
  const std::string_view key = path.substr(path.rfind('.') + 1);
  const auto found = std::ranges::find(kNames, key, &SettingName::key);
  return found == std::end(kNames) ? std::string_view() : found->name;
}

}  // namespace aggregate_power::loads
