#include "launcher/front/data_stage.h"

#include <signal.h>

#include <ostream>
#include <streambuf>
#include <vector>

#include "hftrain/data/column_writer.h"
#include "launcher/front/stop_flag.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

// A terminal whose reader stops the run as soon as there is something to read.
class StoppingTerminal : public std::streambuf {
 public:
  explicit StoppingTerminal(int signal) : signal_(signal) {}

 protected:
  std::streamsize xsputn(const char*, std::streamsize size) override {
    if (signal_ != 0) ::raise(signal_);
    signal_ = 0;
    return size;
  }
  int_type overflow(int_type byte) override {
    const char text = 'x';
    xsputn(&text, 1);
    return traits_type::not_eof(byte);
  }

 private:
  int signal_;
};

bool prepares_when_sent(int signal, const data::PrepareRequest& request) {
  StoppingTerminal terminal(signal);
  std::ostream stream(&terminal);
  reporting::Console console(stream, {.progress = reporting::ProgressStyle::kNone,
                                      .color = false,
                                      .width = 80,
                                      .quiet = false,
                                      .threshold = LogLevel::kInfo});
  return prepare_data(request, console).has_value();
}

}  // namespace

// The line with how many samples there are comes when all are there.
TEST_CASE("a stop signal behind the last row of a preparation is heard, of samples from the cache, too") {
  const testing::TemporaryDirectory folder;
  data::ColumnWriter tokens(folder / "tokens", 256);
  tokens.add(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  tokens.finish();
  data::PrepareRequest request;
  request.train_files = {folder / "tokens.bin"};
  request.block_size = 3;
  request.cache_folder = folder / "cache";
  CHECK_FALSE(prepares_when_sent(SIGTERM, request));
  CHECK(first_stop_signal() == SIGTERM);
  CHECK_FALSE(prepares_when_sent(SIGUSR1, request));
  CHECK(prepares_when_sent(0, request));
}

}  // namespace hftrain::front
