// What the functions of the unit do.
//
// A function that makes no runtime call is summed up by what it reads and writes through its parameters. One that does is part of two
// segments at least: its caller's, up to its first runtime call, and that of its last runtime call, which goes on behind
// its return. Both parts may read, but not write: old values cannot be saved across functions.

#include "summary.h"
#include "memory.h"
#include "outside.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-cfg.h"
#include "function.h"
#include "alloc-pool.h"
#include "symbol-summary.h"
#include "symtab-clones.h"
#include "varasm.h"
#include "ipa-param-manipulation.h"
#include "cfgloop.h"
#include "tree-ssa-alias.h"
#include <map>
#include <memory>
#include <vector>

namespace promp {
namespace {

struct Point
{
  basic_block bb;
  gimple *from; ///< null: the block's start; else behind this statement
  bool operator< (const Point &o) const { return std::tie (bb, from) < std::tie (o.bb, o.from); }
};

struct Function
{
  Summary whole;
  bool passes = false; ///< there is a way through without a runtime call
  std::string before; ///< see before_first_call
  /// For each call in it of a function that makes runtime calls: what follows, up to the next runtime call or the return.
  struct Rest { tree callee; std::string effect; bool returns; };
  std::vector<Rest> rests;
  /// For each call in it: for each argument the parameter of this function it comes from, or -1; which pairs are apart.
  struct Call { tree callee; std::vector<int> from; std::set<std::pair<unsigned, unsigned>> apart; };
  std::vector<Call> calls;
  bool known_callers = false, outlined = false;
  std::vector<tree> parameters;
};

std::map<tree, Function> functions;

/// The parameter that `t`, a pointer, comes from; -1 none, -2 memory of the function's own.
int parameter (function *fn, tree t, int depth = 0)
{
  for (; depth < 64; depth++)
    {
      if (TREE_CODE (t) == ADDR_EXPR)
        {
          tree b = get_base_address (TREE_OPERAND (t, 0));
          if (b && DECL_P (b))
            return auto_var_in_fn_p (b, fn->decl) && !DECL_BY_REFERENCE (b) ? -2 : -1;
          if (!b || TREE_CODE (b) != MEM_REF)
            return -1;
          t = TREE_OPERAND (b, 0);
          continue;
        }
      if (TREE_CODE (t) != SSA_NAME)
        return -1;
      if (SSA_NAME_IS_DEFAULT_DEF (t))
        {
          int k = 0;
          for (tree p = DECL_ARGUMENTS (fn->decl); p; p = DECL_CHAIN (p), k++)
            if (p == SSA_NAME_VAR (t))
              return k;
          return -1;
        }
      gimple *def = SSA_NAME_DEF_STMT (t);
      if (gphi *phi = dyn_cast<gphi *> (def))
        {
          int r = -3;
          for (unsigned i = 0; i < gimple_phi_num_args (phi); i++)
            {
              tree a = gimple_phi_arg_def (phi, i);
              if (a == t)
                continue;
              int k = parameter (fn, a, depth + 16);
              if (r != -3 && r != k)
                return -1;
              r = k;
            }
          return r == -3 ? -1 : r;
        }
      gassign *a = dyn_cast<gassign *> (def);
      if (a && gimple_assign_load_p (a))
        {
          tree b = get_base_address (gimple_assign_rhs1 (a));
          int k = b && TREE_CODE (b) == MEM_REF ? parameter (fn, TREE_OPERAND (b, 0), depth + 1) : -1;
          return k >= 0 && k < BEHIND ? k + BEHIND : -1;
        }
      if (!a || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
                 && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
        return -1;
      t = gimple_assign_rhs1 (a);
    }
  return -1;
}

tree object_pointer (const Memory &m, unsigned object)
{
  tree t = m.key (object);
  return t && DECL_P (t) ? NULL_TREE : t;
}

/// Adds one access to a summary.
void add (Summary &s, function *fn, const Memory &m, const Memory::Item &i, const char *name)
{
  tree p = object_pointer (m, m.places ()[i.place].object);
  int k = p ? parameter (fn, p) : -1;
  if (k == -2)
    return;
  if (i.flags & ACCESS_ATOMIC)
    s.effect = std::string ("calls ") + name + ", which updates memory atomically";
  else if (i.flags & ACCESS_WRITES)
    {
      if (k >= 0)
        s.writes.insert (k);
      else
        s.effect = std::string ("calls ") + name + ", which writes " + m.name (m.places ()[i.place].object);
    }
  else if (k >= 0)
    {
      s.reads.insert (k);
      s.places[k].push_back (k < BEHIND ? in_parameters (fn, m.expression (i.place)) : NULL_TREE);
    }
  else
    s.reads_more = true;
}

const char *name_of (tree decl) { return DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "a function"; }

/// Walks from `start` to runtime calls and returns: what cannot be repeated on the way; whether a return can be reached.
std::string walk (function *fn, Memory &m, Point start, bool &returns)
{
  std::string effect;
  std::set<Point> seen;
  std::vector<Point> todo = { start };
  returns = false;
  while (!todo.empty ())
    {
      Point p = todo.back ();
      todo.pop_back ();
      if (!seen.insert (p).second)
        continue;
      bool stopped = false;
      gimple_stmt_iterator i = p.from ? gsi_for_stmt (p.from) : gsi_start_bb (p.bb);
      if (p.from)
        gsi_next (&i);
      for (; !gsi_end_p (i) && !stopped; gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          if (is_save_point (s))
            stopped = true;
          else
            {
              Memory::Deed d = m.look (s);
              if (effect.empty ())
                effect = d.effect;
              for (const Memory::Item &a : d.items)
                if ((a.flags & (ACCESS_WRITES | ACCESS_ATOMIC)) && effect.empty ())
                  effect = "writes " + m.name (m.places ()[a.place].object);
              gcall *c = dyn_cast<gcall *> (s);
              stopped = c && always_meets_runtime (c);
            }
        }
      if (stopped)
        continue;
      edge e;
      edge_iterator ei;
      FOR_EACH_EDGE (e, ei, p.bb->succs)
        if (e->dest == EXIT_BLOCK_PTR_FOR_FN (fn))
          returns = true;
        else
          {
            if ((e->flags & (EDGE_ABNORMAL | EDGE_EH)) && effect.empty ())
              effect = "may leave by an exception";
            todo.push_back ({ e->dest, nullptr });
          }
    }
  return effect;
}

/// What a call hands over.
Function::Call arguments (function *fn, gcall *c)
{
  Function::Call r = { gimple_call_fndecl (c), {}, {} };
  unsigned n = gimple_call_num_args (c);
  for (unsigned i = 0; i < n; i++)
    {
      tree a = gimple_call_arg (c, i);
      int k = POINTER_TYPE_P (TREE_TYPE (a)) ? parameter (fn, a) : -1;
      r.from.push_back (k >= 0 && k < BEHIND ? k : -1);
      for (unsigned j = 0; j < i; j++)
        {
          tree b = gimple_call_arg (c, j);
          if (POINTER_TYPE_P (TREE_TYPE (a)) && POINTER_TYPE_P (TREE_TYPE (b)) && !ptr_derefs_may_alias_p (a, b))
            r.apart.insert ({ j, i });
        }
    }
  return r;
}

void summarise (cgraph_node *node)
{
  function *fn = DECL_STRUCT_FUNCTION (node->decl);
  push_cfun (fn);
  Function f;
  Memory m (fn);
  f.outlined = is_outlined (fn);
  for (tree p = DECL_ARGUMENTS (node->decl); p; p = DECL_CHAIN (p))
    f.parameters.push_back (p);
  f.known_callers = !TREE_PUBLIC (node->decl) && !node->externally_visible && !node->address_taken && !node->alias;
  const char *name = name_of (node->decl);
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_save_point (s))
          {
            f.whole.runtime = true;
            continue;
          }
        if (gcall *c = dyn_cast<gcall *> (s))
          if (gimple_call_fndecl (c))
            f.calls.push_back (arguments (fn, c));
        if (gcall *c = dyn_cast<gcall *> (s))
          if (const Summary *g = summary_of (c))
            {
              f.whole.runtime = f.whole.runtime || g->runtime;
              if (g->runtime)
                continue;
            }
        Memory::Deed d = m.look (s);
        if (!d.effect.empty () && f.whole.effect.empty ())
          f.whole.effect = std::string ("calls ") + name + ", which " + d.effect;
        for (const Memory::Item &a : d.items)
          add (f.whole, fn, m, a, name);
      }
  functions[node->decl] = f;
  Function &g = functions[node->decl];
  if (f.whole.runtime)
    {
      g.before = walk (fn, m, { single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn)), nullptr }, g.passes);
      FOR_EACH_BB_FN (bb, fn)
        for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
          if (gcall *c = dyn_cast<gcall *> (gsi_stmt (i)))
            if (const Summary *s = summary_of (c))
              if (s->runtime)
                {
                  Function::Rest r = { gimple_call_fndecl (c), "", false };
                  r.effect = walk (fn, m, { bb, c }, r.returns);
                  g.rests.push_back (r);
                }
    }
  pop_cfun ();
}

/// Callees first; functions that call each other are not summed up.
void visit (cgraph_node *node, std::set<cgraph_node *> &seen)
{
  if (!seen.insert (node).second || !node->has_gimple_body_p () || node->clone_of || node->thunk || node->alias)
    return;
  for (cgraph_edge *e = node->callees; e; e = e->next_callee)
    visit (e->callee->ultimate_alias_target (), seen);
  node->get_body ();
  function *fn = DECL_STRUCT_FUNCTION (node->decl);
  if (fn && fn->cfg && gimple_in_ssa_p (fn))
    summarise (node);
}

const Function *find (gcall *call)
{
  tree decl = gimple_call_fndecl (call);
  if (!decl)
    return nullptr;
  auto f = functions.find (decl);
  if (f == functions.end ())
    if (cgraph_node *n = cgraph_node::get (decl))
      {
        while (n->clone_of)
          n = n->clone_of;
        f = functions.find (n->former_clone_of && functions.count (n->former_clone_of) ? n->former_clone_of : n->decl);
      }
  // Another unit's function of this name may be called instead.
  return f == functions.end () || !decl_binds_to_current_def_p (f->first) ? nullptr : &f->second;
}

} // namespace

static const pass_data DATA = { SIMPLE_IPA_PASS, "promp_summary", OPTGROUP_OMP, TV_NONE, 0, 0, 0, 0, 0 };

struct Summaries : simple_ipa_opt_pass
{
  Summaries () : simple_ipa_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp && optimize; }
  unsigned execute (function *) final override
  {
    std::set<cgraph_node *> seen;
    cgraph_node *node;
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
      visit (node, seen);
    return 0;
  }
};

opt_pass *make_summary_pass () { return new Summaries; }

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
      auto f = functions.find (q.first);
      if (f == functions.end () || !f->second.known_callers || f->second.outlined)
        return false;
      for (auto &caller : functions)
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
  const Function *f = find (call);
  return f ? &f->whole : nullptr;
}

tree argument_of (gcall *call, int k)
{
  cgraph_node *n = cgraph_node::get (gimple_call_fndecl (call));
  if (n && !functions.count (n->decl))
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

tree place_at (gcall *call, tree place)
{
  const Function *f = find (call);
  return f && place ? in_arguments (f->parameters, place, call) : NULL_TREE;
}

bool always_meets_runtime (gcall *call)
{
  const Function *f = find (call);
  return f && f->whole.runtime && !f->passes;
}

std::string before_first_call (gcall *call)
{
  const Function *f = find (call);
  return f ? f->before : "calls what is not known";
}

std::string after_return (function *fn)
{
  std::set<tree> seen;
  std::vector<tree> todo = { fn->decl };
  while (!todo.empty ())
    {
      tree decl = todo.back ();
      todo.pop_back ();
      if (!seen.insert (decl).second)
        continue;
      auto f = functions.find (decl);
      if (f == functions.end ())
        return "returns to a caller that is not looked into";
      if (f->second.outlined)
        continue;
      if (!f->second.known_callers)
        return "returns to a caller that may be in another file";
      bool called = false;
      for (auto &caller : functions)
        for (auto &r : caller.second.rests)
          if (r.callee == decl)
            {
              called = true;
              if (!r.effect.empty ())
                return "returns to a caller that " + r.effect;
              if (r.returns)
                todo.push_back (caller.first);
            }
      if (!called)
        return "returns to a caller that is not looked into";
    }
  return "";
}

} // namespace promp
