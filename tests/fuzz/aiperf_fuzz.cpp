// Any bytes as the requests that AIPerf exports, one a line. They must not depend on how the bytes
// arrive.
#include <cstdint>
#include <string_view>
#include <vector>

#include "aggregate_power/error.h"
#include "fuzz/fuzz_util.h"
#include "generators/aiperf.h"

namespace {

using namespace aggregate_power;
using fuzz::PieceSource;
using fuzz::require;

struct Records {
  std::vector<ProfileRecord> records;
  bool is_faulty = false;
};

Records records_in(ByteSource& source) {
  Records read;
  try {
    read_profile_records({source, "p"},
                         [&](const ProfileRecord& record) { read.records.push_back(record); });
  } catch (const Error&) {
    read.is_faulty = true;
  }
  return read;
}

bool same(const ProfileRecord& a, const ProfileRecord& b) {
  return a.is_profiling == b.is_profiling && a.failed == b.failed && a.id == b.id &&
         a.input_tokens == b.input_tokens && a.output_tokens == b.output_tokens &&
         a.in_flight.has_value() == b.in_flight.has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  PieceSource whole(text, size);
  PieceSource drip(text, 5);
  const Records read = records_in(whole);
  const Records again = records_in(drip);
  require(read.is_faulty == again.is_faulty && read.records.size() == again.records.size());
  for (std::size_t i = 0; i < read.records.size(); ++i) {
    require(same(read.records[i], again.records[i]));
    const auto& window = read.records[i].in_flight;
    require(!window || window->start_unix_s <= window->end_unix_s);
  }
  return 0;
}
