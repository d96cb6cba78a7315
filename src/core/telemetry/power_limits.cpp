// One row for each board.
#include "core/telemetry/power_limits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kInferenceX =
    "InferenceX, hardware registry of its dashboard (SemiAnalysisAI/InferenceX-app)";

constexpr auto kLimits = std::to_array<PowerLimit>({
    {"GB300", 1400, kInferenceX},
    {"GB200", 1200, kInferenceX},
    {"B300", 1200, kInferenceX},
    {"B200", 1000, "NVIDIA, HGX B200: configurable up to 1000 W"},
    {"B100", 700, "NVIDIA, HGX B100: configurable up to 700 W"},
    {"H200 NVL", 600, "NVIDIA, H200 data sheet"},
    {"H200 SXM", 700, "NVIDIA, H200 data sheet"},
    {"H100 PCIe", 350, "NVIDIA, H100 PCIe product brief PB-11133"},
    {"H100 NVL", 400, "NVIDIA, H100 data sheet"},
    {"H100 SXM", 700, "NVIDIA, H100 data sheet"},
    {"A100 PCIe 40GB", 250, "NVIDIA, A100 data sheet"},
    {"A100 PCIe", 300, "NVIDIA, A100 data sheet"},
    {"A100 SXM", 400, "NVIDIA, A100 data sheet"},
    {"V100 PCIe", 250, "NVIDIA, V100 data sheet"},
    {"V100 SXM", 300, "NVIDIA, V100 data sheet"},
    {"A40", 300, "NVIDIA, A40 data sheet"},
    {"A30", 165, "NVIDIA, A30 data sheet"},
    {"A10", 150, "NVIDIA, A10 data sheet"},
    {"L40S", 350, "NVIDIA, L40S data sheet"},
    {"L40", 300, "NVIDIA, L40 data sheet"},
    {"L4", 72, "NVIDIA, L4 data sheet"},
    {"T4", 70, "NVIDIA, T4 data sheet"},
    {"MI355X", 1400, "AMD, Instinct MI355X data sheet"},
    {"MI350X", 1000, "AMD, Instinct MI350X data sheet"},
    {"MI325X", 1000, "AMD, Instinct MI325X data sheet"},
    {"MI300X", 750, "AMD, Instinct MI300X data sheet"},
    {"MI250X", 560, "AMD, Instinct MI250X data sheet: peak"},
    {"MI210", 300, "AMD, Instinct MI210 data sheet"},
    {"MI100", 300, "AMD, Instinct MI100 data sheet"},
});

// "NVIDIA A100-PCIE-40GB": "nvidia", "a100", "pcie", "40gb".
std::vector<std::string> limit_words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower_ascii(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// "sxm" also fits "sxm2", "sxm4" and no form factor at all.
bool has_limit_word(const std::vector<std::string>& words, std::string_view wanted) {
  return wanted == "sxm" || std::ranges::find(words, wanted) != words.end();
}

}  // namespace

std::optional<PowerLimit> power_limit_of(std::string_view name) {
  const std::vector<std::string> words = limit_words(name);
  const auto found = std::ranges::find_if(kLimits, [&](const PowerLimit& limit) {
    return std::ranges::all_of(limit_words(limit.gpu), [&](const std::string& wanted) {
      return has_limit_word(words, wanted);
    });
  });
  return found == kLimits.end() ? std::nullopt : std::optional(*found);
}

std::span<const PowerLimit> power_limits() { return kLimits; }

}  // namespace aggregate_power
