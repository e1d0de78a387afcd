// Addresses and numbers of the code that is handed over: operands, and the instructions that make them.

#include "foresee/foresee_writer.h"
#include "ssa.h"
#include "cgraph.h"
#include "fold-const.h"
#include "tree-dfa.h"

namespace promp::ahead {

Op op_of (enum tree_code code)
{
  switch (code)
    {
    case PLUS_EXPR:
    case POINTER_PLUS_EXPR:
      return OP_ADD;
    case MINUS_EXPR:
    case POINTER_DIFF_EXPR:
      return OP_SUB;
    case MULT_EXPR:
      return OP_MUL;
    case TRUNC_DIV_EXPR:
    case EXACT_DIV_EXPR:
      return OP_DIV;
    case TRUNC_MOD_EXPR:
      return OP_MOD;
    case BIT_AND_EXPR:
      return OP_AND;
    case BIT_IOR_EXPR:
      return OP_OR;
    case BIT_XOR_EXPR:
      return OP_XOR;
    case LSHIFT_EXPR:
      return OP_SHL;
    case RSHIFT_EXPR:
      return OP_SHR;
    case MIN_EXPR:
      return OP_MIN;
    case MAX_EXPR:
      return OP_MAX;
    case EQ_EXPR:
      return OP_EQ;
    case NE_EXPR:
      return OP_NE;
    case LT_EXPR:
      return OP_LT;
    case LE_EXPR:
      return OP_LE;
    case GT_EXPR:
      return OP_GT;
    case GE_EXPR:
      return OP_GE;
    case NEGATE_EXPR:
      return OP_NEG;
    case BIT_NOT_EXPR:
      return OP_NOT;
    default:
      return CONVERT_EXPR_CODE_P (code) ? OP_COPY : OP_NONE;
    }
}

bool is_number (tree type)
{
  return (INTEGRAL_TYPE_P (type) || POINTER_TYPE_P (type)) && TYPE_PRECISION (type) <= 64;
}

uint64_t kind_of (tree type)
{
  bool is_signed = INTEGRAL_TYPE_P (type) && !TYPE_UNSIGNED (type);
  return TYPE_PRECISION (type) | (is_signed ? FORESIGHT_SIGNED : 0);
}

uint64_t Writer::slot (tree value)
{
  for (size_t k = 0; k < slots_.size (); k++)
    if (operand_equal_p (slots_[k], value))
      return k;
  slots_.push_back (value);
  return slots_.size () - 1;
}

uint64_t Writer::register_of (tree name)
{
  auto r = registers_.insert ({ name, count_ });
  if (r.second)
    count_++;
  return r.first->second;
}

/// A variable's address, so many bytes on.
Operand Writer::address_of (tree d, HOST_WIDE_INT at)
{
  if (!VAR_P (d) || TREE_THIS_VOLATILE (d) || !DECL_SIZE_UNIT (d) || !tree_fits_shwi_p (DECL_SIZE_UNIT (d)))
    return UNKNOWN_VALUE;
  if (TREE_STATIC (d) || DECL_EXTERNAL (d))
    {
      if (DECL_THREAD_LOCAL_P (d) || DECL_HARD_REGISTER (d))
        return UNKNOWN_VALUE;
      TREE_ADDRESSABLE (d) = 1;
      return plus ({ OPERAND_SLOT, slot (build_fold_addr_expr (d)) }, at);
    }
  if (!auto_var_in_fn_p (d, fn_->decl))
    return UNKNOWN_VALUE;
  if (entry_ && TREE_ADDRESSABLE (d))
    {
      // In serial code it is where it is. A thread's own is looked at apart.
      if (!is_outlined (fn_))
        return plus ({ OPERAND_SLOT, slot (build_fold_addr_expr (d)) }, at);
      if (is_pointed_to (d))
        return UNKNOWN_VALUE;
    }
  auto known = locals_.find (d);
  if (known == locals_.end ())
    {
      known = locals_.insert ({ d, bytes_ }).first;
      bytes_ += (tree_to_shwi (DECL_SIZE_UNIT (d)) + 15) / 16 * 16;
    }
  return { OPERAND_LOCAL, (uint64_t)(known->second + at) };
}

/// Can a pointer lead to it that is kept at the place, in memory or in a variable?
bool Writer::is_pointed_to (tree d)
{
  if (pointed_.empty ())
    {
      pointed_ = unit_.pointers.in_memory ();
      pointed_.insert (UNKNOWN);
      unsigned k;
      tree name;
      FOR_EACH_SSA_NAME (k, name, fn_)
        if (!virtual_operand_p (name) && is_known_at_place (name))
          for (const Target &t : unit_.pointers.of (name))
            pointed_.insert (t.first);
    }
  unsigned o = unit_.pointers.number_of (d);
  return pointed_.count (o) || unit_.pointers.is_known_to_others (o);
}

Operand Writer::assign (Op op, tree to, tree from, Operand a, Operand b)
{
  uint64_t r = count_++;
  put (INSTRUCTION_ASSIGN), put (op), put (r), put (kind_of (to)), put (kind_of (from)), put (a), put (b);
  return { OPERAND_REGISTER, r };
}

Operand Writer::plus (Operand a, HOST_WIDE_INT by)
{
  return by == 0 ? a : assign (OP_ADD, sizetype, sizetype, a, { OPERAND_NUMBER, (uint64_t)by });
}

/// A value that needs no instructions.
Operand Writer::simple (tree t)
{
  if (t && TREE_CODE (t) == INTEGER_CST && is_number (TREE_TYPE (t)))
    return { OPERAND_NUMBER, TYPE_UNSIGNED (TREE_TYPE (t)) || POINTER_TYPE_P (TREE_TYPE (t))
                  ? (uint64_t)wi::to_wide (t).to_uhwi () : (uint64_t)wi::to_wide (t).to_shwi () };
  if (t && TREE_CODE (t) == SSA_NAME && is_number (TREE_TYPE (t))
      && (!SSA_NAME_IS_DEFAULT_DEF (t)
          || (SSA_NAME_VAR (t) && TREE_CODE (SSA_NAME_VAR (t)) == PARM_DECL)))
    return { OPERAND_REGISTER, register_of (t) };
  return UNKNOWN_VALUE;
}

Operand Writer::value (tree e)
{
  if (TREE_CODE (e) == ADDR_EXPR)
    return address (TREE_OPERAND (e, 0));
  Op op = op_of (TREE_CODE (e));
  if (op == OP_NONE || !is_number (TREE_TYPE (e)) || !is_number (TREE_TYPE (TREE_OPERAND (e, 0))))
    return simple (e);
  tree from = TREE_TYPE (TREE_OPERAND (e, 0));
  Operand a = value (TREE_OPERAND (e, 0)),
          b = BINARY_CLASS_P (e) || COMPARISON_CLASS_P (e) ? value (TREE_OPERAND (e, 1)) : UNKNOWN_VALUE;
  return assign (op, TREE_TYPE (e), from, a, b);
}

/// Where `ref` is, in whole bytes.
Operand Writer::address (tree ref)
{
  poly_int64 bits, pos;
  tree offset;
  machine_mode mode;
  int u, r, vol;
  tree base = get_inner_reference (ref, &bits, &pos, &offset, &mode, &u, &r, &vol);
  HOST_WIDE_INT at;
  if (!pos.is_constant (&at) || at % 8)
    return UNKNOWN_VALUE;
  at /= 8;
  Operand p = UNKNOWN_VALUE;
  if (TREE_CODE (base) == MEM_REF && tree_fits_shwi_p (TREE_OPERAND (base, 1)))
    p = plus (value (TREE_OPERAND (base, 0)), at + tree_to_shwi (TREE_OPERAND (base, 1)));
  else if (DECL_P (base))
    p = address_of (base, at);
  if (p.kind == 3 || !offset)
    return p;
  return assign (OP_ADD, sizetype, sizetype, p, value (fold_convert (sizetype, offset)));
}

/// A value of a PHI: only what needs no instructions.
Operand Writer::argument (tree t)
{
  if (TREE_CODE (t) != ADDR_EXPR)
    return simple (t);
  poly_int64 off;
  HOST_WIDE_INT at;
  tree base = get_addr_base_and_unit_offset (TREE_OPERAND (t, 0), &off);
  return base && VAR_P (base) && off.is_constant (&at) && at == 0 ? address_of (base, 0) : UNKNOWN_VALUE;
}

} // namespace promp::ahead
