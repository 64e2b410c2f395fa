// What a plan must know of the model and the tokenizer before a process starts, read from small files:
// config.json, tokenizer_config.json and their like. Of weights the headers, for shapes, `--dtype auto` and an adapter's beginning, and of a model
// with encoder and decoder the output matrix and the embedding that it may be tied to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/arguments/arguments.h"
#include "hftrain/base/environment.h"
#include "hftrain/chat/template_folder.h"

namespace hftrain::plan {

struct SpecialTokens {
  std::optional<int64_t> bos, eos, pad, mask = std::nullopt;
};

// Of one tensor of a folder's weights; `file` is relative to the folder.
struct StoredShape {
  std::vector<int64_t> shape;
  std::string file;
};
using StoredShapes = std::map<std::string, StoredShape, std::less<>>;  // by the names in the files

struct ModelFacts {
  std::shared_ptr<const architectures::Architecture> architecture;
  std::string source_folder;  // absolute; weights come from here. Empty: from scratch
  // What that model is called on the Hub, where it was found by such a name; empty: by a path.
  std::string hub_name, hub_revision;
  std::optional<architectures::AdapterSpec>
      adapter;                  // of the folder that was named, whose base model is opened
  std::string adapter_folder;   // absolute; that folder
  std::string adapter_config;   // the text of its adapter_config.json
  StoredShapes adapter_shapes;  // of its adapter_model.safetensors; empty: it is not here
  bool has_head = false;        // the folder's config.json names the class that ends in the task's head
  bool has_own_matrix = false;  // its files hold an output matrix apart that its config ties (stored_ties.h)
  // Parameters that source_folder's files do not hold, which start from random numbers.
  std::vector<std::string> lacking;
  StoredShapes stored_shapes;    // of source_folder; empty: it has no weights
  std::string tokenizer_folder;  // absolute; empty when all data are token files
  // Text of --generation_config, else of the folder's file, else what its config.json says; empty: from scratch.
  std::string generation_config;
  std::string generation_config_origin;         // the file that says it
  std::optional<int64_t> tokenizer_max_length;  // unset: no limit
  std::string tokenizer_class;  // of transformers, as tokenizer_config.json names it; empty: it does not
  bool tokenizer_names_types =
      true;  // it gives types of tokens, by model_input_names of that file or by its class
  // Why transformers makes other tokens with it beside this model; empty: it makes the same.
  std::string tokenizer_opens_otherwise;
  std::string opened_dtype =
      "float32";  // in which transformers would open the files, and compare tied matrices
  std::string auto_dtype = "float32";  // what --dtype auto means: of the files; float32 from scratch
  Json preprocessor;                   // of a model of images: its preprocessor_config.json; null: none
  std::string preprocessor_origin;     // that file
  // The caller fills it in: of the weights that training begins with (storage/weights_mark.h), the adapter's among them; empty:
  // from scratch, or from what the output folder holds, which the run itself replaces.
  std::string weights_mark;
  // The caller fills these in after loading the tokenizer; unset: nothing is compared or aligned.
  std::optional<int64_t> tokenizer_vocabulary;  // number of ids
  std::optional<SpecialTokens> special_tokens;
  bool tokenizer_pads_on_left = false;
  std::vector<std::string> tokenizer_unheeded;  // tokenizer/unheeded_settings.h
  std::optional<int64_t> forced_bos;            // of --forced_bos_token
  // Of the tokenizer, or as the flags of instruction data have them; unset: the task has no use for them.
  std::optional<chat::TemplateFolder> chat;
  Json tokenizer_settings = Json::object();  // what the saved tokenizer_config.json says otherwise
  std::string chat_template;                 // of --chat_template_path; empty: the tokenizer's stays
  std::vector<std::string> missing;          // files that a run needs and a plan can do without, in words
};

// A run needs weights and tokenizer of the model that it names; a plan for other machines takes what is here.
enum class FilesNeeded { kOfRun, kOfPlan };

// The model and tokenizer that the arguments name: folders, names in the local hub cache, config_name, or
// model_type with config_overrides; `head` is that of the task. Nothing is fetched. Errors carry exit code 4 for missing or unusable
// files, 2 for bad overrides and where no model is named.
ModelFacts load_model_facts(const arguments::Arguments& arguments, const Environment& environment,
                            FilesNeeded needed = FilesNeeded::kOfRun,
                            architectures::Head head = architectures::Head::kCausalLm);

}  // namespace hftrain::plan
