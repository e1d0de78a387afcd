// What the functions of the unit do.
//
// A function that makes no runtime call is summed up by what it reads and writes through its parameters.
// One that does is part of two segments at least: its caller's, up to its first runtime call, and that of
// its last runtime call, which goes on behind its return. Both parts may read, but not write: old values
// cannot be saved across functions.

#include "memory/summary.h"
#include "memory/heap.h"
#include "segments/inside.h"
#include "memory/memory.h"
#include "memory/outside.h"
#include "segments/split.h"
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
#include "tree-eh.h"
#include "tree-dfa.h"
#include <algorithm>
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
  /// For each call in it of a function that makes runtime calls: what follows, up to the next runtime call
  /// or the return.
  struct Rest { tree callee; std::string effect; bool returns; };
  std::vector<Rest> rests;
  /// For each call in it: for each argument the parameter of this function it comes from, or -1; which
  /// pairs are apart.
  struct Call { tree callee; std::vector<int> from; std::set<std::pair<unsigned, unsigned>> apart; };
  std::vector<Call> calls;
  bool known_callers = false, outlined = false;
  std::vector<tree> parameters;
};

std::map<tree, Function> functions;
/// Function pointers of the unit that only its code knows, with the one function that they can lead to; and
/// variables of which that is not known.
std::map<tree, tree> pointed_to;
std::set<tree> several;

/// Functions of the unit whose addresses are taken.
std::vector<tree> taken;

/// Where a pointer comes from, besides a parameter.
enum { NO_PARAMETER = -1, OWN_MEMORY = -2, ONLY_ITSELF = -3 };

/// Does it call a function of this unit that returns a block which it has allocated?
bool makes_block (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  const Summary *s = c ? summary_of (c) : nullptr;
  return s && s->makes && !s->runtime
         && std::none_of (s->foreign.begin (), s->foreign.end (), [] (const Foreign &f) { return f.result; });
}

/// The call that has returned the block that `t` leads to; null: that is not known.
gcall *result_of (tree t)
{
  for (int steps = 0; steps < 100; steps++)
    {
      if (TREE_CODE (t) == ADDR_EXPR)
        {
          tree b = get_base_address (TREE_OPERAND (t, 0));
          if (!b || TREE_CODE (b) != MEM_REF)
            return nullptr;
          t = TREE_OPERAND (b, 0);
        }
      if (TREE_CODE (t) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (t) || !POINTER_TYPE_P (TREE_TYPE (t)))
        return nullptr;
      gimple *def = SSA_NAME_DEF_STMT (t);
      if (gcall *c = dyn_cast<gcall *> (def))
        return c;
      gassign *a = dyn_cast<gassign *> (def);
      if (!a || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
                 && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
        return nullptr;
      t = gimple_assign_rhs1 (a);
    }
  return nullptr;
}

/// The parameter that `t`, a pointer, comes from; or NO_PARAMETER, OWN_MEMORY (of the function),
/// ONLY_ITSELF (the next value of a pointer that is being looked at: `phis`).
int origin (function *fn, tree t, std::set<gphi *> &phis, unsigned &budget)
{
  while (budget-- > 0)
    {
      if (TREE_CODE (t) == ADDR_EXPR)
        {
          tree b = get_base_address (TREE_OPERAND (t, 0));
          if (b && DECL_P (b))
            return auto_var_in_fn_p (b, fn->decl) && !DECL_BY_REFERENCE (b) ? OWN_MEMORY : NO_PARAMETER;
          if (!b || TREE_CODE (b) != MEM_REF)
            return NO_PARAMETER;
          t = TREE_OPERAND (b, 0);
          continue;
        }
      if (TREE_CODE (t) != SSA_NAME)
        return NO_PARAMETER;
      if (SSA_NAME_IS_DEFAULT_DEF (t))
        return number_of_parameter (fn, t);
      gimple *def = SSA_NAME_DEF_STMT (t);
      // Executed again, it has another block.
      if (allocates (def) || makes_block (def))
        return OWN_MEMORY;
      if (gphi *phi = dyn_cast<gphi *> (def))
        {
          if (!phis.insert (phi).second)
            return ONLY_ITSELF;
          int r = ONLY_ITSELF;
          for (unsigned i = 0; i < gimple_phi_num_args (phi); i++)
            {
              int k = origin (fn, gimple_phi_arg_def (phi, i), phis, budget);
              if (k == ONLY_ITSELF)
                continue;
              r = r == ONLY_ITSELF || r == k ? k : NO_PARAMETER;
            }
          phis.erase (phi);
          return r;
        }
      gassign *a = dyn_cast<gassign *> (def);
      if (a && gimple_assign_load_p (a))
        {
          tree b = get_base_address (gimple_assign_rhs1 (a));
          int k = NO_PARAMETER;
          if (b && TREE_CODE (b) == MEM_REF)
            k = origin (fn, TREE_OPERAND (b, 0), phis, budget);
          return k >= 0 && k < BEHIND ? k + BEHIND : NO_PARAMETER;
        }
      if (!a || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
                 && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
        return NO_PARAMETER;
      t = gimple_assign_rhs1 (a);
    }
  return budget = 0, NO_PARAMETER;
}

/// The parameter that `t`, a pointer, comes from; NO_PARAMETER, OWN_MEMORY.
int parameter (function *fn, tree t)
{
  std::set<gphi *> phis;
  unsigned budget = 1000;
  int k = origin (fn, t, phis, budget);
  return k == ONLY_ITSELF ? NO_PARAMETER : k;
}

tree object_pointer (const Memory &m, unsigned object)
{
  tree t = m.key (object);
  return t && DECL_P (t) ? NULL_TREE : t;
}

/// Is parameter `k` declared as a pointer? (An address may come as a number.)
bool is_pointer (function *fn, int k)
{
  tree p = DECL_ARGUMENTS (fn->decl);
  for (; p && k > 0; k--)
    p = DECL_CHAIN (p);
  return p && POINTER_TYPE_P (TREE_TYPE (p));
}

/// An argument of a call that `fn` makes, in terms of its parameters.
Argument in_terms_of_parameters (function *fn, Argument a)
{
  if (a.kind != Argument::POINTER)
    return a;
  tree value = a.value;
  int k = parameter (fn, value);
  Argument r;
  r.kind = Argument::ANYTHING;
  if (k == OWN_MEMORY)
    r.kind = Argument::PRIVATE;
  else if (k >= 0 && k < BEHIND && is_pointer (fn, k))
    {
      r.kind = Argument::PARAMETER;
      r.parameter = k;
      r.fixed = a.fixed && TREE_CODE (value) == SSA_NAME && SSA_NAME_IS_DEFAULT_DEF (value);
      r.offset = a.offset;
    }
  else if (TREE_CODE (value) == ADDR_EXPR)
    {
      tree base = get_base_address (TREE_OPERAND (value, 0));
      if (base && VAR_P (base) && is_global_var (base))
        {
          r.kind = Argument::GLOBAL;
          r.value = base;
        }
    }
  return r;
}

/// The blocks that can be reached if no exception comes out of the functions of other units.
std::set<basic_block> reachable (function *fn, Memory &m)
{
  std::set<basic_block> seen;
  std::vector<basic_block> todo = { single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn)) };
  while (!todo.empty ())
    {
      basic_block bb = todo.back ();
      todo.pop_back ();
      if (bb == EXIT_BLOCK_PTR_FOR_FN (fn) || !seen.insert (bb).second)
        continue;
      edge e;
      edge_iterator ei;
      gcall *last = safe_dyn_cast<gcall *> (last_stmt (bb));
      FOR_EACH_EDGE (e, ei, bb->succs)
        if (!(e->flags & EDGE_EH) || !last
            || !((is_marked (last) && gets_marks (fn)) || !m.look (last).foreign.empty ()
                 || throws_behind_marks (last)))
          todo.push_back (e->dest);
    }
  return seen;
}

/// Adds one access to a summary. `must`: it happens whenever the function returns.
void add (Summary &s, function *fn, const Memory &m, const Memory::Item &i, const char *name, bool must)
{
  const promp_place &place = m.places ()[i.place];
  tree p = object_pointer (m, place.object), key = m.key (place.object);
  int k = p ? parameter (fn, p) : -1;
  if (k == OWN_MEMORY)
    return;
  // What Fortran passes as a constant argument nobody writes.
  if (key && TREE_CODE (key) == CONST_DECL)
    return;
  bool write = i.flags & ACCESS_WRITES;
  Touch t;
  t.write = write;
  if (key && DECL_P (key))
    t.global = key;
  else if (k >= 0 && k < BEHIND && is_pointer (fn, k))
    t.parameter = k;
  bool told = !(i.flags & ACCESS_ATOMIC) && (t.global || t.parameter >= 0);
  if (told && place.fixed)
    {
      t.fixed = true;
      t.low = place.offset / BITS_PER_UNIT;
      t.high = (place.offset + place.length + BITS_PER_UNIT - 1) / BITS_PER_UNIT;
      t.must = must && place.offset % BITS_PER_UNIT == 0 && place.length % BITS_PER_UNIT == 0;
    }
  if (told)
    s.touches.push_back (t);
  if (write && !told && s.more_writes.empty ())
    s.more_writes = "writes " + m.name (place.object);
  if (write && !told && k < 0 && !(i.flags & ACCESS_ATOMIC))
    s.writes_unknown = true;
  if (write && !(i.flags & ACCESS_ATOMIC))
    {
      auto &by = s.saving[k >= 0 ? k : t.global ? VARIABLES : UNKNOWN_MEMORY];
      if (const auto *called = m.saved_by_call (i))
        by.insert (called->begin (), called->end ());
      else
        by.insert ({ fn->decl, k >= 0 && k < BEHIND ? bit_of (k) : bit_of (-1) });
    }
  std::string effect;
  if (i.flags & ACCESS_ATOMIC)
    effect = std::string ("calls ") + name + ", which updates memory atomically";
  else if (write && k >= 0)
    s.writes.insert (k);
  else if (write)
    effect = std::string ("calls ") + name + ", which writes " + m.name (place.object);
  else if (k >= 0)
    {
      s.reads.insert (k);
      s.places[k].push_back (k < BEHIND ? in_parameters (fn, m.expression (i.place)) : NULL_TREE);
    }
  else if (!t.global)
    s.reads_more = true;
  if (effect.empty ())
    return;
  s.effect = effect;
  if (!told && s.own_effect.empty () && (!s.saves || (i.flags & ACCESS_ATOMIC)))
    s.own_effect = effect;
}

/// Can nothing but the code of this unit, by its name, access the variable?
bool is_known_pointer (tree d)
{
  if (!VAR_P (d) || !POINTER_TYPE_P (TREE_TYPE (d)) || TREE_CODE (TREE_TYPE (TREE_TYPE (d))) != FUNCTION_TYPE
      || !TREE_STATIC (d) || TREE_PUBLIC (d) || DECL_EXTERNAL (d) || TREE_THIS_VOLATILE (d))
    return false;
  varpool_node *n = varpool_node::get (d);
  ipa_ref *r = nullptr;
  for (unsigned i = 0; n && n->iterate_referring (i, r); i++)
    if (r->use == IPA_REF_ADDR || r->use == IPA_REF_ALIAS)
      return false;
  return n && !n->alias && !n->has_aliases_p () && !n->externally_visible && !DECL_PRESERVE_P (d);
}

/// The variable holds (or gets) `value`: a function, or nothing.
void can_be (tree d, tree value)
{
  STRIP_NOPS (value);
  auto known = pointed_to.insert ({ d, NULL_TREE });
  if (integer_zerop (value))
    return;
  tree f = TREE_CODE (value) == ADDR_EXPR ? TREE_OPERAND (value, 0) : NULL_TREE;
  bool one = f && TREE_CODE (f) == FUNCTION_DECL && (known.second || !known.first->second || known.first->second == f);
  if (one && !several.count (d))
    known.first->second = f;
  else
    {
      several.insert (d);
      known.first->second = NULL_TREE;
    }
}

tree note_mention (tree *t, int *, void *)
{
  if (VAR_P (*t))
    several.insert (*t);
  return NULL_TREE;
}

/// Finds out to which functions the unit's own pointers can lead.
void note_pointers (function *fn)
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    {
      for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
        for (unsigned i = 0; i < gimple_phi_num_args (p.phi ()); i++)
          walk_tree (gimple_phi_arg_def_ptr (p.phi (), i), note_mention, nullptr, nullptr);
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          if (is_gimple_debug (s) || gimple_clobber_p (s))
            continue;
          gassign *a = gimple_assign_single_p (s) ? as_a<gassign *> (s) : nullptr;
          tree to = a ? gimple_assign_lhs (a) : NULL_TREE, from = a ? gimple_assign_rhs1 (a) : NULL_TREE;
          if (a && VAR_P (to) && is_known_pointer (to) && TREE_CODE (from) == ADDR_EXPR)
            can_be (to, from);
          else if (a && VAR_P (to) && is_known_pointer (to) && integer_zerop (from))
            continue;
          else if (a && TREE_CODE (to) == SSA_NAME && VAR_P (from) && is_known_pointer (from))
            {
              if (tree first = DECL_INITIAL (from))
                can_be (from, first);
              else
                pointed_to.insert ({ from, NULL_TREE });
            }
          else
            for (unsigned k = 0; k < gimple_num_ops (s); k++)
              walk_tree (gimple_op_ptr (s, k), note_mention, nullptr, nullptr);
        }
    }
}

const char *name_of (tree decl) { return DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "a function"; }

/// Walks from `start` to runtime calls and returns: what cannot be repeated on the way; whether a return
/// can be reached.
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
            if (e->flags & EDGE_EH && throws_behind_marks (last_stmt (p.bb)))
              continue;
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

/// Finds out whether the function returns a block that it has allocated, or that a function of `foreign`
/// may have: `calls` has their numbers.
void note_results (function *fn, Summary &s, const std::map<gimple *, unsigned> &calls)
{
  edge e;
  edge_iterator ei;
  bool all = POINTER_TYPE_P (TREE_TYPE (TREE_TYPE (fn->decl))), any = false;
  std::vector<unsigned> results;
  FOR_EACH_EDGE (e, ei, EXIT_BLOCK_PTR_FOR_FN (fn)->preds)
    {
      greturn *r = safe_dyn_cast<greturn *> (last_stmt (e->src));
      tree value = r ? gimple_return_retval (r) : NULL_TREE;
      gcall *c = value ? result_of (value) : nullptr;
      auto known = c ? calls.find (c) : calls.end ();
      any = true;
      if (known != calls.end ())
        results.push_back (known->second);
      else
        all = all && value && parameter (fn, value) == OWN_MEMORY;
    }
  s.makes = all && any;
  for (unsigned i : results)
    s.foreign[i].result = s.makes;
}

/// Do calls have results of others, by their numbers?
bool has_results (const std::vector<Foreign> &calls)
{
  for (const Foreign &f : calls)
    for (const Argument &a : f.arguments)
      if (f.result || a.kind == Argument::RESULT)
        return true;
  return false;
}

/// Is one of `calls` like `c`? It may stand for both then.
bool is_made_already (std::vector<Foreign> &calls, const Foreign &c)
{
  for (Foreign &f : calls)
    if (f.callee == c.callee && f.through == c.through && f.guarded == c.guarded && f.library == c.library
        && f.throws == c.throws && !f.result && f.arguments == c.arguments)
      return f.must = f.must || c.must, true;
  return false;
}

void summarise (cgraph_node *node)
{
  function *fn = DECL_STRUCT_FUNCTION (node->decl);
  push_cfun (fn);
  Function f;
  Memory m (fn);
  f.outlined = is_outlined (fn);
  f.whole.saves = saves_inside (fn);
  for (tree p = DECL_ARGUMENTS (node->decl); p; p = DECL_CHAIN (p))
    {
      if (POINTER_TYPE_P (TREE_TYPE (p)))
        f.whole.pointers.insert (f.parameters.size ());
      f.parameters.push_back (p);
    }
  f.known_callers = !TREE_PUBLIC (node->decl) && !node->externally_visible && !node->address_taken && !node->alias;
  const char *name = name_of (node->decl);
  const size_t too_many = 64;
  std::map<gimple *, unsigned> numbers; // of calls among the foreign ones
  struct Pending { unsigned call, argument; gcall *from; };
  std::vector<Pending> results;
  note_conditions (fn);
  std::set<basic_block> reached = reachable (fn, m);
  calculate_dominance_info (CDI_POST_DOMINATORS);
  basic_block bb, entry = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn));
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && reached.count (bb); gsi_next (&i))
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
              // What does not come back has no part in what follows.
              bool ends = gimple_call_flags (c) & ECF_NORETURN;
              f.whole.runtime = f.whole.runtime || (g->runtime && !ends);
              if (g->runtime && !ends)
                continue;
            }
        Memory::Deed d = m.look (s);
        gcall *call = dyn_cast<gcall *> (s);
        const Summary *called = call ? summary_of (call) : nullptr;
        std::string output
          = call && is_marked (call) && gets_marks (fn) ? d.effect : called ? called->marked : "";
        if (!output.empty () && f.whole.marked.empty ())
          f.whole.marked = std::string ("calls ") + name + ", which " + output;
        if (call && is_marked (call) && gets_marks (fn))
          continue;
        if (!d.effect.empty () && f.whole.effect.empty ())
          f.whole.effect = std::string ("calls ") + name + ", which " + d.effect;
        const unsigned first = f.whole.foreign.size ();
        const bool numbered = has_results (d.foreign);
        if (!d.effect.empty () && f.whole.own_effect.empty ()
            && (d.foreign.empty () || f.whole.foreign.size () + d.foreign.size () > too_many))
          f.whole.own_effect = std::string ("calls ") + name + ", which " + d.effect;
        else
          for (Foreign c : d.foreign)
            {
              const unsigned number = f.whole.foreign.size ();
              const size_t waiting = results.size ();
              // Through a pointer it is one of several.
              if (!called && target_of (call))
                numbers[s] = number;
              for (unsigned k = 0; k < c.arguments.size (); k++)
                {
                  Argument &a = c.arguments[k];
                  gcall *from = a.kind == Argument::POINTER ? result_of (a.value) : nullptr;
                  a = in_terms_of_parameters (fn, a);
                  if (a.kind == Argument::RESULT)
                    a.parameter += first;
                  else if (a.kind == Argument::ANYTHING && from)
                    results.push_back ({ number, k, from });
                }
              c.must = c.must && dominated_by_p (CDI_POST_DOMINATORS, entry, bb);
              // One is enough of those that do the same, unless others have its result.
              if (numbered || numbers.count (s) || results.size () > waiting
                  || !is_made_already (f.whole.foreign, c))
                f.whole.foreign.push_back (c);
            }
        if (d.foreign.empty () && stmt_can_throw_external (fn, s) && !throws_behind_marks (s))
          f.whole.throws = true;
        bool must = dominated_by_p (CDI_POST_DOMINATORS, entry, bb);
        for (const Memory::Item &a : d.items)
          add (f.whole, fn, m, a, name, must);
      }
  for (const Pending &r : results)
    if (auto known = numbers.find (r.from); known != numbers.end ())
      {
        Argument &a = f.whole.foreign[r.call].arguments[r.argument];
        a.kind = Argument::RESULT;
        a.parameter = known->second;
      }
  note_results (fn, f.whole, numbers);
  free_dominance_info (CDI_POST_DOMINATORS);
  functions[node->decl] = f;
  keep (node->decl);
  for (const Touch &t : f.whole.touches)
    keep (t.global);
  for (const Foreign &c : f.whole.foreign)
    {
      keep (c.callee);
      for (const Argument &a : c.arguments)
        if (a.kind == Argument::GLOBAL)
          keep (a.value);
    }
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
                  Function::Rest r = { target_of (c), "", false };
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
  if (node->inlined_to)
    return; // its body will be a part of another
  node->get_body ();
  function *fn = DECL_STRUCT_FUNCTION (node->decl);
  if (!fn || !fn->cfg || !gimple_in_ssa_p (fn))
    return;
  for (cgraph_edge *e = node->indirect_calls; e; e = e->next_callee)
    if (tree target = e->call_stmt ? target_of (e->call_stmt) : NULL_TREE)
      visit (cgraph_node::get (target), seen);
  summarise (node);
}

const Function *find (gcall *call)
{
  tree decl = target_of (call);
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
    bool unseen = false;
    cgraph_node *node;
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
      if (!node->clone_of && !node->inlined_to && !node->thunk && !node->alias)
        {
          node->get_body ();
          function *fn = DECL_STRUCT_FUNCTION (node->decl);
          if (fn && fn->cfg && gimple_in_ssa_p (fn))
            note_pointers (fn);
          else
            unseen = true;
        }
    for (tree d : several)
      pointed_to.erase (d);
    if (unseen)
      pointed_to.clear ();
    for (auto &p : pointed_to)
      {
        keep (p.first);
        keep (p.second);
      }
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
      if (node->address_taken && !node->alias && !node->thunk && !node->clone_of
          && !is_outlined (DECL_STRUCT_FUNCTION (node->decl)))
        {
          taken.push_back (node->decl);
          keep (node->decl);
        }
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

tree target_of (gcall *call)
{
  if (gimple_call_internal_p (call))
    return NULL_TREE;
  if (tree decl = gimple_call_fndecl (call))
    return decl;
  tree p = gimple_call_fn (call);
  gimple *def = p && TREE_CODE (p) == SSA_NAME ? SSA_NAME_DEF_STMT (p) : nullptr;
  tree from = def && gimple_assign_load_p (def) ? gimple_assign_rhs1 (def) : NULL_TREE;
  auto known = from ? pointed_to.find (from) : pointed_to.end ();
  return known == pointed_to.end () ? NULL_TREE : known->second;
}

/// Are the types passed in the same way?
static bool is_passed_alike (tree a, tree b)
{
  return TYPE_MODE (a) == TYPE_MODE (b) && POINTER_TYPE_P (a) == POINTER_TYPE_P (b)
         && AGGREGATE_TYPE_P (a) == AGGREGATE_TYPE_P (b);
}

static bool is_called_alike (tree a, tree b)
{
  tree p = TYPE_ARG_TYPES (a), q = TYPE_ARG_TYPES (b);
  for (; p && q; p = TREE_CHAIN (p), q = TREE_CHAIN (q))
    if (!is_passed_alike (TREE_VALUE (p), TREE_VALUE (q)))
      return false;
  return !p && !q && is_passed_alike (TREE_TYPE (a), TREE_TYPE (b));
}

std::vector<tree> pointed_targets (gcall *call)
{
  const size_t too_many = 8;
  tree p = gimple_call_fn (call), type = gimple_call_fntype (call);
  std::vector<tree> all;
  // Not what has no prototype, or any number of arguments: the lists of types end differently.
  if (!p || TREE_CODE (p) != SSA_NAME || !type || !prototype_p (type) || stdarg_p (type))
    return all;
  for (tree f : taken)
    if (is_called_alike (type, TREE_TYPE (f)))
      all.push_back (f);
  return all.size () > too_many ? std::vector<tree> () : all;
}

const Summary *summary_of (gcall *call)
{
  const Function *f = find (call);
  return f ? &f->whole : nullptr;
}

const Summary *summary_of (function *fn)
{
  auto f = functions.find (fn->decl);
  return f == functions.end () ? nullptr : &f->second.whole;
}

bool saves_by_itself (gcall *call)
{
  // Not a copy that was made later.
  const Function *f = find (call);
  return f && f->whole.saves && functions.count (target_of (call));
}

unsigned bits_of_write (function *fn, const Memory &m, const Memory::Item &i)
{
  tree p = object_pointer (m, m.places ()[i.place].object);
  int k = p ? parameter (fn, p) : -1;
  if (k == OWN_MEMORY)
    return 0;
  // Now more may be known of where the pointer comes from than when the function was summed up, or less.
  return k >= 0 && k < BEHIND ? bit_of (k) | bit_of (-1) : ~0u;
}

tree argument_of (gcall *call, int k)
{
  cgraph_node *n = cgraph_node::get (target_of (call));
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
  for (auto &i : functions)
    f (i.first, i.second.whole);
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
