#include "launcher/environments/rank_starter.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::launcher {
namespace {

constexpr std::array kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
                                       "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", "RANK"};
constexpr int kMostBetween = 64;

// "NAME=value", as in the environment of a process; empty: it is no rank.
std::string rank_of(const Environment& environment) {
  for (const char* name : kRankVariables) {
    if (const auto value = environment.get(name)) return std::string(name) + '=' + *value;
  }
  return "";
}

bool has_variable(const std::string& folder, const std::string& variable) {
  std::ifstream file(folder + "/environ", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return (std::string(1, '\0') + all).find(std::string(1, '\0') + variable + std::string(1, '\0')) !=
         std::string::npos;
}

std::optional<int> parent_of(const std::string& folder) {
  constexpr std::string_view kParent = "PPid:";
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kParent)) return whole_number(trim(line.substr(kParent.size())));
  }
  return std::nullopt;
}

}  // namespace

pid_t starter_of_rank(const Environment& environment, pid_t parent, const std::string& root) {
  const std::string rank = rank_of(environment);
  for (int i = 0; i < kMostBetween && !rank.empty(); ++i) {
    const std::string folder = root + "proc/" + std::to_string(parent);
    const std::optional<int> above = has_variable(folder, rank) ? parent_of(folder) : std::nullopt;
    if (!above || *above <= 0) break;
    parent = *above;
  }
  return parent;
}

}  // namespace hftrain::launcher
