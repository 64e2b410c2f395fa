// A macro, or the body of a call block, with the names that stood around it.
#pragma once

#include "hftrain/chat/renderer.h"

namespace hftrain::chat {

class Macro : public Object {
 public:
  // `definition` and `renderer` outlive it.
  Macro(Renderer& renderer, const MacroDefinition& definition)
      : renderer_(renderer), definition_(definition), scope_(renderer.scope()) {}

  std::string_view type_name() const override { return "Macro"; }
  bool is_callable() const override { return true; }
  std::optional<Value> member(Runtime& runtime, std::string_view name) override;
  std::optional<std::string> printed(Runtime& runtime) override;
  Value call(Runtime& runtime, const Arguments& arguments) override;

 private:
  void bind(Runtime& runtime, const Arguments& arguments);
  void bind_rest(Runtime& runtime, const Arguments& arguments, std::vector<bool>& used);

  Renderer& renderer_;
  const MacroDefinition& definition_;
  std::shared_ptr<Scope> scope_;
};

}  // namespace hftrain::chat
