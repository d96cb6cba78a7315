// Prints how well estimates of energy meet known truths.
// usage: energy_truth [RUNS [FIRST_SEED [CLASS]]]
// RUNS of each class (default: 40). With CLASS, a part of its name, each run is shown as well.
#include <cstdio>
#include <cstdlib>

#include "truth/truth_table.h"

int main(int argc, char** argv) {
  const std::size_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 40;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool one_class = argc > 3;
  std::printf("seeds from %llu\n", static_cast<unsigned long long>(seed));
  const truth::TruthTable table =
      truth::make_truth_table(runs, seed, one_class ? argv[3] : "", one_class);
  std::fputs(truth::as_text(table).c_str(), stdout);
}
