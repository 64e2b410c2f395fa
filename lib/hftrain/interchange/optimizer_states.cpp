#include "hftrain/interchange/optimizer_states.h"

#include <set>

namespace hftrain::interchange {

OptimizerStates OptimizerStates::renamed(const std::function<std::string(const std::string&)>& name) const {
  OptimizerStates states(path_, keeps_);
  for (const auto& [key, tensor] : states_)
    states.add(name(key.first), key.second, *tensor, files_of(key.first, key.second));
  return states;
}

const storage::SlicedTensor* OptimizerStates::find(const std::string& parameter,
                                                   const std::string& state) const {
  const auto found = states_.find({parameter, state});
  return found == states_.end() ? nullptr : found->second;
}

bool OptimizerStates::has_state(const std::string& parameter) const {
  const auto found = states_.lower_bound({parameter, ""});
  return found != states_.end() && found->first.first == parameter;
}

std::vector<std::string> OptimizerStates::state_names() const {
  std::set<std::string> names;
  for (const auto& [key, tensor] : states_) names.insert(key.second);
  return {names.begin(), names.end()};
}

}  // namespace hftrain::interchange
