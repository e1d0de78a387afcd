// What a value will be in a function that is called later, computed at a place: parameters are the arguments
// of the calls by which the function is come to, fields of a region's data what the call of the region puts
// there, and variables what they are at the place, if nothing that may be executed from there on changes
// them.

#include "checkpoints/at_place.h"
#include "memory/memory.h"
#include "ssa.h"
#include "alias.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-ssa-loop.h"
#include "cgraph.h"

namespace promp {

AtPlace::AtPlace (Unit &unit, Function &f, basic_block bb, gimple *call)
    : unit_ (unit), f_ (f), bb_ (bb), call_ (call)
{
  reach (bb, call);
  std::set<Function *> callers;
  std::vector<Function *> up = { &f };
  while (!up.empty ())
    {
      Function *at = up.back ();
      up.pop_back ();
      if (!unit_.ends_program (at->fn->decl) && callers.insert (at).second)
        for (auto &c : unit_.callers[at->fn->decl])
          {
            reach (gimple_bb (c.second), c.second);
            up.push_back (c.first);
          }
    }
}

/// All that may be executed until the function is left, from behind `from`, or from the beginning of `bb` on.
void AtPlace::reach (basic_block bb, gimple *from)
{
  std::vector<basic_block> todo;
  auto look = [&] (basic_block b, gimple_stmt_iterator i) {
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE (e, ei, b->succs)
    todo.push_back (e->dest);
    for (; !gsi_end_p (i); gsi_next (&i))
      {
        if (from)
          behind_.insert (gsi_stmt (i));
        if (Function *g = unit_.called (gsi_stmt (i)))
          todo.push_back (single_succ (ENTRY_BLOCK_PTR_FOR_FN (g->fn)));
      }
  };
  if (from)
    {
      gimple_stmt_iterator i = gsi_for_stmt (from);
      gsi_next (&i);
      look (bb, i);
      from = nullptr;
    }
  else
    todo.push_back (bb);
  while (!todo.empty ())
    {
      basic_block b = todo.back ();
      todo.pop_back ();
      if (reached_.insert (b).second)
        look (b, gsi_start_bb (b));
    }
}

tree AtPlace::value (tree e, const Chain &chain, bool inside, bool foreign)
{
  chain_ = &chain, inside_ = inside, foreign_ = foreign, steps_ = 0;
  return of (e, chain.size ());
}

/// The function whose names are meant at this depth.
tree AtPlace::function_at (unsigned depth)
{
  if (depth == 0)
    return inside_ ? f_.fn->decl : NULL_TREE;
  Function *f = unit_.called ((*chain_)[depth - 1]);
  return f ? f->fn->decl : NULL_TREE;
}

tree AtPlace::of (tree e, unsigned depth)
{
  if (++steps_ > 400)
    return NULL_TREE;
  switch (TREE_CODE (e))
    {
    case INTEGER_CST:
      return e;
    case SSA_NAME:
      return name (e, depth);
      case ADDR_EXPR: {
        tree d = get_base_address (TREE_OPERAND (e, 0));
        bool mine = d && DECL_P (d) && TREE_OPERAND (e, 0) == d && !(VAR_P (d) && DECL_THREAD_LOCAL_P (d))
                    && ((VAR_P (d) && TREE_STATIC (d))
                        || (inside_ && depth == 0 && auto_var_in_fn_p (d, f_.fn->decl)));
        return mine ? e : NULL_TREE;
      }
    case TRUNC_DIV_EXPR:
      if (TREE_CODE (TREE_OPERAND (e, 1)) != INTEGER_CST || integer_zerop (TREE_OPERAND (e, 1)))
        return NULL_TREE;
      // fall through
    case PLUS_EXPR:
    case MINUS_EXPR:
    case MULT_EXPR:
    case POINTER_PLUS_EXPR:
    case LSHIFT_EXPR:
    case MIN_EXPR:
    case MAX_EXPR:
    case BIT_AND_EXPR:
    case EQ_EXPR:
    case NE_EXPR:
    case LT_EXPR:
    case LE_EXPR:
    case GT_EXPR:
      case GE_EXPR: {
        tree a = of (TREE_OPERAND (e, 0), depth), b = a ? of (TREE_OPERAND (e, 1), depth) : NULL_TREE;
        return b ? fold_build2 (TREE_CODE (e), TREE_TYPE (e), a, b) : NULL_TREE;
      }
    CASE_CONVERT:
      {
        tree a = of (TREE_OPERAND (e, 0), depth);
        return a ? fold_convert (TREE_TYPE (e), a) : NULL_TREE;
      }
    default:
      return NULL_TREE;
    }
}

tree AtPlace::name (tree n, unsigned depth)
{
  gimple *def = SSA_NAME_DEF_STMT (n);
  if (depth == 0 && inside_)
    {
      // It is defined by now, and not again.
      if (SSA_NAME_IS_DEFAULT_DEF (n))
        return SSA_NAME_VAR (n) && TREE_CODE (SSA_NAME_VAR (n)) == PARM_DECL
                       && is_gimple_reg (SSA_NAME_VAR (n))
                   ? n
                   : NULL_TREE;
      basic_block bb = gimple_bb (def);
      if (!reached_.count (bb) && !behind_.count (def) && dominated_by_p (CDI_DOMINATORS, bb_, bb))
        return n;
    }
  if (SSA_NAME_IS_DEFAULT_DEF (n))
    return depth > 0 ? argument (SSA_NAME_VAR (n), depth) : NULL_TREE;
  gassign *a = dyn_cast<gassign *> (def);
  if (!a)
    return NULL_TREE;
  if (gimple_assign_load_p (a))
    return load (gimple_assign_rhs1 (a), depth);
  enum tree_code code = gimple_assign_rhs_code (a);
  tree type = TREE_TYPE (n), x = gimple_assign_rhs1 (a);
  switch (get_gimple_rhs_class (code))
    {
    case GIMPLE_SINGLE_RHS:
      return of (x, depth);
      case GIMPLE_UNARY_RHS: {
        if (!CONVERT_EXPR_CODE_P (code) && code != NEGATE_EXPR)
          return NULL_TREE;
        tree v = of (x, depth);
        return v ? fold_build1 (code, type, v) : NULL_TREE;
      }
      case GIMPLE_BINARY_RHS: {
        tree y = gimple_assign_rhs2 (a);
        bool divides = code == TRUNC_DIV_EXPR || code == EXACT_DIV_EXPR || code == TRUNC_MOD_EXPR
                       || code == RSHIFT_EXPR;
        if (divides ? TREE_CODE (y) != INTEGER_CST || integer_zerop (y)
                    : !INTEGRAL_TYPE_P (type) && code != POINTER_PLUS_EXPR)
          return NULL_TREE;
        if (!divides && code != PLUS_EXPR && code != MINUS_EXPR && code != MULT_EXPR
            && code != POINTER_PLUS_EXPR && code != LSHIFT_EXPR && code != MIN_EXPR && code != MAX_EXPR
            && code != BIT_AND_EXPR && code != BIT_IOR_EXPR && code != BIT_XOR_EXPR)
          return NULL_TREE;
        tree v = of (x, depth), w = v ? of (y, depth) : NULL_TREE;
        return w ? fold_build2 (code, type, v, w) : NULL_TREE;
      }
    default:
      return NULL_TREE;
    }
}

/// What is passed for a parameter.
tree AtPlace::argument (tree parameter, unsigned depth)
{
  gimple *call = (*chain_)[depth - 1];
  tree callee = function_at (depth);
  unsigned k = region_of (call) ? 1 : 0;
  tree p = callee ? DECL_ARGUMENTS (callee) : NULL_TREE;
  for (; p && p != parameter; p = DECL_CHAIN (p))
    k++;
  if (!p || k >= gimple_call_num_args (call))
    return NULL_TREE;
  tree v = gimple_call_arg (call, k);
  tree w = is_value (v) ? of (v, depth - 1) : NULL_TREE;
  if (!w || TYPE_MODE (TREE_TYPE (parameter)) != TYPE_MODE (TREE_TYPE (w)))
    return NULL_TREE;
  return fold_convert (TREE_TYPE (parameter), w);
}

/// Which variable, and where in it, does `p` point to?
bool AtPlace::locate_pointer (tree p, unsigned depth, Where *out)
{
  if (++steps_ > 400)
    return false;
  if (TREE_CODE (p) == ADDR_EXPR)
    return locate (TREE_OPERAND (p, 0), depth, out);
  if (TREE_CODE (p) != SSA_NAME)
    return false;
  if (SSA_NAME_IS_DEFAULT_DEF (p))
    {
      if (depth == 0)
        return false;
      gimple *call = (*chain_)[depth - 1];
      unsigned k = region_of (call) ? 1 : 0;
      tree q = function_at (depth) ? DECL_ARGUMENTS (function_at (depth)) : NULL_TREE;
      for (; q && q != SSA_NAME_VAR (p); q = DECL_CHAIN (q))
        k++;
      return q && k < gimple_call_num_args (call)
             && locate_pointer (gimple_call_arg (call, k), depth - 1, out);
    }
  gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (p));
  if (!a)
    return false;
  if (gimple_assign_ssa_name_copy_p (a) || gimple_assign_rhs_code (a) == ADDR_EXPR
      || CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)))
    return locate_pointer (gimple_assign_rhs1 (a), depth, out);
  if (gimple_assign_load_p (a))
    {
      // A region's data holds the address of a variable.
      tree v = load (gimple_assign_rhs1 (a), depth);
      if (!v)
        return false;
      STRIP_NOPS (v);
      return TREE_CODE (v) == ADDR_EXPR && locate (TREE_OPERAND (v, 0), 0, out);
    }
  return false;
}

bool AtPlace::locate (tree ref, unsigned depth, Where *out)
{
  poly_int64 off;
  HOST_WIDE_INT at;
  tree base = get_addr_base_and_unit_offset (ref, &off);
  if (!base || !off.is_constant (&at))
    return false;
  if (TREE_CODE (base) == MEM_REF)
    {
      Where in;
      if (!tree_fits_shwi_p (TREE_OPERAND (base, 1)) || !locate_pointer (TREE_OPERAND (base, 0), depth, &in))
        return false;
      *out = { in.decl, in.offset + at + tree_to_shwi (TREE_OPERAND (base, 1)) };
      return out->offset >= 0;
    }
  if (!VAR_P (base) || at < 0)
    return false;
  *out = { base, at };
  return true;
}

/// May something that is executed from the place on, other than `except`, write it?
bool AtPlace::changes (tree decl, HOST_WIDE_INT offset, tree type, gimple *except)
{
  unsigned o = unit_.pointers.number_of (decl);
  HOST_WIDE_INT size = tree_to_shwi (TYPE_SIZE_UNIT (type));
  if (o == UNKNOWN)
    return true;
  auto meets = [&] (unsigned object) {
    for (auto &w : unit_.writers[object])
      {
        if (w.second == except
            || (!except && !reached_.count (gimple_bb (w.second)) && !behind_.count (w.second)))
          continue;
        tree lhs = gimple_get_lhs (w.second);
        if (!lhs || TREE_CODE (lhs) == SSA_NAME || is_gimple_call (w.second))
          return true;
        if (flag_strict_aliasing && object == UNKNOWN
            && !alias_sets_conflict_p (get_alias_set (lhs), get_alias_set (type)))
          continue;
        HOST_WIDE_INT n
            = TYPE_SIZE_UNIT (TREE_TYPE (lhs)) && tree_fits_shwi_p (TYPE_SIZE_UNIT (TREE_TYPE (lhs)))
                  ? tree_to_shwi (TYPE_SIZE_UNIT (TREE_TYPE (lhs)))
                  : ANYWHERE;
        for (const Target &t : unit_.pointers.at (lhs))
          if (t.first == object
              && (object == UNKNOWN || t.second == ANYWHERE || n == ANYWHERE
                  || (t.second < offset + size && offset < t.second + n)))
            return true;
      }
    return false;
  };
  if (meets (o))
    return true;
  return unit_.pointers.is_known_to_others (o) && (foreign_ || except || meets (UNKNOWN));
}

tree AtPlace::load (tree ref, unsigned depth)
{
  Where w;
  tree type = TREE_TYPE (ref);
  if ((!INTEGRAL_TYPE_P (type) && !POINTER_TYPE_P (type)) || TREE_THIS_VOLATILE (ref)
      || !locate (ref, depth, &w) || DECL_THREAD_LOCAL_P (w.decl) || TREE_THIS_VOLATILE (w.decl))
    return NULL_TREE;
  HOST_WIDE_INT size = tree_to_shwi (TYPE_SIZE_UNIT (type));
  bool here
      = TREE_STATIC (w.decl) || DECL_EXTERNAL (w.decl) || (inside_ && auto_var_in_fn_p (w.decl, f_.fn->decl));
  if (here && !changes (w.decl, w.offset, type, nullptr))
    {
      TREE_ADDRESSABLE (w.decl) = 1;
      tree address = build_fold_addr_expr (w.decl);
      return build2 (MEM_REF, type, address, build_int_cst (build_pointer_type (type), w.offset));
    }
  // The data of a region: what was put there for its call.
  for (unsigned d = depth; d > 0; d--)
    {
      gimple *call = (*chain_)[d - 1];
      tree data = region_of (call) ? gimple_call_arg (call, 1) : NULL_TREE;
      if (data && TREE_CODE (data) == ADDR_EXPR && TREE_OPERAND (data, 0) == w.decl)
        {
          tree v = passed (w.decl, w.offset, size, call, d - 1);
          return v && TYPE_SIZE_UNIT (TREE_TYPE (v)) && tree_to_shwi (TYPE_SIZE_UNIT (TREE_TYPE (v))) == size
                     ? fold_convert (type, v)
                     : NULL_TREE;
        }
    }
  return NULL_TREE;
}

/// What `region`'s call has been prepared with at `offset` of `decl`.
tree AtPlace::passed (tree decl, HOST_WIDE_INT offset, HOST_WIDE_INT size, gimple *region, unsigned depth)
{
  for (gimple_stmt_iterator i = gsi_for_stmt (region); !gsi_end_p (i); gsi_prev (&i))
    {
      gassign *a = dyn_cast<gassign *> (gsi_stmt (i));
      if (!a || !gimple_store_p (a))
        continue;
      Targets t = unit_.pointers.at (gimple_assign_lhs (a));
      if (t.size () != 1 || t.begin ()->first != unit_.pointers.number_of (decl)
          || t.begin ()->second != offset)
        continue;
      tree type = TREE_TYPE (gimple_assign_lhs (a)), rhs = gimple_assign_rhs1 (a);
      if (tree_to_shwi (TYPE_SIZE_UNIT (type)) != size || !is_value (rhs) || changes (decl, offset, type, a))
        return NULL_TREE;
      return of (rhs, depth);
    }
  return NULL_TREE;
}

} // namespace promp
