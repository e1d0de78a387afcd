// Functions of the C++ library on nodes of containers: trees (map, set), lists, hash tables. And C's qsort.
//
// The headers leave to these what does not depend on the types in a container: where a node is linked in, how
// a tree is balanced again, when a table must grow. They read and write links that the headers declare, and
// nothing else; so the runtime can save, in front of a call, what the call will write
// (crates/proofs/src/containers.rs goes the ways that it goes). Like the operators (heap.cc) they are
// functions of other units that must be the C++ library's own. A stand-in asks the runtime to save, and goes
// on to the function. What qsort writes is the array; it calls the function that compares, which is a call of
// its own.

#include "segments/containers.h"
#include "segments/tables.h"
#include "output.h"
#include "cgraph.h"
#include "ssa.h"

namespace promp {

namespace {

/// C's own, of an array and of functions that compare its elements.
const char SORT[] = "qsort";

/// By its name in assembly; a function that writes nothing has no stand-in.
const struct Known
{
  const char *name;
  bool writes;
} all[] = { { "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", true },
            { "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", true },
            { "_ZNSt8__detail15_List_node_base7_M_hookEPS0_", true },
            { "_ZNSt8__detail15_List_node_base9_M_unhookEv", true },
            { "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", true },
            { "_ZNSt8__detail15_List_node_base4swapERS0_S1_", true },
            { "_ZNSt8__detail15_List_node_base10_M_reverseEv", true },
            { "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", true },
            { "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", true },
            { "_ZSt11_Hash_bytesPKvmm", false },
            { SORT, true } };

const char PREFIX[] = "promp_containers.";

/// The number of the function in the table; -1: it is none of these.
int number_of (tree f)
{
  if (!f || TREE_CODE (f) != FUNCTION_DECL || !DECL_NAME (f) || !TREE_PUBLIC (f) || !DECL_EXTERNAL (f))
    return -1;
  cgraph_node *node = cgraph_node::get (f);
  if (node && node->ultimate_alias_target ()->definition)
    return -1; // the program's own
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (f));
  for (unsigned i = 0; i < ARRAY_SIZE (all); i++)
    if (!strcmp (name + (*name == '*'), all[i].name))
      return i;
  return -1;
}

/// The function by which `call`, of qsort, compares, if it is named there.
tree named (gcall *call)
{
  tree f = gimple_call_num_args (call) == 4 ? gimple_call_arg (call, 3) : NULL_TREE;
  f = f && TREE_CODE (f) == ADDR_EXPR ? TREE_OPERAND (f, 0) : NULL_TREE;
  return f && TREE_CODE (f) == FUNCTION_DECL ? f : NULL_TREE;
}

int number_of_call (gimple *stmt)
{
  bool call = is_gimple_call (stmt) && !gimple_call_internal_p (stmt);
  int n = call ? number_of (gimple_call_fndecl (stmt)) : -1;
  // What it sorts by must be known, too.
  return n == -1 || all[n].name != SORT || named (as_a<gcall *> (stmt)) ? n : -1;
}

} // namespace

tree compared_by (gcall *call)
{
  int n = number_of_call (call);
  return n >= 0 && all[n].name == SORT ? named (call) : NULL_TREE;
}

bool is_of_containers (gimple *stmt) { return number_of_call (stmt) >= 0; }

void save_in_containers (gimple *stmt)
{
  int n = number_of_call (stmt);
  if (n < 0 || !all[n].writes)
    return;
  tree of = gimple_call_fndecl (stmt), type = TREE_TYPE (of);
  // Not as a method: it belongs to no class.
  type = build_function_type (TREE_TYPE (type), TYPE_ARG_TYPES (type));
  tree f = stand_in_function ((PREFIX + std::to_string (n)).c_str (), type);
  TREE_NOTHROW (f) = TREE_NOTHROW (of);
  gimple_call_set_fndecl (as_a<gcall *> (stmt), f);
  update_stmt (stmt);
}

bool is_of_containers (const std::string &name) { return !name.compare (0, sizeof PREFIX - 1, PREFIX); }

void write_of_containers (const std::string &name)
{
  const char *function = all[atoi (name.c_str () + sizeof PREFIX - 1)].name;
  // The registers for integers that the functions use are kept, for the runtime to look at, too.
  fprintf (asm_out_file,
           "\t.cfi_startproc\n"
           "\tcmpq $0, promp_containers@GOTPCREL(%%rip)\n\tje 1f\n"
           "\tpushq %%rcx\n\t.cfi_adjust_cfa_offset 8\n"
           "\tpushq %%rdx\n\t.cfi_adjust_cfa_offset 8\n"
           "\tpushq %%rsi\n\t.cfi_adjust_cfa_offset 8\n"
           "\tpushq %%rdi\n\t.cfi_adjust_cfa_offset 8\n"
           "\tmovq %%rsp, %%rdi\n\tmovq %s@GOTPCREL(%%rip), %%rsi\n"
           "\tsubq $8, %%rsp\n\t.cfi_adjust_cfa_offset 8\n"
           "\tcall *promp_containers@GOTPCREL(%%rip)\n"
           "\taddq $8, %%rsp\n\t.cfi_adjust_cfa_offset -8\n"
           "\tpopq %%rdi\n\t.cfi_adjust_cfa_offset -8\n"
           "\tpopq %%rsi\n\t.cfi_adjust_cfa_offset -8\n"
           "\tpopq %%rdx\n\t.cfi_adjust_cfa_offset -8\n"
           "\tpopq %%rcx\n\t.cfi_adjust_cfa_offset -8\n"
           "1:\tjmp *%s@GOTPCREL(%%rip)\n\t.cfi_endproc\n"
           "\t.size __%s, .-__%s\n\t.weak promp_containers\n",
           function, function, name.c_str (), name.c_str ());
}

} // namespace promp
