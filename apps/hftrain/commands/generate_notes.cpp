#include "generate_notes.h"

#include <initializer_list>
#include <string>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/plan/requested_threads.h"

namespace hftrain::app {
namespace {

class IdleFlags {
 public:
  IdleFlags(const GenerateFlags& flags, std::ostream& out) : flags_(flags), out_(out) {}

  void tell(std::initializer_list<const char*> settings, const std::string& why) {
    for (const char* setting : settings) {
      const auto given = flags_.settings.find(setting);
      if (given == flags_.settings.end() || given->is_null()) continue;
      out_ << "note: --" << setting << " has no effect: " << why << std::endl;
    }
  }

 private:
  const GenerateFlags& flags_;
  std::ostream& out_;
};

void note_lost_ends(const WritingModel& model, std::ostream& out) {
  const auto ends = model.unknown_tokens.find("eos_token_id");
  if (ends == model.unknown_tokens.end() || !model.config.eos_token_id.empty()) return;
  out << "note: texts end at their length: eos_token_id of " << model.settings_origin << " is "
      << ends->dump() << ", and the model has tokens 0 to " << model.architecture->vocab_size() - 1
      << std::endl;
}

void note_unknown_settings(const WritingModel& model, std::ostream& out) {
  for (const std::string& name : model.unknown_settings)
    out << "note: " << name << " of " << model.settings_origin
        << " has no effect: it is no setting of generation that is known" << std::endl;
}

void note_unknown_adapter_keys(const WritingModel& model, std::ostream& out) {
  for (const std::string& key : model.unknown_adapter_keys)
    out << "note: " << key << " of " << model.adapter << '/' << architectures::kAdapterConfigName
        << " has no effect: " << architectures::kUnknownToPeft << std::endl;
}

void tell_idle_drafts(const GenerateFlags& flags, const WritingModel& model,
                      const generation::TextSetup& setup, std::ostream& out) {
  const char* why = flags.draft_weights == "int8" ? why_nothing_is_drafted(model, setup) : nullptr;
  if (why != nullptr) out << "note: --draft_weights has no effect: " << why << std::endl;
}

void tell_idle_guesses(IdleFlags& idle, const WritingModel& model, const generation::TextSetup& setup) {
  if (const char* why = why_nothing_is_guessed(model, setup)) {
    idle.tell({"prompt_lookup_num_tokens", "max_matching_ngram_size"}, why);
  } else if (model.config.prompt_lookup_num_tokens.value_or(0) == 0) {
    idle.tell({"max_matching_ngram_size"}, "prompt_lookup_num_tokens asks for no guesses");
  }
}

}  // namespace

void note_idle_settings(const GenerateFlags& flags, const WritingModel& model,
                        const generation::TextSetup& setup, std::ostream& out) {
  const generation::GenerationConfig& config = model.config;
  IdleFlags idle(flags, out);
  if (!config.do_sample)
    idle.tell({"temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"},
              "do_sample is false");
  if (config.num_beams == 1) idle.tell({"length_penalty", "early_stopping"}, "num_beams is 1");
  if (config.max_new_tokens) idle.tell({"max_length"}, "max_new_tokens goes before it");
  if (config.min_new_tokens) idle.tell({"min_length"}, "min_new_tokens goes before it");
  if (config.max_new_tokens && config.min_new_tokens && *config.min_new_tokens > *config.max_new_tokens)
    out << "note: texts end before min_new_tokens, which is more than max_new_tokens" << std::endl;
  if (!model.architecture->has_encoder_and_decoder())
    idle.tell({"decoder_start_token_id"}, "the model has no encoder");
  tell_idle_guesses(idle, model, setup);
  tell_idle_drafts(flags, model, setup, out);
  idle.tell({"pad_token_id"}, "what fills up a batch is no part of a text");
  note_lost_ends(model, out);
  note_unknown_settings(model, out);
  note_unknown_adapter_keys(model, out);
}

void warn_of_unread_threads(const Environment& environment, std::ostream& out) {
  for (const std::string& unread : plan::unread_thread_counts(environment))
    out << "warning: " << unread << " has no effect: " << plan::why_unread_threads() << " ("
        << plan::kReadableThreads << ')' << std::endl;
}

}  // namespace hftrain::app
