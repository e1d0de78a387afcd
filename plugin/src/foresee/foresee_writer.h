// What is executed from a place on, as words (foresee.cc). For its parts only.
#ifndef PROMP_FORESEE_WRITER_H
#define PROMP_FORESEE_WRITER_H

#include "foresee/foresee.h"
#include "layouts.h"
#include "memory/memory.h"
#include <tuple>

namespace promp::ahead {

/// Limits of a program, beside that of its slots.
const size_t WORDS = 100000, FUNCTIONS = 60;
/// No operation (crates/layouts/src/foresight.rs has those that there are).
const Op OP_NONE = (Op) (OP_NOT + 1);

Op op_of (enum tree_code code);

/// Is a value of it a number of 64 bits at most?
bool is_number (tree type);
uint64_t kind_of (tree type);

struct Operand
{
  uint64_t kind, word;
};
const Operand UNKNOWN_VALUE = { OPERAND_UNKNOWN, 0 };

/// A function as it is called, or from the place on.
struct Body
{
  tree decl;
  bool entry;
  std::vector<bool> own; ///< parameters that lead to what only this unit knows, whoever else calls it
  bool operator< (const Body &o) const
  {
    return std::tie (decl, entry, own) < std::tie (o.decl, o.entry, o.own);
  }
};

/// A variable of a loop's header, and what it is when the loop begins, and next.
struct Variable
{
  tree name, first, next;
  bool is_sum;
  HOST_WIDE_INT step;
};

/// A load in a loop's header, and what it gets when the loop begins, and next.
struct Loaded
{
  tree name, variable, first, next;
};

/// What a loop goes on by: the variable, plus a number, compared with another value.
struct Test
{
  bool at_end;
  Op stays;
  tree type, other, counter;
  HOST_WIDE_INT plus;
  edge exit;
};

class Writer
{
public:
  Writer (Unit &unit, Function &f, basic_block bb, gimple *call)
      : unit_ (unit), place_ (f), place_bb_ (bb), call_ (call)
  {
  }

  bool run (Foresight *out);

private:
  // foresee.cc
  std::set<tree> executed_in_regions ();
  bool is_of_plain_region (tree decl, const std::set<tree> &inside);
  bool is_known_at_place (tree name);
  void body (Function &f, const Body &b);

  void put (uint64_t word) { words_.push_back (word); }
  void put (Operand o)
  {
    put (o.kind);
    put (o.word);
  }
  void put_offset (uint64_t offset)
  {
    offsets_.push_back (words_.size ());
    put (offset);
  }

  // foresee_values.cc
  uint64_t slot (tree value);
  uint64_t register_of (tree name);
  Operand address_of (tree d, HOST_WIDE_INT at);
  bool is_pointed_to (tree d);
  Operand assign (Op op, tree to, tree from, Operand a, Operand b);
  Operand plus (Operand a, HOST_WIDE_INT by);
  Operand simple (tree t);
  Operand value (tree e);
  Operand address (tree ref);
  Operand argument (tree t);

  // foresee_code.cc
  bool is_ours (const Targets &where);
  bool is_ours (tree pointer);
  bool is_ours_at (tree ref);
  bool size_of (tree type, uint64_t *out);
  bool statement (gimple *s);
  bool assignment (gassign *a);
  bool store (gassign *a);
  bool load (gassign *a);
  bool forget (gcall *c);
  uint64_t result (gcall *c);
  bool called (gcall *c);
  bool call_of_unit (gcall *c, Function &f);
  bool call_of_memory (gcall *c);
  void put_block (basic_block bb);

  // foresee_team.cc
  bool construct (gcall *c, const std::string &name);
  void put_block_of (basic_block bb);

  // foresee_kept.cc
  bool is_kept (tree d);
  tree content (tree d, basic_block bb, gimple *s);
  void find_kept ();
  void put_read (tree d);
  bool handed_over (gcall *c, tree argument, Operand *copy);

  // foresee_loops.cc
  std::vector<Variable> variables_of (class loop *l);
  bool has_other_cycles (class loop *l);
  bool test_of (class loop *l, const std::vector<Variable> &variables, Test *t);
  void put_items (class loop *l, bool without_header);
  void put_loop (class loop *l);
  void put_edge (edge e);
  void put_edges ();

  Unit &unit_;
  Function &place_;
  basic_block place_bb_;
  gimple *call_;
  std::vector<uint64_t> words_;
  std::vector<tree> slots_;
  std::vector<std::pair<uint64_t, uint64_t>> held_; ///< slots of registers
  std::vector<size_t> offsets_, items_;             ///< words that are offsets, and items
  std::vector<std::pair<size_t, Body>> calls_;
  std::map<Body, size_t> records_;
  std::vector<Body> todo_;
  size_t entry_code_ = 0;
  // Of the function that is written.
  function *fn_ = nullptr;
  bool entry_ = false;
  std::vector<bool> own_;
  uint64_t count_ = 0;
  HOST_WIDE_INT bytes_ = 0;
  unsigned returns_ = 0;
  std::map<tree, uint64_t> registers_;
  std::map<tree, HOST_WIDE_INT> locals_;
  std::set<unsigned> pointed_;
  std::map<tree, bool> kept_;
  std::map<basic_block, std::vector<Loaded>> loaded_;
  std::set<gimple *> stand_for_phis_;
  std::vector<basic_block> order_;
  std::map<basic_block, size_t> blocks_;
  std::map<class loop *, size_t> loops_;
  std::vector<std::pair<size_t, edge>> edges_;
  std::vector<std::pair<size_t, basic_block>> headers_;
  std::vector<std::pair<size_t, std::pair<basic_block, uint64_t>>> block_items_;
  std::vector<std::pair<size_t, std::pair<class loop *, uint64_t>>> loop_items_;
};

} // namespace promp::ahead
#endif
