// First stage: from the command line to everything a plan is resolved from, by reading small files only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/dataset_files.h"
#include "hftrain/plan/machine_spec.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/topology.h"
#include "launcher/control/message.h"
#include "launcher/front/command_context.h"
#include "launcher/front/stopwatch.h"

namespace hftrain::front {

struct Inputs {
  arguments::ParseOutcome parsed;
  Environment environment;  // with what `env:` of the configuration files exports
  std::optional<std::string>
      secret_variable;  // HFTRAIN_JOB_SECRET there; `environment` goes to ranks without it
  plan::Topology topology;
  plan::ModelFacts model;
  plan::NamedFiles files;
  std::string output_dir;  // absolute
  std::string run_label;   // "Nov21_12-00-00_host"
  std::vector<plan::AgentFacts>
      agents;  // of a job of several front programs, by number; empty: this one alone
  std::optional<plan::PluginPlan> plugin;           // of --plugin
  std::optional<plan::MachineSpec> other_machines;  // of --machines: topology and agents are theirs
  // Of a job of several front programs: the files that weights are opened from, which all must have alike.
  launcher::WeightsSeen model_seen, adapter_seen;
};

// Machine, model, tokenizer and data files of parsed arguments.
Inputs gather_inputs(arguments::ParseOutcome parsed, const Environment& environment);
// The machine alone, which cannot fail unless --machines describes it, and the rest.
Inputs gather_machine(arguments::ParseOutcome parsed, const Environment& environment);
void add_model(Inputs& inputs);
// What the others of a job compare with their own, behind add_model.
void look_at_weights(Inputs& inputs);
// plan::open_plugin for what this program was built with; the families that it describes are known from then on.
plan::PluginPlan open_plugin(const std::string& path);

// Beside a plug-in --task takes any word: an Error (exit code 2) for one that neither hftrain nor the plug-in knows, before a
// configuration with it is printed. The plug-in's file is looked at only where the word may be its own.
void require_task(const arguments::ParseOutcome& parsed);

// The plan for these inputs, data and checkpoint. `batch`: the micro-batch that earlier attempts have come to
// (batch_search.h).
plan::RunPlan resolve_plan(const Inputs& inputs, const plan::DataFacts& data, const std::string& resume_from,
                           std::optional<int64_t> batch = std::nullopt);
// Its companion: what the user should know of it.
std::vector<Diagnostic> notes_of_plan(const Inputs& inputs, const plan::RunPlan& plan);

}  // namespace hftrain::front
