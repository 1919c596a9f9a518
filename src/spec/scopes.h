// Which names the expressions of a spec may use.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "expr/parse.h"
#include "spec/document.h"
#include "spec/spec.h"

namespace attngen::spec {

// Why an expression cannot use a name that others can.
struct Reason {
  const char* name;
  const char* reason;
  const char* help = "";
};

class Scopes {
 public:
  // Of a spec whose fields have been read; it must outlive this.
  Scopes(const Node& root, const Spec& spec);

  // A name that stands for a text, behind those before; and one whose text has an error of its own.
  void add_let(const std::string& name, const std::string& text);
  void add_broken(const std::string& name) { broken_.insert(name); }
  // All names of the spec's pattern, of its inputs and of its constants, but the forbidden ones.
  expr::Scope without(std::initializer_list<Reason> forbidden) const;
  // Whether what declares the name, or may declare it, has an error of its own: a use is none then.
  bool is_broken(const std::string& name) const { return all_broken_ || broken_.contains(name); }

 private:
  void add_constants(const Node& root);
  void add_inputs();
  void add_broken_groups(const Node& root);
  void add_broken_rows(const Node& normalize);

  const Spec& spec_;
  expr::Scope base_;
  std::set<std::string> broken_;
  bool all_broken_ = false;
};

}  // namespace attngen::spec
