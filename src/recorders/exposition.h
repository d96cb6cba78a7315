// A folder with one file for each scrape of an exporter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/system/byte_source.h"

namespace aggregate_power {

struct Scrape {
  std::string path;
  std::string time;  // Unix seconds
  double unix_s = 0;
  std::uint64_t bytes = 0;
};

// The scrapes of a folder, in the order of their times: files named by Unix seconds, such as
// 1777118400.txt; if there is none, files that end in .txt or .prom, by the times at which they
// were last written. Empty if there are none, if the first one is not a scrape, or if the folder
// cannot be read.
std::vector<Scrape> scrapes_in(const std::string& folder);

// All of them as one text, each after a line with its time: "# 1777118400". They must outlive it.
std::unique_ptr<ByteSource> scrapes_source(std::span<const Scrape> scrapes);

}  // namespace aggregate_power
