// What the summaries say of calls and functions.

#include "memory/function_facts.h"
#include "memory/pointer_origin.h"
#include "memory/outside.h"
#include "segments/inside.h"
#include "ssa.h"
#include "cgraph.h"
#include "alloc-pool.h"
#include "symbol-summary.h"
#include "symtab-clones.h"
#include "varasm.h"
#include "ipa-param-manipulation.h"
#include <algorithm>

namespace promp {

typedef std::pair<const tree, FunctionFacts> KnownFunction;

/// What is known of a function, or of that which it is a clone of; null: nothing.
static const KnownFunction *known (tree decl)
{
  auto f = known_functions.find (decl);
  if (f == known_functions.end ())
    if (cgraph_node *n = cgraph_node::get (decl))
      {
        while (n->clone_of)
          n = n->clone_of;
        bool clone = n->former_clone_of && known_functions.count (n->former_clone_of);
        f = known_functions.find (clone ? n->former_clone_of : n->decl);
      }
  return f == known_functions.end () ? nullptr : &*f;
}

/// What is known of the function that is called; null: nothing, or another one may be called.
static const FunctionFacts *facts_of (gcall *call)
{
  tree decl = target_of (call);
  const KnownFunction *f = decl ? known (decl) : nullptr;
  // Another unit's function of this name may be called instead.
  return f && decl_binds_to_current_def_p (f->first) ? &f->second : nullptr;
}

bool parameters_apart (function *fn, unsigned i, unsigned j)
{
  typedef std::pair<tree, std::pair<unsigned, unsigned>> Question;
  std::set<Question> seen;
  std::vector<Question> todo = { { fn->decl, { std::min (i, j), std::max (i, j) } } };
  while (!todo.empty ())
    {
      Question q = todo.back ();
      todo.pop_back ();
      if (!seen.insert (q).second)
        continue;
      auto f = known_functions.find (q.first);
      if (f == known_functions.end () || !f->second.known_callers || f->second.outlined)
        return false;
      for (auto &caller : known_functions)
        for (auto &c : caller.second.calls)
          {
            if (c.callee != q.first || c.apart.count (q.second))
              continue;
            if (q.second.second >= c.from.size ())
              return false;
            int x = c.from[q.second.first], y = c.from[q.second.second];
            if (x < 0 || y < 0 || x == y)
              return false;
            todo.push_back ({ caller.first, { (unsigned) std::min (x, y), (unsigned) std::max (x, y) } });
          }
    }
  return true;
}

const Summary *summary_of (gcall *call)
{
  const FunctionFacts *f = facts_of (call);
  return f ? &f->whole : nullptr;
}

const Summary *summary_of (function *fn)
{
  auto f = known_functions.find (fn->decl);
  return f == known_functions.end () ? nullptr : &f->second.whole;
}

bool saves_by_itself (gcall *call)
{
  // Not a copy that was made later.
  const FunctionFacts *f = facts_of (call);
  return f && f->whole.saves && known_functions.count (target_of (call));
}

unsigned bits_of_write (function *fn, const Memory &m, const Memory::Item &i)
{
  tree p = object_pointer (m, m.places ()[i.place].object);
  int k = p ? parameter_of (fn, p) : -1;
  if (k == OWN_MEMORY)
    return 0;
  // Now more may be known of where the pointer comes from than when the function was summed up, or less.
  return k >= 0 && k < BEHIND ? bit_of (k) | bit_of (-1) : ~0u;
}

tree argument_of (gcall *call, int k)
{
  cgraph_node *n = cgraph_node::get (target_of (call));
  if (n && !known_functions.count (n->decl))
    {
      // A clone: its parameters are a selection of the original's.
      clone_info *info = clone_info::get (n);
      if (!info || !info->param_adjustments)
        return NULL_TREE;
      for (unsigned i = 0; i < gimple_call_num_args (call); i++)
        if (info->param_adjustments->get_original_index (i) == k)
          return gimple_call_arg (call, i);
      return NULL_TREE;
    }
  return (unsigned) k < gimple_call_num_args (call) ? gimple_call_arg (call, k) : NULL_TREE;
}

bool throws_behind_marks (gimple *stmt)
{
  gcall *call = safe_dyn_cast<gcall *> (stmt);
  const Summary *s = call ? summary_of (call) : nullptr;
  return s && !s->runtime && !s->throws && s->foreign.empty ();
}

std::vector<Foreign> at_call (function *fn, gcall *call, const std::vector<Foreign> &calls)
{
  std::vector<Foreign> all;
  // Arguments may be results of others of `calls`, by their numbers.
  bool numbered = has_results (calls);
  for (const Foreign &f : calls)
    {
      tree pointer = f.through < 0 ? NULL_TREE : argument_of (call, f.through);
      tree to = pointer && TREE_CODE (pointer) == ADDR_EXPR ? TREE_OPERAND (pointer, 0) : NULL_TREE;
      // Where one of those is handed over, the call is none of the others'.
      auto is_it = [&] (const Foreign &o) { return o.through == f.through && o.callee == to; };
      if (to && to != f.callee && !numbered && std::any_of (calls.begin (), calls.end (), is_it))
        continue;
      Foreign r = f;
      r.result = false;
      r.through = number_of_parameter (fn, pointer);
      for (Argument &a : r.arguments)
        if (a.kind == Argument::PARAMETER)
          {
            a.value = argument_of (call, a.parameter);
            a.kind = a.value && POINTER_TYPE_P (TREE_TYPE (a.value)) ? Argument::POINTER : Argument::ANYTHING;
          }
      all.push_back (r);
    }
  return all;
}

void for_all_summaries (const std::function<void (tree, const Summary &)> &f)
{
  for (auto &i : known_functions)
    f (i.first, i.second.whole);
}

tree place_at (gcall *call, tree place)
{
  const FunctionFacts *f = facts_of (call);
  return f && place ? in_arguments (f->parameters, place, call) : NULL_TREE;
}

bool always_meets_runtime (gcall *call)
{
  const FunctionFacts *f = facts_of (call);
  return f && f->whole.runtime && !f->passes;
}

std::string before_first_call (gcall *call)
{
  const FunctionFacts *f = facts_of (call);
  return f ? f->before : "calls what is not known";
}

/// What follows the return of a function in its callers that is not known, or cannot be executed twice, up to
/// the next runtime call or their own returns; `callers`: which of them return.
static std::string next_in_callers (const KnownFunction &f, std::set<tree> *callers)
{
  if (!f.second.known_callers)
    return "returns to a caller that may be in another file";
  bool called = false;
  for (auto &caller : known_functions)
    for (auto &r : caller.second.rests)
      if (r.callee == f.first)
        {
          called = true;
          if (!r.effect.empty ())
            return "returns to a caller that " + r.effect;
          if (r.returns && callers)
            callers->insert (caller.first);
        }
  return called ? "" : "returns to a caller that is not looked into";
}

static std::string marked_return (const KnownFunction &f)
{
  return f.second.may_mark ? next_in_callers (f, nullptr) : "";
}

bool is_orphaned (gcall *call)
{
  const FunctionFacts *f = facts_of (call);
  return f && f->orphaned;
}

std::string marked_return (function *fn)
{
  const KnownFunction *f = known (fn->decl);
  return f ? marked_return (*f) : "";
}

std::string marked_return (gcall *call)
{
  tree decl = target_of (call);
  const KnownFunction *f = decl && facts_of (call) ? known (decl) : nullptr;
  return f ? marked_return (*f) : "";
}

std::string after_return (function *fn)
{
  std::set<tree> seen, todo = { fn->decl };
  while (!todo.empty ())
    {
      tree decl = *todo.begin ();
      todo.erase (todo.begin ());
      if (!seen.insert (decl).second)
        continue;
      auto f = known_functions.find (decl);
      if (f == known_functions.end ())
        return "returns to a caller that is not looked into";
      if (f->second.outlined || (decl != fn->decl && !marked_return (*f).empty ()))
        continue;
      std::string what = next_in_callers (*f, &todo);
      if (!what.empty ())
        return what;
    }
  return "";
}

} // namespace promp
