// Knows GPUs' models by the words that makers use.
#include "core/telemetry/gpu_models.h"

#include <algorithm>
#include <cstddef>

#include "base/text/pattern.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// Keys, as they end.
constexpr std::string_view kModelKeys[] = {"modelName",  "model_name",   "market_name",
                                           "gpu_name",   "product_name", "card_series",
                                           "card_model", "\"name\"",     "Device Name"};

// The value behind a key: ="NVIDIA H100", ": "AMD Instinct MI300X".
std::string_view quoted_value(std::string_view text) {
  const std::size_t open = text.find_first_not_of("\"=: \t");
  if (open == text.npos || open == 0 || text[open - 1] != '"') return {};
  const std::size_t close = text.find('"', open);
  return close == text.npos ? std::string_view() : text.substr(open, close - open);
}

}  // namespace

bool is_model_name(std::string_view text) {
  static constexpr Pattern model = {
      "(nvidia|amd|intel|tesla|geforce|quadro|radeon|instinct|titan|rtx|gtx|hgx|dgx)[ _-].*"
      "|(a|h|b|l|v|p|t|k|gh|gb|mi|rtx|gtx)[0-9]{2,4}[a-z]{0,2}([ _-].*)?|(t4|l4|a2)"
      "|rx[ _-]?[5-9][0-9]{3}.*|w[5-9][0-9]00x?([ _-].*)?|navi[ _-]?[1-4][0-9].*",
      Pattern::Case::either};
  return model.matches(text);
}

bool is_large_gpu(std::string_view model) {
  static const Pattern large = {
      R"((.*\b)?(V100|A30|A40|A100|A800|L40S?|H20|H100|H200|H800|B[123]00|G[BH][23]00|MI3[0-9]{2}[AX]?)(\b.*)?)",
      Pattern::Case::either};
  static const Pattern part = {R"(.*\b(GRID|vGPU|MIG)\b.*)", Pattern::Case::either};
  return large.matches(model) && !part.matches(model);
}

bool is_module_gpu(std::string_view model) {
  static const Pattern module = {R"((.*\b)?(G[BH][23]00|GB10|Grace)(\b.*)?)",
                                 Pattern::Case::either};
  return module.matches(model);
}

std::vector<std::string> gpu_models_in(std::string_view text) {
  std::vector<std::string> models;
  for (const std::string_view key : kModelKeys) {
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const std::string_view value = strip(quoted_value(text.substr(at + key.size())));
      if (is_model_name(value)) note_model(value, models);
    }
  }
  return models;
}

void note_model(std::string_view model, std::vector<std::string>& models) {
  if (std::ranges::find(models, model) == models.end()) models.emplace_back(model);
}

}  // namespace aggregate_power
