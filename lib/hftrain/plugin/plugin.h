// A shared library that adds to `hftrain --plugin FILE.so`:
//
//   #include <hftrain/plugin/plugin.h>
//   HFTRAIN_PLUGIN("patience") {
//     registry.callback("patience", [](const hftrain::plugin::Run&) { return std::make_unique<Patience>(); });
//   }
//
// Link hftrain::plugin of find_package(hftrain), and hftrain::torch where it registers a loss, a family or metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/plugin/callback.h"
#include "hftrain/plugin/loss.h"
#include "hftrain/plugin/model.h"
#include "hftrain/plugin/note.h"
#include "hftrain/plugin/reporter.h"
#include "hftrain/plugin/run.h"
#include "hftrain/plugin/task.h"

// Counts what these headers declare: another number, another layout.
#define HFTRAIN_PLUGIN_INTERFACE 3

namespace hftrain::plugin {

// What a plug-in adds. All of it is used: a callback on every rank, a reporter on rank 0, a loss in the place of the
// model's, the families that HFTRAIN_FAMILY describes, the metrics of the task that HFTRAIN_TASK describes.
class Registry {
 public:
  using MakeCallback = std::function<std::unique_ptr<Callback>(const Run&)>;
  using BeginReporter = std::function<std::unique_ptr<Reporter>(const Run&)>;
  template <typename Member>
  struct Named {
    std::string name;
    Member member;
  };

  void callback(std::string name, MakeCallback make) {
    callbacks.push_back({std::move(name), std::move(make)});
  }
  void reporter(std::string name, BeginReporter begin) {
    reporters.push_back({std::move(name), std::move(begin)});
  }
  // One at most.
  void loss(std::string name, Loss function) { losses.push_back({std::move(name), std::move(function)}); }
  // What the family of this model_type computes.
  void family(std::string model_type, MakeDecoder make) {
    families.push_back({std::move(model_type), std::move(make)});
  }

  // What the description of this task names as its metrics.
  void metrics(std::string task, Measure measure) {
    measures.push_back({std::move(task), std::move(measure)});
  }

  std::vector<Named<MakeCallback>> callbacks;
  std::vector<Named<BeginReporter>> reporters;
  std::vector<Named<Loss>> losses;
  std::vector<Named<MakeDecoder>> families;
  std::vector<Named<Measure>> measures;
};

}  // namespace hftrain::plugin

// Begins the function that registers, whose parameter is `registry`. NAME is for messages: a literal in one line.
// clang-format off
#define HFTRAIN_PLUGIN(NAME)                                                                                \
  extern "C" {                                                                                              \
  __attribute__((visibility("default"), section(HFTRAIN_PLUGIN_SECTION)))                                   \
  extern const char hftrain_plugin_note[];                                                                  \
  const char hftrain_plugin_note[] =                                                                        \
      "interface=" HFTRAIN_PLUGIN_TEXT(HFTRAIN_PLUGIN_INTERFACE) "\n"                                       \
      HFTRAIN_PLUGIN_COMPILED                                                                               \
      "name=" NAME "\n";                                                                                    \
  __attribute__((visibility("default"))) void hftrain_plugin_register(hftrain::plugin::Registry& registry); \
  }                                                                                                         \
  void hftrain_plugin_register(hftrain::plugin::Registry& registry)
// clang-format on
