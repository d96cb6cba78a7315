// Prints how well estimates of energy meet known truths.
// usage: energy_truth [RUNS [FIRST_SEED [CLASS]]]
//        energy_truth --write FOLDER [RUNS [FIRST_SEED]]
//        energy_truth --stretches [RUNS [FIRST_SEED]]   windows, and loads placed by the power
//        energy_truth --plan [COMPARISONS [FIRST_SEED]] planned comparisons, and looks
//        energy_truth --shared [RUNS [FIRST_SEED]]      requests, and layers of traces
// RUNS of each class (default: 40). With CLASS, a part of its name, each run is shown as well. With
// --write, the runs are written as files instead, one folder for each.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "truth/plan_table.h"
#include "truth/run_files.h"
#include "truth/shared_table.h"
#include "truth/stretch_table.h"
#include "truth/truth_table.h"

namespace {

std::uint64_t number(int argc, char** argv, int place, std::uint64_t otherwise) {
  return argc > place ? std::strtoull(argv[place], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--stretches") {
    fmt::print("{}", truth::as_text(truth::make_stretch_table(number(argc, argv, 2, 40),
                                                              number(argc, argv, 3, 1))));
    return 0;
  }
  if (argc > 1 && std::string_view(argv[1]) == "--plan") {
    const std::uint64_t comparisons = number(argc, argv, 2, 1000);
    const std::uint64_t seed = number(argc, argv, 3, 1);
    fmt::print("{}\n{}\n{}", truth::as_text(truth::make_plan_table(comparisons, seed)),
               truth::as_text(truth::make_more_table(comparisons, seed)),
               truth::as_text(
                   truth::make_look_table({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, comparisons, 5, seed)));
    return 0;
  }
  if (argc > 1 && std::string_view(argv[1]) == "--shared") {
    fmt::print("{}", truth::as_text(truth::make_shared_table(number(argc, argv, 2, 40),
                                                             number(argc, argv, 3, 1))));
    return 0;
  }
  if (argc > 2 && std::string_view(argv[1]) == "--write") {
    const std::uint64_t runs = number(argc, argv, 3, 40);
    const std::vector<truth::RunClass> classes = truth::run_classes();
    for (std::size_t i = 0; i < classes.size() * runs; ++i) {
      const std::size_t c = i / runs;
      const std::uint64_t seed = truth::seed_of(number(argc, argv, 4, 1), c, i % runs);
      truth::write_files(
          truth::simulate(classes[c], seed),
          fmt::format("{}/{}/{} {}", argv[2], classes[c].group, classes[c].name, seed));
    }
    return 0;
  }
  const std::uint64_t seed = number(argc, argv, 2, 1);
  const bool one_class = argc > 3;
  fmt::print("seeds from {}\n", seed);
  const truth::TruthTable table =
      truth::make_truth_table(number(argc, argv, 1, 40), seed, one_class ? argv[3] : "", one_class);
  fmt::print("{}", truth::as_text(table));
}
