// May the iterations of a static loop be dealt in another way?
//
// Who executes what is the same in two static loops of the same length, and a program may count on that:
// a thread may go on, without a barrier, with what it has done itself. So more is needed than that a
// chunk does the same in every thread (share.cc):
// - *The loop stands alone in its phase*: nothing between the barrier before it and the barrier behind it
//   (another loop of a nowait chain, code in front of or behind the loop, the same loop once more)
//   touches memory that the loop writes, or writes what it touches. The region's start and its end are
//   barriers. What other functions do in the phase is not known.
// - *Its iterations stand alone*: two of them never meet in memory, one of them writing. With
//   schedule(static,c) that is proved for every two accesses. Without a chunk size the size of the blocks
//   is the runtime's business; there, only what is reached in the same way (the same array, the same
//   pointer) is looked at.
// - No sum of floating-point numbers goes through its chunks: dealt in another way, it would be rounded
//   in another way.

#include "segments/schedule.h"
#include "memory/memory.h"
#include "segments/share.h"
#include "ssa.h"
#include "cfgloop.h"
#include "fold-const.h"
#include "tree-chrec.h"
#include "tree-data-ref.h"
#include <set>

namespace promp {
namespace {

bool ends (const char *name, const char *with)
{
  size_t n = strlen (name), k = strlen (with);
  return n >= k && !strcmp (name + n - k, with);
}

/// A call that all threads of the team pass together.
bool is_barrier (gimple *call)
{
  const char *n = callee_name (call);
  return !strcmp (n, "GOMP_barrier") || !strcmp (n, "GOMP_loop_end") || !strcmp (n, "GOMP_sections_end");
}

/// A call of the runtime behind which nothing is executed but what is in this function.
bool is_plain (gimple *call)
{
  const char *n = callee_name (call);
  if (!strncmp (n, "GOMP_loop_", 10))
    return !strstr (n, "ordered") && !strstr (n, "doacross")
           && (strstr (n, "_start") || ends (n, "_next") || ends (n, "_end_nowait"));
  for (const char *known :
       { "GOMP_atomic_start", "GOMP_atomic_end", "GOMP_critical_start", "GOMP_critical_end",
         "GOMP_critical_name_start", "GOMP_critical_name_end", "GOMP_single_start" })
    if (!strcmp (n, known))
      return true;
  return false;
}

/// The variable that takes the lower bounds of a static loop's chunks stands for it.
tree bound_of (gimple *call)
{
  for (auto [code, at] :
       { std::pair (BUILT_IN_GOMP_LOOP_STATIC_START, 4), std::pair (BUILT_IN_GOMP_LOOP_ULL_STATIC_START, 5),
         std::pair (BUILT_IN_GOMP_LOOP_STATIC_NEXT, 0), std::pair (BUILT_IN_GOMP_LOOP_ULL_STATIC_NEXT, 0) })
    if (gimple_call_builtin_p (call, code))
      return TREE_OPERAND (gimple_call_arg (call, at), 0);
  return NULL_TREE;
}

/// An access, as it evolves in the loop over a chunk's iterations.
class Evolution
{
public:
  Evolution (gimple *stmt, tree ref, class loop *iterations)
  {
    class loop *at = gimple_bb (stmt)->loop_father;
    if (ref && flow_bb_inside_loop_p (iterations, gimple_bb (stmt)))
      dr_ = create_data_ref (loop_preheader_edge (iterations), at, ref, stmt, false, false);
  }
  ~Evolution ()
  {
    if (dr_)
      free_data_ref (dr_);
  }
  Evolution (const Evolution &) = delete;

  /// Do this access in one iteration and `o` in another one never meet?
  bool is_apart_from (const Evolution &o, class loop *iterations) const
  {
    if (!dr_ || !o.dr_ || !same_data_refs_base_objects (dr_, o.dr_))
      return false;
    for (unsigned d = 0; d < DR_NUM_DIMENSIONS (dr_); d++)
      {
        tree mine, other, step, step2;
        if (!is_linear (DR_ACCESS_FN (dr_, d), iterations, &mine, &step)
            || !is_linear (DR_ACCESS_FN (o.dr_, d), iterations, &other, &step2)
            || !operand_equal_p (step, step2, 0))
          continue;
        // A subscript of an array differs; addresses must differ by as much as is accessed.
        HOST_WIDE_INT room = absu_hwi (TREE_INT_CST_LOW (step)), need = 1;
        if (POINTER_TYPE_P (TREE_TYPE (DR_ACCESS_FN (dr_, d))))
          need = std::max (size (dr_), size (o.dr_));
        HOST_WIDE_INT between = 0;
        if (!operand_equal_p (mine, other, 0))
          {
            if (!tree_fits_shwi_p (mine) || !tree_fits_shwi_p (other))
              continue;
            between = absu_hwi (tree_to_shwi (mine) - tree_to_shwi (other));
          }
        if (need > 0 && room - between >= need)
          return true;
      }
    return false;
  }

private:
  static HOST_WIDE_INT size (data_reference *dr)
  {
    tree s = TYPE_SIZE_UNIT (TREE_TYPE (DR_REF (dr)));
    return s && tree_fits_shwi_p (s) ? tree_to_shwi (s) : 0;
  }

  /// Is `f` first + step · iteration, and the same whatever other loops do?
  static bool is_linear (tree f, class loop *iterations, tree *first, tree *step)
  {
    if (!f || TREE_CODE (f) != POLYNOMIAL_CHREC || CHREC_VARIABLE (f) != (unsigned) iterations->num)
      return false;
    *first = CHREC_LEFT (f);
    *step = CHREC_RIGHT (f);
    return TREE_CODE (*step) == INTEGER_CST && cst_and_fits_in_hwi (*step) && !integer_zerop (*step)
           && !tree_contains_chrecs (*first, nullptr);
  }

  data_reference *dr_ = nullptr;
};

/// A static loop, and what is executed between the same two barriers.
class Phase
{
public:
  Phase (function *fn, const Memory &memory, const std::vector<Segment> &all, gimple *start)
    : fn_ (fn), memory_ (memory), all_ (all), start_ (start), bound_ (bound_of (start))
  {
  }

  Freedom freedom ()
  {
    gimple *next = nullptr;
    for (const Segment &s : all_)
      if (is_own (s) && s.site != start_)
        {
          if (next)
            return {};
          next = s.site;
        }
    if (!next || !loop_outer (gimple_bb (next)->loop_father))
      return {};
    chunks_ = gimple_bb (next)->loop_father;
    for (const Segment &s : all_)
      if (is_own (s))
        {
          if (s.verdict.verdict == VERDICT_OPAQUE || !s.foreign.empty () || !s.parts.empty ())
            return {};
          for (size_t i = 0; i < s.accesses.size (); i++)
            (flow_bb_inside_loop_p (chunks_, gimple_bb (s.statements[i])) ? inside_ : outside_)
              .push_back ({ s.statements[i], s.accesses[i].place, s.accesses[i].flags });
        }
    if (!behind () || !before () || meets ())
      return {};
    bool wide = gimple_call_builtin_p (start_, BUILT_IN_GOMP_LOOP_ULL_STATIC_START);
    bool blocks = integer_zerop (gimple_call_arg (start_, wide ? 4 : 3));
    bool apart = are_apart (blocks);
    return { blocks || apart, apart && !sums_floats () };
  }

private:
  bool is_own (const Segment &s) const { return s.site && bound_of (s.site) == bound_; }

  const Segment *segment (gimple *site) const
  {
    for (const Segment &s : all_)
      if (s.site == site)
        return &s;
    return nullptr;
  }

  /// Another segment of the phase; false if more may be executed in it than is seen.
  bool take (const Segment &s)
  {
    if (is_own (s))
      return true;
    if (!s.effects.empty () || !s.foreign.empty () || !s.parts.empty ()
        || (s.site && !is_plain (s.site) && !is_barrier (s.site)))
      return false;
    for (size_t i = 0; i < s.accesses.size (); i++)
      outside_.push_back ({ s.statements[i], s.accesses[i].place, s.accesses[i].flags });
    return true;
  }

  /// Collects what comes behind the loop, up to the next barriers; false if that is not known, or is the
  /// loop once more.
  bool behind ()
  {
    std::set<const Segment *> known;
    std::vector<const Segment *> todo;
    for (const Segment &s : all_)
      if (is_own (s))
        {
          known.insert (&s);
          todo.push_back (&s);
        }
    while (!todo.empty ())
      {
        const Segment *s = todo.back ();
        todo.pop_back ();
        if (!take (*s))
          return false;
        for (const Node &n : s->nodes)
          if (!n.terminator)
            {
              edge e;
              edge_iterator ei;
              FOR_EACH_EDGE (e, ei, n.bb->succs)
                if (e->dest == EXIT_BLOCK_PTR_FOR_FN (fn_) && !is_outlined (fn_))
                  return false;
            }
          else if (!is_barrier (n.terminator))
            {
              const Segment *then = segment (n.terminator);
              if (!then || n.terminator == start_)
                return false;
              if (known.insert (then).second)
                todo.push_back (then);
            }
      }
    return true;
  }

  /// Collects what comes before the loop, from the last barriers on; false if that is not known.
  bool before ()
  {
    std::set<const Segment *> known;
    std::vector<gimple *> todo = { start_ };
    std::set<gimple *> first = first_calls ();
    while (!todo.empty ())
      {
        gimple *site = todo.back ();
        todo.pop_back ();
        // What other functions of the region have done.
        if (!is_outlined (fn_) && first.count (site))
          return false;
        for (const Segment &s : all_)
          for (const Node &n : s.nodes)
            if (n.terminator == site && known.insert (&s).second)
              {
                if (!take (s))
                  return false;
                if (s.site && !is_barrier (s.site))
                  todo.push_back (s.site);
              }
      }
    return true;
  }

  /// The calls of the runtime that can be the function's first ones.
  std::set<gimple *> first_calls () const
  {
    std::set<basic_block> known;
    std::vector<basic_block> todo = { single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_)) };
    std::set<gimple *> found;
    while (!todo.empty ())
      {
        basic_block bb = todo.back ();
        todo.pop_back ();
        if (!known.insert (bb).second || bb == EXIT_BLOCK_PTR_FOR_FN (fn_))
          continue;
        gimple *call = nullptr;
        for (gimple_stmt_iterator i = gsi_start_bb (bb); !call && !gsi_end_p (i); gsi_next (&i))
          if (is_save_point (gsi_stmt (i)))
            call = gsi_stmt (i);
        if (call)
          {
            found.insert (call);
            continue;
          }
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE (e, ei, bb->succs)
          todo.push_back (e->dest);
      }
    return found;
  }

  unsigned object (const Memory::Item &i) const { return memory_.places ()[i.place].object; }

  bool meet (const Memory::Item &a, const Memory::Item &b) const
  {
    return ((a.flags | b.flags) & (ACCESS_WRITES | ACCESS_ATOMIC))
           && memory_.may_overlap (object (a), object (b));
  }

  /// Do the loop and the rest of the phase?
  bool meets () const
  {
    for (const Memory::Item &a : inside_)
      for (const Memory::Item &b : outside_)
        if (meet (a, b))
          return true;
    return false;
  }

  /// The object's name is known before the loop?
  bool is_fixed (tree key) const
  {
    return key
           && (TREE_CODE (key) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (key)
               || !flow_bb_inside_loop_p (chunks_, gimple_bb (SSA_NAME_DEF_STMT (key))));
  }

  /// Do two iterations never meet? `blocks`: without a chunk size.
  bool are_apart (bool blocks) const
  {
    class loop *iterations = chunks_->inner;
    if (!iterations || iterations->next)
      return false;
    for (size_t i = 0; i < inside_.size (); i++)
      for (size_t j = i; j < inside_.size (); j++)
        {
          const Memory::Item &a = inside_[i], &b = inside_[j];
          if (!meet (a, b))
            continue;
          if ((a.flags | b.flags) & ACCESS_ATOMIC)
            return false;
          if (object (a) != object (b))
            {
              if (blocks && is_fixed (memory_.key (object (a))) && is_fixed (memory_.key (object (b))))
                continue;
              return false;
            }
          Evolution x (a.stmt, memory_.expression (a.place), iterations);
          Evolution y (b.stmt, memory_.expression (b.place), iterations);
          if (!x.is_apart_from (y, iterations))
            return false;
        }
    return true;
  }

  /// What goes from chunk to chunk is added up (share.cc). Numbers that are no integers?
  bool sums_floats () const
  {
    for (gphi_iterator p = gsi_start_phis (chunks_->header); !gsi_end_p (p); gsi_next (&p))
      {
        tree r = gimple_phi_result (p.phi ());
        if (!virtual_operand_p (r) && !INTEGRAL_TYPE_P (TREE_TYPE (r)))
          return true;
      }
    return false;
  }

  function *fn_;
  const Memory &memory_;
  const std::vector<Segment> &all_;
  gimple *start_;
  tree bound_;
  class loop *chunks_ = nullptr;
  std::vector<Memory::Item> inside_, outside_;
};

} // namespace

Freedom freedom_of (function *fn, const Memory &memory, const std::vector<Segment> &all, gimple *site)
{
  bool is_static = strstr (callee_name (site), "static");
  bool starts = gimple_call_builtin_p (site, BUILT_IN_GOMP_LOOP_STATIC_START)
                || gimple_call_builtin_p (site, BUILT_IN_GOMP_LOOP_ULL_STATIC_START);
  if ((is_static && !starts) || !is_share_of_team (fn, site))
    return Freedom ();
  // What of a dynamic loop's iterations a thread gets the program does not know anyway.
  return is_static ? Phase (fn, memory, all, site).freedom () : Freedom { true, false };
}

} // namespace promp
