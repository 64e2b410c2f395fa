#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> hub_flags() {
  return {
      {.name = "push_to_hub",
       .slot = at<&Arguments::hub, &HubArguments::push_to_hub>,
       .help = "Upload the run to the Hugging Face Hub.",
       .note =
           "Beside the training, which waits for it at its end alone. A token that may not write is found "
           "before it begins; without a network the run trains and says what was not sent."},
      {.name = "hub_model_id",
       .slot = at<&Arguments::hub, &HubArguments::hub_model_id>,
       .help = "Repository to push to.",
       .note = "NAME of the token's owner, or ORG/NAME. Unset: the name of output_dir."},
      {.name = "hub_token",
       .slot = at<&Arguments::hub, &HubArguments::hub_token>,
       .help = "Access token.",
       .note = "Unset: HF_TOKEN, or what `hf auth login` has stored. Never written or shown.",
       .secret = true},
      {.name = "hub_strategy",
       .slot = at<&Arguments::hub, &HubArguments::hub_strategy>,
       .help = "What is pushed and when.",
       .note =
           "end: the model, when the training has ended. every_save: that, and the model of each checkpoint. "
           "checkpoint: that, and the newest checkpoint as last-checkpoint. all_checkpoints: each under its "
           "own name.",
       .choices = {{"end"}, {"every_save"}, {"checkpoint"}, {"all_checkpoints"}}},
      {.name = "hub_private_repo",
       .slot = at<&Arguments::hub, &HubArguments::hub_private_repo>,
       .help = "Make a newly created repository private.",
       .note = "Unset: as its owner has chosen for new ones."},
      {.name = "hub_always_push",
       .slot = at<&Arguments::hub, &HubArguments::hub_always_push>,
       .help = "Push even when the previous push has not finished.",
       .note = "One after another, each as it was saved; four at most, and the end names what was left out."},
      {.name = "hub_revision",
       .slot = at<&Arguments::hub, &HubArguments::hub_revision>,
       .help = "Branch, tag or commit to push to.",
       .note = "The Hub takes pushes to branches alone, and the branch is to be there."},
      {.name = "push_to_hub_model_id",
       .slot = unread_optional(Type::kText),
       .help = "Old: repository name for pushing.",
       .replaced_by = {.flag = "hub_model_id"}},
      {.name = "push_to_hub_organization",
       .slot = at<&Arguments::hub, &HubArguments::push_to_hub_organization>,
       .help = "Old: organisation for pushing; joined with the model id."},
      {.name = "push_to_hub_token",
       .slot = unread_optional(Type::kText),
       .help = "Old: access token.",
       .secret = true,
       .replaced_by = {.flag = "hub_token"}},
      {.name = "token",
       .slot = at<&Arguments::hub, &HubArguments::token>,
       .help = "Access token for private models and data.",
       .note = "Pushes take it where there is no hub_token. Models and data come from the local cache, which "
               "`hftrain fetch` fills with HF_TOKEN. Never written or shown.",
       .secret = true},
      {.name = "use_auth_token",
       .slot = at<&Arguments::hub, &HubArguments::use_auth_token>,
       .help = "Old: use the stored access token.",
       .note =
           "Pushes do so anyway, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is set: then they do with it alone."},
  };
}

}  // namespace hftrain::arguments
