#include "rank_main.h"

#include <exception>
#include <iostream>

#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "hftrain/base/fault_handlers.h"
#include "hftrain/base/file.h"
#include "hftrain/runtime/translate.h"
#include "hftrain/trainer/stop_request.h"
#include "options.h"
#include "serve_texts.h"

namespace hftrain::worker {

int rank_main(int argc, char** argv, const RankProgram& program) {
  trainer::StopRequest::install_handlers();
  StatusPage status;  // the handlers write to it until the process ends
  try {
    const auto environment = Environment::of_process();
    const Options options = read_options(argc, argv, environment);
    if (options.status_fd >= 0) {
      status = StatusPage::open(FileDescriptor(options.status_fd));
      install_fault_handlers(status);
    }
    if (options.plan_path.empty()) return static_cast<int>(serve_texts(options));
    return static_cast<int>(run_rank(options, status, program));
  } catch (...) {
    const Error error = runtime::translate(std::current_exception());
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}

}  // namespace hftrain::worker
