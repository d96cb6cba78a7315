// Prints how well the watts of phases are found: phase_truth [LOADS [SEED [CLASS]]].
#include <cstdio>
#include <cstdlib>

#include "truth/phase_table.h"

int main(int count, char** words) {
  const std::size_t loads = count > 1 ? std::strtoull(words[1], nullptr, 10) : 100;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  const auto table = truth::make_phase_table(loads, seed, count > 3 ? words[3] : "");
  std::fputs(truth::as_text(table).c_str(), stdout);
}
