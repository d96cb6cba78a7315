// MLPerf LoadGen's detail log, mlperf_log_detail.txt: lines ":::MLLOG {JSON}".
// mlcommons/inference: loadgen/loadgen.cc, loadgen/utils.cc.
#pragma once

#include <vector>

#include "core/load/load_files.h"
#include "core/load/result_head.h"

namespace aggregate_power {

double fits_mlperf(const ResultHead& head);
std::vector<LoadReading> read_mlperf(const LoadFiles& files);

}  // namespace aggregate_power
