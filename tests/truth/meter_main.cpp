// Prints how well meters are understood: meter_truth [NODES [SEED [LOAD]]].
#include <cstdio>
#include <cstdlib>

#include "truth/meter_table.h"

int main(int count, char** words) {
  const std::size_t nodes = count > 1 ? std::strtoull(words[1], nullptr, 10) : 100;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  const auto table = truth::make_meter_table(nodes, seed, count > 3 ? words[3] : "");
  std::fputs(truth::as_text(table).c_str(), stdout);
}
