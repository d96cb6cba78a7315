// Lists the scrapes of a folder, and reads one after the other.
#include "recorders/scrape_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/text/timestamp.h"
#include "recorders/recorder_table.h"

namespace aggregate_power {
namespace {

namespace fs = std::filesystem;

std::optional<double> time_in_name(const std::string& stem) {
  if (stem.find_first_not_of("0123456789.") != stem.npos) return std::nullopt;
  const auto stamp = StampParser(Zone::fixed(0)).parse(stem);
  if (!stamp || stamp->unix_s < kFirstAbsoluteUnixS) return std::nullopt;
  return stamp->unix_s;
}

// Nanoseconds are kept as a file system keeps them.
Scrape by_file_time(Scrape scrape, const struct stat& status) {
  scrape.time = fmt::format("{}.{:06}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec / 1000);
  scrape.unix_s = static_cast<double>(status.st_mtim.tv_sec) +
                  static_cast<double>(status.st_mtim.tv_nsec) / 1e9;
  return scrape;
}

bool begins_as_scrape(const std::string& path) {
  constexpr std::size_t kEnough = 16 * 1024;
  try {
    return kScrapesRecorder.fits("# 1777118400\n" + read_up_to(*open_source(path), kEnough)) > 0;
  } catch (const FileError&) {
    return false;
  }
}

class ScrapesSource : public ByteSource {
 public:
  explicit ScrapesSource(std::span<const Scrape> scrapes) : rest_(scrapes) {}
  std::size_t read(std::span<char> into) override {
    while (true) {
      if (line_.empty() && !file_) {
        if (rest_.empty()) return 0;
        line_ = fmt::format("\n# {}\n", rest_.front().time);
        file_ = open_source(rest_.front().path);
        rest_ = rest_.subspan(1);
      }
      if (!line_.empty()) {
        const std::size_t count = line_.copy(into.data(), into.size());
        line_.erase(0, count);
        return count;
      }
      if (const std::size_t count = file_->read(into)) return count;
      file_.reset();
    }
  }

 private:
  std::span<const Scrape> rest_;
  std::string line_;
  std::unique_ptr<ByteSource> file_;
};

}  // namespace

std::vector<Scrape> scrapes_in(const std::string& folder) {
  std::vector<Scrape> named;
  std::vector<Scrape> others;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const fs::path& path = at->path();
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string end_of_name = path.extension().string();
    if (end_of_name != ".txt" && end_of_name != ".prom") continue;
    Scrape scrape = {path.string(), {}, 0, static_cast<std::uint64_t>(status.st_size)};
    if (const auto unix_s = time_in_name(path.stem().string())) {
      scrape.time = path.stem().string();
      scrape.unix_s = *unix_s;
      named.push_back(std::move(scrape));
    } else {
      others.push_back(by_file_time(std::move(scrape), status));
    }
  }
  std::vector<Scrape>& scrapes = named.empty() ? others : named;
  std::ranges::sort(scrapes, [](const Scrape& a, const Scrape& b) {
    return std::pair(a.unix_s, a.path) < std::pair(b.unix_s, b.path);
  });
  if (!scrapes.empty() && !begins_as_scrape(scrapes.front().path)) scrapes.clear();
  return std::move(scrapes);
}

std::unique_ptr<ByteSource> scrapes_source(std::span<const Scrape> scrapes) {
  return std::make_unique<ScrapesSource>(scrapes);
}

}  // namespace aggregate_power
