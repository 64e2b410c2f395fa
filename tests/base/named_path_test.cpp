#include "hftrain/base/named_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.render();
  }
  return "";
}

// Root may search every folder; for the time of this object the test is somebody else.
class NotRoot {
 public:
  NotRoot() : before_(::geteuid()) {
    if (before_ == 0) REQUIRE(::seteuid(65534) == 0);
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;
  ~NotRoot() { [[maybe_unused]] const int back = ::seteuid(before_); }

 private:
  uid_t before_;
};

TEST_CASE("a named pipe is written to, and stays one") {
  const TemporaryDirectory folder;
  const std::string pipe = folder / "pipe", link = folder / "link";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("pipe", link);
  // Held open at both ends, so that nothing waits here, whatever becomes of the name.
  const FileDescriptor both(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  for (const std::string& name : {pipe, link}) {
    write_named_file(name, name);
    CHECK(fs::is_fifo(fs::symlink_status(pipe)));
    CHECK(fs::is_symlink(link));
    char heard[4096];
    const ssize_t size = ::read(both.get(), heard, sizeof heard);
    REQUIRE(size > 0);
    CHECK(std::string(heard, static_cast<size_t>(size)) == name);
  }
}

TEST_CASE("a link that is named stays, and what it leads to appears whole") {
  const TemporaryDirectory folder;
  fs::create_directories(folder / "elsewhere");
  fs::create_symlink("second", folder / "first");
  fs::create_symlink(folder / "elsewhere/page", folder / "second");
  for (const char* text : {"made", "and made anew"}) {
    write_named_file(folder / "first", text);
    CHECK(read_file(folder / "elsewhere/page") == text);
    CHECK(fs::is_symlink(folder / "first"));
    CHECK(fs::is_symlink(folder / "second"));
    CHECK(fs::is_regular_file(fs::symlink_status(folder / "elsewhere/page")));
    CHECK(std::distance(fs::directory_iterator(folder / "elsewhere"), {}) == 1);
  }
  fs::create_symlink("circle", folder / "circle");
  CHECK_THAT(refusal([&] { write_named_file(folder / "circle", "x"); }), Catch::Contains("symbolic links"));
}

TEST_CASE("what is written by the name of an open file is seen by those who have it open") {
  const TemporaryDirectory folder;
  const FileDescriptor file(::open((folder / "out.txt").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(file);
  REQUIRE(::write(file.get(), "log, ", 5) == 5);
  write_named_file("/dev/fd/" + std::to_string(file.get()), "page");
  REQUIRE(::write(file.get(), ", end", 5) == 5);
  CHECK(read_file(folder / "out.txt") == "log, page, end");
}

TEST_CASE("a path that the system refuses to look at is told as that, and no other") {
  const TemporaryDirectory folder;
  fs::create_symlink("circle", folder / "circle");
  fs::create_directories(folder / "closed/run");
  write_file_atomically(folder / "file", "");
  for (const char* name : {"nothing", "nothing/below", "file", "file/below", "closed/run"})
    CHECK(refusal([&] { refuse_hidden(folder / name, name); }).empty());
  CHECK_THAT(refusal([&] { refuse_hidden(folder / "circle", "--flag circle"); }),
             Catch::Contains("a path cannot be looked at") && Catch::Contains("where: --flag circle") &&
                 Catch::Contains("symbolic links") && Catch::Contains("try: "));
  CHECK_THAT(refusal([&] { refuse_hidden(folder / std::string(300, 'x'), "x"); }),
             Catch::Contains("name too long"));
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder / "closed", fs::perms::none);
  {
    const NotRoot somebody;
    CHECK_THAT(refusal([&] { refuse_hidden(folder / "closed/run/deep", "deep"); }),
               Catch::Contains(folder / "closed may not be searched: Permission denied") &&
                   Catch::Contains("give this user the right to it"));
  }
  fs::permissions(folder / "closed", fs::perms::all);
}

TEST_CASE("a file in the place of a folder is told with the folder that it lies in") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "model/config.json", "{}");
  CHECK(refusal([&] { refuse_no_folder(folder / "model", "--flag"); }).empty());
  CHECK(refusal([&] { refuse_no_folder(folder / "nothing", "--flag"); }).empty());
  CHECK_THAT(refusal([&] { refuse_no_folder(folder / "model/config.json", "--flag"); }),
             Catch::Contains("a file is named where a folder is meant") &&
                 Catch::Contains("try: name the folder that it lies in: " + folder / "model"));
}

}  // namespace
}  // namespace hftrain
