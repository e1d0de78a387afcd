// All ways from a place, into functions and regions, and on in the callers when the place's function is left.
// On a way memory is not written yet, or written by a worksharing loop whose other threads may still be at it
// (until the next barrier), or written, which ends the way. A read before that ends it all: the memory is
// live.

#include "checkpoints/ways.h"
#include "layouts.h"
#include "memory/memory.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-eh.h"
#include "ssa.h"
#include <algorithm>

namespace promp {

/// So many blocks are looked at for one place and object; more are too many.
static const unsigned STEPS = 10000;

/// Where `pointer` may lead, of a function that has been come to by the first `depth` calls of the chain:
/// parameters are what these pass.
Targets Ways::of (tree pointer, unsigned depth)
{
  if (TREE_CODE (pointer) == ADDR_EXPR)
    return at (TREE_OPERAND (pointer, 0), depth);
  if (TREE_CODE (pointer) != SSA_NAME || depth == 0)
    return unit_.pointers.of (pointer);
  if (SSA_NAME_IS_DEFAULT_DEF (pointer))
    {
      gimple *call = chain_[depth - 1];
      unsigned k = region_of (call) ? 1 : 0;
      tree p = DECL_ARGUMENTS (unit_.called (call)->fn->decl);
      for (; p && p != SSA_NAME_VAR (pointer); p = DECL_CHAIN (p))
        k++;
      bool passed = p && k < gimple_call_num_args (call) && is_value (gimple_call_arg (call, k));
      return passed ? of (gimple_call_arg (call, k), depth - 1) : unit_.pointers.of (pointer);
    }
  gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (pointer));
  if (!a)
    return unit_.pointers.of (pointer);
  tree x = gimple_assign_rhs1 (a);
  if (gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR)
    return unit_.pointers.moved (of (x, depth), gimple_assign_rhs2 (a));
  if (gimple_assign_ssa_name_copy_p (a)
      || (CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)) && POINTER_TYPE_P (TREE_TYPE (x)))
      || gimple_assign_rhs_code (a) == ADDR_EXPR)
    return of (x, depth);
  if (gimple_assign_load_p (a))
    return unit_.pointers.contents (at (x, depth), tree_to_shwi (TYPE_SIZE_UNIT (TREE_TYPE (pointer))));
  return unit_.pointers.of (pointer);
}

Targets Ways::at (tree ref, unsigned depth)
{
  poly_int64 off;
  HOST_WIDE_INT n;
  tree base = get_addr_base_and_unit_offset (ref, &off);
  bool constant = base && off.is_constant (&n);
  if (!base)
    base = get_base_address (ref);
  if (depth == 0 || !base || TREE_CODE (base) != MEM_REF)
    return unit_.pointers.at (ref);
  tree by = constant ? size_binop (PLUS_EXPR, build_int_cst (ssizetype, n),
                                   fold_convert (ssizetype, TREE_OPERAND (base, 1)))
                     : NULL_TREE;
  return unit_.pointers.moved (of (TREE_OPERAND (base, 0), depth), by);
}

bool Ways::reads (gimple *s)
{
  bool may = false;
  for (unsigned o : unit_.reads (s))
    may = may || objects_.count (o);
  if (!may || !gimple_assign_load_p (s))
    return may;
  for (const Target &t : at (gimple_assign_rhs1 (s), chain_.size ()))
    if (objects_.count (t.first))
      return true;
  return false;
}

/// Does nothing in the nest read them?
bool Ways::only_writes (const Nest &n)
{
  for (basic_block bb : n.blocks)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_gimple_debug (s))
          continue;
        Function *f = unit_.called (s);
        if (reads (s) || (f && unit_.touches (*f, objects_)))
          return false;
      }
  return true;
}

/// Are all numbers known, and do they not fit together?
static bool has_gaps (const Kill &k)
{
  std::vector<std::pair<HOST_WIDE_INT, HOST_WIDE_INT>> levels;
  for (auto &l : k.levels)
    {
      if (!tree_fits_shwi_p (l.first) || !tree_fits_shwi_p (l.second))
        return false;
      levels.push_back ({ tree_to_shwi (l.first), tree_to_shwi (l.second) });
    }
  std::sort (levels.begin (), levels.end ());
  HOST_WIDE_INT bytes = k.nest->bytes;
  for (auto &l : levels)
    {
      if (l.second < 1 || (l.first != 0 && l.second != 1 && l.first != bytes))
        return true;
      if (l.first != 0)
        bytes *= l.second;
    }
  return false;
}

/// Does one of the nests write the memory as a whole, as far as one can say at the place?
bool Ways::kill (const std::vector<Nest *> &nests, unsigned state)
{
  for (Nest *n : nests)
    {
      if (n->levels.size () > DEAD_LEVELS)
        continue;
      std::set<unsigned> written;
      for (const Target &t : of (n->base, chain_.size ()))
        written.insert (t.first);
      if (written != objects_)
        continue;
      auto key = std::make_pair (n, std::make_pair (chain_, (inside_ ? 0u : 4u) | (state & FOREIGN)));
      auto known = tried_.find (key);
      if (known != tried_.end ())
        {
          if (known->second)
            return true;
          continue;
        }
      bool &is_one = tried_[key];
      is_one = false;
      bool foreign = state & FOREIGN;
      if (!only_writes (*n))
        continue;
      Kill k = { n, NULL_TREE, {} };
      tree base = place_.value (n->base, chain_, inside_, foreign),
           first = base ? place_.value (n->first, chain_, inside_, foreign) : NULL_TREE;
      if (!first || kills.size () >= DEAD_NESTS)
        continue;
      k.start = fold_build2 (PLUS_EXPR, sizetype, fold_convert (sizetype, base), first);
      bool all = true;
      for (auto &l : n->levels)
        {
          tree stride = place_.value (l.first, chain_, inside_, foreign),
               count = stride ? place_.value (l.second, chain_, inside_, foreign) : NULL_TREE;
          all = all && count;
          if (all)
            k.levels.push_back ({ stride, count });
        }
      if (!all || has_gaps (k))
        continue;
      kills.push_back (k);
      return is_one = true;
    }
  return false;
}

std::string Ways::follow (basic_block bb, gimple *from)
{
  Function *f = &place_.function ();
  Fate fate = within (*f, bb, from, UNWRITTEN);
  // Behind `main` nobody reads it any more; else it goes on in the callers.
  struct Left
  {
    Function *f;
    std::set<unsigned> states;
  };
  std::vector<Left> todo = { { f, fate.left } };
  std::set<std::pair<Function *, std::set<unsigned>>> seen;
  inside_ = false;
  while (fate.why.empty () && !todo.empty ())
    {
      Left at = todo.back ();
      todo.pop_back ();
      tree decl = at.f->fn->decl;
      if (at.states.empty () || unit_.ends_program (decl) || !seen.insert ({ at.f, at.states }).second)
        continue;
      if (unit_.is_exposed (decl) || unit_.callers[decl].empty ())
        return "the function may be left before it is written";
      for (auto &c : unit_.callers[decl])
        for (unsigned s : at.states)
          {
            // A region ends with a barrier of its own team.
            if ((s & PENDING) && region_of (c.second))
              continue;
            fate = within (*c.first, gimple_bb (c.second), c.second, s);
            if (!fate.why.empty ())
              return fate.why;
            todo.push_back ({ c.first, fate.left });
          }
    }
  return fate.why;
}

/// From the beginning of `bb`, or from behind `from`.
Ways::Fate Ways::within (Function &f, basic_block bb, gimple *from, unsigned state)
{
  Fate fate;
  std::set<std::pair<basic_block, unsigned>> seen;
  std::vector<std::pair<basic_block, unsigned>> todo;
  auto go = [&] (basic_block b, unsigned s) {
    if (b == EXIT_BLOCK_PTR_FOR_FN (f.fn))
      fate.left.insert (s);
    else if (seen.insert ({ b, s }).second)
      todo.push_back ({ b, s });
  };
  gimple_stmt_iterator begin = from ? gsi_for_stmt (from) : gsi_start_bb (bb);
  if (from)
    gsi_next (&begin);
  block (f, bb, begin, state, go, &fate);
  while (!todo.empty () && fate.why.empty ())
    {
      auto at = todo.back ();
      todo.pop_back ();
      block (f, at.first, gsi_start_bb (at.first), at.second, go, &fate);
    }
  return fate;
}

/// What `g`, which `s` calls, makes of the state; false: nothing comes back from it, or the fate is known.
bool Ways::comes_back (gimple *s, Function &g, unsigned *state, Fate *fate)
{
  chain_.push_back (s);
  Fate in = call (g, *state);
  chain_.pop_back ();
  if (!in.why.empty ())
    {
      fate->why = in.why;
      return false;
    }
  // A region ends with a barrier of its own team.
  std::set<unsigned> on;
  for (unsigned l : in.left)
    if (!(region_of (s) && (l & PENDING) && !(*state & PENDING)))
      on.insert (l);
  if (on.empty ())
    return false;
  // Several: the one of which least is known.
  unsigned next = PENDING;
  for (unsigned l : on)
    next = (next & l & PENDING) | ((next | l) & FOREIGN);
  *state = next;
  return true;
}

template <class Go>
void Ways::block (Function &f, basic_block bb, gimple_stmt_iterator i, unsigned state, Go &go, Fate *fate)
{
  if (++steps_ > STEPS || unit_.steps == 0 || --unit_.steps == 0)
    {
      fate->why = "there are too many ways";
      return;
    }
  for (; !gsi_end_p (i); gsi_next (&i))
    {
      gimple *s = gsi_stmt (i);
      if (is_gimple_debug (s))
        continue;
      if (reads (s))
        {
          fate->why = "read at line " + std::to_string (LOCATION_LINE (gimple_location (s)));
          return;
        }
      // It may be left by an exception.
      if (stmt_can_throw_external (f.fn, s))
        fate->left.insert (state | FOREIGN);
      if (!is_gimple_call (s))
        continue;
      auto w = f.shared.find (s);
      if (w != f.shared.end () && !(state & PENDING) && kill (w->second, state))
        state |= PENDING;
      // All of the team have come.
      else if ((state & PENDING)
               && (!strcmp (callee_name (s), "GOMP_barrier") || !strcmp (callee_name (s), "GOMP_loop_end")))
        return;
      if (unit_.is_unknown_call (s))
        state |= FOREIGN;
      if (Function *g = unit_.called (s))
        {
          if (!unit_.touches (*g, objects_))
            continue;
          if (!comes_back (s, *g, &state, fate))
            return;
        }
      if (gimple_call_flags (s) & ECF_NORETURN)
        return;
    }
  edge e;
  edge_iterator ei;
  FOR_EACH_EDGE (e, ei, bb->succs)
  {
    auto n = f.serial.find (e->dest);
    bool enters = n != f.serial.end () && !n->second[0]->blocks.count (bb);
    if (!enters || (state & PENDING) || !kill (n->second, state))
      go (e->dest, state);
  }
}

Ways::Fate Ways::call (Function &f, unsigned state)
{
  auto key = std::make_pair (chain_, std::make_pair (f.fn->decl, state | (inside_ ? 0u : 4u)));
  auto known = fates_.find (key);
  if (known != fates_.end ())
    return known->second;
  for (unsigned k = 0; k + 1 < chain_.size (); k++)
    if (unit_.called (chain_[k]) == &f)
      return { "functions call each other", {} };
  if (chain_.size () > 30)
    return { "there are too many ways", {} };
  Fate fate = within (f, single_succ (ENTRY_BLOCK_PTR_FOR_FN (f.fn)), nullptr, state);
  fates_[key] = fate;
  return fate;
}

} // namespace promp
