#include "launcher/process/patient_writer.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "launcher/process/child_process.h"
#include "support/catch.h"

namespace hftrain::launcher {
namespace {

std::string read_bytes(int from, size_t count) {
  std::string text;
  char buffer[64 * 1024];
  while (text.size() < count) {
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, 60000) <= 0) break;
    const ssize_t size = ::read(from, buffer, sizeof(buffer));
    if (size <= 0) break;
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

}  // namespace

TEST_CASE("a reader who takes nothing holds up nobody, and gets all once he reads") {
  Pipe pipe = make_pipe();
  std::string all;
  PatientWriter writer(PatientWriter::to(pipe.writing.get()));
  for (int i = 0; i < 200; ++i) {  // lines longer than a page of a pipe, 1 MB in all
    const std::string line(5000, static_cast<char>('a' + i % 26));
    all += line + '\n';
    writer.write(line);
    writer.write("\n");
  }
  CHECK(writer.waiting() > all.size() / 2);
  CHECK_FALSE(writer.drain(0.05));
  CHECK(read_bytes(pipe.reading.get(), all.size()) == all);
  CHECK(writer.drain(60));
  CHECK(writer.waiting() == 0);
}

TEST_CASE("one that is gone costs what he would have got") {
  Pipe pipe = make_pipe();
  pipe.reading.reset();
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  PatientWriter writer(PatientWriter::to(pipe.writing.get()));
  writer.write(std::string(200'000, 'x'));
  CHECK(writer.drain(60));
  ::signal(SIGPIPE, before);
}

}  // namespace hftrain::launcher
