// Called by before_first.c.
int twice(int i);
int twice(int i) { return 2 * i; }
