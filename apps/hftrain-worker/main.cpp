// hftrain-worker: one rank of a run, which reads a finished plan, trains and reports on its control descriptor; or, for
// commands that generate, a model that writes texts.
#include <exception>
#include <iostream>
#include <new>

#include "hftrain/base/error.h"
#include "hftrain/base/fault_handlers.h"
#include "hftrain/runtime/translate.h"
#include "hftrain/trainer/stop_request.h"
#include "options.h"
#include "run_rank.h"
#include "serve_texts.h"

int main(int argc, char** argv) {
  using hftrain::Error;
  hftrain::trainer::StopRequest::install_handlers();
  hftrain::StatusPage status;  // the handlers write to it until the process ends
  try {
    const auto environment = hftrain::Environment::of_process();
    const hftrain::worker::Options options = hftrain::worker::read_options(argc, argv, environment);
    if (options.status_fd >= 0) {
      status = hftrain::StatusPage::open(hftrain::FileDescriptor(options.status_fd));
      hftrain::install_fault_handlers(status);
    }
    if (options.plan_path.empty()) return static_cast<int>(hftrain::worker::serve_texts(options));
    return static_cast<int>(hftrain::worker::run_rank(options, status));
  } catch (...) {
    const Error error = hftrain::runtime::translate(std::current_exception());
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}
