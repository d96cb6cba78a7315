// Compares the published metrics of a point: checks 11 to 13 of contract-october.md 5.2.
#pragma once

#include <string>
#include <vector>

#include "packages/srt_slurm/shared_samples.h"
#include "verify/sweep/point_files.h"

namespace aggregate_power {

// How far a metric of the aggregate may be from that of the audit record.
double metric_tolerance(std::string_view key);

// Check 11: the aggregate against the audit record, and the record against itself.
void compare_metrics(const PointEvidence& found, PointFaults& faults);
// Check 12: the audit record against its telemetry. Returns notes for people. May throw FileError.
std::vector<std::string> check_recomputed_metrics(const Evidence& evidence,
                                                  const RequiredPoint& required,
                                                  const PointEvidence& found, SharedSamples& shared,
                                                  PointFaults& faults);
// Check 13: the digest that a package states of its samples. May throw Error and FileError.
void check_samples_digest(const Evidence& evidence, const PointEvidence& found,
                          PointFaults& faults);

}  // namespace aggregate_power
