// Any bytes as a file with what a kWh costs or emits. Its hours must be able to price an energy.
#include <cmath>
#include <cstdint>

#include "aggregate_power/error.h"
#include "energy/shares/facility.h"
#include "fuzz/fuzz_util.h"
#include "recorders/energy_rate.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

}  // namespace

// The first byte decides whether they are prices.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_price = data[0] % 2 == 1;
  FacilityRates rates;
  try {
    const EnergyRate rate = energy_rate_in(fuzz::text_of(data + 1, size - 1), "r",
                                           is_price ? RateKind::price : RateKind::carbon);
    require(!rate.per_kwh.empty() && std::isfinite(rate.first_unix_s));
    for (const double value : rate.per_kwh)
      require(std::isfinite(value) && (is_price || value >= 0));
    (is_price ? rates.price : rates.carbon) = rate;
    const Window window{rate.first_unix_s, std::min(rate.end_unix_s(), rate.first_unix_s + 86400)};
    const FacilityFigures figures = facility_figures_of_total(rates, window, 3.6e6);
    require((is_price ? figures.cost : figures.carbon_g).has_value() || !figures.reasons.empty());
    std::ignore = facility_doubts(rates);
    std::ignore = hours_text(rate);
  } catch (const Error&) {
  }
  return 0;
}
