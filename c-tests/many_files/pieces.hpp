// Blocks are got by a function that may fail: pieces.cpp calls get.cpp, which calls for errors.
#pragma once
extern int failures;
double *get(int n);       // n doubles; ends the program, or throws
double piece(int i);      // of item i
void fails(const char *why, int n); // never returns
