// Low-rank adapters (LoRA, arXiv 2106.09685): which matrices of a model get one, by peft's names and rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::architectures {

struct ParameterTable;
struct TiedParameter;

enum class AdapterHalf { kDown, kUp };

// All projections of the blocks, and poolers where they are not trained whole, in the place of a list of modules.
inline constexpr std::string_view kAllLinear = "all-linear";

struct AdapterSpec {
  int64_t rank = 16;
  double alpha = 32;
  double dropout = 0.05;             // of what goes into the adapter, while training
  bool rank_stabilised = false;      // alpha / sqrt(rank) instead of alpha / rank
  std::vector<std::string> targets;  // names or endings of modules ("q_proj", "attn.c_attn"), or kAllLinear
  // Endings of names of modules that are trained and saved whole: "norm" is "model.norm" and every "…_layernorm", too. Of a tied
  // matrix one name is enough.
  std::vector<std::string> saved_modules;
  // A matrix that the model has under two names is one where it is saved whole, too. peft trains it as two: its config says
  // ensure_weight_tying, of either value.
  bool tied_as_one = true;
  // It is true: where the matrix is saved whole by the name of an embedding that peft knows, it is one there, too, and the file
  // has both names.
  bool peft_ties = false;
  // The adapter_config.json that it was read from; empty: flags ask for it. Names there that the model does not have are passed
  // over, as by peft.
  std::string origin;

  double scale() const;
  bool operator==(const AdapterSpec&) const = default;
};

// Appends to the table both halves of an adapter for every matrix that `spec` names and does not save whole, each in the unit of its matrix:
// "<module>.lora_A.weight" [rank, in], uniform as torch.nn.Linear, and "<module>.lora_B.weight" [out, rank], zeros.
// An Error (exit code 2, of a file 4) for a target that names nothing, or a module that can have none, and where nothing is left;
// `model` names it there.
void append_adapters(ParameterTable& table, const AdapterSpec& spec, const std::string& model);

// The names of those matrices' modules, in the order of a table without adapters. Errors as above.
std::vector<std::string> adapted_modules(const ParameterTable& table, const AdapterSpec& spec,
                                         const std::string& model);

// What is trained beside the adapters: positions of the parameters of spec.saved_modules, rising. An Error (exit code
// 2) for one that flags ask for and that names nothing, and (exit code 4) where the adapter has trained a tied matrix as two.
std::vector<int> saved_whole(const ParameterTable& table, const AdapterSpec& spec, const std::string& model);

// The modules of the other names of tied matrices among them, where none saves them yet: told to peft, which takes the two for two matrices, and finds both
// numbers then. Nothing more is trained for them.
std::vector<std::string> second_modules_of_saved(const ParameterTable& table, const AdapterSpec& spec);

// The matrices that the model ties, once for each second name, where the lists of the adapter save the parameter whole.
std::vector<TiedParameter> tied_and_saved(const ParameterTable& table, const AdapterSpec& spec);

// Whether a tensor of an adapter's file says nothing more: of a module that is saved whole peft may write what its wrapper holds,
// too (save_embedding_layers), which is the module's copy a second time and the base model's matrix.
bool is_of_wrapper(const std::string& tensor);
// Whether the lists of the adapter name the module of a tensor of its file, which is called as in the model; not of such a one.
bool is_named(const AdapterSpec& spec, const std::string& tensor);

// What the file of an adapter holds beside what is trained: a parameter under another of its names, which a module has that
// peft takes to be saved whole, or a frozen one of such a module.
struct SavedCopy {
  size_t parameter;      // position in the table; saved whole itself, or frozen
  std::string alias;     // "cls.predictions.decoder.weight"
  bool by_peft = false;  // which ties the two and writes both: a file without it has another model's numbers
};
std::vector<SavedCopy> saved_copies(const ParameterTable& table, const AdapterSpec& spec);
// Other names under which a file may hold a second time what the table has once: of tied matrices, and within heads.
std::vector<TiedParameter> second_names(const ParameterTable& table);

}  // namespace hftrain::architectures
