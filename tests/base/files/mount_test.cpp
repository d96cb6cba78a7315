// File systems on which a file cannot be replaced without a risk.
#include "base/files/lock.h"

#include <sys/sysmacros.h>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace mount_test {

// The first two and rclone's as Linux wrote them, the others as their programs' pages show them.
constexpr std::string_view kMounts =
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 27 0:26 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,size=24684100k\n"
    "42 27 0:39 / /mnt/rclone rw,nosuid,nodev,relatime - fuse.rclone :webdav{Ht8N5}: "
    "rw,user_id=0,group_id=0\n"
    "43 27 0:40 / /mnt/s3 rw - fuse mountpoint-s3 rw\n"
    "44 27 0:41 / /mnt/dav rw - fuse https://dav.example/files/ rw\n"
    "45 27 0:42 / /mnt/ssh rw - fuse.sshfs host:/srv rw\n"
    "46 27 0:43 / /mnt/nfs rw master:7 - nfs4 host:/srv rw\n"
    "47 27 0:44 / /merged rw - fuse.fuse-overlayfs fuse-overlayfs rw\n"
    "48 27 0:45 / /mnt/b\\040lob rw - fuse blobfuse2 rw\n"
    "49 27 0:46 / /mnt/fuse rw - fuse /dev/fuse rw\n"
    "50 27 0:47 / /mnt/disk rw - ext4 rclone rw\n";

TEST(ObjectStoreMount, IsToldByItsProgram) {
  const struct {
    unsigned minor;
    const char* program;
  } cases[] = {{39, "rclone"}, {40, "mountpoint-s3"}, {41, "davfs2"}, {42, ""}, {43, ""},
               {44, ""},       {45, "blobfuse2"},     {46, ""},       {47, ""}, {48, ""}};
  for (const auto& [number, program] : cases) {
    EXPECT_EQ(object_store_mount(kMounts, makedev(0, number)), program) << number;
  }
  EXPECT_EQ(object_store_mount(kMounts, makedev(254, 0)), "");
  EXPECT_EQ(object_store_mount("", makedev(0, 39)), "");
}

TEST(ReplacementRisk, IsNoneOnAnOrdinaryDiskOrWithoutAFile) {
  const test::Folder folder;
  EXPECT_EQ(replacement_risk(test::put(folder / "agg.json", "{}")), "");
  EXPECT_EQ(replacement_risk(folder / "missing"), "");
}

}  // namespace mount_test
}  // namespace aggregate_power
