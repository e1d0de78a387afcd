// What the functions of the unit do.
//
// A function that makes no runtime call is summed up by what it reads and writes through its parameters.
// One that does is part of two segments at least: its caller's, up to its first runtime call, and that of
// its last runtime call, which goes on behind its return. Both parts may read, but not write: old values
// cannot be saved across functions.

#include "memory/function_facts.h"
#include "memory/pointer_origin.h"
#include "segments/inside.h"
#include "memory/memory.h"
#include "memory/outside.h"
#include "segments/flags.h"
#include "segments/split.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-cfg.h"
#include "cfgloop.h"
#include "tree-ssa-alias.h"
#include "tree-eh.h"
#include "tree-dfa.h"
#include <algorithm>
#include <map>
#include <vector>

namespace promp {

std::map<tree, FunctionFacts> known_functions;

namespace {

struct Point
{
  basic_block bb;
  gimple *from; ///< null: the block's start; else behind this statement
  bool operator< (const Point &o) const { return std::tie (bb, from) < std::tie (o.bb, o.from); }
};

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
  int k = parameter_of (fn, value);
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
  int k = p ? parameter_of (fn, p) : -1;
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
FunctionFacts::Call arguments (function *fn, gcall *c)
{
  FunctionFacts::Call r = { gimple_call_fndecl (c), {}, {} };
  unsigned n = gimple_call_num_args (c);
  for (unsigned i = 0; i < n; i++)
    {
      tree a = gimple_call_arg (c, i);
      int k = POINTER_TYPE_P (TREE_TYPE (a)) ? parameter_of (fn, a) : -1;
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
        all = all && value && parameter_of (fn, value) == OWN_MEMORY;
    }
  s.makes = all && any;
  for (unsigned i : results)
    s.foreign[i].result = s.makes;
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

/// So many calls of functions of other units are listed.
const size_t MOST_CALLS = 64;

/// Sums one function up.
class Summing
{
public:
  Summing (cgraph_node *node, function *fn)
      : fn_ (fn), decl_ (node->decl), memory_ (fn), name_ (name_of (node->decl))
  {
    f_.outlined = is_outlined (fn);
    f_.whole.saves = saves_inside (fn);
    for (tree p = DECL_ARGUMENTS (decl_); p; p = DECL_CHAIN (p))
      {
        if (POINTER_TYPE_P (TREE_TYPE (p)))
          f_.whole.pointers.insert (f_.parameters.size ());
        f_.parameters.push_back (p);
      }
    f_.known_callers
      = !TREE_PUBLIC (decl_) && !node->externally_visible && !node->address_taken && !node->alias;
  }

  void run ()
  {
    note_conditions (fn_);
    std::set<basic_block> reached = reachable (fn_, memory_);
    calculate_dominance_info (CDI_POST_DOMINATORS);
    basic_block bb, entry = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_));
    FOR_EACH_BB_FN (bb, fn_)
      if (reached.count (bb))
        {
          bool must = dominated_by_p (CDI_POST_DOMINATORS, entry, bb);
          for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
            statement (gsi_stmt (i), must);
        }
    for (const Pending &r : results_)
      if (auto known = numbers_.find (r.from); known != numbers_.end ())
        {
          Argument &a = f_.whole.foreign[r.call].arguments[r.argument];
          a.kind = Argument::RESULT;
          a.parameter = known->second;
        }
    note_results (fn_, f_.whole, numbers_);
    // The program's main function is never executed in a region.
    f_.may_mark = f_.orphaned && !f_.outlined && gets_marks (fn_) && !MAIN_NAME_P (DECL_NAME (decl_));
    free_dominance_info (CDI_POST_DOMINATORS);
    known_functions[decl_] = f_;
    keep_named ();
    if (f_.whole.runtime)
      look_behind_calls (known_functions[decl_]);
  }

private:
  /// An argument of a foreign call that `from` has returned.
  struct Pending { unsigned call, argument; gcall *from; };

  std::string which (const std::string &effect) const
  {
    return std::string ("calls ") + name_ + ", which " + effect;
  }

  /// `must`: it is executed whenever the function returns.
  void statement (gimple *s, bool must)
  {
    Summary &whole = f_.whole;
    if (is_save_point (s))
      {
        whole.runtime = true;
        f_.orphaned = f_.orphaned || !begins_region (s);
        return;
      }
    gcall *call = dyn_cast<gcall *> (s);
    if (call && gimple_call_fndecl (call))
      f_.calls.push_back (arguments (fn_, call));
    const Summary *called = call ? summary_of (call) : nullptr;
    // What does not come back has no part in what follows.
    if (called && called->runtime && !(gimple_call_flags (call) & ECF_NORETURN))
      {
        whole.runtime = true;
        f_.orphaned = f_.orphaned || is_orphaned (call);
        return;
      }
    Memory::Deed d = memory_.look (s);
    bool marked = call && is_marked (call) && gets_marks (fn_);
    std::string output = marked ? d.effect : called ? called->marked : "";
    if (!output.empty () && whole.marked.empty ())
      whole.marked = which (output);
    if (marked)
      return;
    if (!d.effect.empty () && whole.effect.empty ())
      whole.effect = which (d.effect);
    if (!d.effect.empty () && whole.own_effect.empty ()
        && (d.foreign.empty () || whole.foreign.size () + d.foreign.size () > MOST_CALLS))
      whole.own_effect = which (d.effect);
    else
      note_calls (call, !called && call && target_of (call), d.foreign, must);
    if (d.foreign.empty () && stmt_can_throw_external (fn_, s) && !throws_behind_marks (s))
      whole.throws = true;
    for (const Memory::Item &a : d.items)
      add (whole, fn_, memory_, a, name_, must);
  }

  /// Adds the foreign calls that `call` makes; `one`: it is one of these itself.
  void note_calls (gcall *call, bool one, const std::vector<Foreign> &calls, bool must)
  {
    std::vector<Foreign> &all = f_.whole.foreign;
    const unsigned first = all.size ();
    const bool numbered = has_results (calls);
    for (Foreign c : calls)
      {
        const unsigned number = all.size ();
        const size_t waiting = results_.size ();
        // Through a pointer it is one of several.
        if (one)
          numbers_[call] = number;
        for (unsigned k = 0; k < c.arguments.size (); k++)
          {
            Argument &a = c.arguments[k];
            gcall *from = a.kind == Argument::POINTER ? result_of (a.value) : nullptr;
            a = in_terms_of_parameters (fn_, a);
            if (a.kind == Argument::RESULT)
              a.parameter += first;
            else if (a.kind == Argument::ANYTHING && from)
              results_.push_back ({ number, k, from });
          }
        c.must = c.must && must;
        // One is enough of those that do the same, unless others have its result.
        if (numbered || numbers_.count (call) || results_.size () > waiting || !is_made_already (all, c))
          all.push_back (c);
      }
  }

  /// What the summary names must stay as long as that.
  void keep_named () const
  {
    keep (decl_);
    for (const Touch &t : f_.whole.touches)
      keep (t.global);
    for (const Foreign &c : f_.whole.foreign)
      {
        keep (c.callee);
        for (const Argument &a : c.arguments)
          if (a.kind == Argument::GLOBAL)
            keep (a.value);
      }
  }

  /// What happens up to the first runtime call, and behind each call of a function that makes some.
  void look_behind_calls (FunctionFacts &f)
  {
    f.before = walk (fn_, memory_, { single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_)), nullptr }, f.passes);
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (gcall *c = dyn_cast<gcall *> (gsi_stmt (i)))
          if (const Summary *s = summary_of (c))
            if (s->runtime)
              {
                FunctionFacts::Rest r = { target_of (c), "", false };
                r.effect = walk (fn_, memory_, { bb, c }, r.returns);
                f.rests.push_back (r);
              }
  }

  function *fn_;
  tree decl_;
  Memory memory_;
  const char *name_;
  FunctionFacts f_;
  std::map<gimple *, unsigned> numbers_; ///< of calls among the foreign ones
  std::vector<Pending> results_;
};

void summarise (cgraph_node *node)
{
  function *fn = DECL_STRUCT_FUNCTION (node->decl);
  push_cfun (fn);
  Summing (node, fn).run ();
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
    note_function_pointers ();
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
      visit (node, seen);
    return 0;
  }
};

opt_pass *make_summary_pass () { return new Summaries; }

} // namespace promp
