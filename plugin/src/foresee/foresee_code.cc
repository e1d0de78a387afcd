// Blocks, statements and calls of the code that is handed over.

#include "foresee/foresee_writer.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-eh.h"
#include "tree-cfg.h"
#include "fold-const.h"

namespace promp::ahead {

/// May what is written there be dead? Nobody else knows of it.
bool Writer::is_ours (const Targets &where)
{
  for (const Target &t : where)
    if (t.first == UNKNOWN || unit_.why_not (t.first))
      return false;
  return !where.empty ();
}

/// ... where `pointer` leads to? If it comes of a parameter, as the caller says.
bool Writer::is_ours (tree pointer)
{
  for (unsigned k = 0; k < 20; k++)
    {
      if (TREE_CODE (pointer) == ADDR_EXPR)
        {
          tree base = get_base_address (TREE_OPERAND (pointer, 0));
          if (!base || TREE_CODE (base) != MEM_REF)
            break;
          pointer = TREE_OPERAND (base, 0);
          continue;
        }
      if (TREE_CODE (pointer) != SSA_NAME)
        break;
      if (SSA_NAME_IS_DEFAULT_DEF (pointer))
        {
          unsigned n = 0;
          for (tree p = DECL_ARGUMENTS (fn_->decl); p; p = DECL_CHAIN (p), n++)
            if (p == SSA_NAME_VAR (pointer) && n < own_.size () && own_[n])
              return true;
          break;
        }
      gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (pointer));
      if (!a || gimple_vuse (a)
          || !(gimple_assign_single_p (a) || gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR
               || (CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))
                   && POINTER_TYPE_P (TREE_TYPE (gimple_assign_rhs1 (a))))))
        break;
      pointer = gimple_assign_rhs1 (a);
    }
  return is_ours (unit_.pointers.of (pointer));
}

bool Writer::is_ours_at (tree ref)
{
  tree base = get_base_address (ref);
  return is_ours (unit_.pointers.at (ref))
         || (base && TREE_CODE (base) == MEM_REF && is_ours (TREE_OPERAND (base, 0)));
}

bool Writer::size_of (tree type, uint64_t *out)
{
  tree s = TYPE_SIZE_UNIT (type);
  if (!s || !tree_fits_shwi_p (s))
    return false;
  *out = tree_to_shwi (s);
  return true;
}

/// False: nothing is known of what it does.
bool Writer::statement (gimple *s)
{
  if (gimple_code (s) == GIMPLE_LABEL || gimple_code (s) == GIMPLE_NOP || gimple_code (s) == GIMPLE_PREDICT
      || is_gimple_debug (s) || gimple_clobber_p (s))
    return true;
  if (gimple_has_volatile_ops (s) || stmt_can_throw_external (fn_, s) || stmt_can_throw_internal (fn_, s))
    return false;
  if (gassign *a = dyn_cast<gassign *> (s))
    return assignment (a);
  if (gcall *c = dyn_cast<gcall *> (s))
    return called (c);
  return false;
}

/// Is it a part of a word that has no address?
static bool is_in_bits (tree ref)
{
  return TREE_CODE (ref) == BIT_FIELD_REF
         || (TREE_CODE (ref) == COMPONENT_REF && DECL_BIT_FIELD (TREE_OPERAND (ref, 1)));
}

bool Writer::store (gassign *a)
{
  tree lhs = gimple_assign_lhs (a), rhs = gimple_assign_rhs1 (a);
  uint64_t size;
  if (!size_of (TREE_TYPE (lhs), &size) || is_in_bits (lhs))
    return false;
  Operand to = address (lhs);
  uint64_t ours = is_ours_at (lhs);
  if (size == 0)
    return true;
  if (TREE_CODE (rhs) == CONSTRUCTOR)
    put (INSTRUCTION_FILL), put (ours), put (to), put (Operand{ OPERAND_NUMBER, size });
  else if (gimple_assign_load_p (a) || !is_value (rhs))
    {
      if (is_in_bits (rhs) || TREE_CODE (rhs) == STRING_CST)
        return false;
      Operand from = address (rhs);
      put (INSTRUCTION_COPY), put (ours), put (to), put (from), put (Operand{ OPERAND_NUMBER, size });
    }
  else
    {
      Operand v = is_number (TREE_TYPE (rhs)) ? value (rhs) : UNKNOWN_VALUE;
      put (INSTRUCTION_STORE), put (size), put (ours), put (to), put (v);
    }
  return true;
}

bool Writer::load (gassign *a)
{
  tree lhs = gimple_assign_lhs (a), rhs = gimple_assign_rhs1 (a), type = TREE_TYPE (lhs);
  uint64_t size;
  bool number = is_number (type);
  if (!size_of (type, &size) || is_in_bits (rhs))
    return false;
  if (stand_for_phis_.count (a))
    {
      put_read (rhs);
      return true;
    }
  tree known = number && DECL_P (rhs) && is_kept (rhs) ? content (rhs, gimple_bb (a), a) : NULL_TREE;
  if (known)
    {
      put_read (rhs);
      put (INSTRUCTION_ASSIGN), put (OP_COPY), put (register_of (lhs));
      put (kind_of (type)), put (kind_of (type));
      put (value (known)), put (UNKNOWN_VALUE);
      return true;
    }
  Operand from = address (rhs);
  put (INSTRUCTION_LOAD), put (number ? register_of (lhs) : FORESIGHT_NONE);
  put (number ? kind_of (type) : 64), put (size);
  put (from);
  return true;
}

bool Writer::assignment (gassign *a)
{
  tree lhs = gimple_assign_lhs (a), rhs = gimple_assign_rhs1 (a), type = TREE_TYPE (lhs);
  enum tree_code code = gimple_assign_rhs_code (a);
  if (gimple_store_p (a))
    return store (a);
  if (gimple_assign_load_p (a))
    return load (a);
  // Other memory than that is not read here.
  if (gimple_vuse (a))
    return false;
  if (!is_number (type))
    return true;
  Op op = get_gimple_rhs_class (code) == GIMPLE_SINGLE_RHS ? OP_COPY : op_of (code);
  tree other = gimple_num_ops (a) == 3 ? gimple_assign_rhs2 (a) : NULL_TREE;
  if (op == OP_NONE || gimple_num_ops (a) > 3 || !is_value (rhs) || !is_number (TREE_TYPE (rhs))
      || (other && !is_number (TREE_TYPE (other))))
    {
      put (INSTRUCTION_FORGET), put (register_of (lhs));
      return true;
    }
  Operand x = value (rhs), y = other ? value (other) : UNKNOWN_VALUE;
  put (INSTRUCTION_ASSIGN), put (op), put (register_of (lhs));
  put (kind_of (type)), put (kind_of (TREE_TYPE (rhs)));
  put (x), put (y);
  return true;
}

bool Writer::forget (gcall *c)
{
  tree lhs = gimple_call_lhs (c);
  if (lhs && TREE_CODE (lhs) != SSA_NAME)
    return false;
  if (lhs && is_number (TREE_TYPE (lhs)))
    put (INSTRUCTION_FORGET), put (register_of (lhs));
  return true;
}

uint64_t Writer::result (gcall *c)
{
  tree lhs = gimple_call_lhs (c);
  return lhs && is_number (TREE_TYPE (lhs)) ? register_of (lhs) : FORESIGHT_NONE;
}

bool Writer::call_of_unit (gcall *c, Function &f)
{
  std::vector<Operand> args;
  Body body = { f.fn->decl, false, {} };
  for (unsigned k = 0; k < gimple_call_num_args (c); k++)
    {
      tree a = gimple_call_arg (c, k);
      if (!is_value (a))
        return false;
      body.own.push_back (POINTER_TYPE_P (TREE_TYPE (a)) && is_ours (a));
      Operand copy;
      if (handed_over (c, a, &copy))
        {
          args.push_back (copy);
          continue;
        }
      args.push_back (is_number (TREE_TYPE (a)) ? value (a) : UNKNOWN_VALUE);
    }
  put (INSTRUCTION_CALL), calls_.push_back ({ words_.size (), body });
  put_offset (0), put (result (c)), put (args.size ());
  for (Operand a : args)
    put (a);
  todo_.push_back (body);
  return true;
}

static bool is_of_memory (enum built_in_function b)
{
  return b == BUILT_IN_MEMSET || b == BUILT_IN_MEMCPY || b == BUILT_IN_MEMMOVE;
}

bool Writer::call_of_memory (gcall *c)
{
  tree p = gimple_call_arg (c, 0);
  uint64_t mine = is_ours (p);
  Operand to = value (p), x = value (gimple_call_arg (c, 1)), n = value (gimple_call_arg (c, 2));
  if (DECL_FUNCTION_CODE (gimple_call_fndecl (c)) == BUILT_IN_MEMSET)
    put (INSTRUCTION_FILL), put (mine), put (to), put (n);
  else
    put (INSTRUCTION_COPY), put (mine), put (to), put (x), put (n);
  if (result (c) != FORESIGHT_NONE)
    {
      put (INSTRUCTION_ASSIGN), put (OP_COPY), put (result (c)), put (64), put (64);
      put (to), put (UNKNOWN_VALUE);
    }
  return true;
}

bool Writer::called (gcall *c)
{
  std::string name = callee_name (c);
  tree lhs = gimple_call_lhs (c), decl = gimple_call_fndecl (c);
  if ((lhs && TREE_CODE (lhs) != SSA_NAME) || gimple_call_chain (c)
      || (gimple_call_flags (c) & (ECF_NORETURN | ECF_RETURNS_TWICE)))
    return false;
  Function *f = unit_.called (c);
  if (region_of (c))
    {
      if (!f || name != "GOMP_parallel")
        return false;
      Operand data = value (gimple_call_arg (c, 1));
      put (INSTRUCTION_REGION), calls_.push_back ({ words_.size (), { f->fn->decl, false, {} } });
      put_offset (0), put (data);
      todo_.push_back ({ f->fn->decl, false, {} });
      return true;
    }
  if (f)
    return call_of_unit (c, *f);
  bool ours = decl && DECL_EXTERNAL (decl);
  if (ours && !name.compare (0, 5, "GOMP_"))
    return construct (c, name);
  if (ours && (!name.compare (0, 8, "__promp_") || !name.compare (0, 8, "omp_get_")))
    return gimple_call_num_args (c) == 0 || !name.compare (0, 8, "__promp_") ? forget (c) : false;
  if (decl && gimple_call_builtin_p (c, BUILT_IN_NORMAL))
    {
      if (is_of_memory (DECL_FUNCTION_CODE (decl)))
        return call_of_memory (c);
      if (is_of_numbers (c) && (!gimple_vuse (c) || (lhs && SCALAR_FLOAT_TYPE_P (TREE_TYPE (lhs)))))
        return forget (c);
      return false;
    }
  return !gimple_vuse (c) && is_of_numbers (c) && forget (c);
}

void Writer::put_block (basic_block bb)
{
  blocks_[bb] = words_.size ();
  size_t code = words_.size ();
  put_offset (0);
  size_t count = words_.size ();
  put (0);
  class loop *l = bb->loop_father;
  bool is_header = l != current_loops->tree_root && l->header == bb;
  for (gphi_iterator p = gsi_start_phis (bb); !is_header && !gsi_end_p (p); gsi_next (&p))
    {
      tree name = gimple_phi_result (p.phi ());
      if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
        continue;
      put (register_of (name)), put (gimple_phi_num_args (p.phi ()));
      for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
        put (argument (gimple_phi_arg_def (p.phi (), k)));
      words_[count]++;
    }
  words_[code] = words_.size ();
  if (entry_ && !call_ && bb == place_bb_)
    entry_code_ = words_.size ();
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    {
      gimple *s = gsi_stmt (i);
      if (gcond *t = dyn_cast<gcond *> (s))
        {
          tree x = gimple_cond_lhs (t), y = gimple_cond_rhs (t);
          bool number = is_number (TREE_TYPE (x));
          Operand a = number ? value (x) : UNKNOWN_VALUE, b = number ? value (y) : UNKNOWN_VALUE;
          Op op = op_of (gimple_cond_code (t));
          put (INSTRUCTION_TEST), put (op), put (number ? kind_of (TREE_TYPE (x)) : 64), put (a), put (b);
          edge yes, no;
          extract_true_false_edges_from_block (bb, &yes, &no);
          put_edge (yes), put_edge (no);
          return;
        }
      if (greturn *r = dyn_cast<greturn *> (s))
        {
          tree v = gimple_return_retval (r);
          Operand o = v && is_value (v) && is_number (TREE_TYPE (v)) ? value (v) : UNKNOWN_VALUE;
          put (INSTRUCTION_RETURN), put (o);
          returns_++;
          return;
        }
      if (entry_ && s == call_)
        {
          entry_code_ = words_.size ();
          continue;
        }
      // What is behind a STOP is not reached; the place may be.
      if (!statement (s))
        put (INSTRUCTION_STOP);
    }
  if (single_succ_p (bb) && !(single_succ_edge (bb)->flags & (EDGE_ABNORMAL | EDGE_EH))
      && single_succ (bb) != EXIT_BLOCK_PTR_FOR_FN (fn_))
    put (INSTRUCTION_JUMP), put_edge (single_succ_edge (bb));
  else
    put (INSTRUCTION_STOP);
}

} // namespace promp::ahead
