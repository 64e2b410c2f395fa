// The main program of a fuzz target that is not linked to libFuzzer: its seeds, then a number of inputs made of them,
// always the same ones. What no reader may do (a crash, another exception than Error, 20 s or 2 GiB for an input) ends
// the program, and the input is left in the file that it names.
//
//   fuzz_TARGET SEEDS_FOLDER WORDS_FILE EXECUTIONS FINDING_FILE
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

constexpr size_t kLongestInput = 8192;
constexpr unsigned kSecondsForAnInput = 20;
constexpr rlim_t kBytes = rlim_t{2} << 30;

const char* finding_file = nullptr;
const char* input_data = nullptr;  // of the execution that goes on
size_t input_size = 0;

// Async-signal-safe.
void keep_the_input(int) {
  const int file = ::open(finding_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, input_data, input_size) >= 0) {
    constexpr char kMessage[] = "FINDING: the input is in the file named last on the command line\n";
    if (::write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) ::_exit(1);
  }
  ::_exit(1);
}

// Sanitizers take terabytes of addresses for themselves.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory = {kBytes, kBytes};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
}

void execute(const std::string& input) {
  input_data = input.data();
  input_size = input.size();
  ::alarm(kSecondsForAnInput);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string made_of(const std::vector<std::string>& seeds, unsigned number) {
  fuzz::Mutator& mutator = fuzz::mutator();
  mutator.reseed(number);
  std::string input = seeds[mutator.number(seeds.size())];
  size_t size = std::min(input.size(), kLongestInput);
  input.resize(kLongestInput);
  auto* data = reinterpret_cast<uint8_t*>(input.data());
  for (size_t times = 1 + mutator.number(4); times > 0; --times) {
    size = LLVMFuzzerCustomMutator != nullptr
               ? LLVMFuzzerCustomMutator(data, size, kLongestInput, number + static_cast<unsigned>(times))
               : mutator.mutate(data, size, kLongestInput);
  }
  input.resize(size);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s SEEDS_FOLDER WORDS_FILE EXECUTIONS FINDING_FILE\n", argv[0]);
    return 2;
  }
  finding_file = argv[4];
  limit_memory();
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP})
    ::signal(signal, keep_the_input);
  std::vector<std::string> seeds = fuzz::files_of(argv[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds in %s\n", argv[0], argv[1]);
    return 2;
  }
  fuzz::mutator().use_words(fuzz::words_of(argv[2]));
  for (const std::string& seed : seeds) execute(seed);
  const unsigned executions = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
  for (unsigned i = 0; i < executions; ++i) execute(made_of(seeds, i));
  std::printf("%zu seeds and %u inputs: no finding\n", seeds.size(), executions);
}
