// How a tokenizer stands beside the PyPI package on as many texts as one likes: compares each FOLDER of live_parity.py and prints
// its name, cases, differences and seconds. For runs that are too long for a test (docs/benchmarks.md has their table).
#include <chrono>
#include <filesystem>
#include <iostream>

#include "hftrain/base/error.h"
#include "tokenizer/golden_cases.h"
#include "tokenizer/golden_inputs.h"

namespace {

bool compare_folder(const std::string& folder) {
  using hftrain::tokenizer::Comparison;
  const auto begin = std::chrono::steady_clock::now();
  const Comparison texts = hftrain::tokenizer::compare_with_cases(folder);
  const Comparison inputs = hftrain::tokenizer::compare_with_inputs(folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << std::filesystem::path(folder).filename().string() << ' ' << texts.cases << ' '
            << texts.differences << ' ' << inputs.cases << ' ' << inputs.differences << ' ' << seconds
            << std::endl;
  for (const Comparison& result : {texts, inputs}) {
    if (result.differences > 0)
      std::cerr << folder << ": " << result.first_difference.substr(0, 4000) << std::endl;
  }
  return texts.differences + inputs.differences == 0 && texts.cases > 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool same = argc > 1;
  try {
    for (int i = 1; i < argc; ++i) same = compare_folder(argv[i]) && same;
  } catch (const hftrain::Error& error) {
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
  return same ? 0 : 1;
}
