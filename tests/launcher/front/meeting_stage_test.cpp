// What the front programs of a job compare of their builds.
#include "launcher/front/meeting_stage.h"

#include <filesystem>
#include <string>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

using testing::TemporaryDirectory;

// An installation and a program of the user's.
struct Installed {
  Installed() {
    for (const char* part : {"/bin", "/lib"}) std::filesystem::create_directories(folder.path() + part);
    for (const char* file : {"/bin/hftrain", "/bin/hftrain-worker", "/lib/libhftrain.so", "/mine"})
      put(file, file);
  }
  void put(const std::string& file, const std::string& content) const {
    write_file_atomically(folder.path() + file, content);
  }
  std::string build(const std::string& worker, bool own) const {
    return build_of(folder.path() + "/bin/hftrain", folder.path() + worker, own);
  }
  TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("builds differ by hftrain, by what ranks are started with and by the library of a program") {
  const Installed here, there;
  const std::string plain = here.build("/bin/hftrain-worker", false), own = here.build("/mine", true);
  CHECK(plain != own);
  CHECK(there.build("/bin/hftrain-worker", false) == plain);
  CHECK(there.build("/mine", true) == own);

  there.put("/lib/libhftrain.so", "of another day");
  CHECK(there.build("/mine", true) != own);
  CHECK(there.build("/bin/hftrain-worker", false) == plain);  // which does not load it

  there.put("/lib/libhftrain.so", "/lib/libhftrain.so");
  there.put("/mine", "changed");
  CHECK(there.build("/mine", true) != own);
  there.put("/bin/hftrain", "changed");
  CHECK(there.build("/bin/hftrain-worker", false) != plain);
}

}  // namespace hftrain::front
