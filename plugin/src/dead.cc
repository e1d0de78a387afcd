// What is dead where a checkpoint may be taken (docs/live-sets.md): static arrays that are written as a
// whole before they are read, on every way from there.
//
// Places are `#pragma promp checkpoint` in serial code, and the heads of outermost serial loops around
// parallel regions. Looked at are arrays that only this unit can reach: static, their address never taken,
// not used by functions that somebody else may call. From a place all ways are followed, into functions and
// regions. On a way such an array is not written yet, or written by a worksharing loop whose other threads
// may still be at it (until the next barrier), or written. A read before that ends it: the array is live.
// Written as a whole is what a nest of loops without gaps writes: the element's offset is a sum of the
// loops' variables, whose strides fit together.
//
// P3's implicit definitions of data-sharing clauses stand in the code by now: static arrays are shared, and
// private copies are variables of the functions that GCC has made of regions.

#include "dead.h"
#include "affine.h"
#include "memory.h"
#include "tables.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-affine.h"
#include "tree-ssa-alias.h"
#include "tree-into-ssa.h"
#include "tree-eh.h"
#include "tree-ssa-loop.h"
#include "gimple-walk.h"
#include "cfgloop.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop-niter.h"
#include "stringpool.h"
#include "attribs.h"
#include "diagnostic-core.h"
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace promp {
namespace {

/// Smaller ones are not worth it.
const HOST_WIDE_INT LEAST = 8192;

typedef std::set<tree> Variables;

/// On a way: not written yet; written, but perhaps not by all threads; written.
enum State { UNWRITTEN, PENDING, WRITTEN };

struct Function
{
  function *fn;
  Variables read, written;
  std::set<tree> calls; ///< functions called, and those of regions
  /// Worksharing loops by their start, and serial nests by the block that they begin with: what they write
  /// as a whole. The blocks of a nest.
  std::map<gimple *, Variables> shared;
  std::map<basic_block, Variables> nests;
  std::map<basic_block, std::set<basic_block>> blocks;
  /// Blocks at whose beginning a checkpoint may be taken, and calls that say so.
  std::vector<basic_block> heads;
  std::vector<gimple *> calls_of_places;
};

std::map<tree, Function> functions;
/// Those looked at; and why others, which are as large, are live.
Variables variables;
std::map<tree, const char *> others;
std::set<tree> exposed_functions;

/// `v` is live wherever it is, for this reason.
void give_up (tree v, const char *why)
{
  if (variables.erase (v))
    others[v] = why;
}

bool is_call_of (gimple *s, const char *prefix) { return !strncmp (callee_name (s), prefix, strlen (prefix)); }

/// The function that a region executes; NULL_TREE: `s` is no such call.
tree region_of (gimple *s)
{
  if (!is_call_of (s, "GOMP_parallel") || gimple_call_num_args (s) < 1)
    return NULL_TREE;
  tree f = gimple_call_arg (s, 0);
  return TREE_CODE (f) == ADDR_EXPR && TREE_CODE (TREE_OPERAND (f, 0)) == FUNCTION_DECL ? TREE_OPERAND (f, 0) : NULL_TREE;
}

/// What statements do to the variables, and which addresses they take.
struct Seen
{
  Variables read, written, addressed;
};

/// Is the address of `v` an operand of `s` as such?
bool takes_address (gimple *s, tree v)
{
  bool call = is_gimple_call (s);
  for (unsigned i = call ? 3 : 0; i < gimple_num_ops (s); i++)
    if (tree t = gimple_op (s, i))
      if (TREE_CODE (t) == ADDR_EXPR && get_base_address (TREE_OPERAND (t, 0)) == v)
        return true;
  return false;
}

/// The variable that `ref` is a part of.
void note (Variables &list, tree ref)
{
  tree base = get_base_address (ref);
  if (base && VAR_P (base))
    list.insert (base);
}
bool note_read (gimple *, tree, tree ref, void *data)
{
  note (((Seen *) data)->read, ref);
  return false;
}
bool note_written (gimple *, tree, tree ref, void *data)
{
  note (((Seen *) data)->written, ref);
  return false;
}
tree note_mentioned (tree *t, int *, void *data)
{
  if (VAR_P (*t) || TREE_CODE (*t) == FUNCTION_DECL)
    ((Seen *) data)->addressed.insert (*t);
  return NULL_TREE;
}

/// What is mentioned otherwise than to be read or written: its address is taken.
Seen look (gimple *s)
{
  Seen seen;
  if (is_gimple_debug (s) || gimple_clobber_p (s))
    return seen;
  walk_stmt_load_store_ops (s, &seen, note_read, note_written);
  for (unsigned i = 0; i < gimple_num_ops (s); i++)
    if (tree *t = gimple_op_ptr (s, i))
      if (*t)
        walk_tree_without_duplicates (t, note_mentioned, &seen);
  for (const Variables *list : { &seen.read, &seen.written })
    for (tree v : *list)
      if (gimple_code (s) != GIMPLE_ASM && !takes_address (s, v))
        seen.addressed.erase (v);
  tree called = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
  if (called && !takes_address (s, called))
    seen.addressed.erase (called);
  return seen;
}

bool is_large (tree v)
{
  return VAR_P (v) && TREE_STATIC (v) && !TREE_READONLY (v) && DECL_SIZE_UNIT (v) && tree_fits_shwi_p (DECL_SIZE_UNIT (v))
         && tree_to_shwi (DECL_SIZE_UNIT (v)) >= LEAST;
}

bool may_be_looked_at (tree v)
{
  return is_large (v) && !TREE_PUBLIC (v) && !DECL_EXTERNAL (v) && !DECL_THREAD_LOCAL_P (v) && !TREE_THIS_VOLATILE (v) && !DECL_PRESERVE_P (v)
         && !lookup_attribute ("section", DECL_ATTRIBUTES (v));
}

// ---- What is written as a whole
// -----------------------------------------------------------------------------------

/// A loop's variable takes values from `first` on, `count` of them, one after the other.
struct Values
{
  HOST_WIDE_INT first, count;
};

/// The variable that a call of the runtime writes a bound of a chunk to.
tree bound_of (gimple *start, unsigned from_end)
{
  unsigned n = gimple_call_num_args (start);
  tree a = n >= from_end ? gimple_call_arg (start, n - from_end) : NULL_TREE;
  return a && TREE_CODE (a) == ADDR_EXPR && VAR_P (TREE_OPERAND (a, 0)) ? TREE_OPERAND (a, 0) : NULL_TREE;
}

/// Is `t` what was loaded from `var`, perhaps converted?
bool is_loaded_from (tree t, tree var)
{
  for (int depth = 0; depth < 8 && TREE_CODE (t) == SSA_NAME; depth++)
    {
      gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t));
      if (!a)
        return false;
      if (gimple_assign_load_p (a))
        return gimple_assign_rhs1 (a) == var;
      if (!CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)) && !gimple_assign_ssa_name_copy_p (a))
        return false;
      t = gimple_assign_rhs1 (a);
    }
  return false;
}

class Nests
{
public:
  explicit Nests (Function &f) : f_ (f)
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, f.fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (is_call_of (gsi_stmt (i), "GOMP_loop_") && strstr (callee_name (gsi_stmt (i)), "_start"))
          starts_.push_back (gsi_stmt (i));
  }

  void run ()
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, f_.fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gassign *a = dyn_cast<gassign *> (gsi_stmt (i));
          tree base = a && gimple_store_p (a) ? get_base_address (gimple_assign_lhs (a)) : NULL_TREE;
          if (base && variables.count (base))
            store (a, base);
        }
  }

private:
  /// Does the nest of loops around the store write all of `v`?
  void store (gassign *s, tree v)
  {
    poly_int64 bits, pos;
    tree offset;
    machine_mode mode;
    int u, r, vol;
    tree ref = gimple_assign_lhs (s);
    if (get_inner_reference (ref, &bits, &pos, &offset, &mode, &u, &r, &vol) != v || !offset)
      return;
    HOST_WIDE_INT size, at;
    if (!bits.is_constant (&size) || !pos.is_constant (&at) || size % 8 || at % 8 || size <= 0)
      return;
    aff_tree sum;
    hash_map<tree, name_expansion *> *cache = nullptr;
    tree_to_aff_combination_expand (fold_convert (sizetype, offset), sizetype, &sum, &cache);
    free_affine_expand_cache (&cache);
    HOST_WIDE_INT more;
    if (sum.rest || sum.n == 0 || !fits (sum.offset, &more))
      return;
    at = at / 8 + more;
    gimple *start = nullptr;
    class loop *outermost = nullptr;
    std::vector<std::pair<HOST_WIDE_INT, HOST_WIDE_INT>> strides;
    for (unsigned k = 0; k < sum.n; k++)
      {
        Values values;
        class loop *l = nullptr;
        gimple *by = nullptr;
        HOST_WIDE_INT stride;
        if (!fits (sum.elts[k].coef, &stride) || stride <= 0 || !values_of (sum.elts[k].val, gimple_bb (s), &values, &l, &by)
            || values.count <= 0 || values.count > (HOST_WIDE_INT_1 << 40) / stride)
          return;
        at += stride * values.first;
        strides.push_back ({ stride, values.count });
        start = by ? by : start;
        outermost = !outermost || flow_loop_nested_p (l, outermost) ? l : outermost;
      }
    std::sort (strides.begin (), strides.end ());
    HOST_WIDE_INT covered = size / 8;
    for (auto &x : strides)
      {
        if (x.first != covered)
          return;
        covered *= x.second;
      }
    if (at != 0 || covered != tree_to_shwi (DECL_SIZE_UNIT (v)) || !always (gimple_bb (s), outermost))
      return;
    // The chunks of a worksharing loop are in a loop of their own.
    class loop *whole = start ? loop_outer (outermost) : outermost;
    if (start && (whole == current_loops->tree_root || !is_chunks_loop (whole, outermost, start)))
      return;
    basic_block *body = get_loop_body (whole);
    bool reads = false;
    std::set<basic_block> blocks;
    for (unsigned i = 0; i < whole->num_nodes; i++)
      {
        blocks.insert (body[i]);
        for (gimple_stmt_iterator g = gsi_start_bb (body[i]); !gsi_end_p (g); gsi_next (&g))
          reads = reads || look (gsi_stmt (g)).read.count (v)
                  // What is called might read it, or never come back.
                  || (is_gimple_call (gsi_stmt (g)) && gimple_vuse (gsi_stmt (g)) && !is_call_of (gsi_stmt (g), "GOMP_loop_")
                      && !is_of_numbers (gsi_stmt (g)));
      }
    free (body);
    if (reads)
      return;
    if (start)
      f_.shared[start].insert (v);
    else
      {
        f_.nests[whole->header].insert (v);
        f_.blocks[whole->header] = blocks;
      }
  }

  /// A function of mathematics: from numbers to a number.
  static bool is_of_numbers (gimple *s)
  {
    bool numbers = gimple_call_builtin_p (s, BUILT_IN_NORMAL) && gimple_call_lhs (s) && SCALAR_FLOAT_TYPE_P (TREE_TYPE (gimple_call_lhs (s)))
                   && gimple_call_num_args (s) > 0 && !stmt_ends_bb_p (s);
    for (unsigned i = 0; numbers && i < gimple_call_num_args (s); i++)
      {
        tree t = TREE_TYPE (gimple_call_arg (s, i));
        numbers = SCALAR_FLOAT_TYPE_P (t) || INTEGRAL_TYPE_P (t);
      }
    return numbers;
  }

  static bool fits (const poly_widest_int &x, HOST_WIDE_INT *out)
  {
    widest_int w;
    if (!x.is_constant (&w) || !wi::fits_shwi_p (w))
      return false;
    *out = w.to_shwi ();
    return true;
  }
  static bool fits (const widest_int &x, HOST_WIDE_INT *out)
  {
    if (!wi::fits_shwi_p (x))
      return false;
    *out = x.to_shwi ();
    return true;
  }

  /// The values of `name` at `bb`, whose loop's variable it is; `start` if these are all iterations of a
  /// worksharing loop.
  bool values_of (tree name, basic_block bb, Values *out, class loop **l, gimple **start)
  {
    // Conversions that keep the value.
    while (CONVERT_EXPR_P (name) && INTEGRAL_TYPE_P (TREE_TYPE (TREE_OPERAND (name, 0)))
           && TYPE_PRECISION (TREE_TYPE (name)) >= TYPE_PRECISION (TREE_TYPE (TREE_OPERAND (name, 0))))
      name = TREE_OPERAND (name, 0);
    gphi *phi = TREE_CODE (name) == SSA_NAME ? dyn_cast<gphi *> (SSA_NAME_DEF_STMT (name)) : nullptr;
    *l = phi ? gimple_bb (phi)->loop_father : nullptr;
    if (!phi || (*l)->header != gimple_bb (phi) || gimple_phi_num_args (phi) != 2 || !flow_bb_inside_loop_p (*l, bb)
        || !TYPE_OVERFLOW_UNDEFINED (TREE_TYPE (name)))
      return false;
    edge latch = loop_latch_edge (*l), entry = loop_preheader_edge (*l), exit = single_exit (*l);
    tree next = PHI_ARG_DEF_FROM_EDGE (phi, latch), first = PHI_ARG_DEF_FROM_EDGE (phi, entry);
    gassign *step = TREE_CODE (next) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (next)) : nullptr;
    if (!step || gimple_assign_rhs_code (step) != PLUS_EXPR || gimple_assign_rhs1 (step) != name
        || !integer_onep (gimple_assign_rhs2 (step)) || !exit)
      return false;
    if (tree_fits_shwi_p (first))
      {
        tree n = times (*l, exit, bb);
        if (!n || !tree_fits_shwi_p (n))
          return false;
        *out = { tree_to_shwi (first), tree_to_shwi (n) };
        return true;
      }
    // A chunk, from its lower to its upper bound; all chunks together are the loop's iterations.
    gcond *test = safe_dyn_cast<gcond *> (last_stmt (exit->src));
    if (!test)
      return false;
    tree low = gimple_cond_lhs (test), high = gimple_cond_rhs (test);
    enum tree_code code = gimple_cond_code (test);
    if (code == GT_EXPR)
      {
        std::swap (low, high);
        code = LT_EXPR;
      }
    if (code != LT_EXPR || low != next || !(exit->flags & EDGE_FALSE_VALUE))
      return false;
    for (gimple *s : starts_)
      {
        tree from = bound_of (s, 2), to = bound_of (s, 1);
        if (!from || !to || !is_loaded_from (first, from) || !is_loaded_from (high, to))
          continue;
        unsigned args = gimple_call_num_args (s);
        tree begin = gimple_call_arg (s, 0), end = gimple_call_arg (s, 1), by = gimple_call_arg (s, 2);
        if (strstr (callee_name (s), "_ull_") || args < 5 || !tree_fits_shwi_p (begin) || !tree_fits_shwi_p (end) || !integer_onep (by)
            || !int_fits_type_p (begin, TREE_TYPE (name)) || !int_fits_type_p (end, TREE_TYPE (name)))
          return false;
        *out = { tree_to_shwi (begin), tree_to_shwi (end) - tree_to_shwi (begin) };
        *start = s;
        return true;
      }
    return false;
  }

  /// How often what leads to `bb` within `l` is executed, each time that `l` is entered.
  static tree times (class loop *l, edge exit, basic_block bb)
  {
    tree n = repetitions (l, exit, false);
    if (!n || TREE_CODE (n) != INTEGER_CST)
      return NULL_TREE;
    // Behind the test: once for each time that it goes on; in front of it: once more.
    if (dominated_by_p (CDI_DOMINATORS, bb, exit->src) && bb != exit->src)
      return n;
    return fold_build2 (PLUS_EXPR, sizetype, n, size_one_node);
  }

  /// Is `bb` executed in every iteration of all loops around it up to `outermost`? Each of them is executed
  /// once at least.
  static bool always (basic_block bb, class loop *outermost)
  {
    for (class loop *l = bb->loop_father;; l = loop_outer (l))
      {
        edge exit = single_exit (l);
        if (!exit || !dominated_by_p (CDI_DOMINATORS, l->latch, bb))
          return false;
        if (l == outermost)
          return true;
        tree n = times (l, exit, bb);
        if (!n || integer_zerop (n) || !finite_loop_p (l))
          return false;
        bb = l->header;
      }
  }

  /// Is `whole` the loop over the chunks of the worksharing loop that `start` begins, each of which
  /// executes `one`?
  bool is_chunks_loop (class loop *whole, class loop *one, gimple *start)
  {
    edge exit = single_exit (whole);
    gcond *test = exit ? safe_dyn_cast<gcond *> (last_stmt (exit->src)) : nullptr;
    tree r = test ? gimple_cond_lhs (test) : NULL_TREE;
    gimple *next = r && TREE_CODE (r) == SSA_NAME ? SSA_NAME_DEF_STMT (r) : nullptr;
    if (!next || !is_gimple_call (next) || !strstr (callee_name (next), "_next") || bound_of (next, 2) != bound_of (start, 2)
        || !integer_zerop (gimple_cond_rhs (test)))
      return false;
    // It goes on as long as there is a chunk.
    bool stays = (gimple_cond_code (test) == NE_EXPR) == !!(exit->flags & EDGE_FALSE_VALUE);
    if (!stays || !dominated_by_p (CDI_DOMINATORS, whole->latch, one->header) || gimple_bb (start)->loop_father == whole)
      return false;
    // The way from the start into it is the one with a chunk, and nothing else leads there.
    gcond *first = safe_dyn_cast<gcond *> (last_stmt (gimple_bb (start)));
    if (!first || gimple_cond_lhs (first) != gimple_call_lhs (start) || gimple_cond_code (first) != NE_EXPR
        || !integer_zerop (gimple_cond_rhs (first)))
      return false;
    edge yes, no;
    extract_true_false_edges_from_block (gimple_bb (start), &yes, &no);
    basic_block in = yes->dest;
    while (!flow_bb_inside_loop_p (whole, in) && single_succ_p (in) && gimple_seq_empty_p (bb_seq (in)))
      in = single_succ (in);
    return in == whole->header;
  }

  Function &f_;
  std::vector<gimple *> starts_;
};

// ---- Ways
// ---------------------------------------------------------------------------------------------------------

/// What becomes of a variable from a point on.
struct Fate
{
  bool read = false; ///< it is read before it has been written: `why`
  bool unwritten = false, pending = false; ///< the function can be left so
  std::string why;
};

class Ways
{
public:
  explicit Ways (tree v) : v_ (v) {}

  /// From the beginning of `bb`, or from behind `from`.
  Fate follow (Function &f, basic_block bb, gimple *from, State state)
  {
    Fate fate;
    std::set<std::pair<basic_block, int>> seen;
    std::vector<std::pair<basic_block, State>> todo;
    auto go = [&] (basic_block b, State s) {
      if (b == EXIT_BLOCK_PTR_FOR_FN (f.fn))
        (s == PENDING ? fate.pending : fate.unwritten) = true;
      else if (seen.insert ({ b, s }).second)
        todo.push_back ({ b, s });
    };
    gimple_stmt_iterator begin = from ? gsi_for_stmt (from) : gsi_start_bb (bb);
    if (from)
      gsi_next (&begin);
    block (f, bb, begin, state, go, &fate);
    while (!todo.empty () && !fate.read)
      {
        auto at = todo.back ();
        todo.pop_back ();
        block (f, at.first, gsi_start_bb (at.first), at.second, go, &fate);
      }
    return fate;
  }

private:
  template <class Go> void block (Function &f, basic_block bb, gimple_stmt_iterator i, State state, Go &go, Fate *fate)
  {
    for (; !gsi_end_p (i) && !fate->read; gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_gimple_debug (s))
          continue;
        if (look (s).read.count (v_))
          {
            *fate = { true, false, false, "read at line " + std::to_string (LOCATION_LINE (gimple_location (s))) };
            return;
          }
        // It may be left by an exception.
        if (stmt_can_throw_external (f.fn, s))
          (state == PENDING ? fate->pending : fate->unwritten) = true;
        if (!is_gimple_call (s))
          continue;
        auto w = f.shared.find (s);
        if (w != f.shared.end () && w->second.count (v_))
          state = PENDING;
        // All of the team have come.
        else if (state == PENDING && (!strcmp (callee_name (s), "GOMP_barrier") || !strcmp (callee_name (s), "GOMP_loop_end")))
          return;
        tree region = region_of (s), callee = region ? region : gimple_call_fndecl (s);
        if (callee && functions.count (callee) && touches (callee))
          {
            Fate in = call (callee, state);
            if (in.read)
              {
                *fate = in;
                return;
              }
            // A region ends with a barrier of its own team.
            if (!in.unwritten && ((region && state == UNWRITTEN) || !in.pending))
              return;
            state = in.unwritten && state == UNWRITTEN ? UNWRITTEN : PENDING;
          }
        if (gimple_call_flags (s) & ECF_NORETURN)
          return;
      }
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE (e, ei, bb->succs)
      {
        auto n = f.nests.find (e->dest);
        bool enters = n != f.nests.end () && n->second.count (v_) && !f.blocks[e->dest].count (bb);
        if (!enters)
          go (e->dest, state);
      }
  }

  /// Does `decl`, or what it calls, use the variable?
  bool touches (tree decl)
  {
    std::set<tree> seen;
    std::vector<tree> todo = { decl };
    while (!todo.empty ())
      {
        tree d = todo.back ();
        todo.pop_back ();
        auto f = functions.find (d);
        if (!seen.insert (d).second || f == functions.end ())
          continue;
        if (f->second.read.count (v_) || f->second.written.count (v_))
          return true;
        todo.insert (todo.end (), f->second.calls.begin (), f->second.calls.end ());
      }
    return false;
  }

  Fate call (tree decl, State state)
  {
    auto key = std::make_pair (decl, (int) state);
    auto known = fates_.find (key);
    if (known != fates_.end ())
      return known->second;
    // Until it is known: of functions that call themselves nothing is.
    fates_[key] = { true, false, false, "functions call each other" };
    Function &f = functions.at (decl);
    return fates_[key] = follow (f, single_succ (ENTRY_BLOCK_PTR_FOR_FN (f.fn)), nullptr, state);
  }

  tree v_;
  std::map<std::pair<tree, int>, Fate> fates_;
};

// ---- The unit
// -----------------------------------------------------------------------------------------------------

bool is_main (tree decl) { return MAIN_NAME_P (DECL_NAME (decl)) || (DECL_NAME (decl) && !strcmp (IDENTIFIER_POINTER (DECL_NAME (decl)), "MAIN__")); }

/// May a function be called by somebody who is not seen?
bool is_exposed (cgraph_node *n)
{
  tree d = n->decl;
  if (is_main (d))
    return false;
  return TREE_PUBLIC (d) || n->externally_visible || n->alias || n->has_aliases_p () || DECL_STATIC_CONSTRUCTOR (d)
         || DECL_STATIC_DESTRUCTOR (d) || DECL_PRESERVE_P (d) || exposed_functions.count (d);
}

/// Statements of all functions, and who uses what.
bool survey ()
{
  if (symtab->first_asm_symbol ())
    return false; // it may use anything
  cgraph_node *node;
  varpool_node *var;
  FOR_EACH_DEFINED_VARIABLE (var)
    if (may_be_looked_at (var->decl) && !var->externally_visible && !var->alias && !var->has_aliases_p ())
      variables.insert (var->decl);
    else if (is_large (var->decl))
      others[var->decl] = TREE_PUBLIC (var->decl) ? "other files may use it" : "it is of a special kind";
  ipa_ref *ref = nullptr;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
    {
      function *fn = DECL_STRUCT_FUNCTION (node->decl);
      // Somebody is not seen, or control jumps where no edge leads.
      if (!fn || !fn->cfg || !gimple_in_ssa_p (fn) || fn->calls_setjmp || fn->has_nonlocal_label)
        return false;
      Function &f = functions[node->decl];
      f.fn = fn;
      basic_block bb;
      FOR_EACH_BB_FN (bb, fn)
        for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
          {
            gimple *s = gsi_stmt (i);
            Seen seen = look (s);
            f.read.insert (seen.read.begin (), seen.read.end ());
            f.written.insert (seen.written.begin (), seen.written.end ());
            tree region = is_gimple_call (s) ? region_of (s) : NULL_TREE;
            for (tree t : seen.addressed)
              if (TREE_CODE (t) != FUNCTION_DECL)
                give_up (t, "its address is taken");
              else if (t != region)
                exposed_functions.insert (t);
            if (region)
              f.calls.insert (region);
            if (is_gimple_call (s) && gimple_call_fndecl (s))
              f.calls.insert (gimple_call_fndecl (s));
          }
      // Values of names in the arguments of joins.
      FOR_EACH_BB_FN (bb, fn)
        for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
          for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
            if (tree a = gimple_phi_arg_def (p.phi (), k))
              if (TREE_CODE (a) == ADDR_EXPR)
                {
                  tree base = get_base_address (TREE_OPERAND (a, 0));
                  give_up (base, "its address is taken");
                  if (base && TREE_CODE (base) == FUNCTION_DECL)
                    exposed_functions.insert (base);
                }
      for (unsigned k = 0; node->iterate_referring (k, ref); k++)
        if (is_a<varpool_node *> (ref->referring))
          exposed_functions.insert (node->decl);
    }
  FOR_EACH_DEFINED_VARIABLE (var)
    for (unsigned k = 0; var->iterate_referring (k, ref); k++)
      if (is_a<varpool_node *> (ref->referring))
        give_up (var->decl, "its address is taken");
  // What is used, by way of whatever, by a function that somebody else may call.
  std::set<tree> seen;
  std::vector<tree> todo;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
    if (is_exposed (node))
      todo.push_back (node->decl);
  while (!todo.empty ())
    {
      tree d = todo.back ();
      todo.pop_back ();
      auto f = functions.find (d);
      if (!seen.insert (d).second || f == functions.end ())
        continue;
      for (tree v : f->second.read)
        give_up (v, "a function uses it that others may call");
      for (tree v : f->second.written)
        give_up (v, "a function uses it that others may call");
      todo.insert (todo.end (), f->second.calls.begin (), f->second.calls.end ());
    }
  return true;
}

/// Nests and places of a function.
void look_into (Function &f)
{
  push_cfun (f.fn);
  calculate_dominance_info (CDI_DOMINATORS);
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  scev_initialize ();
  Nests (f).run ();
  std::set<class loop *> around;
  basic_block bb;
  FOR_EACH_BB_FN (bb, f.fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_call_of (s, "__promp_potential_ckpt"))
          f.calls_of_places.push_back (s);
        if (is_gimple_call (s) && region_of (s) && !is_outlined (f.fn) && loop_depth (bb->loop_father) > 0)
          around.insert (superloop_at_depth (bb->loop_father, 1));
      }
  if (f.calls_of_places.empty ())
    for (class loop *l : around)
      {
        // Behind the test that ends the loop, if it begins with that.
        basic_block at = l->header;
        edge e, exit = single_exit (l);
        edge_iterator ei;
        if (exit && exit->src == at)
          FOR_EACH_EDGE (e, ei, exit->src->succs)
            if (e != exit && single_pred_p (e->dest))
              at = e->dest;
        f.heads.push_back (at);
      }
  scev_finalize ();
  loop_optimizer_finalize ();
  pop_cfun ();
}

/// Later passes must not move what is done to the variables from one side of the call to the other.
gcall *opaque (gcall *c)
{
  pt_solution_reset (gimple_call_use_set (c));
  pt_solution_reset (gimple_call_clobber_set (c));
  return c;
}

/// Is there nothing left to be done when `decl` returns? Nobody but the system's start-up code calls it.
bool ends_program (tree decl)
{
  if (!is_main (decl))
    return false;
  for (auto &f : functions)
    if (f.second.calls.count (decl) && (MAIN_NAME_P (DECL_NAME (decl)) || !MAIN_NAME_P (DECL_NAME (f.first))))
      return false;
  return true;
}

std::string described (tree v)
{
  return std::string (DECL_NAME (v) ? IDENTIFIER_POINTER (DECL_NAME (v)) : "?") + " ("
         + std::to_string (tree_to_shwi (DECL_SIZE_UNIT (v))) + " bytes";
}

/// At `bb`'s beginning, or at `call`.
void place (Function &f, basic_block bb, gimple *call)
{
  std::string dead, live;
  std::vector<tree> list;
  HOST_WIDE_INT bytes = 0;
  for (tree v : variables)
    {
      Fate fate = Ways (v).follow (f, bb, call, UNWRITTEN);
      // Behind `main` nobody reads it any more.
      bool left = !ends_program (f.fn->decl) && (fate.unwritten || fate.pending);
      HOST_WIDE_INT size = tree_to_shwi (DECL_SIZE_UNIT (v));
      std::string text = described (v);
      if (fate.read || left)
        live += (live.empty () ? "" : ", ") + text + ": " + (fate.read ? fate.why : "the function may be left before it is written") + ")";
      else
        {
          dead += (dead.empty () ? "" : ", ") + text + ")";
          bytes += size;
          list.push_back (v);
        }
    }
  for (auto &o : others)
    live += (live.empty () ? "" : ", ") + described (o.first) + ": " + o.second + ")";
  location_t where = call ? gimple_location (call) : UNKNOWN_LOCATION;
  if (!call)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && LOCATION_LINE (where) <= 0; gsi_next (&i))
      where = gimple_location (gsi_stmt (i));
  if (options.report && (call || !list.empty ()))
    inform (where, "promp: place in %s: dead: %s; live: %s", IDENTIFIER_POINTER (DECL_NAME (f.fn->decl)),
            dead.empty () ? "nothing" : dead.c_str (), live.empty () ? "no other static array" : live.c_str ());
  if (list.empty ())
    return;
  push_cfun (f.fn);
  gimple_stmt_iterator i = call ? gsi_for_stmt (call) : gsi_after_labels (bb);
  for (tree v : list)
    {
      TREE_ADDRESSABLE (v) = 1;
      gcall *c = gimple_build_call (dead_function (), 2, build_fold_addr_expr (v), fold_convert (size_type_node, DECL_SIZE_UNIT (v)));
      gimple_set_location (c, where);
      gsi_insert_before (&i, opaque (c), GSI_SAME_STMT);
    }
  if (call)
    opaque (as_a<gcall *> (call));
  else
    {
      gcall *c = gimple_build_call (runtime_function ("promp_potential_ckpt", false), 0);
      gimple_set_location (c, where);
      gsi_insert_before (&i, opaque (c), GSI_SAME_STMT);
    }
  mark_virtual_operands_for_renaming (f.fn);
  update_ssa (TODO_update_ssa_only_virtuals);
  cgraph_edge::rebuild_edges ();
  pop_cfun ();
}

const pass_data DATA = { SIMPLE_IPA_PASS, "promp_dead", OPTGROUP_OMP, TV_NONE, 0, 0, 0, 0, 0 };

struct Dead : simple_ipa_opt_pass
{
  Dead () : simple_ipa_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp && optimize && !in_lto_p && !flag_generate_lto; }
  unsigned execute (function *) final override
  {
    if (survey ())
      {
        for (auto &f : functions)
          look_into (f.second);
        for (auto &f : functions)
          {
            for (gimple *call : f.second.calls_of_places)
              place (f.second, gimple_bb (call), call);
            for (basic_block bb : f.second.heads)
              place (f.second, bb, nullptr);
          }
      }
    functions.clear ();
    variables.clear ();
    others.clear ();
    exposed_functions.clear ();
    return 0;
  }
};

} // namespace

opt_pass *make_dead_pass () { return new Dead; }

} // namespace promp
