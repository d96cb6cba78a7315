// Compares a published point with the one built from its files: check 10 of contract-october.md
// 5.2.
#pragma once

#include "publication/point_faults.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {

// The listed files: that each is there, below the root, and has its digest. `could_not_open` is set
// if one that is there cannot be read.
void check_artifacts(const Evidence& evidence, const JsonValue& published, PointFaults& faults,
                     bool& could_not_open);
// Everything else, value by value, and whether the list names all files and no others.
void compare_point(const JsonValue& built, const JsonValue& published, PointFaults& faults);

}  // namespace aggregate_power
