// Where the unit uses memory by its name, and who calls whom (uses.cc).
#ifndef PROMP_USES_H
#define PROMP_USES_H

#include "promp-plugin.h"
#include <map>
#include <string>
#include <vector>

namespace promp {

/// A statement that uses memory by its name.
struct Named
{
  enum Kind { LOAD, STORE, ADDRESS } kind;
  function *fn;
  gimple *stmt;
};

/// Where memory is used: variables, and fields of the data that regions are handed.
class Uses
{
public:
  Uses ();
  const std::vector<Named> &of (tree memory) const;
  /// Are all that may use it seen?
  bool is_followed (tree memory) const;
  /// Its body, if that is what is executed when it is called; null: not known.
  function *body (tree decl) const;
  /// Its calls, all of them; null: others may call it.
  const std::vector<std::pair<function *, gcall *>> *calls_of (tree decl) const;
  /// Calls that ask for the number of threads, or of the thread.
  const std::vector<std::pair<function *, gcall *>> &asking () const { return asking_; }

private:
  void survey (function *fn);
  bool is_handed_over (tree record) const;
  bool is_in_assembler (const std::string &name) const;

  std::map<tree, std::vector<Named>> uses_;
  std::map<tree, std::vector<std::pair<function *, gcall *>>> calls_;
  std::vector<std::pair<function *, gcall *>> asking_;
  std::map<tree, function *> bodies_;
  std::map<tree, std::vector<tree>> records_; ///< variables by the type of a region's data
  std::string assembler_; ///< all that is written in it
  bool unseen_ = false;
};

/// What `ref` names: a variable, a parameter, a field of a region's data; NULL_TREE: something else.
tree named_by (tree ref);
/// Is `what` a part of the expression `where`?
bool mentions (tree where, tree what);

} // namespace promp
#endif
