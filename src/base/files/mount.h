// File systems on which a file cannot be replaced without a risk.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace aggregate_power {

// Why files where `path` leads to cannot be replaced safely: "its file system has no locks", or it
// is a mount of an object store or a web folder, on which a rename copies and deletes, and locks
// hold on this machine alone. Empty: they can, or `path` cannot be opened. Looked into once for
// each file system.
std::string replacement_risk(const std::string& path);

// The program behind such a mount, by the text of /proc/self/mountinfo: "rclone". Empty: the device
// is none of those that are known.
std::string object_store_mount(std::string_view mountinfo, dev_t device);

}  // namespace aggregate_power
