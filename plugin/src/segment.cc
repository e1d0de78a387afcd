// What can be reached within a segment.

#include "segment.h"
#include "tables.h"
#include "ssa.h"
#include <set>

namespace promp {

bool is_realloc (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  tree f = c ? gimple_call_fndecl (c) : NULL_TREE;
  return f && fndecl_built_in_p (f, BUILT_IN_REALLOC) && gimple_call_num_args (c) == 2;
}

/// Does `t` come from allocations (or is null) only? Collects the names on the way.
static bool allocated (tree t, std::set<tree> &names)
{
  if (integer_zerop (t))
    return true;
  if (TREE_CODE (t) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (t))
    return false;
  if (!names.insert (t).second)
    return true;
  gimple *def = SSA_NAME_DEF_STMT (t);
  if (gimple_call_builtin_p (def, BUILT_IN_MALLOC) || gimple_call_builtin_p (def, BUILT_IN_CALLOC) || is_realloc (def))
    return true;
  if (gassign *a = dyn_cast<gassign *> (def))
    return (gimple_assign_ssa_name_copy_p (a) || CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))
            || gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR)
           && allocated (gimple_assign_rhs1 (a), names);
  gphi *phi = dyn_cast<gphi *> (def);
  for (unsigned i = 0; phi && i < gimple_phi_num_args (phi); i++)
    if (!allocated (gimple_phi_arg_def (phi, i), names))
      return false;
  return phi != nullptr;
}

bool frees (gimple *stmt) { return gimple_call_builtin_p (stmt, BUILT_IN_FREE) || is_realloc (stmt); }

bool is_allocated (tree t)
{
  std::set<tree> names;
  return allocated (t, names);
}

void free_later (gcall *call, bool own)
{
  gimple_call_set_fndecl (call, freeing_function (is_realloc (call), own));
  update_stmt (call);
}

bool Segment::comes_in (tree name) const
{
  gimple *def = SSA_NAME_DEF_STMT (name);
  std::vector<bool> seen (nodes.size ());
  std::vector<uint32_t> todo = { 0 };
  while (!todo.empty ())
    {
      uint32_t n = todo.back ();
      todo.pop_back ();
      if (seen[n])
        continue;
      seen[n] = true;
      const Node &at = nodes[n];
      bool whole = at.first.ptr == gsi_start_bb (at.bb).ptr && (n > 0 || !site);
      bool defined = whole && gimple_code (def) == GIMPLE_PHI && gimple_bb (def) == at.bb;
      for (gimple_stmt_iterator i = at.first; !defined && !gsi_end_p (i); gsi_next (&i))
        {
          gimple *g = gsi_stmt (i);
          use_operand_p use;
          ssa_op_iter it;
          FOR_EACH_SSA_USE_OPERAND (use, g, it, SSA_OP_USE)
            if (USE_FROM_PTR (use) == name && !is_gimple_debug (g))
              return true;
          if (g == at.terminator)
            break;
          defined = g == def;
        }
      if (defined || at.terminator)
        continue;
      edge e;
      edge_iterator ei;
      FOR_EACH_EDGE (e, ei, at.bb->succs)
        for (gphi_iterator p = gsi_start_phis (e->dest); !gsi_end_p (p); gsi_next (&p))
          if (PHI_ARG_DEF_FROM_EDGE (p.phi (), e) == name)
            return true;
      for (auto &edge : edges)
        if (edge[0] == n)
          todo.push_back (edge[1]);
    }
  return false;
}

bool Segment::is_new (tree t) const
{
  std::set<tree> names;
  bool yes = allocated (t, names);
  for (tree name : names)
    yes = yes && !comes_in (name);
  return yes;
}

std::vector<bool> Segment::reached (std::vector<uint32_t> todo, uint32_t avoided) const
{
  std::vector<bool> seen (nodes.size ());
  while (!todo.empty ())
    {
      uint32_t n = todo.back ();
      todo.pop_back ();
      if (seen[n] || n == avoided)
        continue;
      seen[n] = true;
      for (auto &e : edges)
        if (e[0] == n)
          todo.push_back (e[1]);
    }
  return seen;
}

bool Segment::comes_back (basic_block bb) const
{
  for (uint32_t n = 0; n < nodes.size (); n++)
    if (nodes[n].bb == bb && !nodes[n].terminator)
      {
        std::vector<uint32_t> next;
        for (auto &e : edges)
          if (e[0] == n)
            next.push_back (e[1]);
        std::vector<bool> seen = reached (next, NONE);
        for (uint32_t m = 0; m < nodes.size (); m++)
          if (seen[m] && nodes[m].bb == bb && !nodes[m].terminator)
            return true;
      }
  return false;
}

uint32_t Segment::node_of (basic_block bb) const
{
  for (uint32_t n = 1; n < nodes.size (); n++)
    if (nodes[n].bb == bb)
      return n;
  return 0;
}

bool Segment::leads_through (uint32_t through, uint32_t to) const { return !reached ({ 0 }, through)[to]; }

} // namespace promp
