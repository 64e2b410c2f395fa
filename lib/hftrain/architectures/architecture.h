// What a model family is, without LibTorch: its config.json and its table of parameters. The plan counts
// bytes with it, checkpoints are checked against it, and models/ builds the tensors from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/head.h"
#include "hftrain/architectures/labels.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

enum class InitKind { kNormal, kZeros, kOnes, kConstant, kSinusoids, kUniform };

struct Init {
  InitKind kind = InitKind::kNormal;
  double std = 0.02;      // of kNormal; the number itself of kConstant, the bound of kUniform
  int64_t zero_row = -1;  // of kNormal: the row of padding, which starts at 0; -1: none
};

// What an adapter's matrix stands beside, and which half of it.
struct Adapts {
  int parameter = 0;  // position in the table of what is adapted
  AdapterHalf half = AdapterHalf::kDown;
};

// One parameter tensor, in the order of `named_parameters()` of transformers (which is the order optimizer.pt
// counts).
struct ParameterSpec {
  std::string name;  // exact transformers name, e.g. "transformer.h.0.attn.c_attn.weight"
  std::vector<int64_t> shape;
  Init init;
  int unit = 0;              // index into ParameterTable::units
  bool weight_decay = true;  // false: bias and norm parameters (the Trainer's get_decay_parameter_names)
  bool embedding = false;    // an nn.Embedding weight: left out of total_flos
  bool head = false;  // of the head: a model that is opened from a checkpoint of another head draws it anew
  bool gives_outputs = false;  // the matrix of a head that gives its outputs, unless it is the body's
  std::vector<std::string> other_names = {};  // that a file may store it under instead or besides
  bool buffer = false;       // saved with the parameters, never trained, none of count(); a file may lack it
  bool input_first = false;  // of a matrix: [in, out], as few families store it
  std::optional<Adapts> adapts = {};  // an adapter's; all of them stand at the table's end, kDown before kUp
  int64_t numel() const;
};

// `alias` is not stored: it is the same tensor as `parameter` (tied output embedding), used in `unit`, too.
struct TiedParameter {
  std::string alias;
  std::string parameter;
  int unit = 0;  // index into ParameterTable::units
};

// What a model runs as a whole, with all its parameters gathered.
struct UnitSpec {
  std::string name;       // "embeddings", "block.0", …, "head"
  bool repeated = false;  // one of a stack of equal blocks
};

struct ParameterTable {
  std::vector<ParameterSpec> parameters;
  std::vector<TiedParameter> tied;
  std::vector<UnitSpec> units;  // in forward order
  std::vector<std::string>
      ignored_patterns;     // regular expressions of stored buffers that are skipped on load
  std::string base_prefix;  // of the body's parameters, "transformer." or "model.": may be missing in a file
  std::vector<std::string> other_prefixes;  // of the same body under other heads: may stand in a file instead

  int64_t count() const;  // numbers, tied tensors once
  int64_t count_non_embedding() const;
};

// What a model takes that looks at images: [channels, height, width] numbers a sample.
struct ImageShape {
  int64_t channels = 3, height = 0, width = 0;
  int64_t tokens = 0;          // that an image becomes
  const char* processor = "";  // class of the family's image processor in transformers

  int64_t numel() const { return channels * height * width; }
};

// What one block keeps of a batch for the backward pass: numbers per token, and `square` per token and position
// of its row.
struct ActivationFootprint {
  int64_t linear = 0;
  int64_t square = 0;
  bool shares_square = false;  // on a GPU: one `square` for all blocks of a stack
  // In the place of `square` on a CPU, where attention that drops out weights takes the form that keeps them; a GPU's kernels drop
  // out what they do not keep, and without a backward pass nothing is dropped out.
  int64_t dropped = 0;
  // More of `linear` on a GPU, where attention takes the kernel that knows no groups of heads (nn/device_attention.h): keys and values
  // once for each head of queries.
  int64_t repeated = 0;
  // More of `linear` on a GPU without kernels of ours: a gate's activation, beside what goes into it and comes out.
  int64_t gated = 0;
  int64_t attended = 0;  // of `linear`: what attentions put out
  int64_t masks =
      0;  // per token: places that dropouts remember, a byte each where a kernel of theirs does (plan/activation_memory.cpp)
  // Per token: gradients that are there at once while backward is in the block, beside what is kept still. 0: as many as `linear`.
  int64_t passing = 0;
  // Of a decoder's block that attends to an encoder's: per token of the input, and as `dropped` per own token and token of it.
  int64_t encoded = 0;
  int64_t cross = 0;
};

// Blocks that are alike. Those of a decoder that attends to an encoder have other tokens than the input's.
struct BlockStack {
  int64_t layers = 0;
  ActivationFootprint block;
  bool decodes = false;
  bool goes_on = false;  // of the same blocks the last ones, which keep less: nothing ends before them
};

class Architecture;
// Of one whose last block is computed at the first place of a row alone: that one keeps `numbers` per token. Not where adapters drop
// out, for then it is computed as the others are.
std::vector<BlockStack> ending_at_first(const Architecture& architecture, int64_t numbers);

// The activations a config may name: those that models/ implements. "swish" is "silu".
const std::vector<std::string>& activation_names();

// One family with one config and one head. Immutable; thread-safe.
class Architecture {
 public:
  virtual ~Architecture() = default;

  // From the content of a config.json, v4 and v5 spellings, whatever head its `architectures` name; `origin`
  // names it in errors (exit code 4). An unknown model_type is refused with the list of known ones; a head that
  // the family does not have and an unsupported option (activation, RoPE type) by name.
  // With `adapter` the table has it, too.
  static std::shared_ptr<const Architecture> from_config(const Json& config, const std::string& origin,
                                                         Head head = Head::kCausalLm,
                                                         const std::optional<AdapterSpec>& adapter = {});
  // Class defaults of `model_type` with `overrides` ("n_layer=4,n_head=4") applied, each converted to the
  // type of the key it replaces; an unknown key or a bad value is an error (exit code 2) with the nearest
  // name.
  static std::shared_ptr<const Architecture> from_scratch(const std::string& model_type,
                                                          const std::string& overrides,
                                                          Head head = Head::kCausalLm);
  static std::vector<std::string> model_types();
  // The head that a config's `architectures` name; nothing for a class that no family has, or none at all.
  static std::optional<Head> head_of(const Json& config);
  // Whether the family has this head; none has one of an unknown model_type.
  static bool has_head(const std::string& model_type, Head head);

  virtual const std::string& model_type() const = 0;
  virtual Head head() const = 0;
  // The config.json to write (sorted keys, v5 spellings plus what a v4 reader needs, unknown keys kept).
  virtual Json config_json() const = 0;
  // What this family's config calls a common key: "n_positions" for "max_position_embeddings". The key itself where it
  // has no other name.
  virtual std::string config_key(const std::string& common) const = 0;
  virtual const ParameterTable& parameters() const = 0;
  // Of the table's adapters; nothing: there are none.
  virtual const std::optional<AdapterSpec>& adapter() const = 0;
  // Modules that peft adapts in this family unless it is told which; none are known of some.
  virtual std::vector<std::string> adapter_targets() const = 0;
  // Class names of the repeated block in transformers.
  virtual std::vector<std::string> layer_class_names() const = 0;
  // What the head's config says of labels; of heads without labels the defaults.
  virtual const Labels& labels() const = 0;
  // True where the Trainer 5.17 divides the summed loss by all labels of a row, the never predicted first one
  // included: it recognises causal heads by the class name, and some do not tell. Their losses are (T - 1)/T of
  // the mean.
  virtual bool counts_first_label() const = 0;
  virtual std::optional<int64_t> pad_token_id() const = 0;
  virtual std::optional<int64_t> eos_token_id() const { return std::nullopt; }  // nor for several
  // Whether a decoder attends to what an encoder made of the input; its own input begins with this token.
  virtual bool has_encoder_and_decoder() const { return false; }
  virtual std::optional<int64_t> decoder_start_token_id() const { return std::nullopt; }
  // Whether the example scripts have the family's tokenizers put a space before each word of a list.
  virtual bool spaces_words() const { return false; }
  // Of a family whose tokenizer transformers 5.17 makes anew, whatever tokenizer_class says: BPE with the entries of tokenizer.json,
  // over bytes of texts in form NFC that this regular expression splits. Empty: tokenizer.json says how.
  virtual std::string tokenizer_pattern() const { return {}; }
  // Of models that look at images; nothing for those that read tokens, of which alone the next three speak.
  virtual std::optional<ImageShape> image() const { return std::nullopt; }
  // Whether transformers ties the output matrix whatever tie_word_embeddings says, unless the files hold another one.
  virtual bool ties_by_files() const { return false; }
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_positions() const = 0;  // 0: no limit
  // Whether each position has an embedding of its own, so that max_positions() cannot be passed.
  virtual bool learned_positions() const = 0;
  // Whether it cannot be passed, for this or another reason.
  virtual bool bounded_positions() const { return learned_positions(); }
  // Of decoders whose tokens see those before them: the window of each block; unset: all. Empty: no decoder.
  virtual std::vector<std::optional<int64_t>> causal_windows() const { return {}; }
  // Whether transformers had not put the class of its norms on the list of those that do not decay, which names replaced in 4.49.
  virtual bool norms_were_unlisted() const { return false; }
  virtual int64_t hidden_size() const = 0;
  virtual int64_t layers() const = 0;
  // Whether training passes over blocks by chance, so that updates use other parameters.
  virtual bool drops_layers() const { return false; }
  virtual ActivationFootprint activations() const = 0;
  // All layers(), in forward order. One stack of such blocks unless the family says otherwise.
  virtual std::vector<BlockStack> stacks() const { return {{layers(), activations(), false}}; }

  // Numbers that the head gives per token, or per row where it looks at one place of a row.
  int64_t outputs() const;
};

}  // namespace hftrain::architectures
