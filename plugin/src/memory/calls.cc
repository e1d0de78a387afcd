// What calls do to memory that others can see: those of the compiler's own functions, of functions of this
// unit (summary.cc), and of others, of which nothing is known.

#include "memory/memory.h"
#include "memory/summary.h"
#include "memory/heap.h"
#include "segments/containers.h"
#include "segments/split.h"
#include "ssa.h"
#include "fold-const.h"
#include "internal-fn.h"
#include "tree-eh.h"
#include <algorithm>

namespace promp {

/// What the function that `stmt` calls writes behind `pointer` (null: anywhere); `key`: see Summary::saving.
void Memory::written_by (Deed &deed, gcall *stmt, tree pointer, int key)
{
  size_t before = deed.items.size ();
  add_pointed (deed, stmt, pointer, ACCESS_WRITES);
  if (deed.items.size () > before && saves_by_itself (stmt))
    keys_[deed.items.back ().place] = key;
}

const std::set<std::pair<tree, unsigned>> *Memory::saved_by_call (const Item &i) const
{
  auto key = keys_.find (i.place);
  return key == keys_.end () ? nullptr : &summary_of (as_a<gcall *> (i.stmt))->saving.at (key->second);
}

/// Queries of the runtime: they read its own state alone.
static bool is_query (const char *name)
{
  static const char *const names[]
    = { "omp_get_thread_num", "omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs",
        "omp_in_parallel", "omp_get_level", "omp_get_active_level", "omp_get_team_num",
        "omp_get_num_teams", "omp_get_ancestor_thread_num", "omp_get_team_size", "omp_get_dynamic",
        "omp_get_nested", "omp_in_final", "omp_get_cancellation" };
  for (const char *n : names)
    if (!strcmp (name, n) || (starts_with (name, n) && !strcmp (name + strlen (n), "_")))
      return true;
  return false;
}

/// What a built-in function does to memory; false: it is none of those of which that is known.
bool Memory::call_of_builtin (Deed &deed, gcall *stmt)
{
  if (!gimple_call_builtin_p (stmt, BUILT_IN_NORMAL))
    return false;
  switch (DECL_FUNCTION_CODE (gimple_call_fndecl (stmt)))
    {
    case BUILT_IN_MEMCPY:
    case BUILT_IN_MEMMOVE:
      add_pointed (deed, stmt, gimple_call_arg (stmt, 1), 0);
      add_pointed (deed, stmt, gimple_call_arg (stmt, 0), ACCESS_WRITES);
      return true;
    case BUILT_IN_MEMSET:
      add_pointed (deed, stmt, gimple_call_arg (stmt, 0), ACCESS_WRITES);
      return true;
    // Freed later, if it is freed by the work in flight (heap.h).
    case BUILT_IN_FREE:
      return gets_marks (fn_);
    case BUILT_IN_POSIX_MEMALIGN:
      add_pointed (deed, stmt, gimple_call_arg (stmt, 0), ACCESS_WRITES);
      return true;
    // Memory that nobody else knows yet; if the work is repeated, the first block stays unused.
    case BUILT_IN_MALLOC:
    case BUILT_IN_CALLOC:
    case BUILT_IN_ALIGNED_ALLOC:
    case BUILT_IN_UNREACHABLE:
    case BUILT_IN_TRAP:
    case BUILT_IN_PREFETCH:
    case BUILT_IN_ALLOCA:
    case BUILT_IN_ALLOCA_WITH_ALIGN:
    case BUILT_IN_ALLOCA_WITH_ALIGN_AND_MAX:
    case BUILT_IN_STACK_SAVE:
    case BUILT_IN_STACK_RESTORE:
      return true;
    default:
      return false;
    }
}

/// What a function of the unit does, by its summary.
void Memory::call_summarised (Deed &deed, gcall *stmt, const Summary &s)
{
  if (s.runtime)
    {
      deed.effect = before_first_call (stmt);
      if (deed.effect.empty () && only_throws (stmt))
        deed.effect = std::string ("calls ") + callee_name (stmt);
    }
  else if (!s.own_effect.empty ())
    deed.effect = s.own_effect;
  else if (!s.foreign.empty ())
    {
      deed.effect = s.effect;
      deed.foreign = at_call (fn_, stmt, s.foreign);
    }
  if (s.reads_more || s.runtime)
    add_pointed (deed, stmt, NULL_TREE, 0);
  if (s.runtime)
    return;
  auto through = [&] (int k, unsigned flags, tree place = NULL_TREE) {
    tree a = argument_of (stmt, k % BEHIND);
    tree pointer = k < BEHIND ? a : NULL_TREE;
    if (k >= BEHIND && a && is_private_behind (a))
      return;
    if (flags & ACCESS_WRITES)
      written_by (deed, stmt, pointer, k);
    else
      add_pointed (deed, stmt, pointer, flags, place);
  };
  for (int k : s.reads)
    {
      // In known places, if all are; else somewhere behind the pointer.
      std::vector<tree> places;
      for (tree p : s.places.at (k))
        places.push_back (place_at (stmt, p));
      if (places.size () > 64 || std::find (places.begin (), places.end (), NULL_TREE) != places.end ())
        places = { NULL_TREE };
      for (tree p : places)
        through (k, 0, p);
    }
  for (int k : s.writes)
    through (k, ACCESS_WRITES);
  for (const Touch &t : s.touches)
    // Somewhere in it.
    if (t.global && t.write)
      written_by (deed, stmt, build_fold_addr_expr (t.global), VARIABLES);
    else if (t.global)
      add_pointed (deed, stmt, build_fold_addr_expr (t.global), 0);
  if (s.writes_unknown)
    written_by (deed, stmt, NULL_TREE, UNKNOWN_MEMORY);
}

/// What a mathematical function does; false: it is none.
bool Memory::call_of_mathematics (Deed &deed, gcall *stmt)
{
  if (!gimple_call_builtin_p (stmt, BUILT_IN_NORMAL))
    return false;
  // Mathematical functions may set errno, which is the thread's own and read by nobody in between: no
  // exposed read.
  tree decl = gimple_call_fndecl (stmt);
  tree type = TREE_TYPE (TREE_TYPE (decl));
  bool numbers = SCALAR_FLOAT_TYPE_P (type) || INTEGRAL_TYPE_P (type);
  bool floats = false;
  for (unsigned i = 0; i < gimple_call_num_args (stmt); i++)
    {
      tree t = TREE_TYPE (gimple_call_arg (stmt, i));
      numbers = numbers && (SCALAR_FLOAT_TYPE_P (t) || INTEGRAL_TYPE_P (t));
      floats = floats || SCALAR_FLOAT_TYPE_P (t);
    }
  if (numbers && floats)
    return true;
  // sincos and the like write through pointers to their results.
  switch (DECL_FUNCTION_CODE (decl))
    {
    CASE_FLT_FN (BUILT_IN_SINCOS):
      add_pointed (deed, stmt, gimple_call_arg (stmt, 1), ACCESS_WRITES);
      add_pointed (deed, stmt, gimple_call_arg (stmt, 2), ACCESS_WRITES);
      return true;
    CASE_FLT_FN (BUILT_IN_MODF):
    CASE_FLT_FN (BUILT_IN_FREXP):
      add_pointed (deed, stmt, gimple_call_arg (stmt, 1), ACCESS_WRITES);
      return true;
    default:
      return false;
    }
}

/// A function of which nothing is known here.
void Memory::call_unknown (Deed &deed, gcall *stmt)
{
  const char *name = callee_name (stmt);
  deed.effect = *name ? std::string ("calls ") + name : std::string ("calls through a pointer");
  for (tree target : foreign_targets (stmt))
    {
      if (!target_of (stmt) && !gets_marks (fn_))
        break; // nothing sees where the pointer leads
      deed.foreign.push_back (foreign (fn_, stmt, target));
      Foreign &f = deed.foreign.back ();
      f.guarded = gets_marks (fn_);
      f.library = f.guarded && (is_operator (stmt) || is_of_containers (stmt)) && target == target_of (stmt);
      f.throws = f.throws && !f.library;
    }
}

void Memory::call (Deed &deed, gcall *stmt)
{
  if (is_save_point (stmt))
    return; // the segment's end
  if (gimple_call_internal_p (stmt))
    {
      if (!strncmp (internal_fn_name (gimple_call_internal_fn (stmt)), "ATOMIC_", 7))
        add_pointed (deed, stmt, gimple_call_arg (stmt, 0), ACCESS_WRITES | ACCESS_ATOMIC);
      else if (gimple_vuse (stmt))
        deed.effect = std::string ("uses ") + internal_fn_name (gimple_call_internal_fn (stmt));
      return;
    }
  if (is_realloc (stmt) && gets_marks (fn_))
    {
      add_pointed (deed, stmt, gimple_call_arg (stmt, 0), 0);
      return;
    }
  const char *name = callee_name (stmt);
  // It changes nothing but what the next checkpoint leaves out.
  if (!gimple_vuse (stmt) || is_query (name) || !strcmp (name, "__promp_dead_written"))
    return;
  if (call_of_builtin (deed, stmt))
    return;
  if (gimple_call_flags (stmt) & ECF_NORETURN && !stmt_could_throw_p (fn_, stmt))
    return; // the program ends; there is a mark in front (split.cc)
  if (gimple_call_builtin_p (stmt, BUILT_IN_NORMAL)
      && (starts_with (name, "__atomic_") || starts_with (name, "__sync_")))
    {
      // A reduction's merge loads the shared value and compares and swaps. Behind an atomic read, too,
      // nothing may follow.
      if (gimple_call_num_args (stmt) < 2)
        deed.effect = "synchronises by a fence";
      else
        add_pointed (deed, stmt, gimple_call_arg (stmt, 0),
                     starts_with (name, "__atomic_load") ? ACCESS_ATOMIC : ACCESS_WRITES | ACCESS_ATOMIC);
      return;
    }
  if (const Summary *s = summary_of (stmt))
    return call_summarised (deed, stmt, *s);
  int flags = gimple_call_flags (stmt);
  if ((flags & (ECF_PURE | ECF_CONST)) && !(flags & ECF_LOOPING_CONST_OR_PURE))
    // Reads anything.
    return add_pointed (deed, stmt, NULL_TREE, 0);
  if (!call_of_mathematics (deed, stmt))
    call_unknown (deed, stmt);
}

} // namespace promp
