// Prints how well windows are placed: place_truth [RUNS [SEED]].
#include <cstdio>
#include <cstdlib>

#include "truth/place_table.h"

int main(int count, char** words) {
  const std::size_t runs = count > 1 ? std::strtoull(words[1], nullptr, 10) : 10;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  std::fputs(truth::clock_table_text(truth::make_clock_table(runs, seed)).c_str(), stdout);
  std::fputs(truth::wrapped_table_text(truth::make_wrapped_table(runs, seed)).c_str(), stdout);
}
