// Devices that are the total or the mean of others. Sums are by hand.
#include "energy/sensors/series_check.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace total_series_test {

constexpr int kTimes = 60;

using Power = std::function<double(int)>;

// Whole watts that no two devices share.
Power load(int device) {
  return
      [device](int i) { return 200 + 50 * device + (i * (7 + 4 * device) + i * i * device) % 97; };
}

// A device for each name, with its power.
class Recording {
 public:
  void add(const std::string& name, const Power& power) {
    names_.push_back(name);
    samples_.emplace_back();
    for (int i = 0; i < kTimes; ++i) samples_.back().push_back({1000.0 + i, power(i)});
  }
  std::string text() const {
    std::vector<DeviceSeries> devices;
    for (std::size_t i = 0; i < names_.size(); ++i) devices.push_back({names_[i], samples_[i]});
    return energy::total_text(devices);
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<Sample>> samples_;
};

double sum(int i) { return load(0)(i) + load(1)(i) + load(2)(i); }

Recording three() {
  Recording recording;
  for (int device = 0; device < 3; ++device) recording.add(std::to_string(device), load(device));
  return recording;
}

TEST(TotalText, FindsSumsAndMeansWhateverTheyAreCalled) {
  Recording recording = three();
  recording.add("8", sum);
  EXPECT_EQ(recording.text(),
            "GPU 8 is the sum of 3 other GPUs at all times: their power would count twice; "
            "--gpus 0,1,2 leaves them out");
  recording = three();
  recording.add("8", [](int i) { return std::round(sum(i) / 3); });
  EXPECT_NE(recording.text().find("GPU 8 is the mean of 3 other GPUs"), std::string::npos);
}

TEST(TotalText, FindsTotalsByTheirNames) {
  for (const char* name :
       {"total", "Sum", "all", "gpu_total", "average", "avg", "All GPUs", "node-1/total"}) {
    Recording recording = three();
    recording.add(name, load(5));
    EXPECT_NE(recording.text().find("by its name"), std::string::npos) << name;
  }
  Recording recording;
  recording.add("total", sum);
  EXPECT_EQ(recording.text(), "") << "it was chosen";
}

TEST(OnlyMeansText, FindsDevicesThatAreNoGpu) {
  const auto text_of = [](const std::vector<std::string>& names) {
    std::vector<DeviceSeries> devices;
    for (const std::string& name : names) devices.push_back({name, {}});
    return energy::only_means_text(devices);
  };
  for (const char* name : {"mean", "Avg", "average", "gpu_avg", "mean of GPUs", "0,1,2,3", "[0, 1]",
                           "0;1", "3.5", "0.5", "n1/mean"}) {
    EXPECT_NE(text_of({name}), "") << name;
  }
  EXPECT_NE(text_of({"a/avg", "b/avg"}), "");
  for (const char* name : {"0", "3.0", "0.1", "GPU 0", "total", "sum", "0000:17:00.0", "card0",
                           "meaning", "0-3", "GPU-0a1b2c3d"}) {
    EXPECT_EQ(text_of({name}), "") << name;
  }
  EXPECT_EQ(text_of({"0.5", "1.5"}), "") << "parts of GPUs";
  EXPECT_EQ(text_of({"0", "mean"}), "") << "total_text() finds it";
  EXPECT_EQ(text_of({}), "");
}

TEST(TotalText, FindsSensorsOfTheMachineByTheirNames) {
  for (const char* name : {"system", "Node 0", "UBB", "node_power", "a/npm", "PSU 1", "cpu",
                           "package-0", "intel-rapl:0", "uncore", "CPU 0 package"}) {
    Recording recording = three();
    recording.add(name, load(5));
    EXPECT_NE(recording.text().find("is a sensor of the machine"), std::string::npos) << name;
  }
  Recording hosts;  // each is a GPU of a host, or a host
  for (int host = 0; host < 3; ++host) hosts.add("node" + std::to_string(host), load(host));
  EXPECT_EQ(hosts.text(), "");
  Recording recording = three();
  recording.add("node-3-gpu-0", load(5));
  EXPECT_EQ(recording.text(), "");
}

TEST(TotalText, FindsTheTotalOfEachHost) {
  Recording recording;
  for (int host = 0; host < 2; ++host) {
    const std::string prefix = host == 0 ? "a/" : "b/";
    recording.add(prefix + "0", load(2 * host));
    recording.add(prefix + "1", load(2 * host + 1));
    recording.add(prefix + "2",
                  [host](int i) { return load(2 * host)(i) + load(2 * host + 1)(i); });
  }
  EXPECT_NE(recording.text().find("--gpus a/0,a/1,b/0,b/1 "), std::string::npos)
      << recording.text();
}

TEST(TotalText, PassesOverGpusThatAreTheirOwn) {
  EXPECT_EQ(three().text(), "");
  Recording in_step;  // GPU 1 is the mean of both others
  for (int device = 0; device < 3; ++device) {
    in_step.add(std::to_string(device), [device](int i) { return load(0)(i) + 20 * device; });
  }
  EXPECT_EQ(in_step.text(), "");
  Recording constant;
  constant.add("0", [](int) { return 100; });
  constant.add("1", [](int) { return 200; });
  constant.add("2", [](int) { return 300; });
  EXPECT_EQ(constant.text(), "");
  Recording idle;  // the mean of both others within what rounding makes
  for (int device = 0; device < 3; ++device) {
    idle.add(std::to_string(device), [device](int i) { return 60 + (i * (device + 3)) % 2; });
  }
  EXPECT_EQ(idle.text(), "");
}

}  // namespace total_series_test
}  // namespace aggregate_power
