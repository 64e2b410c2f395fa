# Data sets of which a part is missing, rows that teach nothing, and adapters with heads.

fault("half of a data set is trained on",
      "lib/hftrain/plan/dataset_files.cpp", "data::require_all_shards(parts, found.all, found.folder);", "data::require_all_shards({}, found.all, found.folder);",
      tests=["plan: A data set of which a part is missing is refused, unless a card names the parts"],
      says=r"train-00001-of-00003")

fault("every adapter that is refused is told the same reason",
      "lib/hftrain/architectures/adapter_config.cpp", ".where(origin).why(why).hint(hint);", '.where(origin).why(why.empty() ? why : "one rank for all modules").hint(hint);',
      tests=["architectures: An adapter that is not one of ours is refused with the reason that belongs to it"],
      says=r"here biases stay those of the base model")

fault("the folder of a run is data of the next one",
      "lib/hftrain/data/path_patterns.cpp", "if (entry.is_symlink(ignored) || is_of_a_run(entry.path())) continue;", "if (entry.is_symlink(ignored) || (false && is_of_a_run(entry.path()))) continue;",
      tests=["plan: What a run writes into the folder of its data is no data"],
      says=r"a\.jsonl")

fault("rows without a label that counts are not counted",
      "lib/hftrain/tasks/instruction_encoder.cpp", "++(learns ? teaching_ : untaught_);", "++teaching_;",
      tests=["tasks: instruction data: rows that teach nothing are counted, nothing but such rows refused"],
      says=r"no token that counts")

fault("a row of one token is thought to teach",
      "lib/hftrain/tasks/instruction_encoder.cpp", "++(learns ? teaching_ : untaught_);", "++(teaches ? teaching_ : untaught_);",
      tests=["tasks: instruction data: rows that teach nothing are counted, nothing but such rows refused"],
      says=r"single tokens")

fault("what an encoder says of all rows is lost beside their lengths",
      "lib/hftrain/data/length_column.cpp", "  void check_all() const override { inner_->check_all(); }\n", "",
      tests=["data: what an encoder says of all rows it says beside lengths, too"],
      says=r"check_all")

fault("the adapter's file lacks the copies that peft looks for",
      "lib/hftrain/checkpoint/weights.cpp", "for (const SavedCopy& copy : copies) add(copy.parameter, copy.alias);",
      "for (const SavedCopy& copy : copies) static_cast<void>(copy);",
      tests=["runs: adapters: a head of words over a bare body is trained and saved"],
      says=r"copies that peft looks for")

fault("a head within the body has the whole body trained beside an adapter",
      "lib/hftrain/plan/resolve_adapter.cpp", "const bool within_body = !body.empty() && spec.name.starts_with(body);", "const bool within_body = false;",
      tests=["plan: beside an adapter a head of classes is trained whole, and nothing of the body with it"],
      says=r"classifier")

fault("a text is encoded to its end, whoever stops",
      "lib/hftrain/tokenizer/fast_run.h", "split(*plan_.byte_level->pattern, text, [&](const char* begin, const char* end) {\n      watch_.next_piece();", "split(*plan_.byte_level->pattern, text, [&](const char* begin, const char* end) {",
      tests=["tokenizer: a long text is given up when its thread is to stop, and is encoded otherwise"],
      says=r"ids_of|stop")

fault("the head of a language model over a bare body is lost beside an adapter",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (!spec.head || (may_be_stored && std::ranges::count(model.lacking, spec.name) == 0)) continue;", "if (!spec.head || of_language || (may_be_stored && std::ranges::count(model.lacking, spec.name) == 0)) continue;",
      tests=["runs: adapters: a head of words over a bare body is trained and saved"],
      says=r"and saved|FAILED: masked: and what peft does with it")

fault("an adapter of two matrices is opened as one of one",
      "lib/hftrain/architectures/adapter.cpp", "if (!is_tied_in_file(table, spec, tied)) throw trained_apart(tied);", "",
      tests=["runs: adapters: tied embeddings that are saved whole are told to peft"],
      says=r"expected 4")

fault("peft finds no module for an adapter of ViT",
      "lib/hftrain/architectures/stored_names.cpp", "return spec.head || spec.other_names.empty() ? spec.name : spec.other_names.front();", "return spec.name;",
      tests=["architectures: Modules of ViT are named for adapters as in memory and as in files, and told to peft as in memory",
             "parity: adapters of every family have the names of peft, in both directions"],
      says=r"q_proj|No modules were targeted|no module of the model is called|lacks")

fault("an adapter of another release keeps the names of then in its config",
      "lib/hftrain/plan/resolve_adapter.cpp", "architectures::with_names_in_memory(input.model.adapter_config, running.parameters(), *spec);", "input.model.adapter_config;",
      tests=["parity: adapters of every family have the names of peft, in both directions"],
      says=r"No modules were targeted|False")

fault("an adapter is merged by fan_in_fan_out of its config and not by its model",
      "launcher/front/adapter_weights.cpp", "return found == inputs_first_.end() ? input_first_ : found->second;", "return input_first_;",
      tests=["runs: adapters: a square matrix is merged as its model stores it"],
      says=r"merged")

fault("an optimizer's state is looked for under names of files alone",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "return found == names.end() ? in_memory : found->second;", "return in_memory;",
      tests=["checkpoint: state is found under the names that modules have in memory, and files do not"],
      says=r"does not train")

fault("a GLUE task takes the order of the data for a model that has its labels",
      "lib/hftrain/tasks/text_classification.cpp", "found->in_order_of(of_model).to_json_value()", "found->to_json_value()",
      tests=["tasks: a GLUE task keeps the numbers of a model that has its labels, and no other run does"],
      says=r"labels_of")

fault("merge goes by the adapter's revision whatever is asked for",
      "launcher/front/adapter_merge.cpp", "adapter.base(), \"base_model_name_or_path of \" + origin, revision,", "adapter.base(), \"base_model_name_or_path of \" + origin, plan::base_revision_of(adapter.config(), plan::kMainRevision, origin),",
      tests=["runs: adapters: an adapter merges with a revision of its base"],
      says=r"the revision that was asked for wins")

fault("what leads to the hub cache is not said",
      "lib/hftrain/plan/hub_cache.cpp", ': "by " + cache.named_by;', ': "by somebody";',
      tests=["plan: a model that is nowhere names the command that would fetch it"],
      says=r"by HF_HUB_CACHE")

fault("what peft ties is written once",
      "lib/hftrain/architectures/adapter.cpp", "return spec.peft_ties && tied &&", "return spec.rank < 0 && tied &&",
      tests=["runs: adapters: an adapter whose embeddings peft ties keeps both of their names"],
      says=r"lm_head|peft computes the same")

fault("matrices of modules that the config does not name are merged",
      "launcher/front/adapter_weights.cpp", "if (is_targeted(spec_, module)) continue;", "if (is_targeted(spec_, module) || spec_.rank > 0) continue;",
      tests=["runs: adapters: what an adapter holds beside its config is held against it"],
      says=r"expected 4")

fault("an adapter is scaled by a rank that it does not have",
      "launcher/front/adapter_weights.cpp", "if (down_.rows != spec_.rank)", "if (down_.rows < 0)",
      tests=["runs: adapters: what an adapter holds beside its config is held against it"],
      says=r"expected 4")

fault("a copy of the base that an adapter brings does not count",
      "launcher/front/merged_tensors.cpp", "      adapter.read_whole(*copy, entry, rows, bytes);\n    } else {\n      base.read(name, rows, bytes);", "      base.read(name, rows, bytes);\n    } else {\n      base.read(name, rows, bytes);",
      tests=["runs: adapters: what an adapter holds beside its config is held against it"], says=r"a copy of the base")

fault("an adapter whose modules are named in other words is another one",
      "launcher/front/resumed_adapter.cpp", "if (same_whole) saved.saved_modules = own.saved_modules;", "if (same_whole && same_targets && saved.saved_modules.empty()) saved.saved_modules = own.saved_modules;",
      tests=["front: an adapter whose modules others name in other words is the run's"],
      says=r"CHECK_NOTHROW|score|attention")

fault("what transformers' Adafactor computes anew makes it another optimizer",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", 'if (name == "RMS" && holds(own, "exp_avg_sq_row")) continue;', "",
      tests=["parity: runs of the Trainer with other optimizers than AdamW go on with their losses"],
      says=r"RMS")

fault("a copy of the base with rows of later tokens is held against the base's shape",
      "launcher/front/merge_by_table.cpp", "copy != nullptr ? copy : stored)->shape", "copy != nullptr && stored == nullptr ? copy : stored)->shape",
      tests=["parity: adapters are trained as peft trains them, and each opens what the other saved"],
      says=r"another shape")

fault("an adapter of a model of the Hub names a folder of the cache",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (model.hub_name.empty()) return {.name = model.source_folder};", "if (!model.source_folder.empty()) return {.name = model.source_folder};",
      tests=["plan: an adapter names its base as others find it: by name and revision on the Hub, else by its folder"],
      says=r'of_main\["base_model_name_or_path"\] == "org/base"')

fault("an adapter that is trained on has lost the name of its base",
      "lib/hftrain/plan/adapter_folder.cpp", "  opened.base_name = name_on_hub(base);\n", "",
      tests=["plan: an adapter's base keeps its name on the Hub and the revision that it was opened in"],
      says=r'facts.hub_name == "org/base"')

fault("merge looks for a base in the cache of the environment alone",
      "launcher/front/adapter_merge.cpp", "plan::hub_cache(choice.cache_dir, environment)", "plan::hub_cache(std::nullopt, environment)",
      tests=["runs: adapters: an adapter of a model of the hub names it"],
      says=r"'org/base' is neither a folder")

fault("a slash behind the model's path leaves its folder without a name",
      "lib/hftrain/plan/hub_cache.cpp", "return without_slash(fs::absolute(named).lexically_normal().string());", "return fs::absolute(named).lexically_normal().string();",
      tests=["plan: a folder has no name on the Hub, and completion's slash behind it is not of its name"],
      says=r"facts.source_folder == cache / \"models/small\"")

fault("a slash that was typed behind the base of an adapter makes another run of it",
      "lib/hftrain/plan/identity.cpp", "const Json saved = with_base_named_as_now(kept);", "const Json saved = kept;",
      tests=["plan: the base of an adapter is the same with and without a slash that was typed behind it"],
      says=r"identity_differences\(typed, run_identity\(plan\)\).empty\(\)")

fault("the card of an adapter is that of a whole model",
      "lib/hftrain/trainer/run_card.cpp", "  if (plan.model.adapter) tell_adapter(plan.model, card);\n", "",
      tests=["runs: adapters: an adapter of a model of the hub names it"],
      says=r"the card says library_name: peft")

fault("a cell of a .csv file is a number or a truth whatever its column holds",
      "lib/hftrain/data/column_cells.cpp", "  numbers_ = numbers_ && number_in(bare(cell)).index() != 0;\n", "  numbers_ = number_in(bare(cell)).index() != 0;\n",
      tests=["data: what cells of a .csv file are is decided by their column, as pandas does it"],
      says=r'\[1\] == " 1"')

fault("other evaluation data make another run of a folder",
      "lib/hftrain/plan/identity.cpp", 'if (name == (both_tell_training ? "data" : "training_data")) continue;',
      'if (name == (both_tell_training ? "neither" : "training_data")) continue;',
      tests=["plan: a run that is evaluated on other data is the same run, and one that learns from others is not"],
      says=r"identity_differences")

fault("a run that learns from other rows of the same files is the same run",
      "lib/hftrain/data/prepared_key.cpp", "return key_of(request, {split});", "return request.recipe.task + name_of(split);",
      tests=["data: What a run learns from has a key of its own, whatever it is evaluated on"],
      says=r"training_key != alone")

fault("the default length of instruction data passes a model's learned positions",
      "lib/hftrain/tasks/instruction_tuning.cpp", "return asked && input.length_room ? std::min(*asked, *input.length_room) : asked;", "return asked;",
      tests=["plan: the default length of instruction data ends where a model's learned positions do"],
      says=r"longer than the model's|block_size")

fault("a token that the model does not know is found in the middle of a run",
      "lib/hftrain/plan/resolve.cpp", "!split || split->largest_token_id < vocabulary) return;", "!split || vocabulary >= 0) return;",
      tests=["plan: data with a token that the model does not know are refused before the run"],
      says=r"kData")

fault("a pair of token files that is named by its prefix wants a tokenizer",
      "lib/hftrain/data/data_files.cpp", "return std::ranges::all_of(patterns, names_token_file);",
      'return std::ranges::all_of(patterns, [](const std::string& path) { return path.ends_with(".bin") || path.ends_with(".idx"); });',
      tests=["plan: from scratch the tokenizer must be named, unless all data are tokens already"],
      says=r"there is no tokenizer|tokenizer")

fault("what evaluation alone reads makes other training data",
      "lib/hftrain/data/prepared_key.cpp", "request.recipe.options = request.recipe.training_options;", "request.recipe.facts = request.recipe.facts;",
      tests=["data: What a run learns from has a key of its own, whatever it is evaluated on"],
      says=r"training_key == alone")

fault("the length of targets that are evaluated makes other training data",
      "lib/hftrain/tasks/sequence_to_sequence.cpp", '["lengths"] = {limits.source, limits.target};', '["lengths"] = {limits.source, limits.target, limits.evaluated_target};',
      tests=["tasks: what evaluation alone reads is none of the training data's options"],
      says=r"val_max|training_options|==")

fault("samples of wrapped rows do not see each other",
      "lib/hftrain/data/document_packer.h", "return strategy != PackingStrategy::kWrapped;", "return static_cast<int>(strategy) >= 0;",
      tests=["tasks: instruction data: tokens and labels are TRL's"],
      says=r"seq_lengths")

fault("rows longer than the model's positions are found by the first update",
      "lib/hftrain/plan/resolve_data.cpp", "if (!*split || (*split)->longest <= positions) continue;", "if (!*split || (*split)->longest <= positions + 1) continue;",
      tests=["plan: rows that nothing cuts and the model has no positions for are refused before the run"],
      says=r"kData")

fault("the plan counts tokens of a pair that no block has",
      "lib/hftrain/data/split_builder.cpp", "blocks.sequences(), blocks.tokens(), blocks.largest_id()};", "blocks.sequences(), blocks.tokens(), tokens->largest_id};",
      tests=["data: An estimate reads the ids of token files as the preparation does"],
      says=r"largest_token_id|same\(\) < 100")

fault("settings of evaluation make a stream another run",
      "lib/hftrain/data/stream_request.cpp", "return of_training.is_null() ? spec.identity : identity_of(request, spec, of_training);", "return of_training.is_null() ? spec.identity : spec.identity;",
      tests=["data: the identity of a stream is that of its files, its tokenizer and its options"],
      says=r"learned\(other\) == first")

fault("nobody hears that a stream was evaluated on other data",
      "lib/hftrain/plan/identity.cpp", 'return saved["validation_data"] != present["validation_data"];', "return false;",
      tests=["plan: a stream that is evaluated on other data is the same run, and its notes say so"],
      says=r"evaluated_otherwise")

fault("a range of one whole number is refused",
      "lib/hftrain/search/specification.cpp", "if (takes_whole) make_whole(parameter);", "if (takes_whole && pointer.empty()) make_whole(parameter);",
      tests=["search: a range of whole numbers is refused for what it has of others, and one number is no range"],
      says=r"takes whole numbers")

fault("a merge takes a cache folder that it looks into for nothing",
      "apps/hftrain/commands/checkpoint.cpp", "if (choice.cache_dir && front::stands_beside_folder(request.folder))", "if (choice.cache_dir && request.out.empty())",
      tests=["runs: adapters: an adapter merges with a revision of its base"],
      says=r"a folder lies in no cache")

fault("a matrix that peft does not tie is opened as one, for its config says so",
      "lib/hftrain/architectures/adapter_config.cpp", '!config.value("ensure_weight_tying", Json()).is_null();', 'config.value("ensure_weight_tying", Json()).dump() == "false";',
      tests=["architectures: A tied matrix that peft trained apart is refused, whatever ensure_weight_tying says"],
      says=r"\{.wte.\}, ties")

fault("an adapter's file may not name what the model does not have",
      "lib/hftrain/architectures/adapter.cpp", "if (named || !spec.origin.empty()) return;", "if (named) return;",
      tests=["architectures: Names of an adapter's file that the model does not have are passed over, those of flags are not"],
      says=r"c_attn")

fault("an adapter's file may not save what the model does not have",
      "lib/hftrain/architectures/adapter.cpp", "if (!spec.origin.empty()) return;\n", "",
      tests=["architectures: Names of an adapter's file that the model does not have are passed over, those of flags are not"],
      says=r"is called 'classifier'|unexpected exception")

fault("an adapter is trained beside nothing",
      "lib/hftrain/architectures/adapter.cpp", "if (places.empty() && !spec.targets.empty()) throw", "if (places.empty() && spec.targets.empty()) throw",
      tests=["architectures: An adapter whose modules are all saved whole is refused"],
      says=r"beside no module|no exception")

fault("a head is trained beside an adapter that does not save it",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (!drawn || std::ranges::binary_search(kept, static_cast<int>(i))) continue;", "if (!drawn || i < table.parameters.size()) continue;",
      tests=["plan: an adapter of another task is not trained on, where the head would be lost"],
      says=r"score\.weight")

fault("a merged model says the type that its adapter was trained in",
      "launcher/front/merge_by_table.cpp", "    take_use_of_base(base_folder, model);",
      "    if (base_folder.empty()) take_use_of_base(base_folder, model);",
      tests=["runs: adapters: an adapter with a head is merged as its base is stored"],
      says=r"bfloat16")

fault("an output matrix that the files keep apart is tied",
      "lib/hftrain/plan/stored_ties.cpp", "         !storage::same_numbers(own->entry.dtype, own->bytes, shared->entry.dtype, shared->bytes, as);", "         as == DType::kBool || own->bytes.size() != shared->bytes.size();",
      tests=["plan: an output matrix that the files keep apart is one of its own, whatever the config says"],
      says=r"apart")

fault("another type makes another number of a tied matrix",
      "lib/hftrain/storage/float_numbers.cpp", "if (!is_compared_as_numbers(one) || !is_compared_as_numbers(other)) return false;", "if (one != other || !is_compared_as_numbers(one)) return false;",
      tests=["plan: an output matrix that the files keep apart is one of its own, whatever the config says",
             "checkpoint: a parameter is found without its prefix, under its tied alias, or under both when they agree"],
      says=r"of_types|tied but differ")

fault("tied matrices of two types are compared in a type that the model is not opened in",
      "lib/hftrain/plan/stored_ties.cpp", "differ_in_files(table, tied, weights, compared_in(dtype))", "differ_in_files(table, tied, weights, compared_in(dtype + '?'))",
      tests=["plan: an output matrix that the files keep apart is one of its own, whatever the config says"],
      says=r"near_one")

fault("the type that tied matrices are compared in is not asked by the ranks",
      "lib/hftrain/checkpoint/weights.cpp", "load_part(part, parameter, weights, added, rules.compared);", "load_part(part, parameter, weights, added, at::kFloat);",
      tests=["checkpoint: two copies of a tied matrix are one where they are the same in the type that they are compared in"],
      says=r"tied but differ")

fault("a merged model loses the output matrix that its base's files keep apart",
      "launcher/front/merge_by_table.cpp", "    model.config = stored->config_json();\n", "",
      tests=["runs: adapters: an adapter beside an output matrix of its own is merged with it"],
      says=r"lm_head")

fault("the bias that nobody uses is loaded",
      "lib/hftrain/checkpoint/weights.cpp", "if (found == nullptr || (spec.head && entry != nullptr)) found = entry;", "if (found == nullptr) found = entry;",
      tests=["checkpoint: norms of the first releases and other names of a parameter are found, and none is called unused"],
      says=r"equals_wholes")

fault("a plan is made for files that lack a parameter",
      "lib/hftrain/plan/resolve_model.cpp", "if (std::ranges::count(input.model.lacking, spec.name) == 0) continue;", "if (std::ranges::count(input.model.lacking, spec.name) < 9) continue;",
      tests=["plan: files that lack a parameter are refused by the plan, but for a head that is drawn anew"],
      says=r"lack 'score\.weight'|code")

fault("a Mistral's layers are all alike, whatever its config says",
      "lib/hftrain/architectures/llama.cpp", "if (mistral && types.is_null()) config.sliding", "if (mistral) return config.sliding",
      tests=["architectures: layer_types say which layers of a Mistral have a window, as of a Qwen"],
      says=r"nullopt|windows")

fault("RoPE of one kind of layers is passed over",
      "lib/hftrain/architectures/rope_config.cpp", "if (value.is_object())", "if (value.is_object() && value.empty())",
      tests=["architectures: layer_types say which layers of a Mistral have a window, as of a Qwen"],
      says=r"full_attention has its own")

fault("every tokenizer gives types of tokens",
      "lib/hftrain/plan/model_facts.cpp", "if (habits.gives_types_with_every_tokenizer()) return true;", "if (habits.release > 0) return true;",
      tests=["plan: a tokenizer gives types of tokens where its config or its class does, as in transformers of then and now"],
      says=r"given\(generic, .bert.\)")

fault("a bias of outputs keeps the width that its base had",
      "launcher/front/merge_by_table.cpp", "const bool widens = !own && spec.buffer &&", "const bool widens = own && spec.buffer &&",
      tests=["runs: adapters: a grown model with a bias of its outputs is merged"],
      says=r"final_logits_bias")

fault("peft finds one of two tied matrices",
      "lib/hftrain/architectures/adapter_config.cpp", "  names.insert(names.end(), second.begin(), second.end());\n", "",
      tests=["architectures: A tied matrix that is saved whole is one under both of its names, and both are told to peft"],
      says=r"lm_head")

fault("peft finds one of two tied matrices where modules lie within others",
      "lib/hftrain/architectures/adapter_config.cpp", "  for (const TiedParameter& second : second_names(table)) names.push_back(second.alias);\n", "",
      tests=["architectures: A tied matrix that is saved whole is one under both of its names, and both are told to peft"],
      says=r"decoder")

fault("the file lacks what a second module has beside its matrix",
      "lib/hftrain/architectures/adapter.cpp", "if (!parameter.buffer && is_saved(of_second, parameter) && !is_saved(spec, parameter))", "if (parameter.buffer)",
      tests=["architectures: A tied matrix that is saved whole is one under both of its names, and both are told to peft"],
      says=r"vocab_projector")

fault("an adapter of a tied output matrix is passed over",
      "lib/hftrain/architectures/adapter.cpp", "bool named = false, refused = tied != nullptr, embeds = false;", "bool named = false, refused = false, embeds = false;",
      tests=["architectures: No adapter stands beside a tied matrix, nor beside embeddings"],
      says=r"lm_head|no exception|unexpected exception")

fault("tensors of an adapter that have no place are dropped",
      "lib/hftrain/plan/stored_adapter.cpp", "if (read.contains(name) || !architectures::is_named(spec, own)) continue;", "if (!read.contains(own) || !architectures::is_named(spec, own)) continue;",
      tests=["checkpoint: an adapter's file of before has a tied matrix once, and nothing that its config names is left out",
             "plan: an adapter's file that no rank could load is refused by the plan"],
      says=r"score|no place")

fault("what an adapter's file lacks is left to the ranks to tell",
      "lib/hftrain/plan/resolve_adapter.cpp", "    check_file(input, running, problems);\n", "    if (input.output_has_weights) check_file(input, running, problems);\n",
      tests=["plan: an adapter's file that no rank could load is refused by the plan"],
      says=r"the adapter lacks")

fault("a file of before with one name of a tied matrix is taken for one that peft trained apart",
      "lib/hftrain/plan/stored_adapter.cpp", "if (copy.by_peft && !stored.contains(name))", "if (!stored.contains(name))",
      tests=["checkpoint: an adapter's file of before has a tied matrix once, and nothing that its config names is left out"],
      says=r"two matrices")

fault("an adapter of ours that peft has saved again is taken for one with two matrices",
      "lib/hftrain/plan/stored_adapter.cpp", "spec.tied_as_one || (!saved.empty() &&", "spec.tied_as_one || (saved.empty() &&",
      tests=["plan: a matrix that an adapter's file holds under both names with the same numbers is one, whatever peft says"],
      says=r"tied_as_one")

fault("what peft's wrapper holds beside a module that is saved whole has no place in the model",
      "lib/hftrain/architectures/adapter.cpp", "  if (is_of_wrapper(tensor)) return false;\n", "",
      tests=["plan: an adapter's file that no rank could load is refused by the plan"],
      says=r"no error")

fault("a merge looks for what peft's wrapper holds in the model",
      "launcher/front/adapter_weights.cpp", "  if (architectures::is_of_wrapper(name)) return;\n", "",
      tests=["runs: adapters: tied embeddings that are saved whole are told to peft"],
      says=r"modules_to_save")

fault("a second name of a tied matrix makes another run",
      "lib/hftrain/plan/resolve_adapter.cpp", "  return spec;\n}\n\n// Whether the words name", "  const auto second = architectures::second_modules_of_saved(model.architecture->parameters(), spec);\n  spec.saved_modules.insert(spec.saved_modules.end(), second.begin(), second.end());\n  return spec;\n}\n\n// Whether the words name",
      tests=["runs: adapters: tied embeddings that are saved whole are told to peft"],
      says=r"the run's")

fault("the merge of an adapter that cannot be opened is told to open it",
      "launcher/front/merge_by_table.cpp", "                       kMergeUntied);", "                       kMergeByConfig);",
      tests=["runs: adapters: grown embeddings are merged and half a tied matrix is not"],
      says=r"what may be done")

fault("peft is told a module within another one",
      "lib/hftrain/architectures/adapter_config.cpp", "return none_within_another(table, names);", "return names.empty() ? none_within_another(table, names) : names;",
      tests=["architectures: No module that is saved whole is told to peft within another one"],
      says=r"bert\.embeddings")

fault("a temperature is refused where nothing is drawn",
      "lib/hftrain/generation/generation_config_json.cpp", "if (!samples && found->is_number() && std::ranges::count(kOfSampling, key.setting.name) > 0) continue;", "if (samples && found->is_number() && std::ranges::count(kOfSampling, key.setting.name) > 0) continue;",
      tests=["generation: mistakes in a generation config are told together"],
      says=r"temperature.*top_k")

fault("embeddings that peft saves beside an adapter are dropped",
      "lib/hftrain/checkpoint/weights.cpp", "check_frozen(unnamed, weights, strategy, kSavedBeside);", "check_frozen({}, weights, strategy, kSavedBeside);",
      tests=["checkpoint: an adapter's file of before has a tied matrix once, and nothing that its config names is left out"],
      says=r"saved it beside")
