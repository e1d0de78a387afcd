// The code that will be executed from a place on, as words for the runtime, which goes ahead through it while
// the program stands at the place (crates/foresee/src/lib.rs has the form and the reasons): what
// functions of this unit do with memory, pointers and integers. What it cannot say ends the program there
// (STOP): that is always right. foresee_values.cc has addresses and numbers, foresee_code.cc statements,
// foresee_team.cc what threads do together, foresee_loops.cc loops, foresee_kept.cc variables that are handed
// over by reference.

#include "foresee/foresee_writer.h"
#include "foresee/foresee.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-dfa.h"
#include "cfganal.h"
#include "cfgloop.h"
#include "tree-ssa-loop.h"

namespace promp::ahead {

bool Writer::run (Foresight *out)
{
  tree decl = place_.fn->decl;
  bool in_region = is_outlined (place_.fn);
  std::set<tree> inside = executed_in_regions ();
  if (in_region ? !is_of_plain_region (decl, inside) : inside.count (decl))
    return false;
  words_ = { FORESIGHT_MAGIC, 0, 0, 0, 0, in_region };
  // The registers that slots are for come later: room is left behind the records.
  const Body first = { decl, true, {} };
  todo_.push_back (first);
  std::set<Body> done;
  while (!todo_.empty ())
    {
      Body next = todo_.back ();
      todo_.pop_back ();
      if (!done.insert (next).second)
        continue;
      if (done.size () > FUNCTIONS || words_.size () > WORDS)
        return false;
      body (unit_.functions.at (next.decl), next);
    }
  if (entry_code_ == 0 || slots_.size () > FORESIGHT_SLOTS)
    return false;
  for (auto &c : calls_)
    words_[c.first] = records_.at (c.second);
  // The list of registers is put in front, and all offsets moved by its length.
  size_t by = 1 + 2 * held_.size ();
  for (size_t at : offsets_)
    words_[at] += by;
  for (size_t at : items_)
    words_[at] += by << 2;
  std::vector<uint64_t> list = { held_.size () };
  for (auto &h : held_)
    list.push_back (h.first), list.push_back (h.second);
  words_[2] = slots_.size ();
  words_[3] = records_.at (first) + by;
  words_[4] = entry_code_ + by;
  words_.insert (words_.begin () + 6, list.begin (), list.end ());
  words_[1] = words_.size ();
  out->words = words_;
  out->slots = slots_;
  return true;
}

/// Functions that a region executes, or may.
std::set<tree> Writer::executed_in_regions ()
{
  std::set<tree> seen;
  std::vector<tree> todo;
  for (auto &f : unit_.functions)
    if (is_outlined (f.second.fn))
      for (tree c : f.second.calls)
        todo.push_back (c);
  while (!todo.empty ())
    {
      tree d = todo.back ();
      todo.pop_back ();
      auto f = unit_.functions.find (d);
      if (f != unit_.functions.end () && seen.insert (d).second)
        for (tree c : f->second.calls)
          todo.push_back (c);
    }
  return seen;
}

/// An outermost region as a whole, nothing else.
bool Writer::is_of_plain_region (tree decl, const std::set<tree> &inside)
{
  auto &callers = unit_.callers[decl];
  bool is = !callers.empty () && !inside.count (decl);
  for (auto &c : callers)
    is = is && region_of (c.second) && !strcmp (callee_name (c.second), "GOMP_parallel")
         && !is_outlined (c.first->fn) && !inside.count (c.first->fn->decl);
  return is;
}

/// Is the name defined where the place is?
bool Writer::is_known_at_place (tree name)
{
  if (SSA_NAME_OCCURS_IN_ABNORMAL_PHI (name))
    return false;
  gimple *def = SSA_NAME_DEF_STMT (name);
  if (SSA_NAME_IS_DEFAULT_DEF (name))
    return SSA_NAME_VAR (name) && TREE_CODE (SSA_NAME_VAR (name)) == PARM_DECL;
  basic_block bb = gimple_bb (def);
  if (bb != place_bb_)
    return dominated_by_p (CDI_DOMINATORS, place_bb_, bb);
  if (gimple_code (def) == GIMPLE_PHI)
    return true;
  for (gimple_stmt_iterator i = gsi_start_bb (bb); call_ && !gsi_end_p (i) && gsi_stmt (i) != call_;
       gsi_next (&i))
    if (gsi_stmt (i) == def)
      return true;
  return false;
}

void Writer::body (Function &f, const Body &b)
{
  fn_ = f.fn, entry_ = b.entry, own_ = b.own, count_ = 0, bytes_ = 0, returns_ = 0;
  registers_.clear (), locals_.clear (), pointed_.clear (), blocks_.clear (), loops_.clear ();
  edges_.clear (), headers_.clear (), block_items_.clear (), loop_items_.clear (), order_.clear ();
  kept_.clear (), loaded_.clear (), stand_for_phis_.clear ();
  push_cfun (fn_);
  calculate_dominance_info (CDI_DOMINATORS);
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  calculate_dominance_info (CDI_POST_DOMINATORS);
  std::vector<int> rpo (n_basic_blocks_for_fn (fn_));
  int n = pre_and_rev_post_order_compute_fn (fn_, nullptr, rpo.data (), false);
  for (int k = 0; k < n; k++)
    order_.push_back (BASIC_BLOCK_FOR_FN (fn_, rpo[k]));
  find_kept ();
  for (basic_block bb : order_)
    put_block (bb);
  for (auto l : loops_list (fn_, 0))
    put_loop (l);
  put_edges ();
  for (auto &h : headers_)
    words_[h.first] = blocks_.at (h.second);
  // The function itself.
  std::vector<uint64_t> parameters;
  for (tree p = DECL_ARGUMENTS (fn_->decl); p; p = DECL_CHAIN (p))
    {
      tree name = is_gimple_reg (p) ? ssa_default_def (fn_, p) : NULL_TREE;
      parameters.push_back (name && is_number (TREE_TYPE (name)) ? register_of (name) : FORESIGHT_NONE);
    }
  records_[b] = words_.size ();
  size_t registers = words_.size ();
  put (0), put (bytes_), put (parameters.size ());
  put_offset (blocks_.at (single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_))));
  put ((returns_ == 1) | (has_other_cycles (current_loops->tree_root) ? 0 : 2));
  for (uint64_t p : parameters)
    put (p);
  put_items (current_loops->tree_root, false);
  for (auto &i : block_items_)
    words_[i.first] = blocks_.at (i.second.first) << 2 | i.second.second;
  for (auto &i : loop_items_)
    words_[i.first] = loops_.at (i.second.first) << 2 | i.second.second;
  if (entry_)
    for (auto &r : registers_)
      if (is_known_at_place (r.first))
        held_.push_back ({ slot (r.first), r.second });
  words_[registers] = count_;
  free_dominance_info (CDI_POST_DOMINATORS);
  loop_optimizer_finalize ();
  pop_cfun ();
}

} // namespace promp::ahead

namespace promp {

bool foresee (Unit &unit, Function &f, basic_block bb, gimple *call, Foresight *out)
{
  return ahead::Writer (unit, f, bb, call).run (out);
}

} // namespace promp
