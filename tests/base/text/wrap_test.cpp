// Text in lines of a given width.
#include "base/text/wrap.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace wrap_test {

TEST(Wrapped, BreaksAtBlanks) {
  EXPECT_EQ(wrapped("aa bb cc", "", 0, 5), "aa bb\ncc\n");
  EXPECT_EQ(wrapped("aa bb cc", "x: ", 2, 8), "x: aa bb\n  cc\n");
  EXPECT_EQ(wrapped("", "x:", 2, 8), "x:\n");
}

TEST(Wrapped, KeepsLongWordsWhole) {
  EXPECT_EQ(wrapped("a wwwwwwww b", "", 1, 4), "a\n wwwwwwww\n b\n");
}

TEST(Wrapped, CountsCharactersNotBytes) { EXPECT_EQ(wrapped("µµ µµ", "", 0, 5), "µµ µµ\n"); }

TEST(WrappedCommand, IsOneCommandForAShell) {
  EXPECT_EQ(wrapped_command("p in --aa 1 --bb 2", 2, 80), "  p in --aa 1 --bb 2\n");
  // "  p in --aa 1 \" has 15 columns.
  EXPECT_EQ(wrapped_command("p in --aa 1 --bb 2", 2, 15), "  p in --aa 1 \\\n      --bb 2\n");
  EXPECT_EQ(wrapped_command("p in --aa 1 --bb 2", 2, 14),
            "  p in \\\n      --aa 1 \\\n      --bb 2\n");
}

}  // namespace wrap_test
}  // namespace aggregate_power
