// Confines the process to files below some places, without network and programs, by Landlock and
// seccomp.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

// Where a confined process may go. Places that do not exist are passed over; links are followed.
struct Reach {
  bool everywhere = false;           // files are not confined, only system calls
  std::vector<std::string> reads;    // files, and folders with all that is below them
  std::vector<std::string> writes;   // the same; also read
  std::vector<std::string> removes;  // folders below which empty folders may be removed
};

struct Sandbox {
  int landlock = 0;  // its version; 0: there is none
  bool seccomp = false;
};

// What the kernel has.
Sandbox sandbox_of_kernel();

// Confines the calling thread and all that it starts, for good; of the other threads of the
// process, only their system calls. Returns what is in force: a part that the kernel lacks is
// left out.
Sandbox confine(const Reach& reach);

// What the process is confined to, after all links. Empty: its files are not confined.
const std::vector<std::string>& confined_to();

}  // namespace aggregate_power
