#include "hftrain/arguments/import/fsdp_rules.h"

#include <algorithm>
#include <array>

#include "hftrain/arguments/compat.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

constexpr std::array kStrategyWords = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                       "hybrid_shard_zero2"};
constexpr int64_t kFirstWrapping = 510;  // the release 5.10: layers are units unless told otherwise
constexpr int64_t kLaunchMinParameters = 100'000'000;  // of the size policy, in accelerate launch

bool frees_after_forward(const std::string& strategy) {
  return strategy == "full_shard" || strategy == "hybrid_shard";
}

class Settlement {
 public:
  Settlement(const FsdpRequest& request, ParseOutcome& outcome, Diagnostics& problems)
      : request_(request),
        settings_(request.settings),
        outcome_(outcome),
        problems_(problems),
        sharding_(outcome.arguments.parallel.sharding) {}

  void run() {
    old_form();
    strategy();
    units();
    offload();
    dialect();
    loading();
    rest();
    without_shards();
  }

 private:
  bool has(const char* word) const {
    return std::find(request_.words.begin(), request_.words.end(), word) != request_.words.end();
  }
  const std::string& origin() const {
    return request_.words.empty() ? request_.launch_origin : request_.words_origin;
  }
  bool version2() const { return settings_.version && *settings_.version == 2; }
  // Where none is given the Trainer's fsdp_config has 2 (up to 5.9 it had 1), and accelerate launch has 1.
  int64_t version_there() const {
    return settings_.version.value_or(request_.words.empty() || is_of_older_release() ? 1 : 2);
  }

  // Rule 48.
  void old_form() {
    if (request_.words.empty() || has("true")) return;
    warn("--fsdp with option words is the old form", request_.words_origin,
         "transformers takes a truth value from 5.20 on; the words stay valid here",
         "--fsdp true with fsdp_config");
  }

  void strategy() {
    Sourced<std::string> asked = settings_.strategy;
    for (const char* word : kStrategyWords) {
      if (!has(word)) continue;
      if (std::any_of(kStrategyWords.begin(), kStrategyWords.end(),
                      [&](const char* other) { return other != word && has(other); })) {
        return refuse("--fsdp names more than one way of sharding", request_.words_origin, words_text(),
                      "keep one of them");
      }
      assign(asked, std::string(word), request_.words_origin, "the sharding strategy of --fsdp", problems_);
    }
    if (settings_.reshard) asked = with_reshard(asked);
    if (!asked) asked = {"full_shard", origin()};
    if (has("offload") && request_.words.size() == 1 && !settings_.strategy && !settings_.reshard) {
      note("--fsdp offload means full_shard with offload", request_.words_origin, "");
    }
    assign(sharding_.strategy, *asked, asked.origin, "the sharding strategy", problems_);
  }

  // reshard_after_forward decides between full_shard and shard_grad_op, or must agree with what was named.
  Sourced<std::string> with_reshard(const Sourced<std::string>& asked) {
    const Sourced<bool>& reshard = settings_.reshard;
    if (!asked) return {*reshard ? "full_shard" : "shard_grad_op", reshard.origin};
    if (frees_after_forward(*asked) == *reshard) return asked;
    refuse(
        "the sharding strategy and reshard_after_forward contradict each other", reshard.origin,
        *asked + " (" + asked.origin + ") and " + (*reshard ? "true" : "false") + " (" + reshard.origin + ')',
        "leave one of them out, or make them agree");
    return asked;
  }

  // What becomes a unit. F4.
  void units() {
    const bool sized = settings_.min_parameters.value_or(0) > 0;
    if (!settings_.wrap_policy && sized && settings_.layer_classes) {
      return refuse("min_num_params and transformer_layer_cls_to_wrap exclude each other",
                    settings_.layer_classes.origin,
                    "they are two policies of making units (" + settings_.min_parameters.origin + " and " +
                        settings_.layer_classes.origin + ')',
                    "auto_wrap_policy names the one that counts");
    }
    Sourced<std::string> policy = settings_.wrap_policy;
    if (!policy && leaves_whole()) {
      policy = {"none", outcome_.origins.of("hf_compat")};
      say_whole();
    }
    if (!policy && sized) policy = {"size", settings_.min_parameters.origin};
    if (!policy && settings_.layer_classes) policy = {"transformer", settings_.layer_classes.origin};
    if (has("auto_wrap") && policy && *policy == "none") {
      return refuse("auto_wrap and auto_wrap_policy NO_WRAP contradict each other", policy.origin,
                    "auto_wrap (" + request_.words_origin + ") and NO_WRAP (" + policy.origin + ')',
                    "leave one of them out");
    }
    // Of the Trainer's words and of accelerate launch alike, which makes one unit of all then: it saves little.
    if (!policy) policy = {"transformer", origin()};
    assign(sharding_.wrap_policy, *policy, policy.origin, "the policy of making units", problems_);
    if (sized && *policy != "size")
      note("min_num_params has no effect", settings_.min_parameters.origin,
           "auto_wrap_policy makes units of " + std::string(*policy == "none" ? "nothing" : "layers") + " (" +
               policy.origin + ')');
    if (settings_.layer_classes && *policy != "transformer")
      note("transformer_layer_cls_to_wrap has no effect", settings_.layer_classes.origin,
           "auto_wrap_policy is another one (" + policy.origin + ')');
    if (settings_.layer_classes) sharding_.layer_classes = settings_.layer_classes;
    sharding_.min_parameters = settings_.min_parameters;
    if (request_.launched && *policy == "size" && !settings_.min_parameters)
      sharding_.min_parameters = {kLaunchMinParameters, policy.origin};
  }

  // Of a release in which the Trainer made units only with the word auto_wrap. A policy of fsdp_config, which it did not read, counts
  // here: who writes one means it.
  bool is_of_older_release() const {
    return !request_.words.empty() && asked_release(outcome_.arguments) / 100 < kFirstWrapping;
  }
  bool leaves_whole() const { return is_of_older_release() && !has("auto_wrap"); }

  void say_whole() {
    if (settings_.strategy.value_or("") == "no_shard" || has("no_shard")) return;
    note("--fsdp without auto_wrap makes the whole model one unit beside hf_compat " +
             outcome_.arguments.interface.hf_compat.value_or(""),
         outcome_.origins.of("hf_compat"),
         "so transformers did up to 5.9; auto_wrap beside the other words makes a unit of each layer");
  }

  void offload() {
    Sourced<bool> asked = settings_.offload;
    if (has("offload"))
      assign(asked, true, request_.words_origin, "offload of parameters to the CPU", problems_);
    if (!asked.value_or(false)) return;
    assign(sharding_.offload_parameters, std::string("cpu"), asked.origin, "offload of parameters",
           problems_);
    assign(sharding_.offload_optimizer, std::string("cpu"), asked.origin, "offload of the optimizer",
           problems_);
  }

  // F8, F10. Where no version is given, options of both act here.
  void dialect() {
    if (version_there() == 2 && settings_.state_dict.value_or("") == "local")
      refuse("LOCAL_STATE_DICT does not exist in version 2 of FSDP", settings_.state_dict.origin,
             settings_.version ? "version 2 is asked for by " + settings_.version.origin
                               : "no version is given, and fsdp_config has 2 then",
             "SHARDED_STATE_DICT, or version 1");
    if (!version2()) return version1();
    const auto ignored = [&](const auto& setting, const char* name, const char* why) {
      if (setting) warn(std::string(name) + " has no effect with version 2 of FSDP", setting.origin, why, "");
    };
    ignored(settings_.use_orig_params, "use_orig_params", "parameters are always sharded one by one");
    ignored(settings_.sync_module_states, "sync_module_states", "ranks always start from the same values");
    ignored(settings_.backward_prefetch, "backward_prefetch", "the next unit is always gathered ahead");
    ignored(settings_.limit_all_gathers, "limit_all_gathers", "gathers in flight are always limited");
    if (settings_.forward_prefetch) {
      note("forward_prefetch has no effect with version 2 of FSDP", settings_.forward_prefetch.origin, "");
    }
  }

  void version1() {
    if (settings_.use_orig_params.value_or(true)) return;
    note("use_orig_params false has no effect here", settings_.use_orig_params.origin,
         "parameters are sharded and updated one by one");
  }

  // F7.
  void loading() {
    if (!settings_.load_own_slices.value_or(true)) {
      note("cpu_ram_efficient_loading false has no effect here", settings_.load_own_slices.origin,
           "every rank reads its own part of the weights and no more");
    }
    if (version2() || settings_.sync_module_states.value_or(true)) return;
    const std::string& origin = settings_.sync_module_states.origin;
    if (!settings_.load_own_slices.value_or(false)) {
      return note("sync_module_states false has no effect here", origin,
                  "ranks always start from the same values");
    }
    const std::string why = "cpu_ram_efficient_loading is true (" + settings_.load_own_slices.origin + ')';
    if (request_.words.empty()) {
      refuse("sync_module_states false does not go with cpu_ram_efficient_loading true", origin, why,
             "sync_module_states true");
    } else {
      warn("sync_module_states false counts as true", origin, why, "");
    }
  }

  // `accelerate config` writes its default into every file, and the launch exports it.
  bool says_no_state_dict() const {
    const Sourced<std::string>& said = sharding_.state_dict;
    return !said || (*said == "sharded" && said.origin == "environment FSDP_STATE_DICT_TYPE");
  }

  void rest() {
    const bool old = !version2();
    if (old) sharding_.backward_prefetch = settings_.backward_prefetch;
    if (old) sharding_.forward_prefetch = settings_.forward_prefetch;
    if (old) sharding_.limit_all_gathers = settings_.limit_all_gathers;
    copy(settings_.reduce_dtype, sharding_.reduce_dtype, "the type that gradients are reduced in");
    copy(settings_.state_dict, sharding_.state_dict, "state_dict_type");
    // accelerate's own default; the Trainer has FULL_STATE_DICT.
    sharding_.state_dict_filled_in = request_.words.empty() && version2() && says_no_state_dict();
    if (sharding_.state_dict_filled_in) sharding_.state_dict = {"sharded", request_.launch_origin};
    copy(settings_.activation_checkpointing, sharding_.activation_checkpointing, "activation_checkpointing");
    copy(settings_.ignored_modules, sharding_.ignored_modules, "ignored_modules");
    offloaded_checkpointing();
    if (settings_.xla_checkpointing.value_or(false))
      warn("xla_fsdp_grad_ckpt has no effect without xla", settings_.xla_checkpointing.origin, "", "");
    if (settings_.xla_settings.value_or(false))
      warn("xla_fsdp_settings has no effect without xla", settings_.xla_settings.origin, "", "");
  }

  // What says how parameters are cut and gathered, where every rank has all of them.
  void without_shards() {
    if (sharding_.strategy.value_or("") != "no_shard") return;
    std::vector<std::string> idle, places;
    const auto add = [&](bool asked, const char* name, const std::string& origin) {
      if (!asked) return;
      idle.emplace_back(name);
      places.push_back(place(origin));
    };
    const bool sized = settings_.wrap_policy.value_or("size") == "size";
    add(has("auto_wrap"), "auto_wrap", request_.words_origin);
    add(settings_.wrap_policy.value_or("none") != "none", "auto_wrap_policy", settings_.wrap_policy.origin);
    add(settings_.layer_classes.value.has_value(), "transformer_layer_cls_to_wrap",
        settings_.layer_classes.origin);
    add(sized && settings_.min_parameters.value_or(0) > 0, "min_num_params", settings_.min_parameters.origin);
    add(!version2() && !settings_.limit_all_gathers.value_or(true), "limit_all_gathers",
        settings_.limit_all_gathers.origin);
    add(settings_.reduce_dtype.value.has_value(), "reduce_dtype", settings_.reduce_dtype.origin);
    if (!idle.empty())
      note("options of FSDP have no effect with no_shard: " + join(idle, ", "), join(places, ", "),
           "every rank has all parameters");
  }

  // F13.
  void offloaded_checkpointing() {
    const Sourced<bool>& offload = settings_.activation_checkpointing_offload;
    copy(offload, sharding_.activation_checkpointing_offload, "activation_checkpointing_offload");
    if (!offload.value_or(false)) return;
    if (!settings_.activation_checkpointing.value_or(false))
      return refuse("activation_checkpointing_offload does nothing without activation_checkpointing",
                    offload.origin, "it is what recomputed units keep that is offloaded",
                    "activation_checkpointing: true");
    if (version_there() != 1) return;
    const bool launch_alone = request_.words.empty();
    refuse("activation_checkpointing_offload belongs to version 2 of FSDP", offload.origin,
           settings_.version ? "fsdp version is 1 (" + settings_.version.origin + ')'
           : launch_alone    ? "fsdp_version is not given, and accelerate launch takes 1"
                             : "no version is given, and transformers up to 5.9 took 1",
           launch_alone ? "fsdp_version 2, or --gradient_checkpointing_kwargs with offload"
                        : "fsdp_config version 2, or --gradient_checkpointing_kwargs with offload");
  }

  template <typename T>
  void copy(const Sourced<T>& from, Sourced<T>& to, const char* what) {
    if (from) assign(to, *from, from.origin, what, problems_);
  }

  std::string words_text() const {
    std::string text;
    for (const std::string& word : request_.words) text += (text.empty() ? "" : " ") + word;
    return text;
  }

  void refuse(std::string what, const std::string& origin, std::string why, std::string hint) {
    problems_.push_back({Severity::kError, std::move(what), place(origin), std::move(why), std::move(hint)});
  }
  void warn(std::string what, const std::string& origin, std::string why, std::string hint) {
    outcome_.notes.push_back(
        {Severity::kWarning, std::move(what), place(origin), std::move(why), std::move(hint)});
  }
  void note(std::string what, const std::string& origin, std::string why) {
    outcome_.notes.push_back({Severity::kNote, std::move(what), place(origin), std::move(why), ""});
  }

  const FsdpRequest& request_;
  const FsdpSettings& settings_;
  ParseOutcome& outcome_;
  Diagnostics& problems_;
  ParallelOptions& sharding_;
};

}  // namespace

void settle_fsdp(const FsdpRequest& request, ParseOutcome& outcome, Diagnostics& problems) {
  Settlement(request, outcome, problems).run();
}

}  // namespace hftrain::arguments
