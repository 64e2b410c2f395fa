#include "hftrain/arguments/import/fsdp_settings.h"

#include <algorithm>
#include <cctype>

#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// A spelling in lower case, and our word. Numbers are those of torch's enumerations.
constexpr const char* kFsdpStrategies[][2] = {
    {"full_shard", "full_shard"},     {"1", "full_shard"},      {"shard_grad_op", "shard_grad_op"},
    {"2", "shard_grad_op"},           {"no_shard", "no_shard"}, {"3", "no_shard"},
    {"hybrid_shard", "hybrid_shard"}, {"4", "hybrid_shard"},    {"hybrid_shard_zero2", "hybrid_shard_zero2"},
    {"5", "hybrid_shard_zero2"}};
constexpr const char* kPolicies[][2] = {
    {"transformer_based_wrap", "transformer"}, {"size_based_wrap", "size"}, {"no_wrap", "none"}};
constexpr const char* kPrefetches[][2] = {
    {"backward_pre", "pre"},  {"1", "pre"}, {"backward_post", "post"}, {"2", "post"},
    {"backward_pos", "post"},  // as older documentation of transformers has it
    {"no_prefetch", "none"},  {"3", "none"}};
constexpr const char* kStateDicts[][2] = {{"full_state_dict", "full"},       {"1", "full"},
                                          {"local_state_dict", "local"},     {"2", "local"},
                                          {"sharded_state_dict", "sharded"}, {"3", "sharded"}};
constexpr const char* kDtypes[][2] = {{"float32", "float32"},   {"fp32", "float32"},
                                      {"bfloat16", "bfloat16"}, {"bf16", "bfloat16"},
                                      {"float16", "float16"},   {"fp16", "float16"}};

// "FULL_SHARD, SHARD_GRAD_OP, …": the spellings that are words.
template <size_t N>
std::string words(const char* const (&table)[N][2]) {
  std::vector<std::string> all;
  for (const auto& [spelling, meaning] : table) {
    std::string word = spelling;
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
    if (word.size() > 1 && word != "BACKWARD_POS") all.push_back(word);
  }
  return join(all, ", ");
}

template <size_t N>
const char* meaning_of(const std::string& text, const char* const (&table)[N][2]) {
  const std::string lower = to_lower(trim(text));
  for (const auto& [spelling, meaning] : table) {
    if (lower == spelling) return meaning;
  }
  return nullptr;
}

}  // namespace

// The table of keys: names (the first one is ours) and what a value does.
struct FsdpKeys {
  std::vector<std::string_view> names;
  void (*read)(FsdpReader&);

  static const std::vector<FsdpKeys>& all();
  static const FsdpKeys* find(std::string_view key);
};

const std::vector<FsdpKeys>& FsdpKeys::all() {
  using R = FsdpReader;
  static const std::vector<FsdpKeys> kKeys = {
      {{"version"}, [](R& r) { r.number(r.settings_.version, between(1, 2)); }},
      {{"sharding_strategy"}, [](R& r) { r.word(r.settings_.strategy, kFsdpStrategies); }},
      {{"reshard_after_forward"}, [](R& r) { r.reshard(); }},
      {{"cpu_offload", "offload_params"}, [](R& r) { r.flag(r.settings_.offload); }},
      {{"auto_wrap_policy"}, [](R& r) { r.word(r.settings_.wrap_policy, kPolicies); }},
      {{"transformer_layer_cls_to_wrap", "transformer_cls_to_wrap"}, [](R& r) { r.classes(); }},
      {{"min_num_params"}, [](R& r) { r.number(r.settings_.min_parameters, at_least(0)); }},
      {{"backward_prefetch", "backward_prefetch_policy"},
       [](R& r) { r.word(r.settings_.backward_prefetch, kPrefetches); }},
      {{"forward_prefetch"}, [](R& r) { r.flag(r.settings_.forward_prefetch); }},
      {{"limit_all_gathers"}, [](R& r) { r.flag(r.settings_.limit_all_gathers); }},
      {{"reduce_dtype"}, [](R& r) { r.word(r.settings_.reduce_dtype, kDtypes); }},
      {{"state_dict_type"}, [](R& r) { r.word(r.settings_.state_dict, kStateDicts); }},
      {{"cpu_ram_efficient_loading"}, [](R& r) { r.flag(r.settings_.load_own_slices); }},
      {{"sync_module_states"}, [](R& r) { r.flag(r.settings_.sync_module_states); }},
      {{"use_orig_params"}, [](R& r) { r.flag(r.settings_.use_orig_params); }},
      {{"activation_checkpointing"}, [](R& r) { r.flag(r.settings_.activation_checkpointing); }},
      {{"activation_checkpointing_offload"},
       [](R& r) { r.flag(r.settings_.activation_checkpointing_offload); }},
      {{"ignored_modules"}, [](R& r) { r.any_text(r.settings_.ignored_modules); }},
      {{"xla"}, [](R& r) { r.refuse_unless_false("there is no TPU runtime here", "leave it out"); }},
      {{"xla_fsdp_v2"}, [](R& r) { r.refuse_unless_false("there is no TPU runtime here", "leave it out"); }},
      {{"xla_fsdp_grad_ckpt"}, [](R& r) { r.flag(r.settings_.xla_checkpointing); }},
      {{"xla_fsdp_settings"}, [](R& r) { r.set(r.settings_.xla_settings, !r.written_->empty()); }},
  };
  return kKeys;
}

const FsdpKeys* FsdpKeys::find(std::string_view key) {
  for (const FsdpKeys& each : all()) {
    if (std::find(each.names.begin(), each.names.end(), key) != each.names.end()) return &each;
  }
  return nullptr;
}

std::vector<std::string> FsdpReader::keys() {
  std::vector<std::string> names;
  for (const FsdpKeys& key : FsdpKeys::all()) names.emplace_back(key.names.front());
  return names;
}

std::string_view FsdpReader::canonical(std::string_view key) {
  const FsdpKeys* found = FsdpKeys::find(key);
  return found == nullptr ? std::string_view() : found->names.front();
}

bool FsdpReader::read(std::string_view key, const Json& written, const std::string& name,
                      const std::string& origin, Later later) {
  const FsdpKeys* found = FsdpKeys::find(key);
  if (found == nullptr) return false;
  if (written.is_null()) return true;
  written_ = &written;
  name_ = name;
  origin_ = origin;
  later_ = later;
  differs_ = false;
  found->read(*this);
  return true;
}

template <typename T>
void FsdpReader::set(Sourced<T>& field, T value) {
  differs_ = later_ != Later::kMustAgree && field && *field != value;
  if (later_ == Later::kCompared || (field && later_ == Later::kFillsIn)) return;
  assign(field, std::move(value), origin_, name_, problems_);
}

std::optional<Json> FsdpReader::converted(Type type, const Range& range) const {
  const Key key{.name = "value", .type = type, .range = range};
  Json written = type == Type::kInt ? undisguised(*written_) : *written_;
  if (type == Type::kBool) written = truth_of_launchers(std::move(written));
  Result<Json> value = convert_mapping({&key, 1}, {{"value", written}});
  if (std::holds_alternative<ValueError>(value)) return std::nullopt;
  return std::get<Json>(value)["value"];
}

void FsdpReader::flag(Sourced<bool>& field) {
  const std::optional<Json> value = converted(Type::kBool);
  if (!value) return mistake("a truth value: true or false");
  set(field, value->get<bool>());
}

void FsdpReader::number(Sourced<int64_t>& field, const Range& range) {
  const std::optional<Json> value = converted(Type::kInt, range);
  if (!value) return mistake("a whole number, " + describe(range));
  set(field, value->get<int64_t>());
}

template <size_t N>
void FsdpReader::word(Sourced<std::string>& field, const char* const (&table)[N][2]) {
  const char* meaning = written_->is_structured() ? nullptr : meaning_of(text(), table);
  if (meaning == nullptr) return mistake("one of " + words(table));
  set(field, std::string(meaning));
}

// A truth value (version 2) or a strategy's name (version 1); both are understood in both.
void FsdpReader::reshard() {
  if (!written_->is_structured()) {
    if (const char* strategy = meaning_of(text(), kFsdpStrategies); strategy != nullptr && text().size() > 1)
      return set(settings_.strategy, std::string(strategy));
  }
  const std::optional<Json> value = converted(Type::kBool);
  if (!value) return mistake("true, false, or one of " + words(kFsdpStrategies));
  set(settings_.reshard, value->get<bool>());
}

void FsdpReader::any_text(Sourced<std::string>& field) {
  if (!written_->is_string()) return mistake("a text");
  if (!written_->get_ref<const std::string&>().empty()) set(field, written_->get<std::string>());
}

void FsdpReader::classes() {
  std::vector<std::string> names;
  const Json list = written_->is_array() ? *written_ : Json::array({*written_});
  for (const Json& item : list) {
    if (!item.is_string()) return mistake("class names");
    for (const std::string& name : split(item.get<std::string>(), ',')) {
      if (!trim(name).empty()) names.push_back(trim(name));
    }
  }
  if (!names.empty()) set(settings_.layer_classes, std::move(names));
}

void FsdpReader::refuse_unless_false(const std::string& why, const std::string& hint) {
  if (converted(Type::kBool) == Json(false)) return;
  if (written_->is_string() && written_->get<std::string>().empty()) return;
  problems_.push_back(
      {.what = name_ + " is not supported", .where = place(origin_), .why = why, .hint = hint});
}

std::string FsdpReader::text() const {
  return written_->is_string() ? written_->get<std::string>() : written_->dump();
}

void FsdpReader::mistake(const std::string& expected) {
  problems_.push_back({.what = name_ + ": " + to_yaml(*written_) + " is not " + expected,
                       .where = place(origin_),
                       .why = "nothing else is read there",
                       .hint = "such a value, or leave it out"});
}

}  // namespace hftrain::arguments
