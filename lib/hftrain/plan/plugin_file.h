// The file of --plugin: what it was built for, read from a section of it (plugin/plugin.h) without loading it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// What its note says; empty where it says nothing of that.
struct PluginNote {
  std::string interface, torch, cxx11_abi, name;
};

// Of the bytes of a file. Error (kUsage) where they are no shared library, or one without a note; `path` names it.
PluginNote read_plugin_note(std::string_view file, const std::string& path);

// Refuses what was built for another interface, another C++ ABI or, where it uses LibTorch, another release of that than
// `torch_version` ("2.11.0"; empty: this program has none). Error (kEnvironment).
void check_plugin_note(const PluginNote& note, const std::string& path, const std::string& torch_version);

// All of that for a file, whose families and task are known from then on; Error (kUsage) where it cannot be read or describes what cannot
// be. `path` becomes absolute.
PluginPlan open_plugin(const std::string& path, const std::string& torch_version);

// That of a plan which nobody has read yet, since its task may be described there; nothing without one, and in what is no plan.
std::optional<PluginPlan> plugin_of_plan(const Json& plan);

}  // namespace hftrain::plan
