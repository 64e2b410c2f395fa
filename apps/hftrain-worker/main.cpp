// hftrain-worker: one rank of a run, which reads a finished plan, trains and reports on its control descriptor; or, for
// commands that generate, a model that writes texts.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "hftrain/trainer/plugin.h"
#include "rank_main.h"

namespace {

// Without the destructors of LibTorch's static objects: they take 0.15 s of each rank, and free what the kernel frees anyway.
[[noreturn]] void leave(int code) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  if (!hftrain::trainer::has_loaded_plugin()) ::_exit(code);
  std::exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  leave(hftrain::worker::rank_main(argc, argv, hftrain::worker::train_as_planned));
}
