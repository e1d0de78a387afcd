// Variables by which programs wait for each other: read again and again, between fences.

#include "segments/flags.h"
#include "memory/outside.h"
#include "segments/segment_builder.h"
#include "ssa.h"
#include "tree-ssa-alias.h"
#include "tree-dfa.h"
#include "cgraph.h"
#include <set>

namespace promp {
namespace {

/// What is read, not by volatile or atomic accesses, before a condition that depends on it: variables, and
/// where pointers lead.
std::set<tree> read_variables;
std::vector<pt_solution> read_behind;
bool read_anywhere;

/// Notes the loads that `t` is computed from.
void note_loads (tree t, std::set<tree> &seen)
{
  if (!t || TREE_CODE (t) != SSA_NAME || !seen.insert (t).second || SSA_NAME_IS_DEFAULT_DEF (t))
    return;
  gimple *def = SSA_NAME_DEF_STMT (t);
  if (gphi *p = dyn_cast<gphi *> (def))
    {
      for (unsigned i = 0; i < gimple_phi_num_args (p); i++)
        note_loads (gimple_phi_arg_def (p, i), seen);
      return;
    }
  gassign *a = dyn_cast<gassign *> (def);
  if (!a)
    return; // results of calls are noted where they are returned
  if (!gimple_assign_load_p (a))
    {
      for (unsigned i = 1; i < gimple_num_ops (a); i++)
        note_loads (gimple_op (a, i), seen);
      return;
    }
  if (gimple_has_volatile_ops (a))
    return;
  tree base = get_base_address (gimple_assign_rhs1 (a));
  if (base && DECL_P (base))
    {
      read_variables.insert (base);
      keep (base);
      return;
    }
  tree p = base && TREE_CODE (base) == MEM_REF ? TREE_OPERAND (base, 0) : NULL_TREE;
  if (p && TREE_CODE (p) == ADDR_EXPR && DECL_P (TREE_OPERAND (p, 0)))
    {
      read_variables.insert (TREE_OPERAND (p, 0));
      keep (TREE_OPERAND (p, 0));
      return;
    }
  ptr_info_def *pi = p && TREE_CODE (p) == SSA_NAME ? SSA_NAME_PTR_INFO (p) : nullptr;
  if (!pi || pi->pt.anything || read_behind.size () >= 1000)
    {
      read_anywhere = true;
      return;
    }
  read_behind.push_back (pi->pt);
  if (pi->pt.vars)
    {
      read_behind.back ().vars = BITMAP_ALLOC (nullptr);
      bitmap_copy (read_behind.back ().vars, pi->pt.vars);
    }
}

/// Is the variable known to this unit alone, and its address to nobody?
bool stays_in_unit (tree decl)
{
  varpool_node *n = TREE_STATIC (decl) && !TREE_PUBLIC (decl) ? varpool_node::get (decl) : nullptr;
  ipa_ref *r = nullptr;
  if (!n)
    return false;
  for (unsigned i = 0; n->iterate_referring (i, r); i++)
    if (r->use == IPA_REF_ADDR || r->use == IPA_REF_ALIAS)
      return false;
  return true;
}

} // namespace

void note_conditions (function *fn)
{
  std::set<tree> seen;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        gcall *c = dyn_cast<gcall *> (s);
        auto code = gimple_code (s);
        if (code != GIMPLE_COND && code != GIMPLE_SWITCH && code != GIMPLE_RETURN
            && (!c || gimple_call_builtin_p (c, BUILT_IN_NORMAL) || is_save_point (c)))
          continue;
        for (unsigned k = 0; k < gimple_num_ops (s); k++)
          note_loads (gimple_op (s, k), seen);
      }
}

bool may_be_flag (tree key)
{
  if (!key)
    return true;
  if (DECL_P (key))
    return !VAR_P (key) || !stays_in_unit (key) || read_variables.count (key);
  ptr_info_def *pi = TREE_CODE (key) == SSA_NAME ? SSA_NAME_PTR_INFO (key) : nullptr;
  if (!pi || read_anywhere)
    return true;
  pt_solution &pt = pi->pt;
  if (pt.anything || pt.nonlocal || pt.escaped || pt.ipa_escaped || pt.vars_contains_nonlocal
      || pt.vars_contains_escaped || pt.vars_contains_escaped_heap)
    return true;
  for (pt_solution &r : read_behind)
    if (pt_solutions_intersect (&pt, &r))
      return true;
  return false;
}

void doubt_flags (std::vector<Segment> &segments, const Split &split, const Memory &memory)
{
  auto signals = [&] (gimple *g) { return split.signals.count (g) != 0; };
  auto has_fence = [&] (const Segment &s) {
    if (split.fences.count (s.site))
      return true;
    for (const Node &n : s.nodes)
      {
        if (split.fences.count (n.terminator))
          return true;
        for (gimple_stmt_iterator i = n.first; !gsi_end_p (i) && gsi_stmt (i) != n.terminator; gsi_next (&i))
          if (split.fences.count (gsi_stmt (i)))
            return true;
      }
    return false;
  };
  auto signals_around = [&] (const Segment &s) {
    bool any = signals (s.site);
    for (const Node &n : s.nodes)
      any = any || signals (n.terminator);
    return any;
  };
  bool fences = false;
  for (Segment &s : segments)
    fences = fences || has_fence (s);
  for (Segment &s : segments)
    if ((s.fenced = has_fence (s) || (fences && signals_around (s))))
      for (size_t i = 0; i < s.accesses.size (); i++)
        {
          const promp_access &a = s.accesses[i];
          unsigned object = memory.places ()[a.place].object;
          if (!(a.flags & ACCESS_WRITES) || a.assumed || !may_be_flag (memory.key (object)))
            continue;
          std::string what = "writes " + memory.name (object) + " between flushes, for which others may wait";
          s.effects.push_back ({ lasting (what), a.line, a.node });
          break;
        }
}

} // namespace promp
